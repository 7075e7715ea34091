//! `tidegate check`.

use super::tidegate;

#[test]
fn every_limit_is_explained() {
    let ended = tidegate(&["check", "limits.toml"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let expected = r#"limits.toml: 2 limits

  "api" (token-bucket) admits 20 at once, then 1.667 per second.
  At most 21 in any second, 119 in any minute, 6,019 in any hour, 144,019 in any day.
  A full entry empties in 12 s.

  "login" (bucket) admits 10 at once, then 1 per second.
  At most 10 in any second, 69 in any minute, 3,609 in any hour, 86,409 in any day.
  A full entry empties in 10 s.
"#;
    assert_eq!(ended.out, expected);
}

#[test]
fn overrides_are_explained_and_their_faults_have_places() {
    let ended = tidegate(&["check", "overrides.yaml"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let (_, overrides) = ended.out.split_once("\n\n  Actor").unwrap();
    let expected = r#" "acme" at "api": "api" (token-bucket) admits 5,000 at once, then 83.333 per second.
  Actors like "team-*" at all limits: the factor is 0.5.
  Actor "monitor" at all limits: no limit.
"#;
    assert_eq!(overrides, expected);
    let file = super::written("overrides.yaml");
    std::fs::write(&file, "api: 1/s\noverrides:\n  - actor: acme\n    factor: -1\n").unwrap();
    let ended = tidegate(&["check", &file]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.err, format!("{file}:4:5: overrides[0].factor: must be at least 0 and finite, got -1\n"));
}

#[test]
fn explanations_are_lines_of_json() {
    let ended = tidegate(&["check", "--json", "limits.toml"]);
    let keys = ended.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["key"].clone());
    assert_eq!(keys.collect::<Vec<_>>(), ["api", "login"]);
}

#[test]
fn faults_have_a_line_and_a_column_in_every_format() {
    let ended =
        tidegate(&["check", "wrong.json", "wrong.yaml", "broken.toml", "limits.toml", "nowhere.toml", "check.rs"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.starts_with("limits.toml: 2 limits\n"), "{}", ended.out);
    let places: Vec<_> = ended.err.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "wrong.json:2:43: login.color:",
        "wrong.json:2:32: login.size:",
        "wrong.json:3:3: api:",
        "wrong.json:4:3: sms.period:",
        "wrong.json:4:3: sms.resolution:",
        "wrong.yaml:4:5: limits.login.size:",
        "wrong.yaml:5:3: limits.api:",
        "broken.toml:2:18: ",
        "nowhere.toml: cannot",
        "check.rs: must",
    ];
    for (place, expected) in places.iter().zip(expected) {
        assert!(place.starts_with(expected), "{place}, not {expected}");
    }
    assert_eq!(places.len(), expected.len(), "{}", ended.err);
    let empty = super::written("empty.json");
    std::fs::write(&empty, "").unwrap();
    let ended = tidegate(&["check", &empty]);
    assert!(ended.err.starts_with(&format!("{empty}:1:1: ")), "{}", ended.err);
}

#[test]
fn a_document_that_is_too_deep_is_a_fault() {
    for (name, sign) in [("deep.json", "["), ("deeper.json", "{\"a\":"), ("deep.yaml", "["), ("deep.toml", "a=[")] {
        let file = super::written(name);
        std::fs::write(&file, sign.repeat(100_000)).unwrap();
        let ended = tidegate(&["check", &file]);
        assert_eq!((ended.code, ended.err.lines().count()), (Some(1), 1), "{name}: {}", ended.err);
        assert!(ended.err.starts_with(&format!("{file}:1:")), "{}", ended.err);
    }
}

#[test]
fn many_faults_in_yaml_are_told_without_a_wait() {
    let file = super::written("many-faults.yaml");
    let entries = "- actors: ada\n  factor: -1\n".repeat(10_000);
    std::fs::write(&file, format!("limits:\n  api: 1/s\noverrides:\n{entries}")).unwrap();
    let started = std::time::Instant::now();
    let ended = tidegate(&["check", &file]);
    assert_eq!((ended.code, ended.err.lines().count()), (Some(1), 30_000));
    assert!(ended.err.contains(&format!("{file}:501:3: overrides[248].factor: ")), "{}", &ended.err[..1000]);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn what_limits_admit_together_is_shown_by_its_calls() {
    let file = super::written("together.toml");
    let limits =
        "day = '1000/day fixed-window'\nminute = '100/minute'\nsecond = '500/second'\nlog = '30/second sliding-log'\n";
    std::fs::write(&file, limits).unwrap();
    let ended = tidegate(&["check", "--prove", &file]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let (_, together) = ended.out.split_once("Together, in one decision for one actor:\n").unwrap();
    let expected = "  \
  \"minute\" has room for 100 at once, of which \"log\" admits 30.
  \"second\" never denies what \"minute\" admits.
  The worst second admits 30: 30 at once.
  The worst minute admits 199: 30 at once, 30 each 1 s, 2 times, 15 after 1 s, 1 each 0.6 s, 94 times.
";
    assert!(together.starts_with(expected), "{together}");
    assert!(together.contains("  The worst day admits 2,000: "), "{together}");
}

#[test]
fn too_many_calls_of_a_smooth_limit_are_not_tried_out() {
    let file = super::written("fast.json");
    std::fs::write(&file, r#"{ "a": { "type": "smooth", "rate": 1000000 } }"#).unwrap();
    let started = std::time::Instant::now();
    let ended = tidegate(&["check", "--prove", &file]);
    assert_eq!(ended.out.matches("has too many calls to try them out").count(), 4, "{}", ended.out);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn limits_that_count_no_calls_have_no_worst_span() {
    let file = super::written("uncounted.toml");
    for text in ["", "a = { type = 'concurrency', max = 3, lease = 60000 }\n[[overrides]]\nactor = 'x'\nfactor = 2\n"] {
        std::fs::write(&file, text).unwrap();
        let ended = tidegate(&["check", "--prove", &file]);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        let end = "\n\n  No limit counts calls, so there is nothing to take together.\n";
        assert!(ended.out.ends_with(end), "{}", ended.out);
    }
}

#[test]
fn what_overrides_make_of_limits_together_is_shown_once() {
    let file = super::written("proven.toml");
    let limits = "hour = '4/hour'\nminute = '12/minute'\n";
    let overrides = [
        "actor = 'acme'\nlimit = 'hour'\ndefinition = '240/hour'",
        "pattern = 'team-*'\nfactor = 0.5",
        "pattern = 'team-a*'\nlimit = 'hour'\nfactor = 2",
        "actor = 'bob'\nfactor = 1",
        "actor = 'carol'\nfactor = 0.5",
        "actor = 'monitor'\nunlimited = true",
    ];
    let all = overrides.iter().fold(limits.to_owned(), |all, one| format!("{all}[[overrides]]\n{one}\n"));
    std::fs::write(&file, all).unwrap();
    let ended = tidegate(&["check", "--prove", &file]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let (_, proven) = ended.out.split_once("\n  Together, in one decision for one actor:\n").unwrap();
    let paragraphs: Vec<_> = proven.split("\n\n").collect();
    let begins = [
        "  \"minute\" never denies what \"hour\" admits.\n  The worst second admits 4: 4 at once.",
        "  Actors like \"team-a*\": never used, because actors like \"team-*\" come first.",
        "  Actor \"bob\": as actors without an override.",
        "  Together, in one decision for actor \"acme\":\n  \"hour\" has room for 240 at once, of which \"minute\" admits \
         12.\n  The worst second admits ",
        "  Together, in one decision for actors like \"team-*\", actor \"carol\":\n  \"minute\" never denies what \
         \"hour\" admits.\n  The worst second admits 8: 8 at once.",
        "  Together, in one decision for actor \"monitor\":\n  \"hour\" never denies.\n  \"minute\" never denies.\n",
    ];
    assert_eq!(paragraphs.len(), begins.len(), "{proven}");
    for (paragraph, begin) in paragraphs.iter().zip(begins) {
        assert!(paragraph.starts_with(begin), "{paragraph}");
    }
    assert!(!paragraphs[5].contains("worst"), "{proven}");
}
