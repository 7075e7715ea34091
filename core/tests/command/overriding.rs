//! `tidegate override`.

use std::fs;

use redis::Commands as _;

use super::servers::{Cluster, Server};
use super::{tidegate, written};

fn document(name: &str) -> String {
    let file = written(name);
    fs::write(
        &file,
        "{\n  \"$schema\": \"s\",\n  \"b\": \"100/minute\",\n  \"a\": { \"type\": \"bucket\", \"size\": 10 }\n}\n",
    )
    .unwrap();
    file
}

fn run(file: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let ended = tidegate(&[&["override", file], arguments].concat());
    (ended.code, ended.out.replace(file, "FILE"), ended.err.replace(file, "FILE"))
}

#[test]
fn an_override_is_added_replaced_and_removed_and_all_else_stays() {
    let file = document("overriding.json");
    let before = fs::read_to_string(&file).unwrap();
    let added = run(&file, &["--actor", "acme", "--limit", "b", "--definition", "5000/minute"]);
    assert_eq!(added, (Some(0), "FILE: an override is added\n".to_owned(), String::new()));
    assert_eq!(run(&file, &["--pattern", "team-*", "--factor", "0.5"]).0, Some(0));
    assert_eq!(run(&file, &["--actor", "acme", "--limit", "b", "--factor", "2"]).1, "FILE: an override is replaced\n");
    let expected = r#"{
  "$schema": "s",
  "b": "100/minute",
  "a": {
    "type": "bucket",
    "size": 10
  },
  "overrides": [
    {
      "actor": "acme",
      "limit": "b",
      "factor": 2
    },
    {
      "pattern": "team-*",
      "factor": 0.5
    }
  ]
}
"#;
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(run(&file, &["--actor", "acme", "--limit", "b", "--remove"]).1, "FILE: an override is removed\n");
    assert_eq!(run(&file, &["--pattern", "team-*", "--remove"]).0, Some(0));
    let missing = run(&file, &["--pattern", "team-*", "--remove"]);
    assert_eq!((missing.0, missing.2.as_str()), (Some(2), "FILE: has no such override\n"));
    let after = fs::read_to_string(&file).unwrap();
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&after), value(&before));
}

#[test]
fn comments_and_blanks_of_toml_stay() {
    let file = written("overriding.toml");
    let after = |before: &str, arguments: &[&str]| {
        fs::write(&file, before).unwrap();
        let (code, _, told) = run(&file, arguments);
        assert_eq!((code, told.as_str()), (Some(0), ""), "{before}");
        fs::read_to_string(&file).unwrap()
    };
    let limits = "# Ours.\napi = '10/s' # ten\n\n[login]\ntype = 'bucket'\nsize = 0x0a\n";
    let added = after(limits, &["--actor", "acme", "--factor", "2"]);
    assert_eq!(added, format!("{limits}\n[[overrides]]\nactor = \"acme\"\nfactor = 2\n"));
    let both = after(
        &format!("{added}\n# Last.\n[jobs]\ntype = 'bucket'\nsize = 5\n"),
        &["--pattern", "team-*", "--limit", "api", "--unlimited"],
    );
    let first = "\n[[overrides]]\npattern = \"team-*\"\nlimit = \"api\"\nunlimited = true\n";
    assert_eq!(
        both,
        format!(
            "{limits}{first}\n[[overrides]]\nactor = \"acme\"\nfactor = 2\n\n# Last.\n[jobs]\ntype = 'bucket'\n\
             size = 5\n"
        )
    );
    assert_eq!(after(&added, &["--actor", "acme", "--remove"]), limits);

    let list = "api = '10/s'\noverrides = [\n  # Ours.\n  { actor = 'acme', factor = 2 },\n]\n";
    let added = after(list, &["--actor", "bob", "--limit", "api", "--definition", "5/s"]);
    assert_eq!(
        added,
        "api = '10/s'\noverrides = [\n  { actor = \"bob\", limit = \"api\", definition = \"5/s\" },\n  # Ours.\n  \
         { actor = 'acme', factor = 2 },\n]\n"
    );
    assert_eq!(
        after("api = '1/s'\noverrides = [{ actor = 'a', factor = 2 }]\n", &["--actor", "a", "--factor", "0.5"]),
        "api = '1/s'\n\n[[overrides]]\nactor = \"a\"\nfactor = 0.5\n"
    );
}

#[test]
fn the_ends_of_lines_stay_as_an_editor_of_windows_writes_them() {
    let bom = "\u{feff}";
    for (name, before, after) in [
        (
            "overriding-windows.toml",
            "# Ours.\r\napi = '10/s'\r\n",
            "# Ours.\r\napi = '10/s'\r\n\r\n[[overrides]]\r\nactor = \"acme\"\r\nfactor = 2\r\n",
        ),
        (
            "overriding-windows.json",
            "{\r\n  \"api\": \"10/s\"\r\n}\r\n",
            "{\r\n  \"api\": \"10/s\",\r\n  \"overrides\": [\r\n    {\r\n      \"actor\": \"acme\",\r\n      \"factor\": 2\r\n    \
             }\r\n  ]\r\n}\r\n",
        ),
    ] {
        let file = written(name);
        for mark in ["", bom] {
            fs::write(&file, format!("{mark}{before}")).unwrap();
            assert_eq!(run(&file, &["--actor", "acme", "--factor", "2"]).0, Some(0));
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("{mark}{after}"));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_stays_that_of_its_owner() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

    let file = document("overriding-owned.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root may give it away.
    let _ = chown(&file, Some(1234), Some(1234));
    let owner = |file: &str| fs::metadata(file).map(|data| (data.uid(), data.gid(), data.mode() & 0o777)).unwrap();
    let before = owner(&file);
    assert_eq!(run(&file, &["--actor", "acme", "--factor", "2"]).0, Some(0));
    assert_eq!(owner(&file), before);
}

#[test]
fn a_document_that_a_server_keeps_is_changed_there() {
    let server = Server::start();
    let url = format!("{}/0/limits.toml", server.url());
    let arguments = ["override", &url, "--actor", "acme", "--unlimited"];
    let missing = tidegate(&arguments);
    assert_eq!((missing.code, missing.err.contains("there is no such key")), (Some(2), true), "{}", missing.err);

    let before = "# Ours.\napi = '10/s'\n";
    let mut client = server.connect();
    client.set::<_, _, ()>("limits.toml", before).unwrap();
    let changed = tidegate(&arguments);
    assert_eq!((changed.code, changed.err.as_str()), (Some(0), ""));
    let after: String = client.get("limits.toml").unwrap();
    assert_eq!(after, format!("{before}\n[[overrides]]\nactor = \"acme\"\nunlimited = true\n"));
    let wrong = tidegate(&["override", &url, "--actor", "acme", "--factor", "-1"]);
    assert_eq!(wrong.code, Some(1), "{}", wrong.err);
    assert_eq!(client.get::<_, String>("limits.toml").unwrap(), after);

    let cluster = Cluster::start(0);
    for name in ["a.toml", "b.toml", "c.toml", "d.toml"] {
        let is_kept = |node: &Server| node.connect().set::<_, _, ()>(name, before).is_ok();
        assert!(cluster.nodes.iter().any(is_kept));
        let changed = tidegate(&["override", &format!("{}/{name}", cluster.url()), "--actor", "acme", "--unlimited"]);
        assert_eq!((changed.code, changed.err.as_str()), (Some(0), ""), "{name}");
    }
}

#[test]
fn what_would_make_a_wrong_document_is_not_written() {
    let file = document("overriding-wrong.json");
    let before = fs::read_to_string(&file).unwrap();
    for (arguments, error) in [
        (&["--actor", "a", "--factor", "-1"][..], "FILE: overrides[0].factor: must be at least 0 and finite, got -1\n"),
        (
            &["--pattern", "a", "--unlimited"],
            "FILE: overrides[0].pattern: must have a *, got \"a\"; a single one is an actor\n",
        ),
        (
            &["--actor", "a", "--limit", "c", "--unlimited"],
            "FILE: overrides[0].limit: must be the name of a limit, got \"c\"\n",
        ),
    ] {
        let (code, _, told) = run(&file, arguments);
        assert_eq!((code, told.as_str()), (Some(1), error), "{arguments:?}");
    }
    for arguments in [
        &["--actor", "a"][..],
        &["--factor", "1"],
        &["--actor", "a", "--pattern", "a*", "--factor", "1"],
        &["--actor", "a", "--factor", "1", "--unlimited"],
        &["--actor", "a", "--definition", "1/s"],
    ] {
        assert_eq!(run(&file, arguments).0, Some(2), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let other = run("limits.yaml", &["--actor", "a", "--unlimited"]);
    assert_eq!(other.2, "FILE: must end with .json or .toml: comments of another format would be lost\n");
    for (name, text) in
        [("overriding-taken.toml", "overrides = '1/s'\n"), ("overriding-taken.json", "{\"overrides\":\"1/s\"}")]
    {
        let file = written(name);
        fs::write(&file, text).unwrap();
        let (code, _, told) = run(&file, &["--actor", "a", "--unlimited"]);
        assert_eq!((code, told.starts_with("FILE: overrides: is a limit, ")), (Some(1), true), "{told}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    fs::write(&file, "{ \"a\": 5 }").unwrap();
    assert_eq!(run(&file, &["--actor", "a", "--unlimited"]).2, "FILE: a: must be text or a table, got 5\n");
}
