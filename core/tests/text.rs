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
        ("10/s Token-Bucket", 10, 1_000, None),
        ("10/s token-bucket burst 5", 10, 1_000, Some(5)),
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
        (&["month", "months"], 30 * 86_400_000),
        (&["year", "years"], 365 * 86_400_000),
    ] {
        for name in names {
            assert_eq!(Limit::parse("api", &format!("1/{name}")), Ok(token_bucket(1, millis, None)), "{name}");
        }
    }
}

#[test]
fn an_error_says_what_was_expected_and_where() {
    let end = "the end of the text";
    for (text, what, position, place) in [
        ("", "a count", 1, end),
        ("   ", "a count", 4, end),
        ("minute", "a count", 1, "\"minute\""),
        ("-1/s", "a count", 1, "\"-1/s\""),
        ("0/s", "a count", 1, "\"0/s\""),
        ("1000000000001/s", "a count", 1, "\"1000000000001/s\""),
        ("10", "\"/\" or \"per\"", 3, end),
        ("10.5/s", "\"/\" or \"per\"", 3, "\".5/s\""),
        ("10 persecond", "\"/\" or \"per\"", 4, "\"persecond\""),
        ("10/", "a unit of time", 4, end),
        ("10/fortnight", "a unit of time", 4, "\"fortnight\""),
        ("10/0s", "a period", 4, "\"0s\""),
        ("10/15 lightyears", "a unit of time", 7, "\"lightyears\""),
        ("10/s, 5/m", "\"burst\", a type (token-bucket, ", 5, "\", 5/m\""),
        ("10/s bucket", "\"burst\", a type (token-bucket, ", 6, "\"bucket\""),
        ("10/s burst", "a burst", 11, end),
        ("10/s burst 0", "a burst", 12, "\"0\""),
        ("10/s burst 20 now", "nothing more", 15, "\"now\""),
        ("10/s burst20\u{0}", "nothing more", 13, "\"\\0\""),
        ("10/s burst 20 token-bucket", "nothing more", 15, "\"token-bucket\""),
        ("10/s token-bucket 5", "\"burst\" or nothing more", 19, "\"5\""),
        ("10/s fixed-window burst 5", "nothing more", 19, "\"burst 5\""),
        ("10/s fixed-windows", "\"burst\", a type (token-bucket, ", 6, "\"fixed-windows\""),
        ("10/s sliding-window 5", "\"resolution\" or nothing more", 21, "\"5\""),
        ("10/s sliding-window resolution", "a unit of time", 31, end),
        ("100/m; 10/s", "one limit alone, with nothing more,", 6, "\"; 10/s\""),
        ("１０/s", "a count", 1, "\"１０/s\""),
        ("10/s 🦀", "\"burst\", a type (token-bucket, ", 6, "\"🦀\""),
    ] {
        let problem = problem(text);
        let want = format!("limit \"api\": definition must have {what}");
        assert!(problem.starts_with(&want), "{problem} should start with {want}");
        assert!(
            problem.ends_with(&format!(" at character {position}, got {place}")),
            "{problem} should name {position}"
        );
    }
}

#[test]
fn a_type_may_follow() {
    let hour = Duration::from_secs(3600);
    for (text, want) in [
        ("5/h fixed-window", Limit::fixed_window("api", 5, hour).build()),
        ("5 per 60 min SLIDING-WINDOW", Limit::sliding_window("api", 5, hour, Duration::from_secs(360)).build()),
        ("5/h sliding-window resolution 1m", Limit::sliding_window("api", 5, hour, Duration::from_secs(60)).build()),
        (
            "5/h sliding-window resolution minute",
            Limit::sliding_window("api", 5, hour, Duration::from_secs(60)).build(),
        ),
        ("5/h sliding-counter", Limit::sliding_counter("api", 5, hour).build()),
        ("5/h sliding-log", Limit::sliding_log("api", 5, hour).build()),
    ] {
        assert_eq!(Limit::parse("api", text), want, "{text}");
    }
    let finest = Limit::sliding_window("api", 1, Duration::from_millis(1), Duration::from_micros(100)).build();
    assert_eq!(Limit::parse("api", "1/ms sliding-window"), finest);
}

#[test]
fn a_list_has_a_key_for_each_period() {
    let limits =
        Limit::parse_all("api", " 100/minute;10 per second burst 20 ; 1000/2days fixed-window").expect("sound");
    assert_eq!(
        limits,
        [
            Limit::parse("api@1m", "100/m").expect("sound"),
            Limit::parse("api@1s", "10/s burst 20").expect("sound"),
            Limit::parse("api@2d", "1000/2d fixed-window").expect("sound"),
        ]
    );
    assert_eq!(Limit::parse_all("api", "100/minute"), Ok(vec![Limit::parse("api", "100/minute").expect("sound")]));
    let keys = Limit::parse_all("k", "1/year; 1/month; 1/week; 1/36h; 1/90s; 1/1500ms").expect("sound");
    assert_eq!(
        keys.iter().map(Limit::key).collect::<Vec<_>>(),
        ["k@365d", "k@30d", "k@1w", "k@36h", "k@90s", "k@1500ms"]
    );
}

#[test]
fn a_list_that_cannot_be_says_where() {
    for (text, what, position, place) in [
        ("", "a count", 1, "the end of the text"),
        ("10/s;", "a count", 6, "the end of the text"),
        (";10/s", "a count", 1, "\";10/s\""),
        ("10/s; ;5/m", "a count", 7, "\";5/m\""),
        ("10/s, 5/m", "\"burst\", a type (", 5, "\", 5/m\""),
        ("10/s burst 5 5/m", "\";\" or nothing more", 14, "\"5/m\""),
        ("60/m; 5/60s sliding-log", "a period that no limit before it has", 7, "\"5/60s sliding-log\""),
    ] {
        let error = Limit::parse_all("api", text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("limit \"api\": definition must have {what}")), "{error}");
        assert!(error.ends_with(&format!(" at character {position}, got {place}")), "{error}");
    }
    assert_eq!(Limit::parse_all("", "1/s").expect_err("no key").field(), "key");
    let long = vec!["1/s"; 70].join(";");
    assert!(Limit::parse_all("api", &long).expect_err("too long").to_string().contains("at most 256 bytes"));
}

#[test]
fn what_reads_well_but_cannot_be_is_refused_as_any_definition() {
    let error = Limit::parse("api", "1/5300w").expect_err("more than a century");
    assert_eq!(error.field(), "period");
    assert_eq!(Limit::parse("", "1/s").expect_err("no key").field(), "key");
    let error = Limit::parse("api", "1/s sliding-window resolution 2s").expect_err("longer than the period");
    assert_eq!(error.field(), "resolution");
    let errors = ["1/s; 1/5300w", "1/s; 1/m sliding-window resolution 2m"].map(|text| Limit::parse_all("api", text));
    assert_eq!(errors.map(|error| error.expect_err("no limit").key().to_owned()), ["api@5300w", "api@1m"]);
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

#[test]
fn a_megabyte_is_refused_in_ten_milliseconds() {
    const MEGABYTE: usize = 1 << 20;
    let forms =
        ["9", " ", "1/s;", "100/minute, ", "/", "burst ", "é", "\0", "per ", "1/s burst 1 burst 1 ", "[", "{\"a\":"];
    for form in forms {
        let text = form.repeat(MEGABYTE / form.len());
        let readers: [fn(&str) -> bool; 2] =
            [|text| Limit::parse("api", text).is_err(), |text| Limit::parse_all("api", text).is_err()];
        for is_refused in readers {
            // The shortest of a few: a busy machine may interrupt one.
            let times = (0..5).map(|_| {
                let started = Instant::now();
                assert!(is_refused(&text), "{form:?} again and again is no limit");
                started.elapsed()
            });
            let shortest = times.min().expect("a time");
            assert!(shortest < Duration::from_millis(10), "{shortest:?} for {form:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = (Limit::parse("api", &text), Limit::parse_all("api", &text));
    }

    #[test]
    fn nothing_made_of_its_own_words_makes_it_panic(words in prop::collection::vec(
        prop::sample::select(vec!["1", "0", "999999999999999999999999", "/", "per", "burst", "s", "weeks", " ", "\n", "é", ";", "1/s", "5/m", "year",
            "sliding-window", "resolution", "fixed-window", "-"]),
        0..12,
    )) {
        let text = words.concat();
        let one = Limit::parse("api", &text);
        match (&one, Limit::parse_all("api", &text)) {
            (Ok(one), all) => prop_assert_eq!(all, Ok(vec![one.clone()])),
            (Err(_), Ok(all)) => prop_assert!(all.len() > 1 && text.contains(';')),
            (Err(one), Err(all)) => prop_assert!(!one.to_string().is_empty() && !all.to_string().is_empty()),
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
