//! What a definition compiles to: the integers that a decision works with, already scaled for one actor.

use std::num::NonZeroU64;

use crate::time::{EXACT, Micros, millis_up};

/// A compiled limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// A level that drains at ticks: bucket, token-bucket and fixed-window.
    Cell(Cell),
    /// Counts in slots: sliding-window.
    Slots(Slots),
    /// Two weighted windows: sliding-counter.
    Counter(Counter),
    /// Every instant: sliding-log.
    Log(Log),
    /// A decaying count: decay.
    Decay(Decay),
    /// Paced permits: smooth.
    Smooth(Smooth),
}

/// The rules that one limit asks for: none, one, or the two of an exactly translated legacy limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rules {
    Unlimited,
    One(Rule),
    Both(Rule, Rule),
}

impl Rules {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rule> {
        let (first, second) = match self {
            Self::Unlimited => (None, None),
            Self::One(rule) => (Some(rule), None),
            Self::Both(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }
}

/// With fewer ticks to a full cell, a level's drain time tells too little of the level.
const FEW_TICKS: u64 = 16;

/// A level that drains by `drain` at each tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// How many units of cost fit into an empty cell.
    pub(crate) quota: u64,
    /// What one unit of cost weighs.
    pub(crate) unit: NonZeroU64,
    /// How long a tick is, in microseconds.
    pub(crate) tick: NonZeroU64,
    /// What leaves at each tick.
    pub(crate) drain: NonZeroU64,
    /// Ticks fall on multiples of `tick` since the epoch instead of counting from the first charge.
    pub(crate) aligned: bool,
    /// What the level may rise to: `quota * unit`.
    pub(crate) capacity: u64,
    /// How long a full cell takes to drain.
    pub(crate) window: Micros,
    /// The same, as every answer says it.
    pub(crate) window_ms: u64,
}

impl Cell {
    /// A cell whose units weigh 1 and whose ticks count from the first charge; none of the numbers may be 0.
    pub(crate) fn new(quota: u64, tick: Micros, drain: u64) -> Self {
        let cell = Self {
            quota,
            unit: NonZeroU64::MIN,
            tick: at_least_one(tick),
            drain: at_least_one(drain),
            aligned: false,
            capacity: quota,
            window: 0,
            window_ms: 0,
        };
        cell.weighing(1)
    }

    /// The same cell with units of this weight.
    pub(crate) fn weighing(self, unit: u64) -> Self {
        let unit = at_least_one(unit);
        let capacity = self.quota.saturating_mul(unit.get());
        let window = self.drain_time(capacity);
        Self { unit, capacity, window, window_ms: millis_up(window), ..self }
    }

    /// How long a full cell takes to drain, going by this level, which is not 0.
    ///
    /// Where few ticks empty a full cell, all levels take about as long. A table that compares drain times then has to
    /// take a window as so much longer as the level is lower, or one call would look like as many as fit.
    #[inline]
    pub(crate) fn window_at(&self, level: u64) -> Micros {
        // One at a time, a level drains in proportion already.
        if self.drain.get() == 1 || self.drain.get() <= self.capacity / FEW_TICKS {
            return self.window;
        }
        whole(real(self.drain_time(level)) * real(self.capacity) / real(level))
    }

    /// How long `level` takes to drain, counted in whole ticks.
    #[inline]
    pub(crate) fn drain_time(&self, level: u64) -> Micros {
        // Dividing is most of what this costs, and most limits drain one at a time, or all at once.
        let ticks = match self.drain.get() {
            1 => level,
            drain if level <= drain => u64::from(level > 0),
            drain => level.div_ceil(drain),
        };
        ticks.saturating_mul(self.tick.get())
    }
}

/// Counts in slots of `resolution`, all of which together may reach `max` within a `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) max: u64,
    pub(crate) period: Micros,
    pub(crate) resolution: NonZeroU64,
    pub(crate) counts_blocked: bool,
}

impl Slots {
    pub(crate) fn new(max: u64, period: Micros, resolution: Micros, counts_blocked: bool) -> Self {
        Self { max, period, resolution: at_least_one(resolution), counts_blocked }
    }
}

/// The counts of this window and of the one before, weighted in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) max: u64,
    pub(crate) period: NonZeroU64,
    /// How long a tick is, in microseconds, and how many of them are a period.
    pub(crate) tick: NonZeroU64,
    pub(crate) ticks: NonZeroU64,
}

impl Counter {
    pub(crate) fn new(max: u64, period: Micros, tick: Micros) -> Self {
        let (period, tick) = (at_least_one(period), at_least_one(tick));
        Self { max, period, tick, ticks: at_least_one(period.get() / tick) }
    }
}

/// Every charged instant younger than `period`, of which there may be `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) max: u64,
    pub(crate) period: Micros,
    /// 0 = none.
    pub(crate) min_interval: Micros,
    pub(crate) counts_blocked: bool,
}

/// A count that is divided by `factor` at each multiple of `resolution`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decay {
    pub(crate) max: u64,
    pub(crate) factor: f64,
    pub(crate) resolution: NonZeroU64,
    pub(crate) counts_blocked: bool,
    /// How long a full count takes to decay to nothing.
    pub(crate) window: Micros,
    /// The logarithm of `factor`, for finding a way about quickly; no decision is made by it.
    log2_factor: f64,
}

impl Decay {
    /// A count below this is nothing.
    pub(crate) const NOTHING: f64 = 1.0 / 1_048_576.0;

    pub(crate) fn new(max: u64, factor: f64, resolution: Micros, counts_blocked: bool) -> Self {
        let log2_factor = factor.log2();
        let decay = Self { max, factor, resolution: at_least_one(resolution), counts_blocked, window: 0, log2_factor };
        Self { window: decay.slots_until_nothing(real(max)).saturating_mul(resolution), ..decay }
    }

    /// What is left of a count after this many slots.
    pub(crate) fn after(&self, count: f64, slots: u64) -> f64 {
        let left = count / power(self.factor, slots);
        if left < Self::NOTHING { 0.0 } else { left }
    }

    /// [`after`](Self::after) one slot: the first power is the factor itself.
    #[inline]
    pub(crate) fn after_one(&self, count: f64) -> f64 {
        let left = count / self.factor;
        if left < Self::NOTHING { 0.0 } else { left }
    }

    /// The fewest slots, at least one, after which nothing is left of `count`, which is something.
    pub(crate) fn slots_until_nothing(&self, count: f64) -> u64 {
        let slots = (count.log2() - LOG2_NOTHING) / self.log2_factor;
        let (passed, part) = (whole(slots), slots - floor(slots));
        // Well between two slots, and few of them, neither the logarithm nor the powers can be that far off.
        if count > FAR_FROM_NOTHING && slots < FEW_SLOTS && part > PLAINLY && part < 1.0 - PLAINLY {
            return passed + 1;
        }
        self.slots_until(|left| left < Self::NOTHING, count, Self::NOTHING)
    }

    /// The fewest slots, at least one, after which what is left of `count` is low enough; `about` is how low that is.
    pub(crate) fn slots_until(&self, low_enough: impl Fn(f64) -> bool, count: f64, about: f64) -> u64 {
        let enough = |slots| low_enough(self.after(count, slots));
        // A rough logarithm says where to look; what counts is found by asking.
        let (ratio, step) = (roughly_log2(count) - roughly_log2(about.max(Self::NOTHING)), self.log2_factor);
        let mut least = whole(((ratio - LOG2_ERROR) / step).floor().max(0.0));
        let mut most = whole(((ratio + LOG2_ERROR) / step).ceil().max(1.0)).clamp(least + 1, MOST_SLOTS);
        while !enough(most) && most < MOST_SLOTS {
            (least, most) = (most, most.saturating_mul(2));
        }
        while least > 0 && enough(least) {
            (least, most) = (least / 2, least);
        }
        // Not enough at `least`, or it is 0; enough at `most`.
        while most.saturating_sub(least) > 1 {
            let middle = least.midpoint(most);
            if enough(middle) { most = middle } else { least = middle }
        }
        most
    }
}

/// The logarithm of [`Decay::NOTHING`].
const LOG2_NOTHING: f64 = -20.0;

/// With a count above this and fewer slots than that, `n` slots' power of the factor is off by less than `n` roundings,
/// which is below 2^-21 of a slot.
const FAR_FROM_NOTHING: f64 = 1.0 / 1024.0;
const FEW_SLOTS: f64 = 65_536.0;
const PLAINLY: f64 = 1.0 / 65_536.0;

/// A factor barely above 1 may never get there in the range of integers that are exact.
const MOST_SLOTS: u64 = 1 << 52;

/// Twice how far [`roughly_log2`] can be off, and a little.
const LOG2_ERROR: f64 = 0.175;

/// A double's exponent, with its fraction for what comes after the point.
fn roughly_log2(value: f64) -> f64 {
    let bits = value.to_bits();
    let fraction = real(bits & ((1 << 52) - 1)) / real(1 << 52);
    real(bits >> 52) - 1023.0 + fraction
}

/// A power by squaring: products alone, which every machine rounds alike.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
}

/// Permits that are stored while idle and paid for when taken; times in microseconds, as doubles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Smooth {
    /// Between two permits at the full rate.
    pub(crate) stable: f64,
    pub(crate) max_permits: f64,
    /// Stored permits above this are cold: each costs more than `stable`, the more the colder.
    pub(crate) threshold: f64,
    pub(crate) slope: f64,
    /// How long it takes to store one more permit.
    pub(crate) cool: f64,
    pub(crate) warms_up: bool,
    /// How long it takes to store all that can be stored.
    pub(crate) window: Micros,
}

impl Smooth {
    /// `max_burst` in milliseconds, `warmup` in microseconds.
    pub(crate) fn new(rate: f64, max_burst: f64, warmup: f64, cold_factor: f64) -> Self {
        let stable = 1_000_000.0 / rate;
        if warmup == 0.0 {
            let max_permits = max_burst / 1000.0 * rate;
            let window = whole_up(max_permits * stable);
            let threshold = max_permits;
            return Self { stable, max_permits, threshold, slope: 0.0, cool: stable, warms_up: false, window };
        }
        let cold = stable * cold_factor;
        let threshold = 0.5 * warmup / stable;
        let max_permits = threshold + 2.0 * warmup / (stable + cold);
        let slope = (cold - stable) / (max_permits - threshold);
        let cool = warmup / max_permits;
        Self { stable, max_permits, threshold, slope, cool, warms_up: true, window: whole_up(max_permits * cool) }
    }
}

fn at_least_one(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
}

/// A double that is not negative, without its fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates where it must")]
pub(crate) fn whole(value: f64) -> u64 {
    value as u64
}

/// A double that is not negative, rounded up to an integer.
pub(crate) fn whole_up(value: f64) -> u64 {
    let below = whole(value);
    below.saturating_add(u64::from(real(below) < value))
}

/// A double that is not negative, rounded down; `f64::floor` is a call where the processor may be an old one.
pub(crate) fn floor(value: f64) -> f64 {
    // From 2^53 on every double is an integer.
    if value < real(EXACT) { real(whole(value)) } else { value }
}

/// An integer below 2^53 as a double, which holds it exactly.
pub(crate) fn real(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Where the logarithm is taken at its word, the powers say the same.
        #[test]
        fn a_logarithm_that_is_certain_is_right(
            power in -15_i32..40,
            part in prop_oneof![Just(0.0), 0.0..1.0_f64],
            factor in prop_oneof![Just(2.0), Just(4.0), Just(10.0), 1.0001..1.01_f64, 1.01..20.0_f64],
        ) {
            let (decay, count) = (Decay::new(10, factor, 1_000_000, false), (1.0 + part) * f64::from(power).exp2());
            let slots = decay.slots_until_nothing(count);
            prop_assert!(decay.after(count, slots) <= 0.0);
            prop_assert!(slots == 1 || decay.after(count, slots - 1) > 0.0);
        }

        #[test]
        fn rounding_is_what_the_library_does(value in prop_oneof![0.0..10.0_f64, 0.0..1e9_f64, 0.0..1e18_f64, (0..1000_u32).prop_map(f64::from)]) {
            prop_assert_eq!(floor(value).to_bits(), value.floor().to_bits());
            prop_assert_eq!(whole_up(value), whole(value.ceil()));
        }
    }
}
