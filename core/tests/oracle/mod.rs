//! A second opinion: every limit type and every call written down as plainly and slowly as they can be.
//!
//! Nothing here shares code with the engine, not even the reading of definitions. Integers are `i128`, so nothing
//! overflows; what the engine finds by formula or binary search is counted out here wherever that is bearable.
//!
//! Readings that are not obvious from a type's description:
//! - Only a charge and a refund of something write. Looking and being denied leave an entry as it was, so a clock
//!   that steps back sees it again as it was. An entry from an impossible future is mended by any call but `peek`,
//!   and then keeps all but its instants.
//! - What is empty after a call that writes is removed.
//! - The same limit twice for one actor is one check, of the sum of the costs.
//! - An admitted call answers until one more unit would fit; `peek` answers for the very call that it asks about.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "plain is better than fast here")]

mod block;
mod calendar;
mod calls;
mod decay;
mod definition;
mod held;
mod level;
mod log;
mod smooth;
mod windows;

use std::collections::{BTreeMap, HashMap};

#[allow(unused_imports, reason = "shared with several tests")]
pub(crate) use calls::{Answer, Asked, Check, Decided};
use serde_json::Value;

/// Microseconds, an instant or a duration.
pub(crate) type Time = i128;

/// The state of one rule for one actor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Level {
        level: i128,
        since: Time,
    },
    /// The instant of the latest charge of each slot, and its count.
    Slots(BTreeMap<Time, i128>),
    /// With the instant of the last write, which lies in the current window.
    Counter {
        previous: i128,
        current: i128,
        at: Time,
    },
    Log {
        instants: Vec<Time>,
        last: Option<Time>,
    },
    /// With the instant of the last write.
    Decay {
        count: f64,
        at: Time,
    },
    /// With an instant of the window that is counted.
    Calendar {
        count: i128,
        at: Time,
    },
    /// The instant at which each unit was taken.
    Held(Vec<Time>),
    Smooth {
        stored: f64,
        free: Time,
        written: Time,
    },
}

/// The parts of a limit type.
pub(crate) trait Model {
    /// The mark of an entry that does not exist.
    fn absent(&self, now: Time) -> State;
    /// An entry from an impossible future as it is mended: its instants move, or all of it goes.
    fn mended(&self, state: &State, now: Time) -> Option<State>;
    /// Lets time pass.
    fn at(&self, _state: &mut State, _now: Time) {}
    fn fits(&self, state: &State, now: Time, cost: i128) -> bool;
    fn charge(&self, state: &mut State, now: Time, cost: i128);
    fn refund(&self, state: &mut State, now: Time, cost: i128);
    /// Until `cost` fits.
    fn until(&self, state: &State, now: Time, cost: i128) -> Time;
    fn remaining(&self, state: &State, now: Time) -> i128;
    /// Until nothing is left.
    fn full(&self, state: &State, now: Time) -> Time;
    fn is_empty(&self, state: &State, now: Time) -> bool;
    /// The largest cost that is ever admitted.
    fn most(&self) -> i128;
    /// A call may be charged now and take its turn later.
    fn reserves(&self) -> bool {
        false
    }
    fn counts_blocked(&self) -> bool {
        false
    }
    /// Units are held instead of spent, so that none is charged beyond what fits.
    fn holds(&self) -> bool {
        false
    }
    /// The shape of its state: entries of different shapes have different names.
    fn name(&self) -> &'static str;
}

/// An actor, a limit's key, and what is kept.
type Name = (String, String, &'static str);

#[derive(Default)]
pub(crate) struct Oracle {
    entries: HashMap<Name, State>,
    blocks: HashMap<Name, block::Blocked>,
}

impl Oracle {
    pub(crate) fn reset(&mut self, wire: &Value, actor: &str) {
        let key = wire["key"].to_string();
        self.entries.retain(|(of, named, _), _| of != actor || *named != key);
        self.blocks.retain(|(of, named, _), _| of != actor || *named != key);
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.blocks.len()
    }
}

/// Rounded up; never negative.
pub(crate) fn up(over: i128, by: i128) -> i128 {
    if over <= 0 { 0 } else { (over + by - 1) / by }
}
