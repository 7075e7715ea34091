//! The numbers of each kind of rule: how much at once, how much in the long run, how much in a span at worst.
//!
//! A span is half open: what happens at its very end belongs to the next. Everything is counted in calls of cost 1.

use crate::info::UNLIMITED;
use crate::limit::{Counter, Decaying, LevelRule, Log, Pacing, Rule, Slots, real, whole};
use crate::time::Micros;

const SECOND: f64 = 1_000_000.0;

/// The most calls at one instant.
pub(super) fn burst(rule: &Rule) -> Option<u64> {
    match rule {
        Rule::Level(level) => Some(level.quota),
        Rule::Slots(slots) => Some(slots.max),
        Rule::Counter(counter) => Some(counter.max),
        Rule::Log(log) if log.min_interval > 0 => Some(1),
        Rule::Log(log) => Some(log.max),
        Rule::Decay(decay) => Some(decay.max),
        Rule::Smooth(pacing) => match () {
            () if apart(pacing) <= 0.0 => None,
            () if pacing.warms_up => Some(1),
            () => Some(whole(pacing.max_permits) + 1),
        },
    }
}

/// No more calls than this per second in the long run.
pub(super) fn per_second(rule: &Rule) -> Option<f64> {
    let (calls, micros) = match rule {
        Rule::Level(level) => (real(freed(level)) / real(level.ticks.get()), real(level.tick.get())),
        // What is charged in a slot counts for that many whole slots, whatever the period is beyond them.
        Rule::Slots(slots) => (real(slots.max), real(counted(slots)) * real(slots.resolution.get())),
        Rule::Counter(counter) => (real(counter.max), real(counter.period.get())),
        Rule::Log(log) if real(log.min_interval) * real(log.max) > real(log.period) => (1.0, real(log.min_interval)),
        Rule::Log(log) => (real(log.max), real(log.period)),
        Rule::Decay(decay) => (lost(decay), real(decay.resolution.get())),
        Rule::Smooth(pacing) => (1.0, pacing.stable.floor()),
    };
    (micros > 0.0).then_some(calls * SECOND / micros)
}

/// The most calls in any span this long.
pub(super) fn most_in(rule: &Rule, span: Micros) -> Option<u64> {
    let most = match rule {
        Rule::Level(level) => most_of_level(level, span),
        Rule::Slots(slots) => most_of_slots(slots, span),
        Rule::Counter(counter) => most_of_counter(counter, span),
        Rule::Log(log) => most_of_log(log, span),
        Rule::Decay(decay) => most_of_decay(decay, span),
        Rule::Smooth(pacing) => return most_of_pacing(pacing, span),
    };
    Some(exact(most))
}

/// A note on what the numbers do not show.
pub(super) fn note(rule: &Rule) -> Option<&'static str> {
    let counts_blocked = Some("Denied attempts are charged too, so that only a pause helps.");
    match rule {
        Rule::Counter(_) => {
            Some("It estimates a sliding window from two counts, as if the last window's calls had come evenly.")
        }
        Rule::Slots(slots) if slots.counts_blocked => counts_blocked,
        Rule::Log(log) if log.counts_blocked => counts_blocked,
        Rule::Decay(decay) if decay.counts_blocked => counts_blocked,
        Rule::Smooth(_) => {
            Some("A call of any cost goes when its turn has come, and the next one waits for what it took.")
        }
        _ => None,
    }
}

/// The most that a group of ticks frees: no tick can free more than an entry holds.
fn freed(level: &LevelRule) -> u64 {
    level.drain.get().min(level.quota.saturating_mul(level.ticks.get()))
}

/// A full entry, and all that ticks free.
fn most_of_level(level: &LevelRule, span: Micros) -> u128 {
    let ticks = u128::from(span.div_ceil(level.tick.get()));
    u128::from(level.quota) + u128::from(freed(level)) * ticks / u128::from(level.ticks.get())
}

/// The number of slots in a row that always count together.
fn counted(slots: &Slots) -> u64 {
    (slots.period / slots.resolution.get()).max(1)
}

/// Both hold: the slots that a span touches, so many of which never hold more than `max` together; and spans of
/// `period - resolution`, each of which never does.
fn most_of_slots(slots: &Slots, span: Micros) -> u128 {
    let touched = span.div_ceil(slots.resolution.get()) + 1;
    let by_slots = touched.div_ceil(counted(slots));
    let by_spans = match slots.period - slots.resolution.get() {
        0 => by_slots,
        sure => span.div_ceil(sure),
    };
    u128::from(slots.max) * u128::from(by_slots.min(by_spans))
}

/// With the window before full at its end, `e` into the next one there is room for `max * e / period`; further back
/// whole windows may be full. Over all ways to lay a span on windows that makes one `max` and its share of more.
fn most_of_counter(counter: &Counter, span: Micros) -> u128 {
    let max = u128::from(counter.max);
    max + max * u128::from(span) / u128::from(counter.period.get())
}

fn most_of_log(log: &Log, span: Micros) -> u128 {
    let by_count = u128::from(log.max) * u128::from(span.div_ceil(log.period));
    match log.min_interval {
        0 => by_count,
        interval => by_count.min(u128::from(span.div_ceil(interval))),
    }
}

/// The units that a slot's end takes off a full count.
fn lost(decay: &Decaying) -> f64 {
    real(decay.max) * (1.0 - 1.0 / decay.factor)
}

/// A full count, and what each slot's end takes off it; the last trace of a count goes at once.
fn most_of_decay(decay: &Decaying, span: Micros) -> u128 {
    let ends = real(span.div_ceil(decay.resolution.get()));
    u128::from(whole(real(decay.max) + ends * (lost(decay) + Decaying::NOTHING)))
}

/// The least time between calls when nothing is saved up: each part of a cost is rounded down to a microsecond, and
/// a warm-up splits a cost into up to three.
fn apart(pacing: &Pacing) -> f64 {
    pacing.stable - if pacing.warms_up { 3.0 } else { 1.0 }
}

/// The permits saved up, the call that runs into debt, and what comes back meanwhile; with a warm-up nothing that is
/// saved up is free.
fn most_of_pacing(pacing: &Pacing, span: Micros) -> Option<u64> {
    let (apart, span) = (apart(pacing), real(span));
    let most =
        if pacing.warms_up { 1.0 + span / apart } else { ((pacing.max_permits + 1.0) * pacing.stable + span) / apart };
    (apart > 0.0).then(|| exact(u128::from(whole(most))))
}

/// No more than every language holds exactly.
fn exact(most: u128) -> u64 {
    u64::try_from(most).unwrap_or(UNLIMITED).min(UNLIMITED)
}
