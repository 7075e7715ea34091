//! The block after a refusal, which every type but the legacy one may have.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::form::{Form, at_least};
use super::number::Scope;
use super::parameters::{Field, Reads};
use super::{
    Bucket, Builder, CalendarWindow, Concurrency, Decay, FixedWindow, Kind, SlidingCounter, SlidingLog, SlidingWindow,
    Smooth, TokenBucket,
};
use crate::algorithm::{Block, Rule};
use crate::error::LimitError;
use crate::time::wire_millis;

/// The block of a limit: after a denial for the limit's own reasons it denies every call for a time, and for a longer
/// one each time that the last block is over for less than its own length.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Call, Limit, State};
///
/// // Five failures, then fifteen minutes, then thirty, at most a day.
/// let (minute, day) = (Duration::from_secs(60), Duration::from_secs(86_400));
/// let login = Limit::bucket("login", 5).drip_rate(minute);
/// let login = login.block_for(15 * minute).block_growth(2.0).block_max(day).build()?;
/// let (mut state, mut reset) = (State::default(), Duration::ZERO);
/// for _ in 0..6 {
///     let (info, after) = login.decide(state, 0, Call::Limit)?;
///     (state, reset) = (after, info.reset_after());
/// }
/// assert_eq!(reset, 15 * minute);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the wire form has them beside the fields of a type")]
pub struct Blocking {
    #[serde(skip_serializing_if = "is_zero")]
    block_for: f64,
    #[serde(skip_serializing_if = "is_one")]
    block_growth: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_max: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &f64) -> bool {
    *number <= 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(number: &f64) -> bool {
    *number <= 1.0
}

impl Blocking {
    pub(super) const NONE: Self = Self { block_for: 0.0, block_growth: 1.0, block_max: None };

    /// The time for which a refusal closes the limit; zero is none.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.block_for.read()
    }

    /// The factor by which the next block is longer, if the last one is over for less than its own length.
    #[must_use]
    pub fn growth(&self) -> f64 {
        self.block_growth
    }

    /// The longest block that growth leads to.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.block_max.unwrap_or(self.block_for).read()
    }

    pub(super) fn form(form: &mut impl Form) -> Self {
        let block_for =
            at_least(0.0, "blockFor", "Time for which a denial closes the limit; 0 = it does not.").millis();
        let growth = "Factor by which the next block is longer, if the last one is over for less than its own length.";
        let longest = "Longest block that `blockGrowth` leads to; `blockFor` unless given.";
        Self {
            block_for: form.number_or(block_for, Self::NONE.block_for),
            block_growth: form.number_or(at_least(1.0, "blockGrowth", growth), Self::NONE.block_growth),
            block_max: form.optional(at_least(0.0, "blockMax", longest).millis()),
        }
    }

    /// The rule of the block; none where the limit has no block. An actor's factor does not scale it.
    fn compile(&self, key: &str) -> Result<Option<Rule>, LimitError> {
        let scope = Scope { key, factor: 1.0 };
        let micros = |field, millis| scope.micros(field, scope.at_least(field, millis, 0.0)?);
        let length = micros("blockFor", self.block_for)?;
        let growth = scope.at_least("blockGrowth", self.block_growth, 1.0)?;
        let longest = micros("blockMax", self.block_max.unwrap_or(self.block_for))?;
        if longest < length {
            let problem = format!("must be at least the time of the first block, {}", self.block_for);
            return Err(LimitError::range(key, "blockMax", problem, self.block_max.unwrap_or_default()));
        }
        Ok((self.block_for > 0.0).then_some(Rule::Block(Block { length, growth, longest })))
    }
}

impl Field for Blocking {
    fn hash_into(&self, hasher: &mut impl Hasher) {
        let Self { block_for, block_growth, block_max } = self;
        block_for.hash_into(hasher);
        block_growth.hash_into(hasher);
        block_max.hash_into(hasher);
    }
}

impl Hash for Blocking {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.hash_into(hasher);
    }
}

impl Eq for Blocking {}

impl Reads<Self> for Blocking {
    fn read(&self) -> Self {
        *self
    }
}

/// A type of limit that may have a block.
pub trait Blocks: sealed::Sealed {}

mod sealed {
    pub trait Sealed {
        fn blocking(&mut self) -> &mut super::Blocking;
    }
}

macro_rules! blocks {
    ($($kind:ident),+ $(,)?) => {
        $(
            impl Blocks for $kind {}

            impl sealed::Sealed for $kind {
                fn blocking(&mut self) -> &mut Blocking {
                    &mut self.blocking
                }
            }
        )+

        impl Kind {
            /// The block after a refusal, with its numbers also where there is none; the legacy form has no such fields.
            #[must_use]
            pub fn blocking(&self) -> Option<&Blocking> {
                match self {
                    $(Self::$kind(definition) => Some(&definition.blocking),)+
                    Self::Legacy(_) => None,
                }
            }
        }
    };
}

blocks! {
    Bucket, TokenBucket, FixedWindow, SlidingWindow, SlidingCounter, SlidingLog, Decay, Smooth, CalendarWindow, Concurrency,
}

impl Kind {
    /// The rule of its block, if it has one.
    pub(super) fn block_rule(&self, key: &str) -> Result<Option<Rule>, LimitError> {
        self.blocking().map_or(Ok(None), |blocking| blocking.compile(key))
    }
}

impl<K: Blocks> Builder<K> {
    /// The time for which a denial for the limit's own reasons closes it; no block unless set.
    #[must_use]
    pub fn block_for(mut self, time: Duration) -> Self {
        self.kind.blocking().block_for = wire_millis(time);
        self
    }

    /// The factor by which the next block is longer, if the last one is over for less than its own length; 1 unless set.
    #[must_use]
    pub fn block_growth(mut self, factor: f64) -> Self {
        self.kind.blocking().block_growth = factor;
        self
    }

    /// The longest block that growth leads to; the first one unless set.
    #[must_use]
    pub fn block_max(mut self, time: Duration) -> Self {
        self.kind.blocking().block_max = Some(wire_millis(time));
        self
    }
}
