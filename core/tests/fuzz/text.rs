//! Limits as text.

use proptest::prelude::*;
use tidegate::Limit;

use crate::is_sound;
use crate::mutate::{fuzz, mutated_text};

const SEEDS: &[&str] = &[
    "100/minute",
    "10 per second",
    "5/15m burst 20",
    "1000 / 2 weeks",
    "5/1h sliding-window resolution 10m",
    "3/10s fixed-window",
    "10/second; 100/minute; 1000/day",
    "7/500ms burst 9; 1/year sliding-log",
];

const TOKENS: &[&str] = &[
    "0",
    "1",
    "9007199254740992",
    "99999999999999999999",
    "1.5",
    "-1",
    "1e3",
    "/",
    "per",
    "burst",
    "resolution",
    ";",
    " ",
    "\t",
    "\n",
    "\u{a0}",
    "ms",
    "s",
    "sec",
    "minutes",
    "h",
    "days",
    "week",
    "years",
    "fixed-window",
    "sliding-window",
    "sliding-counter",
    "sliding-log",
    "bucket",
    "decay",
    "é",
];

#[test]
fn texts() {
    fuzz(6000, mutated_text(SEEDS, TOKENS), |text| {
        let one = Limit::parse("api", &text);
        let all = Limit::parse_all("api", &text);
        prop_assert_eq!(Limit::parse("api", &text.to_ascii_uppercase()).ok(), one.clone().ok());
        for limit in all.iter().flatten() {
            is_sound(limit)?;
        }
        for error in [one.err(), all.err()].into_iter().flatten() {
            let shown = error.to_string();
            prop_assert!(shown.len() < 1000 && shown.contains("api"), "{}", shown);
        }
        Ok(())
    });
}
