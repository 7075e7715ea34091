//! Limits as text: what they mean, what is refused and where, and that no text does any harm.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tidegate::{ErrorKind, Limit};

fn token_bucket(count: u64, millis: u64, burst: Option<u64>) -> Limit {
    let builder = Limit::token_bucket("api", count, Duration::from_millis(millis));
    burst.map_or(builder.clone(), |burst| builder.burst(burst)).build().expect("a sound limit")
}

fn problem(text: &str) -> String {
    let error = Limit::parse("api", text).expect_err(text);
    assert_eq!((error.key(), error.field(), error.kind()), ("api", "definition", ErrorKind::Range), "{text:?}");
    error.to_string()
}

#[test]
fn the_usual_ways_to_write_a_rate() {
    for (text, count, millis, burst) in [
        ("100/minute", 100, 60_000, None),
        ("10 per second", 10, 1_000, None),
        ("5/15m burst 20", 5, 900_000, Some(20)),
        ("1000/day", 1_000, 86_400_000, None),
        ("5 per 15 minutes", 5, 900_000, None),
        ("1/250ms", 1, 250, None),
        ("\t 7 / 2 WEEKS  Burst9 \n", 7, 1_209_600_000, Some(9)),
        ("3PER2H", 3, 7_200_000, None),
        ("00012/01s", 12, 1_000, None),
    ] {
        assert_eq!(Limit::parse("api", text), Ok(token_bucket(count, millis, burst)), "{text:?}");
    }
}

#[test]
fn every_unit_by_all_its_names() {
    for (names, millis) in [
        (&["ms", "millisecond", "milliseconds"][..], 1),
        (&["s", "sec", "secs", "second", "seconds"], 1_000),
        (&["m", "min", "mins", "minute", "minutes"], 60_000),
        (&["h", "hour", "hours"], 3_600_000),
        (&["d", "day", "days"], 86_400_000),
        (&["w", "week", "weeks"], 604_800_000),
    ] {
        for name in names {
            assert_eq!(Limit::parse("api", &format!("1/{name}")), Ok(token_bucket(1, millis, None)), "{name}");
        }
    }
}

#[test]
fn an_error_says_what_was_expected_and_where() {
    for (text, what, position) in [
        ("", "a count", 1),
        ("   ", "a count", 4),
        ("minute", "a count", 1),
        ("-1/s", "a count", 1),
        ("0/s", "a count", 1),
        ("1000000000001/s", "a count", 1),
        ("10", "\"/\" or \"per\"", 3),
        ("10.5/s", "\"/\" or \"per\"", 3),
        ("10 persecond", "\"/\" or \"per\"", 4),
        ("10/", "a unit of time", 4),
        ("10/fortnight", "a unit of time", 4),
        ("10/0s", "a period", 4),
        ("10/15 lightyears", "a unit of time", 7),
        ("10/s, 5/m", "\"burst\" or nothing more", 5),
        ("10/s burst", "a burst", 11),
        ("10/s burst 0", "a burst", 12),
        ("10/s burst 20 now", "nothing more", 15),
        ("10/s burst20\u{0}", "nothing more", 13),
        ("１０/s", "a count", 1),
        ("10/s 🦀", "\"burst\" or nothing more", 6),
    ] {
        let problem = problem(text);
        let want = format!("limit \"api\": definition must have {what}");
        assert!(problem.starts_with(&want), "{problem} should start with {want}");
        assert!(problem.contains(&format!(" at character {position}, got ")), "{problem} should name {position}");
    }
}

#[test]
fn what_reads_well_but_cannot_be_is_refused_as_any_definition() {
    let error = Limit::parse("api", "1/5300w").expect_err("more than a century");
    assert_eq!(error.field(), "period");
    assert_eq!(Limit::parse("", "1/s").expect_err("no key").field(), "key");
    assert_eq!(Limit::parse("naïve", "1/s").expect_err("not ASCII").field(), "key");
}

#[test]
fn a_long_text_is_refused_unread() {
    let longest = format!("1/s{}", " ".repeat(253));
    assert!(Limit::parse("api", &longest).is_ok());
    assert_eq!(problem(&(longest + " ")), "limit \"api\": definition must be at most 256 bytes, got 257 bytes");
    let started = Instant::now();
    let enormous = "9".repeat(64 << 20);
    assert!(problem(&enormous).contains("67108864 bytes"));
    assert!(started.elapsed() < Duration::from_secs(5));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = Limit::parse("api", &text);
    }

    #[test]
    fn nothing_made_of_its_own_words_makes_it_panic(words in prop::collection::vec(
        prop::sample::select(vec!["1", "0", "999999999999999999999999", "/", "per", "burst", "s", "weeks", " ", "\n", "é"]),
        0..12,
    )) {
        let text = words.concat();
        if let Err(error) = Limit::parse("api", &text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn what_is_written_is_what_is_read(
        count in 1_u64..=100_000,
        multiple in prop::option::of(1_u64..=90),
        (unit, millis) in prop::sample::select(vec![("ms", 1), ("Sec", 1_000), ("MINUTES", 60_000), ("h", 3_600_000), ("day", 86_400_000)]),
        burst in prop::option::of(1_u64..=100_000),
        divided in prop::sample::select(vec!["/", " / ", " per ", "\tPer\n"]),
    ) {
        let mut text = format!("{count}{divided}");
        if let Some(multiple) = multiple {
            write!(text, "{multiple}").expect("text grows");
        }
        text.push_str(unit);
        if let Some(burst) = burst {
            write!(text, " burst {burst}").expect("text grows");
        }
        let builder = Limit::token_bucket("api", count, Duration::from_millis(multiple.unwrap_or(1) * millis));
        let want = burst.map_or(builder.clone(), |burst| builder.burst(burst)).build();
        prop_assert_eq!(Limit::parse("api", &text), want);
    }
}
