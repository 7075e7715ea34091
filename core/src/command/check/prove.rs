//! Limits of one decision that the others leave nothing to deny.

use crate::algorithm::Rule;
use crate::explain::words::number;
use crate::limit::{Kind, Limit};

/// Every sentence that is certain; what is not said may hold all the same.
pub(super) fn sentences(limits: &[Limit]) -> Vec<String> {
    let mut sentences = Vec::new();
    for limit in limits {
        let rules = limit.compiled(1.0).map(|rules| rules.iter().collect::<Vec<_>>()).unwrap_or_default();
        if rules.is_empty() {
            sentences.push(format!("{:?} never denies.", limit.key()));
            continue;
        }
        let others = || limits.iter().filter(|other| other.key() != limit.key());
        // Where two have the same size, the one that comes later is the one that is not needed.
        if let Some(other) =
            others().find(|other| implies(other, limit) && !(implies(limit, other) && first(limits, limit, other)))
        {
            sentences.push(format!("{:?} never denies what {:?} admits.", limit.key(), other.key()));
            continue;
        }
        let burst = |limit: &Limit| limit.explain().allowances.iter().filter_map(|allowance| allowance.burst).min();
        let least =
            others().filter_map(|other| burst(other).map(|burst| (burst, other))).min_by_key(|(burst, _)| *burst);
        if let (Some(own), Some((least, other))) = (burst(limit), least)
            && own > least
            && has_burst(limit)
        {
            sentences.push(format!(
                "{:?} has room for {} at once, of which {:?} admits {}.",
                limit.key(),
                number(own as f64),
                other.key(),
                number(least as f64)
            ));
        }
    }
    sentences
}

/// True for what says how much may come at once: of a window that is not what it is for.
fn has_burst(limit: &Limit) -> bool {
    matches!(limit.kind(), Kind::Bucket(_) | Kind::TokenBucket(_))
}

fn first(limits: &[Limit], one: &Limit, other: &Limit) -> bool {
    let place = |limit: &Limit| limits.iter().position(|known| known.key() == limit.key());
    place(one) < place(other)
}

/// True if nothing that one limit admits can make the other deny.
fn implies(one: &Limit, other: &Limit) -> bool {
    let Some(rules) = one.compiled(1.0) else { return false };
    let most = |span: f64| rules.iter().filter_map(|rule| rule.most_in(micros(span))).min();
    // What a window counts is never older than this, and a span is half open.
    let fits = |max: f64, span: f64| most(span).is_some_and(|most| most as f64 <= max.ceil());
    // Calls that this limit denies would be counted by the other.
    if other.counts_blocked() {
        return false;
    }
    match other.kind() {
        Kind::FixedWindow(window) => fits(window.max, window.period),
        Kind::SlidingLog(log) if log.min_interval == 0.0 => fits(log.max, log.period),
        Kind::SlidingWindow(window) => fits(window.max, window.period + window.resolution),
        Kind::SlidingCounter(counter) => fits(counter.max, counter.period * 2.0),
        // A level: all that comes in any time fits into what it holds and what has left it by then.
        Kind::Bucket(_) | Kind::TokenBucket(_) => {
            let line = |rule: &Rule| Some((rule.burst()? as f64, rule.per_second()?));
            let Some((holds, drains)) = other.compiled(1.0).and_then(|rules| rules.iter().next().and_then(line)) else {
                return false;
            };
            let late = other.compiled(1.0).and_then(|rules| rules.iter().next().and_then(step));
            above(one).zip(late).is_some_and(|((at_once, pace), late)| at_once + late <= holds && pace <= drains)
        }
        _ => false,
    }
}

/// The units by which a level may be late: those that leave at one tick, and one that is rounded.
fn step(rule: &Rule) -> Option<f64> {
    Some(rule.most_in(1)?.saturating_sub(rule.burst()?) as f64 + 2.0)
}

/// A line that no count of calls is ever above: calls, and calls per second.
fn above(limit: &Limit) -> Option<(f64, f64)> {
    let window = |max: f64, period: f64| (max.ceil(), max.ceil() * 1000.0 / period);
    Some(match limit.kind() {
        Kind::FixedWindow(fixed) => {
            let (at_once, pace) = window(fixed.max, fixed.period);
            (2.0 * at_once, pace)
        }
        Kind::SlidingLog(log) => window(log.max, log.period),
        Kind::Bucket(_) | Kind::TokenBucket(_) => {
            let rule = limit.compiled(1.0)?.iter().next()?;
            (rule.burst()? as f64 + step(rule)?, rule.per_second()?)
        }
        _ => return None,
    })
}

/// Milliseconds of a definition, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is never negative")]
fn micros(millis: f64) -> u64 {
    (millis * 1000.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::sentences;
    use crate::limit::Limit;

    fn of(texts: &[&str]) -> Vec<String> {
        let limits: Vec<_> = texts.iter().map(|text| text.parse::<Limit>().expect("a limit")).collect();
        sentences(&limits)
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
