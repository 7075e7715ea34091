//! Limits that are tried on a log, and whom they deny.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::super::limits::Set;
use super::super::output::Failure;
use crate::check::Check;
use crate::decision::Call;
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::time::Micros;

/// More entries than any log that fits on a disk has: nothing here is to be counted together for want of room.
pub(super) const MANY: usize = 1 << 28;

/// Limits over entries of their own.
pub(super) struct Candidate {
    pub(super) set: Set,
    limiter: Limiter,
    pub(super) denied: u64,
    /// The denials that each limit decided.
    pub(super) by: Vec<u64>,
    /// The actors that were denied, by their numbers.
    pub(super) actors: HashMap<u32, Denials, ahash::RandomState>,
}

/// The denials of one actor.
pub(super) struct Denials {
    pub(super) count: u32,
    pub(super) first: Micros,
    pub(super) last: Micros,
    /// The index of the limit that decided most of them, as far as a vote in one pass can say.
    pub(super) limit: u32,
    lead: u32,
}

impl Candidate {
    pub(super) fn new(set: Set) -> Self {
        let by = vec![0; set.limits.len()];
        Self { set, limiter: Limiter::new(Memory::with_max_entries(MANY)), denied: 0, by, actors: HashMap::default() }
    }

    /// Decides a request, all limits together; true if it is denied.
    pub(super) fn decide(&mut self, number: u32, name: &str, at: Micros) -> Result<bool, Failure> {
        let checks: SmallVec<[Check<'_>; 4]> = self.set.limits.iter().map(|limit| Check::new(limit, name)).collect();
        let info = self.limiter.decide_sync_at(&checks, Call::Limit, at);
        let info = info.map_err(|error| Failure::Told(error.to_string()))?;
        if info.allowed() {
            return Ok(false);
        }
        self.denied += 1;
        let limit = info.check_index();
        if let Some(count) = self.by.get_mut(limit) {
            *count += 1;
        }
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let denials = self.actors.entry(number).or_insert(Denials { count: 0, first: at, last: at, limit, lead: 0 });
        denials.count = denials.count.saturating_add(1);
        denials.first = denials.first.min(at);
        denials.last = denials.last.max(at);
        match denials.lead {
            _ if denials.limit == limit => denials.lead += 1,
            0 => (denials.limit, denials.lead) = (limit, 1),
            _ => denials.lead -= 1,
        }
        Ok(true)
    }
}
