//! The most calls that limits admit together in a span, with the calls themselves.

use smallvec::SmallVec;

use super::prove::rules;
use crate::check::Check;
use crate::command::output::Failure;
use crate::command::words::{Step, calls_shown};
use crate::decision::Call;
use crate::explain::words::number;
use crate::limit::{Anchor, Kind, Rules};
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::time::Micros;

const SPANS: [(&str, Micros); 4] =
    [("second", 1_000_000), ("minute", 60_000_000), ("hour", 3_600_000_000), ("day", 86_400_000_000)];
/// More instants than this are no example of anything.
const MOST_STEPS: usize = 200_000;
/// More decisions than this take longer than anybody waits: a smooth limit lets many calls come one by one at an instant.
const MOST_LOOKS: usize = 2 * MOST_STEPS;
/// The beginning of a year, a month, a week and a day.
const BASE: Micros = 1_704_067_200_000_000;

/// A sentence for each span.
pub(super) fn sentences(checks: &[Check<'_>]) -> Result<Vec<String>, Failure> {
    let mut sentences = Vec::new();
    for (name, span) in SPANS {
        let mut worst: Option<(u64, Vec<Step>)> = None;
        for start in starts(checks, span)? {
            let Some(steps) = calls(checks, start, span)? else { continue };
            let sum = steps.iter().map(|(_, count)| count).sum();
            if worst.as_ref().is_none_or(|(most, _)| sum > *most) {
                worst = Some((sum, steps));
            }
        }
        let of_rules = |rules: Rules| rules.iter().filter_map(|rule| rule.most_in(span)).min();
        let bound = checks.iter().filter_map(rules).filter_map(of_rules).min();
        sentences.push(match worst {
            Some((sum, steps)) => {
                let at_most = match bound {
                    Some(bound) if bound > sum => {
                        format!("at least {} and at most {}", number(sum as f64), number(bound as f64))
                    }
                    _ => number(sum as f64),
                };
                format!("The worst {name} admits {at_most}: {}.", calls_shown(&steps))
            }
            None => format!("The worst {name} has too many calls to try them out."),
        });
    }
    Ok(sentences)
}

/// The instants at which the worst span may begin. Where windows have fixed ends, it is so long before one of them as
/// the calls of a window take, or as late as can be.
fn starts(checks: &[Check<'_>], span: Micros) -> Result<Vec<Micros>, Failure> {
    let periods = checks.iter().filter_map(|check| match check.limit.kind() {
        Kind::FixedWindow(window) if window.anchor == Anchor::Epoch => Some(window.period),
        Kind::SlidingCounter(counter) => Some(counter.period),
        Kind::SlidingWindow(window) => Some(window.resolution),
        Kind::Decay(decay) => Some(decay.resolution),
        Kind::CalendarWindow(_) => Some(86_400_000.0),
        _ => None,
    });
    let mut starts = vec![BASE];
    for period in periods.map(|period| micros(period).max(1)) {
        let begin = BASE.div_ceil(period).saturating_mul(period);
        let end = begin.saturating_add(period);
        let last = calls(checks, begin, span.min(period))?.and_then(|steps| steps.last().copied());
        starts.push(end - 1000.min(period));
        starts.push(end.saturating_sub((last.map_or(0, |(at, _)| at) + 1) * 1000));
    }
    Ok(starts)
}

/// All calls that are admitted from this instant on, each as early as it can be; none if there are too many.
fn calls(checks: &[Check<'_>], start: Micros, span: Micros) -> Result<Option<Vec<Step>>, Failure> {
    let limiter = Limiter::new(Memory::with_max_entries(1000));
    let apart = checks.iter().any(|check| match check.limit.kind() {
        Kind::Smooth(_) => true,
        Kind::SlidingLog(log) => log.min_interval > 0.0,
        _ => false,
    });
    let decide = |cost: u64, call: Call, now: Micros| {
        let checks: SmallVec<[Check<'_>; 4]> = checks.iter().map(|check| check.cost(cost)).collect();
        limiter.decide_sync_at(&checks, call, now).map_err(|error| Failure::Told(error.to_string()))
    };
    let (mut steps, mut now, mut looks) = (Vec::<Step>::new(), start, 0);
    while now - start < span {
        looks += 1;
        if steps.len() > MOST_STEPS || looks > MOST_LOOKS || checks.is_empty() {
            return Ok(None);
        }
        let info = decide(1, Call::Peek, now)?;
        if info.blocked {
            now += info.reset_ms.max(1) * 1000;
            continue;
        }
        // A limit that limits nothing has room for more than can be charged.
        let room = if apart { 1 } else { info.remaining.clamp(1, 1_000_000_000_000) };
        let info = decide(room, Call::Limit, now)?;
        if info.blocked || room == 1_000_000_000_000 {
            return Ok(None);
        }
        let at = (now - start) / 1000;
        match steps.last_mut() {
            Some((last, count)) if *last == at => *count += room,
            _ => steps.push((at, room)),
        }
        now += info.reset_ms * 1000;
    }
    Ok(Some(steps))
}

/// Milliseconds of a definition.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is never negative")]
fn micros(millis: f64) -> u64 {
    (millis * 1000.0) as u64
}
