//! Limits of one decision that the others leave nothing to deny.

use crate::algorithm::Rule;
use crate::check::Check;
use crate::explain::words::number;
use crate::limit::{Kind, Rules};

/// Every sentence that is certain; what is not said may hold all the same.
pub(super) fn sentences(checks: &[Check<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (place, check) in checks.iter().enumerate() {
        if rules(check).is_none_or(|rules| rules.iter().next().is_none()) {
            sentences.push(format!("{:?} never denies.", check.key()));
            continue;
        }
        let others = || checks.iter().enumerate().filter(|(other, _)| *other != place);
        // Where two have the same size, the one that comes later is the one that is not needed.
        let is_enough =
            |(at, other): &(usize, &Check<'_>)| implies(other, check) && !(implies(check, other) && place < *at);
        if let Some((_, other)) = others().find(is_enough) {
            sentences.push(format!("{:?} never denies what {:?} admits.", check.key(), other.key()));
            continue;
        }
        let least =
            others().filter_map(|(_, other)| burst(other).map(|burst| (burst, other))).min_by_key(|(burst, _)| *burst);
        if let (Some(own), Some((least, other))) = (burst(check), least)
            && own > least
            && has_burst(check)
        {
            sentences.push(format!(
                "{:?} has room for {} at once, of which {:?} admits {}.",
                check.key(),
                number(own as f64),
                other.key(),
                number(least as f64)
            ));
        }
    }
    sentences
}

/// The rules of a check, whose factor is sound.
pub(super) fn rules(check: &Check<'_>) -> Option<Rules> {
    check.limit.rules(check.factor).ok()
}

fn burst(check: &Check<'_>) -> Option<u64> {
    rules(check)?.iter().filter_map(Rule::burst).min()
}

/// True for what says how much may come at once: of a window that is not what it is for.
fn has_burst(check: &Check<'_>) -> bool {
    matches!(check.limit.kind(), Kind::Bucket(_) | Kind::TokenBucket(_))
}

/// The units of a window.
fn units(check: &Check<'_>) -> Option<f64> {
    check.limit.quota(check.factor).ok().map(|quota| quota as f64)
}

/// True if nothing that one check admits can make the other deny.
fn implies(one: &Check<'_>, other: &Check<'_>) -> bool {
    let Some(rules_of_one) = rules(one) else { return false };
    let most = |span: f64| rules_of_one.iter().filter_map(|rule| rule.most_in(micros(span))).min();
    // What a window counts is never older than this, and a span is half open.
    let fits = |span: f64| most(span).zip(units(other)).is_some_and(|(most, units)| most as f64 <= units);
    // Calls that this limit denies would be counted by the other.
    if other.limit.counts_blocked() {
        return false;
    }
    match other.limit.kind() {
        Kind::FixedWindow(window) => fits(window.period),
        Kind::SlidingLog(log) if log.min_interval == 0.0 => fits(log.period),
        Kind::SlidingWindow(window) => fits(window.period + window.resolution),
        Kind::SlidingCounter(counter) => fits(counter.period * 2.0),
        // A level: all that comes in any time fits into what it holds and what has left it by then.
        Kind::Bucket(_) | Kind::TokenBucket(_) => {
            let line = |rule: &Rule| Some((rule.burst()? as f64, rule.per_second()?, step(rule)?));
            let level = rules(other).and_then(|rules| rules.iter().next().and_then(line));
            let fits = |((at_once, pace), (holds, drains, late))| at_once + late <= holds && pace <= drains;
            above(one).zip(level).is_some_and(fits)
        }
        _ => false,
    }
}

/// The units by which a level may be late: those that leave at one tick, and one that is rounded.
fn step(rule: &Rule) -> Option<f64> {
    Some(rule.most_in(1)?.saturating_sub(rule.burst()?) as f64 + 2.0)
}

/// A line that no count of calls is ever above: calls, and calls per second.
fn above(check: &Check<'_>) -> Option<(f64, f64)> {
    let window = |period: f64| units(check).map(|units| (units, units * 1000.0 / period));
    match check.limit.kind() {
        Kind::FixedWindow(fixed) => window(fixed.period).map(|(at_once, pace)| (2.0 * at_once, pace)),
        Kind::SlidingLog(log) => window(log.period),
        Kind::Bucket(_) | Kind::TokenBucket(_) => {
            let rules = rules(check)?;
            let rule = rules.iter().next()?;
            Some((rule.burst()? as f64 + step(rule)?, rule.per_second()?))
        }
        _ => None,
    }
}

/// Milliseconds of a definition, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is never negative")]
fn micros(millis: f64) -> u64 {
    (millis * 1000.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::sentences;
    use crate::check::Check;
    use crate::limit::Limit;

    fn of(texts: &[&str]) -> Vec<String> {
        let limits: Vec<_> = texts.iter().map(|text| text.parse::<Limit>().expect("a limit")).collect();
        sentences(&limits.iter().map(|limit| Check::new(limit, "")).collect::<Vec<_>>())
    }

    #[test]
    fn a_factor_scales_what_is_compared() {
        let limits = ["m: 100/minute", "s: 300/second"].map(|text| text.parse::<Limit>().expect("a limit"));
        let with = |of_minute, of_second| {
            sentences(&[Check::new(&limits[0], "").factor(of_minute), Check::new(&limits[1], "").factor(of_second)])
        };
        let second = r#""s" never denies what "m" admits."#;
        assert_eq!(with(1.0, 1.0), [second]);
        assert_eq!(with(1.0, 0.5), [second]);
        assert_eq!(with(0.1, 1.0), [r#""m" has room for 1,000 at once, of which "s" admits 300."#]);
        assert_eq!(with(1.0, 10.0), [r#""m" has room for 100 at once, of which "s" admits 30."#]);
        assert_eq!(with(0.0, 1.0), [r#""m" never denies."#]);
    }

    #[test]
    fn what_another_limit_leaves_nothing_to_is_found() {
        let second = r#""s" never denies what "m" admits."#;
        for text in [
            "s: 1000/second",
            "s: 300/second fixed-window",
            "s: 300/second sliding-log",
            "s: 300/second sliding-window",
        ] {
            assert_eq!(of(&["m: 100/minute", text]), [second], "{text}");
        }
        assert_eq!(of(&["m: 5/day sliding-log", "s: 5/hour fixed-window"]), [second]);
        assert_eq!(of(&["a: 5/hour sliding-log", "b: 5/hour sliding-log"]), [r#""b" never denies what "a" admits."#]);
        assert_eq!(of(&[r#"{"key":"a","max":5,"duration":0}"#]), [r#""a" never denies."#]);
    }

    #[test]
    fn limits_that_need_each_other_are_left_alone() {
        assert_eq!(of(&["m: 100/minute sliding-log", "s: 10/second sliding-log"]), [""; 0]);
        assert_eq!(
            of(&["m: 5/day fixed-window", "h: 5/day sliding-log"])[..],
            [r#""m" never denies what "h" admits."#]
        );
        assert_eq!(
            of(&["m: 100/minute", "s: 10/second"]),
            [r#""m" has room for 100 at once, of which "s" admits 10."#]
        );
    }
}
