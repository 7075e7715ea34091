//! A number by which rules differ.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Counter, Decay, LevelRule, Log, Rule, Slots, Smooth};

impl Rule {
    /// Half a fingerprint of all that decides how a state drains and what fits into it: equal for equal rules, and
    /// different for others. Rules are made by the program, not by its clients, so it needs no secret.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match *self {
            Self::Level(LevelRule { quota, tick, drain, ticks, aligned, .. }) => {
                (0_u8, quota, tick, drain, ticks, aligned).hash(&mut hasher);
            }
            Self::Slots(Slots { max, period, resolution, counts_blocked }) => {
                (1_u8, max, period, resolution, counts_blocked).hash(&mut hasher);
            }
            Self::Counter(Counter { max, period, tick, ticks, .. }) => {
                (2_u8, max, period, tick, ticks).hash(&mut hasher);
            }
            Self::Log(Log { max, period, min_interval, counts_blocked }) => {
                (3_u8, max, period, min_interval, counts_blocked).hash(&mut hasher);
            }
            Self::Decay(Decay { max, factor, resolution, counts_blocked, .. }) => {
                (4_u8, max, factor.to_bits(), resolution, counts_blocked).hash(&mut hasher);
            }
            Self::Smooth(Smooth { stable, max_permits, threshold, slope, cool, warms_up, .. }) => {
                let numbers = [stable, max_permits, threshold, slope, cool].map(f64::to_bits);
                (5_u8, numbers, warms_up).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}
