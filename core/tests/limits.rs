//! Documents of named limits: what is read from each format, and every way in which one can be wrong.
#![cfg(all(feature = "toml", feature = "yaml"))]

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tidegate::Limit;
use tidegate::config::{Format, Limits, LimitsError};

const FORMATS: [Format; 3] = [Format::Json, Format::Toml, Format::Yaml];

fn errors(text: &str, format: Format) -> Vec<String> {
    Limits::from_str(text, format).expect_err(text).errors().iter().map(ToString::to_string).collect()
}

fn the_same_document() -> [(Format, &'static str); 3] {
    [
        (
            Format::Json,
            r#"{ "$schema": "limit.schema.json#/$defs/limits", "limits": {
                "notes/create": { "max": 300, "duration": 3600000, "minInterval": 1000 },
                "api": "100/minute burst 20",
                "login": { "key": "auth", "type": "bucket", "size": 10, "dripRate": 2500.5 }
            } }"#,
        ),
        (
            Format::Toml,
            r#"
            "$schema" = "limit.schema.json#/$defs/limits"
            [limits."notes/create"]
            max = 300
            duration = 3_600_000
            minInterval = 1000
            [limits]
            api = "100/minute burst 20"
            login = { key = "auth", type = "bucket", size = 10, dripRate = 2500.5 }
            "#,
        ),
        (
            Format::Yaml,
            "
            limits:
              notes/create: &base { max: 300, duration: 3600000, minInterval: 1000 }
              api: 100/minute burst 20
              login:
                key: auth
                type: bucket
                size: 10
                dripRate: 2500.5
            ",
        ),
    ]
}

#[test]
fn the_same_limits_from_every_format_in_their_order() {
    for (format, text) in the_same_document() {
        let limits = Limits::from_str(text, format).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert_eq!(limits.names().collect::<Vec<_>>(), ["notes/create", "api", "login"], "{format:?}");
        assert_eq!((limits.len(), limits.is_empty()), (3, false));
        assert_eq!(limits["api"], Limit::parse("api", "100/minute burst 20").expect("sound"));
        let login = r#"{ "key": "auth", "type": "bucket", "size": 10, "dripRate": 2500.5 }"#;
        assert_eq!(limits["login"], Limit::from_json(login).expect("sound"));
        assert_eq!(limits["notes/create"].key(), "notes/create");
        assert!(limits.get("nobody").is_none());
        assert_eq!(limits.iter().map(|(_, limit)| limit.key()).collect::<Vec<_>>(), ["notes/create", "api", "auth"]);
    }
}

#[test]
fn names_may_stand_at_the_top() {
    for (format, text) in [
        (Format::Json, r#"{ "limits": "5/s", "api": "10/s" }"#),
        (Format::Toml, "limits = '5/s'\napi = '10/s'"),
        (Format::Yaml, "limits: 5/s\napi: 10/s"),
    ] {
        let limits = Limits::from_str(text, format).expect("sound");
        assert_eq!(limits.names().collect::<Vec<_>>(), ["limits", "api"], "a limit may be called limits too");
    }
}

#[test]
fn a_document_may_be_empty() {
    for (format, text) in [
        (Format::Json, "{}"),
        (Format::Json, r#"{ "limits": {} }"#),
        (Format::Toml, ""),
        (Format::Toml, "# nothing yet\n[limits]\n"),
        (Format::Yaml, ""),
        (Format::Yaml, "# nothing yet\n"),
        (Format::Yaml, "---\n"),
        (Format::Yaml, "limits: {}"),
    ] {
        assert!(Limits::from_str(text, format).unwrap_or_else(|error| panic!("{text:?}: {error}")).is_empty());
    }
}

/// A limit left out of a file is not a decision to limit nothing.
#[test]
fn a_definition_in_a_file_limits_something() {
    let nothing = "limits nothing: must have a type, or max and duration, or minInterval";
    for (format, text) in [
        (Format::Json, r#"{ "login": {}, "a b": { "key": "auth", "translation": "exact" } }"#),
        (Format::Toml, "[login]\n['a b']\nkey = 'auth'\ntranslation = 'exact'\n"),
        (Format::Yaml, "login: {}\na b: { key: auth, translation: exact }\n"),
    ] {
        assert_eq!(errors(text, format), [format!("login: {nothing}"), format!("\"a b\": {nothing}")]);
    }
    let said = Limits::from_str("login: { max: 5, duration: 0 }\nother: { minInterval: 0 }", Format::Yaml);
    assert_eq!(said.expect("who says 0 means it").len(), 2);
    assert_eq!(errors("login: []", Format::Yaml), ["login: must be text or a table, got an array"]);
    assert_eq!(errors("limits: []", Format::Yaml), ["limits: must be text or a table, got an array"]);
    // In code it is what it always was, and says so.
    let open = Limit::from_json(r#"{ "key": "open" }"#).expect("no limit");
    assert_eq!(open.explain().to_string(), "\"open\" (legacy) limits nothing.");
}

#[test]
fn two_names_may_not_have_one_key() {
    for (format, text) in [
        (Format::Json, r#"{ "a": { "key": "x", "type": "bucket", "size": 1 }, "x": "1/s", "b": "1/s" }"#),
        (Format::Toml, "a = { key = 'x', type = 'bucket', size = 1 }\nx = '1/s'\nb = '1/s'\n"),
        (Format::Yaml, "a: { key: x, type: bucket, size: 1 }\nx: 1/s\nb: 1/s\n"),
    ] {
        assert_eq!(errors(text, format), ["x: has the same key as a, \"x\""]);
    }
}

#[test]
fn a_text_in_a_file_is_one_limit() {
    let [error] = &errors("api: 100/minute; 10/second", Format::Yaml)[..] else { panic!("one error") };
    assert!(error.starts_with("api: limit \"api\": definition must have one limit alone"), "{error}");
}

#[test]
fn the_errors_of_a_parser_are_said_in_our_words() {
    for (text, problem) in [
        ("a: 1/s\na: 2/s\n", "duplicate name \"a\""),
        ("--- {}\n--- {}\n", "must be one document, not several"),
        ("a: *nothing\n", "the alias refers to no anchor"),
        ("a: &x [*x]", "the alias refers to what it stands in"),
        ("null: 1/s", "a name must be text"),
        ("? [1]\n: x", "a name must be text"),
        ("!!int a: b", "a name must be text"),
        ("<<: 5", "the merge key must have a table or a list of tables"),
        ("a: !!float x", "the value is not what its tag says"),
        ("a: !!str [1]", "the tag is not supported here"),
    ] {
        let error = Limits::from_str(text, Format::Yaml).expect_err(text);
        assert_eq!(error.errors()[0].message(), problem, "{text:?}");
    }
}

#[test]
fn yaml_may_build_on_what_it_has_said() {
    let text = "a: &a { type: bucket, size: 10 }\nb: *a\nc: { <<: *a, size: 20 }\n";
    let limits = Limits::from_str(text, Format::Yaml).expect("sound");
    assert_eq!(limits["b"], Limit::bucket("b", 10).build().expect("sound"));
    assert_eq!(limits["c"], Limit::bucket("c", 20).build().expect("sound"));
}

#[test]
fn every_error_at_once_with_its_path() {
    let text = r#"{ "limits": {
        "a": { "type": "bucket", "size": 0, "dripRate": "1s", "dripSize": -1, "colour": 1 },
        "b": "10/fortnight",
        "c": 5,
        "d": { "type": "leaky" },
        "e": { "max": 5 },
        "f": { "type": "token-bucket", "count": 1, "period": [1] },
        "g": { "type": "bucket", "size": 1e12, "key": "" },
        "h": { "type": "bucket", "size": 1e12 },
        "naïve": "1/s",
        "ok": "1/s",
        "i.j": { "type": "decay", "max": 5, "decayFactor": 1, "resolution": { "ms": 5 } },
        "k": { "max": 1e13, "duration": 1000 }
    } }"#;
    assert_eq!(
        errors(text, Format::Json),
        [
            r#"limits.a.dripRate: limit "a": dripRate must be a number, got "1s""#,
            r#"limits.a.colour: limit "a": colour is not a field of this type, got 1"#,
            r#"limits.a.size: limit "a": size must be at least 1, got 0"#,
            r#"limits.a.dripSize: limit "a": dripSize must be at least 1, got -1"#,
            r#"limits.b: limit "b": definition must have a unit of time (ms, s, m, h, d, w, month or year) at character 4, got "fortnight""#,
            "limits.c: must be text or a table, got 5",
            r#"limits.d.type: limit "d": type must be a known type, got "leaky""#,
            r#"limits.e: limit "e": duration must be given beside max, got 5"#,
            r#"limits.f.period: limit "f": period must be a number, got an array"#,
            r#"limits.g.key: key must not be empty, got """#,
            r#"limits.h: limit "h": dripRate must let a full entry drain within 100 years, got 1000"#,
            r#"limits."i.j".resolution: limit "i.j": resolution must be a number, got an object"#,
            r#"limits."i.j".decayFactor: limit "i.j": decayFactor must be above 1, got 1"#,
            r#"limits.k.max: limit "k": max must be at most 1000000000000, got 10000000000000"#,
        ]
    );
}

#[test]
fn an_error_knows_its_definition() {
    let error = Limits::from_str("[login]\ntype = 'bucket'\nsize = nan\n", Format::Toml).expect_err("not a number");
    let [fault] = error.errors() else { panic!("one error") };
    assert_eq!((fault.path(), fault.line(), fault.column()), ("login.size", None, None));
    let of_limit = fault.limit_error().expect("of a definition");
    assert_eq!((of_limit.key(), of_limit.field(), of_limit.value()), ("login", "size", "NaN"));
    assert_eq!(error.to_string(), format!("limits: login.size: {of_limit}"));
}

#[test]
fn a_decay_that_would_take_ages_is_refused_by_name_in_any_format() {
    for (text, format) in [
        ("a: { type: decay, max: 1, decayFactor: 1.0000000000000002, resolution: 1000 }", Format::Yaml),
        ("a: { type: decay, max: 1, decayFactor: 1.000000000000003, resolution: 1000 }", Format::Yaml),
        ("a = { type = 'decay', max = 1, decayFactor = 1.000000000000003, resolution = 1000 }", Format::Toml),
        (
            r#"{ "a": { "type": "decay", "max": 1, "decayFactor": 1.000000000000003, "resolution": 1000 } }"#,
            Format::Json,
        ),
    ] {
        let [error] = &errors(text, format)[..] else { panic!("one error of {text}") };
        assert!(error.starts_with(r#"a.decayFactor: limit "a": decayFactor must be "#), "{error}");
    }
}

#[test]
fn not_a_number_is_no_size_in_any_format() {
    assert_eq!(
        errors("a = { type = 'bucket', size = -inf }", Format::Toml),
        [r#"a.size: limit "a": size must be finite, got -inf"#,]
    );
    assert_eq!(
        errors("a: { type: bucket, size: .nan }", Format::Yaml),
        [r#"a.size: limit "a": size must be at least 1, got NaN"#,]
    );
    assert_eq!(
        errors("a = { type = 'bucket', size = 1979-05-27 }", Format::Toml),
        [r#"a.size: limit "a": size must be a number, got a date"#,]
    );
}

#[test]
fn what_comes_twice_is_refused() {
    let twice = r#"{ "a": "1/s", "a": "2/s", "b": { "type": "bucket", "size": 1, "size": 2 } }"#;
    assert_eq!(errors(twice, Format::Json), ["a: is given twice", "b.size: is given twice"]);
    for (format, text, line) in
        [(Format::Toml, "a = '1/s'\na = '2/s'\n", 2), (Format::Yaml, "a: 1/s\nb: 1/s\na: 2/s\n", 3)]
    {
        let error = Limits::from_str(text, format).expect_err("twice");
        assert_eq!(error.errors()[0].line(), Some(line), "{error}");
        assert!(error.errors()[0].message().contains("duplicate"), "{error}");
    }
}

#[test]
fn a_syntax_error_has_its_line_and_column() {
    for (format, text, line) in [
        (Format::Json, "{\n  \"a\": \"1/s\",\n  oops\n}", 3),
        (Format::Json, "{} {}", 1),
        (Format::Toml, "a = '1/s'\nb == 2\n", 2),
        (Format::Yaml, "a: 1/s\nb: [1, 2\n", 2),
        (Format::Yaml, "a: *nothing\n", 1),
    ] {
        let error = Limits::from_str(text, format).expect_err(text);
        let [fault] = error.errors() else { panic!("one error: {error}") };
        assert_eq!(fault.line(), Some(line), "{error}");
        assert!(fault.column().is_some_and(|column| column >= 1), "{error}");
        assert!(fault.limit_error().is_none() && fault.path().is_empty() && !fault.message().is_empty());
        assert!(!fault.message().contains(" at line "), "the place is said once: {error}");
        assert!(fault.to_string().starts_with(&format!("line {line}, column ")));
    }
}

#[test]
fn an_error_repeats_only_the_beginning_of_a_long_text() {
    for text in [format!("\"{}\"", "long ".repeat(1000)), format!("{{\"$schema\": true, \"{}\": 5}}", "n".repeat(5000))]
    {
        let shown = errors(&text, Format::Json).concat();
        assert!(shown.len() < 200, "{shown}");
    }
}

#[test]
fn a_document_must_be_a_table() {
    for text in ["[]", "null", "5", "true"] {
        // In YAML, null is how an empty document is read.
        for format in
            [Format::Json, Format::Yaml].into_iter().filter(|format| (*format, text) != (Format::Yaml, "null"))
        {
            let [problem] = &errors(text, format)[..] else { panic!("one error") };
            assert!(problem.starts_with("must be a table of named limits, got "), "{problem}");
        }
    }
    assert_eq!(
        errors(r#"{ "limits": {}, "api": "1/s", "x y": 1 }"#, Format::Json),
        [
            "api: stands beside limits, which must have all of them",
            "\"x y\": stands beside limits, which must have all of them",
        ]
    );
    for (schema, got) in
        [("5", "5"), ("{}", "a table"), (r#"{ "type": "bucket", "size": 1 }"#, "a table"), ("null", "null")]
    {
        let text = format!(r#"{{ "$schema": {schema}, "api": "1/s" }}"#);
        let problem = format!("$schema: must be text, the address of a schema, got {got}");
        assert_eq!(errors(&text, Format::Json), [problem.as_str()]);
        assert_eq!(errors(&text, Format::Yaml), [problem]);
    }
}

#[test]
fn a_small_file_cannot_become_a_large_one() {
    let mut bomb = "a0: &a0 { type: bucket, size: 1 }\n".to_owned();
    for level in 1..40 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        writeln!(bomb, "a{level}: &a{level} [{below}]").expect("text grows");
    }
    let started = Instant::now();
    let found = errors(&bomb, Format::Yaml);
    assert!(found[0].ends_with(": the aliases make more of the document than is read"), "{found:?}");
    assert_eq!(found.len(), 1);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn depth_and_length_have_their_bounds() {
    for (open, close, format) in [("{\"a\":", "}", Format::Json), ("[", "]", Format::Json), ("[", "]", Format::Yaml)] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert_eq!(errors(&deep, format).len(), 1);
    }
    assert_eq!(errors(&format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)), Format::Toml).len(), 1);
    assert_eq!(errors(&format!("{}a = '1/s'", "a.".repeat(100_000)), Format::Toml).len(), 1);
    for format in FORMATS {
        assert_eq!(errors(&" ".repeat((8 << 20) + 1), format), ["must be at most 8 MiB"]);
    }
    let fields: Vec<_> = (0..200_000).map(|index| format!("\"f{index}\":1")).collect();
    assert_eq!(
        errors(&format!("{{\"a\":{{{}}}}}", fields.join(",")), Format::Json),
        ["a: must have at most 64 fields"]
    );
}

#[test]
fn a_file_is_read_by_its_ending() {
    let folder = std::env::temp_dir().join(format!("tidegate-limits-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let load = |name: &str, text: &[u8]| -> Result<Limits, LimitsError> {
        let path = folder.join(name);
        fs::write(&path, text).expect("a file");
        Limits::load(path)
    };
    assert_eq!(load("a.json", b"{ \"a\": \"1/s\" }").expect("sound").len(), 1);
    assert_eq!(load("a.toml", b"\xef\xbb\xbfa = '1/s'").expect("sound").len(), 1);
    assert_eq!(load("a.yaml", b"a: 1/s").expect("sound").len(), 1);
    assert_eq!(load("a.YML", b"a: 1/s").expect("sound").len(), 1);
    let problem = |result: Result<Limits, LimitsError>| result.expect_err("unsound").to_string();
    assert!(problem(load("a.ini", b"a=1")).ends_with("a.ini: must end with .json, .toml, .yaml or .yml"));
    assert!(problem(load("b.json", b"{}\xff")).ends_with("b.json: is not UTF-8 from byte 2"));
    assert!(problem(load("c.toml", b"a = 5")).ends_with("c.toml: a: must be text or a table, got 5"));
    assert!(problem(Limits::load(folder.join("none.json"))).contains("none.json: cannot be read: "));
    fs::create_dir_all(folder.join("folder.json")).expect("a folder");
    assert!(problem(Limits::load(folder.join("folder.json"))).contains("cannot be read: "));
    fs::remove_dir_all(&folder).expect("tidied up");
}

#[test]
#[should_panic(expected = "there is no limit named \"nobody\"")]
fn an_index_that_is_not_there_says_its_name() {
    let _ = &Limits::default()["nobody"];
}

proptest! {
    #[test]
    fn no_document_makes_it_panic(text in any::<String>()) {
        for format in FORMATS {
            let _ = Limits::from_str(&text, format);
        }
    }

    #[test]
    fn no_tokens_make_it_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ":", ",", "=", "\n", "  ", "\"", "'", "a", "limits", "type", "bucket", "size", "10", "nan",
        ".inf", "&a", "*a", "<<", "- ", "---\n", "1/s", "\"a\"", "\"limits\"", "null", "!!int", "# ", "|\n",
    ]), 0..40)) {
        let text = tokens.concat();
        for format in FORMATS {
            if let Err(error) = Limits::from_str(&text, format) {
                prop_assert!(!error.errors().is_empty());
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
