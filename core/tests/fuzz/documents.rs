//! Files of limits.

use proptest::prelude::*;
use tidegate::config::{Format, Limits, LimitsError};

use crate::is_sound;
use crate::mutate::{fuzz, mutated_text};

const JSON: &[&str] = &[
    r#"{ "limits": { "api": "1/s" }, "overrides": [{ "actor": "a", "limit": "api", "definition": { "type": "bucket", "size": 5 } },
        { "pattern": "*", "factor": 0.5 }, { "actor": "b", "unlimited": true }] }"#,
    r#"{
        "$schema": "limits.schema.json",
        "limits": {
            "login": { "type": "bucket", "size": 10, "dripRate": 1000, "dripSize": 2, "factorScales": "size-and-rate" },
            "api": "100/minute burst 20",
            "daily": { "type": "fixed-window", "max": 1000, "period": 86400000, "anchor": "epoch", "key": "d" }
        }
    }"#,
    r#"{ "sms": { "type": "sliding-window", "max": 5, "period": 3600000, "resolution": 600000, "countBlocked": false },
        "score": { "type": "decay", "max": 5, "decayFactor": 2.5, "resolution": 1e3, "countBlocked": true } }"#,
    r#"{ "notes/create": { "max": 300, "duration": 3600000.5, "minInterval": 1000, "translation": "exact" },
        "mailer": { "type": "smooth", "rate": 0.5, "maxBurst": 1000, "warmup": 3000, "coldFactor": 3 },
        "a \u00e9 \"name\"": { "type": "token-bucket", "count": 7, "period": 333.25, "burst": 9 } }"#,
];

const YAML: &[&str] = &[
    "api: 1/s\noverrides:\n- actor: acme\n  limit: api\n  definition: { type: bucket, size: 5 }\n- { pattern: 'a*b*', factor: 0.5 }\n",
    "limits:\n  login: &login\n    type: bucket\n    size: 10\n    dripRate: 1000\n  api: 100/minute\n  other:\n    <<: *login\n    size: 20\n",
    "# limits\n\"otp\": { type: sliding-log, max: 5, period: 60000, minInterval: 1000, countBlocked: true }\n'web': {type: sliding-counter, max: 0x10, period: 6e4}\n",
    "---\nnotes:\n  max: 300\n  duration: 3600000\n  minInterval: 0.5\ntext: |\n  5/15m\n  burst 20\n...\n",
];

const TOML: &[&str] = &[
    "api = '1/s'\n[[overrides]]\nactor = 'acme'\nunlimited = true\n[[overrides]]\npattern = '*'\nlimit = 'api'\ndefinition = '5/s'\n",
    "[limits]\napi = \"100/minute burst 20\"\nlogin = { type = \"bucket\", size = 10, dripRate = 1_000 }\n",
    "[limits.daily]\ntype = 'fixed-window'\nmax = 1000\nperiod = 8.64e7\n\n[limits.\"a.b\"]\nmax = 3\nduration = 0x10 # ms\n",
    "otp.type = \"sliding-log\"\notp.max = 5\notp.period = 60000\notp.countBlocked = true\ntext = '''\n5/15m'''\n",
];

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    ":",
    ",",
    "=",
    "\"",
    "'",
    "\\",
    "\n",
    "  ",
    "\t",
    "#",
    "- ",
    "? ",
    "---",
    "...",
    "|",
    ">",
    "&a",
    "*a",
    "*login",
    "<<",
    "!!int",
    "!!binary ",
    "%YAML 1.1",
    "~",
    "null",
    "true",
    "no",
    "0",
    "-0",
    "1",
    "1e308",
    "1e-320",
    "1e999",
    "9007199254740993",
    "18446744073709551616",
    "0o17",
    "1979-05-27T07:32:00Z",
    "nan",
    ".inf",
    "-inf",
    "limits",
    "$schema",
    "key",
    "type",
    "bucket",
    "decay",
    "max",
    "size",
    "dripRate",
    "duration",
    "1/s",
    "\u{feff}",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "\\ud800",
];

const FORMATS: [(Format, &[&str]); 3] = [(Format::Json, JSON), (Format::Yaml, YAML), (Format::Toml, TOML)];

fn errors(error: &LimitsError) -> Result<Vec<String>, TestCaseError> {
    let shown: Vec<_> = error.errors().iter().map(ToString::to_string).collect();
    prop_assert!(!shown.is_empty() && shown.iter().all(|error| !error.is_empty() && error.len() < 2000), "{:?}", shown);
    Ok(shown)
}

#[test]
fn documents() {
    for (format, seeds) in FORMATS {
        for seed in seeds {
            let limits = Limits::from_str(seed, format).unwrap_or_else(|error| panic!("{error}"));
            assert!(!limits.is_empty());
        }
        fuzz(2000, mutated_text(seeds, TOKENS), |text| {
            match (Limits::from_str(&text, format), Limits::from_str(&text, format)) {
                (Ok(limits), Ok(again)) => {
                    prop_assert_eq!(limits.names().collect::<Vec<_>>(), again.names().collect::<Vec<_>>());
                    for (_, limit) in limits.iter() {
                        is_sound(limit)?;
                    }
                }
                (Err(error), Err(again)) => prop_assert_eq!(errors(&error)?, errors(&again)?),
                _ => prop_assert!(false, "read differently the second time"),
            }
            Ok(())
        });
    }
}

/// YAML 1.2 reads whatever JSON is, unless a name is longer than 1024 characters, or a control character is in a string as
/// it is, which JSON allows of DEL and those after it.
#[test]
fn json_is_yaml() {
    fuzz(2000, mutated_text(JSON, TOKENS), |text| {
        if !text.contains(|char| ('\u{7f}'..='\u{9f}').contains(&char))
            && let Ok(limits) = Limits::from_str(&text, Format::Json)
            && limits.names().all(|name| name.len() < 500)
        {
            match Limits::from_str(&text, Format::Yaml) {
                Ok(same) => prop_assert!(limits.iter().eq(same.iter()), "{:?} {:?}", limits, same),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
        Ok(())
    });
}
