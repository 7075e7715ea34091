//! What the wire form of each type consists of, said once: the parser reads by it and the JSON Schema is drawn from it.

use super::Kind;
use super::bucket::{Bucket, FactorScales};
use super::decay::Decay;
use super::fixed_window::{Anchor, FixedWindow};
use super::legacy::{Legacy, Translation};
use super::number::Scope;
use super::sliding_counter::SlidingCounter;
use super::sliding_log::SlidingLog;
use super::sliding_window::SlidingWindow;
use super::smooth::Smooth;
use super::token_bucket::TokenBucket;
use crate::error::LimitError;

/// A type by its name in the wire form; a legacy limit is one without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bucket,
    TokenBucket,
    FixedWindow,
    SlidingWindow,
    SlidingCounter,
    SlidingLog,
    Decay,
    Smooth,
}

impl Type {
    pub(super) const NAMES: [(&'static str, Self); 8] = [
        ("bucket", Self::Bucket),
        ("token-bucket", Self::TokenBucket),
        ("fixed-window", Self::FixedWindow),
        ("sliding-window", Self::SlidingWindow),
        ("sliding-counter", Self::SlidingCounter),
        ("sliding-log", Self::SlidingLog),
        ("decay", Self::Decay),
        ("smooth", Self::Smooth),
    ];

    /// The name in the wire form.
    pub(super) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| *name)
    }
}

impl Kind {
    /// The type's name in the wire form; a legacy limit has none.
    pub(crate) fn type_name(&self) -> Option<&'static str> {
        let kind = match self {
            Self::Bucket(_) => Type::Bucket,
            Self::TokenBucket(_) => Type::TokenBucket,
            Self::FixedWindow(_) => Type::FixedWindow,
            Self::SlidingWindow(_) => Type::SlidingWindow,
            Self::SlidingCounter(_) => Type::SlidingCounter,
            Self::SlidingLog(_) => Type::SlidingLog,
            Self::Decay(_) => Type::Decay,
            Self::Smooth(_) => Type::Smooth,
            Self::Legacy(_) => return None,
        };
        Some(kind.name())
    }
}

/// One who goes through the fields of a type: to read them, or to write down what they are.
pub(super) trait Form {
    /// What the type is, in a sentence.
    fn about(&mut self, _about: &'static str) {}
    fn required(&mut self, field: Number) -> f64;
    fn optional(&mut self, field: Number) -> Option<f64>;
    fn number_or(&mut self, field: Number, default: f64) -> f64;
    fn flag(&mut self, name: &'static str, about: &'static str) -> bool;
    fn choice<T: Copy + Default + PartialEq>(
        &mut self,
        name: &'static str,
        about: &'static str,
        choices: &[(&'static str, T)],
    ) -> T;
    /// Neither means anything without the other; compiling refuses the one alone.
    fn go_together(&mut self, _fields: [&'static str; 2]) {}
}

/// A field that takes a number.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) bounds: Bounds,
}

/// What a number may be whatever the other fields say.
#[derive(Clone, Copy)]
pub(super) enum Bounds {
    /// How many units: at least 1, fractions round up.
    Count,
    AtLeast(f64),
    Above(f64),
}

impl Number {
    /// Compiling asks the same, but stops at the first field.
    pub(super) fn check(&self, key: &str, value: f64) -> Result<(), LimitError> {
        let scope = Scope { key, factor: 1.0 };
        match self.bounds {
            Bounds::Count => scope.count(self.name, value).map(drop),
            Bounds::AtLeast(least) => scope.at_least(self.name, value, least).map(drop),
            Bounds::Above(bound) => match scope.at_least(self.name, value, bound)? {
                value if value > bound => Ok(()),
                value => Err(LimitError::range(key, self.name, format!("must be above {bound}"), value)),
            },
        }
    }
}

const fn count(name: &'static str, about: &'static str) -> Number {
    Number { name, about, bounds: Bounds::Count }
}

const fn at_least(least: f64, name: &'static str, about: &'static str) -> Number {
    Number { name, about, bounds: Bounds::AtLeast(least) }
}

const fn above(bound: f64, name: &'static str, about: &'static str) -> Number {
    Number { name, about, bounds: Bounds::Above(bound) }
}

const PERIOD: Number = above(0.0, "period", "The span that the count is for, in milliseconds.");
const COUNT_BLOCKED: &str = "Whether denied attempts are charged too, so that only a pause helps.";
const FACTOR_SCALES: &str = "What an actor's factor scales.";

/// Goes through the fields of a type; without one, through those of a legacy limit.
pub(super) fn fill(form: &mut impl Form, kind: Option<Type>) -> Kind {
    match kind {
        Some(Type::Bucket) => bucket(form).into(),
        Some(Type::TokenBucket) => token_bucket(form).into(),
        Some(Type::FixedWindow) => fixed_window(form).into(),
        Some(Type::SlidingWindow) => sliding_window(form).into(),
        Some(Type::SlidingCounter) => sliding_counter(form).into(),
        Some(Type::SlidingLog) => sliding_log(form).into(),
        Some(Type::Decay) => decay(form).into(),
        Some(Type::Smooth) => smooth(form).into(),
        None => legacy(form).into(),
    }
}

fn bucket(form: &mut impl Form) -> Bucket {
    form.about("A leaky bucket: up to `size` at once, and `dripSize` more every `dripRate` milliseconds.");
    let plain = Bucket::new(form.required(count("size", "How many units it holds.")));
    Bucket {
        drip_rate: form.number_or(at_least(1.0, "dripRate", "How often it drips, in milliseconds."), plain.drip_rate),
        drip_size: form.number_or(count("dripSize", "How many units leave with each drip."), plain.drip_size),
        factor_scales: form.choice("factorScales", FACTOR_SCALES, &FactorScales::NAMES),
        ..plain
    }
}

fn token_bucket(form: &mut impl Form) -> TokenBucket {
    form.about("A token bucket: `count` tokens per `period` come back at an even pace, up to `burst` are saved up.");
    TokenBucket {
        count: form.required(count("count", "How many tokens come back in a period.")),
        period: form.required(PERIOD),
        burst: form.optional(count("burst", "How many tokens may be saved up; `count` unless given.")),
    }
}

fn fixed_window(form: &mut impl Form) -> FixedWindow {
    form.about("At most `max` units in each window of a `period`.");
    FixedWindow {
        max: form.required(count("max", "How many units in each window.")),
        period: form.required(PERIOD),
        anchor: form.choice(
            "anchor",
            "Where windows begin: at multiples of the period since the Unix epoch, or at an actor's first request.",
            &Anchor::NAMES,
        ),
    }
}

fn sliding_window(form: &mut impl Form) -> SlidingWindow {
    form.about("At most `max` units in a `period`, counted in slots of `resolution`.");
    SlidingWindow {
        max: form.required(count("max", "How many units in a period.")),
        period: form.required(PERIOD),
        resolution: form.required(above(0.0, "resolution", "How long a slot is, in milliseconds; at most the period.")),
        count_blocked: form.flag("countBlocked", COUNT_BLOCKED),
    }
}

fn sliding_counter(form: &mut impl Form) -> SlidingCounter {
    form.about(
        "About `max` units in a `period`: this window's count, and the last one's weighted by what is left of it.",
    );
    SlidingCounter {
        max: form.required(count("max", "About how many units in a period.")),
        period: form.required(PERIOD),
    }
}

fn sliding_log(form: &mut impl Form) -> SlidingLog {
    form.about("At most `max` units in any span of a `period`, exactly.");
    SlidingLog {
        max: form.required(count("max", "How many units in any span of a period.")),
        period: form.required(PERIOD),
        min_interval: form
            .number_or(at_least(0.0, "minInterval", "The least time between calls, in milliseconds."), 0.0),
        count_blocked: form.flag("countBlocked", COUNT_BLOCKED),
    }
}

fn decay(form: &mut impl Form) -> Decay {
    form.about("A count of at most `max` that is divided by `decayFactor` every `resolution` milliseconds.");
    Decay {
        max: form.required(count("max", "How high the count may be.")),
        decay_factor: form.required(above(1.0, "decayFactor", "What the count is divided by.")),
        resolution: form.required(above(0.0, "resolution", "How often it is divided, in milliseconds.")),
        count_blocked: form.flag("countBlocked", COUNT_BLOCKED),
    }
}

fn smooth(form: &mut impl Form) -> Smooth {
    form.about("`rate` permits per second at an even pace; with a `warmup`, a limiter that was idle starts slowly.");
    let plain = Smooth::new(form.required(above(0.0, "rate", "How many permits per second.")));
    let burst = "How long an idle limiter without a warm-up saves permits up, in milliseconds.";
    Smooth {
        max_burst: form.number_or(at_least(0.0, "maxBurst", burst), plain.max_burst),
        warmup: form.number_or(at_least(0.0, "warmup", "How long it takes to warm up, in milliseconds."), plain.warmup),
        cold_factor: form
            .number_or(at_least(1.0, "coldFactor", "How much slower than its rate it starts cold."), plain.cold_factor),
        ..plain
    }
}

fn legacy(form: &mut impl Form) -> Legacy {
    form.about("At most `max` units in a `duration`, or one per `minInterval`, or both; none of them is no limit.");
    form.go_together(["max", "duration"]);
    let interval = "The least time between two calls, in milliseconds.";
    Legacy {
        // Without a duration to be counted in, no number is too large: see what compiling says of the bucket.
        max: form.optional(at_least(1.0, "max", "How many units in a duration.")),
        duration: form.optional(at_least(
            0.0,
            "duration",
            "The span that `max` is for, in milliseconds; 0 is no limit.",
        )),
        min_interval: form.optional(at_least(0.0, "minInterval", interval)),
        factor_scales: form.choice("factorScales", FACTOR_SCALES, &FactorScales::NAMES),
        translation: form.choice(
            "translation",
            "How the fields are understood: as one bucket, with its rate rounded, or exactly as they say.",
            &Translation::NAMES,
        ),
    }
}
