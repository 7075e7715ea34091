//! Overrides in documents: the first that concerns a limit and an actor holds; every mistake has its path.
#![cfg(all(feature = "toml", feature = "yaml"))]

use tidegate::config::{Format, Limits, LimitsError};
use tidegate::{Call, Limit, Limiter, Memory};

fn read(text: &str) -> Limits {
    Limits::from_str(text, Format::Toml).unwrap_or_else(|error| panic!("{error}"))
}

fn errors(text: &str, format: Format) -> Vec<String> {
    let error: LimitsError = Limits::from_str(text, format).expect_err(text);
    error.errors().iter().map(ToString::to_string).collect()
}

/// The units that are left to an actor after one call.
fn remaining(limiter: &Limiter, limits: &Limits, name: &str, actor: &str) -> u64 {
    let check = limits.check(name, actor).expect("a limit of this name");
    limiter.decide_sync(&[check], Call::Limit).expect("decided").remaining
}

const DOCUMENT: &str = r#"
    [limits]
    api = "100/minute"
    login = { type = "bucket", size = 10 }

    [[overrides]]
    actor = "acme"
    limit = "api"
    definition = "5000/minute"

    [[overrides]]
    pattern = "acme*"
    factor = 0.5

    [[overrides]]
    actor = "acme-2"
    limit = "api"
    factor = 2

    [[overrides]]
    actor = "monitor"
    unlimited = true

    [[overrides]]
    actor = "eve"
    limit = "login"
    definition = { type = "sliding-log", max = 3, period = 60000 }
"#;

#[test]
fn the_first_that_concerns_the_limit_and_the_actor_holds() {
    let (limits, limiter) = (read(DOCUMENT), Limiter::new(Memory::new()));
    for (name, actor, expected) in [
        ("api", "ada", 99),
        ("login", "ada", 9),
        ("api", "acme", 4999),
        ("login", "acme", 19),
        ("api", "acme-2", 199),
        ("api", "acme-3", 199),
        ("login", "eve", 2),
        ("api", "eve", 99),
    ] {
        assert_eq!(remaining(&limiter, &limits, name, actor), expected, "{name} {actor}");
    }
    for _ in 0..200 {
        let checks: Vec<_> = limits.checks("monitor").collect();
        assert!(!limiter.decide_sync(&checks, Call::Limit).expect("decided").blocked);
    }
    assert!(limits.check("nobody", "ada").is_none());
    assert_eq!(limits.overriding("api", "acme"), Some((0, 1.0)));
    assert_eq!(limits.overriding("api", "ada"), None);
}

#[test]
fn an_actor_before_a_pattern_is_found_first_and_one_after_it_never() {
    let before = "a = '10/s'\n[[overrides]]\nactor = 'x'\nfactor = 2\n[[overrides]]\npattern = '*'\nfactor = 0.5\n";
    assert_eq!(read(before).overriding("a", "x"), Some((0, 2.0)));
    assert_eq!(read(before).overriding("a", "y"), Some((1, 0.5)));
    let after = "a = '10/s'\n[[overrides]]\npattern = '*'\nfactor = 0.5\n[[overrides]]\nactor = 'x'\nfactor = 2\n";
    assert_eq!(read(after).overriding("a", "x"), Some((0, 0.5)));
}

#[test]
fn every_format_has_them_at_the_top_and_beside_limits() {
    let json = r#"{ "api": "10/s", "overrides": [{ "actor": "x", "factor": 2 }] }"#;
    let yaml = "limits: { api: 10/s }\noverrides:\n  - actor: x\n    factor: 2\n";
    let toml = "api = '10/s'\noverrides = [{ actor = 'x', factor = 2 }]";
    for (text, format) in [(json, Format::Json), (yaml, Format::Yaml), (toml, Format::Toml)] {
        let limits = Limits::from_str(text, format).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(limits.overriding("api", "x"), Some((0, 2.0)), "{format:?}");
    }
    let called_so = Limits::from_str("overrides: 5/s\napi: 1/s\n", Format::Yaml).expect("a limit may be called so");
    assert_eq!(called_so.names().collect::<Vec<_>>(), ["overrides", "api"]);
}

#[test]
fn a_definition_keeps_the_key_and_so_the_entry_of_its_limit() {
    let before = read("login = { key = 'auth', type = 'bucket', size = 10 }");
    let after = read(
        "login = { key = 'auth', type = 'bucket', size = 10 }\n\
         [[overrides]]\nactor = 'ada'\nlimit = 'login'\ndefinition = { type = 'bucket', size = 100 }\n",
    );
    let limiter = Limiter::new(Memory::new());
    assert_eq!(remaining(&limiter, &before, "login", "ada"), 9);
    assert_eq!(remaining(&limiter, &after, "login", "ada"), 98);
    assert_eq!(after.overrides()[0].definition().map(Limit::key), Some("auth"));
}

#[test]
fn every_mistake_has_its_path() {
    let text = r#"
        [limits]
        api = "100/minute"
        jobs = { type = "concurrency", max = 3, lease = 60000 }
        overrides = [
            { actor = "a" },
            { actor = "a", pattern = "b*", factor = 1 },
            { factor = 1 },
            { pattern = "plain", factor = 1 },
            { actor = 5, factor = 1 },
            { actor = "a", limit = "nobody", factor = 1 },
            { actor = "a", factor = -1 },
            { actor = "a", factor = "2" },
            { actor = "a", factor = 0.00001 },
            { actor = "a", unlimited = false },
            { actor = "a", definition = "1/s" },
            { actor = "a", limit = "api", definition = "1/fortnight" },
            { actor = "a", limit = "api", definition = { type = "bucket", size = 0, color = 1 } },
            { actor = "a", limit = "api", definition = { key = "x", type = "bucket", size = 1 } },
            { actor = "a", limit = "jobs", definition = "1/s" },
            { actor = "a", limit = "api", definition = {} },
            { actor = "a", colour = 1, factor = 1 },
            "a",
        ]
    "#;
    // At the top, not a limit of that name.
    let text =
        text.replace("[limits]", "").replace("jobs = ", "limits.jobs = ").replace("api = \"100", "limits.api = \"100");
    let found = errors(&text, Format::Toml);
    let expected = [
        "overrides[0]: must have one of factor, definition, unlimited, got 0",
        "overrides[1]: must have one of actor, pattern, got 2",
        "overrides[2]: must have one of actor, pattern, got 0",
        "overrides[3].pattern: must have a *, got \"plain\"; a single one is an actor",
        "overrides[4].actor: must be text, got 5",
        "overrides[5].limit: must be the name of a limit, got \"nobody\"",
        "overrides[6].factor: must be at least 0 and finite, got -1",
        "overrides[7].factor: must be a number, got \"2\"",
        "overrides[8].factor: limit \"jobs\": ",
        "overrides[9].unlimited: must be true, got false",
        "overrides[10].limit: must be given: the limit that the definition replaces",
        "overrides[11].definition: limit \"api\": ",
        "overrides[12].definition.color: ",
        "overrides[12].definition.size: ",
        "overrides[13].definition.key: must not be given: it is the limit's",
        "overrides[14].definition: must be of type concurrency, as the limit",
        "overrides[15].definition: limits nothing",
        "overrides[16].colour: is not a field, which are: actor, pattern, limit, factor, definition, unlimited",
        "overrides[17]: must be a table, got \"a\"",
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}, not {expected}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn an_override_that_another_hides_is_a_mistake_and_so_are_too_many() {
    let twice = "a = '1/s'\noverrides = [{ actor = 'x', factor = 1 }, { actor = 'x', limit = 'a', factor = 2 }]";
    assert_eq!(errors(twice, Format::Toml), ["overrides[1]: is never used: overrides[0] has the same actor"]);
    let behind = twice.replace("[{", "[{ actor = 'y' }, {");
    assert_eq!(
        errors(&behind, Format::Toml)[1..],
        ["overrides[2]: is never used: overrides[1] has the same actor"],
        "a wrong one before them counts as well"
    );
    let entry = |field: &str, number: usize| format!("{{ \"{field}\": \"*{number}\", \"factor\": 1 }}");
    let many = |field: &str, count: usize| {
        let each: Vec<_> = (0..count).map(|number| entry(field, number)).collect();
        format!("{{ \"a\": \"1/s\", \"overrides\": [{}] }}", each.join(","))
    };
    assert_eq!(errors(&many("actor", 10_001), Format::Json), ["overrides: must be at most 10000"]);
    assert_eq!(Limits::from_str(&many("actor", 10_000), Format::Json).expect("sound").overrides().len(), 10_000);
    assert_eq!(
        errors(&many("pattern", 257), Format::Json),
        ["overrides[256].pattern: must be one of at most 256 patterns"]
    );
}

#[test]
fn beside_wrong_limits_overrides_are_read_too() {
    let text = "a = '1/fortnight'\nb = '1/s'\noverrides = [{ actor = 'x', limit = 'a', factor = 2 }, { actor = 'x', limit = 'c', factor = 2 }]";
    let found = errors(text, Format::Toml);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("overrides[1].limit: "), "{found:?}");
}

#[test]
fn a_document_is_written_as_it_was_read() {
    let limits = read(DOCUMENT);
    let again = Limits::from_str(&limits.to_json(), Format::Json).expect("sound");
    assert_eq!(again.to_json(), limits.to_json());
    assert_eq!(again.overriding("login", "eve"), Some((4, 1.0)));
    assert!(
        limits.to_json().contains(r#""overrides":[{"actor":"acme","limit":"api","definition":{"type":"token-bucket""#)
    );
    assert!(limits.to_json().contains(r#"{"actor":"monitor","unlimited":true}"#));
}
