//! The block beside a limit: closed for a time after a refusal.

use serde_json::Value;

use super::calls::Asked;
use super::{Oracle, Time};

/// The fields of a definition that has a block.
pub(crate) struct Block {
    length: Time,
    growth: f64,
    longest: Time,
}

/// The instant until which it closes, and the length of that block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Blocked {
    pub(crate) until: Time,
    length: Time,
}

impl Block {
    pub(crate) fn of(wire: &Value) -> Option<Self> {
        let micros = |name: &str| wire[name].as_f64().map(|millis| ((millis * 1000.0).round() as Time).max(1));
        let length = micros("blockFor").filter(|_| wire["blockFor"] != 0)?;
        let growth = wire["blockGrowth"].as_f64().unwrap_or(1.0);
        Some(Self { length, growth, longest: micros("blockMax").unwrap_or(length) })
    }

    /// The length that still counts; only for blocks that grow.
    fn counted(&self, state: Blocked, now: Time) -> Time {
        if self.growth > 1.0 && now < state.until + state.length { state.length } else { 0 }
    }

    pub(crate) fn closed(&self, state: Blocked, now: Time) -> Blocked {
        let grown = ((self.counted(state, now) as f64 * self.growth).floor() as Time).min(self.longest);
        let length = self.length.max(grown);
        Blocked { until: now + length, length }
    }

    fn closed_for(&self, state: Blocked, now: Time, time: Time) -> Blocked {
        if time == 0 {
            Blocked::default()
        } else if now + time < state.until {
            state
        } else {
            Blocked { until: now + time, length: time.max(self.counted(state, now)) }
        }
    }

    /// Until nothing depends on it.
    pub(crate) fn full(&self, state: Blocked, now: Time) -> Time {
        (state.until + if self.growth > 1.0 { state.length } else { 0 } - now).max(0)
    }
}

impl Oracle {
    /// The block as it is at now: no further ahead than its length.
    pub(crate) fn block_at(&self, entry: &super::Name, now: Time) -> Blocked {
        let kept = self.blocks.get(entry).copied().unwrap_or_default();
        Blocked { until: kept.until.min(now + kept.length), ..kept }
    }

    /// Leaves the block as the call does, where the check `refuses` for the limit's own reasons.
    pub(crate) fn leave_block(&mut self, block: &Block, entry: &super::Name, call: Asked, now: Time, refuses: bool) {
        let before = self.block_at(entry, now);
        let after = match call {
            Asked::Peek => return,
            Asked::Block(time) => block.closed_for(before, now, time),
            _ if refuses && before.until <= now => block.closed(before, now),
            _ => before,
        };
        if after == Blocked::default() {
            self.blocks.remove(entry);
        } else {
            self.blocks.insert(entry.clone(), after);
        }
    }
}
