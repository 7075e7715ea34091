//! The shared entries of a part of a table.

use super::lock::Words;
use super::locked::Shard;
use super::plan::part;
use super::shard::{Array, low_of, tag_of};
use crate::algorithm::{Entry, Rule};
use crate::fingerprint::Fingerprint;
use crate::store::memory::{CELLS, Drain, Seats, Timeline};
use crate::time::Micros;

/// The place of a cell.
fn cell_at(timeline: Timeline, cell: usize) -> usize {
    part::CELL + timeline as usize * CELLS + cell
}

impl Shard<'_> {
    /// True if the lanes have memory. Without it they must not be looked at either.
    pub(super) fn has_lanes(&self) -> bool {
        self.get(part::LANES_BACKED) != 0
    }

    fn back_lanes(&self) -> bool {
        if !self.has_lanes() && (self.back)(0, self.plan.lane_words) {
            self.set(part::LANES_BACKED, 1);
        }
        self.has_lanes()
    }
}

impl Seats for Shard<'_> {
    fn lane_of(&self, key: u64) -> Option<(usize, u64)> {
        let slot = self.has_lanes().then(|| self.search(Array::Lanes, key.max(1), None)).flatten()?;
        Some((slot, self.low(Array::Lanes, slot)))
    }

    fn drain_at(&self, lane: usize) -> Drain {
        self.drain(Array::Lanes, lane)
    }

    fn take(&mut self, lane: usize, rule: &Rule, _now: Micros, _may_lend: bool) -> Entry {
        self.entry(Array::Lanes, lane, rule)
    }

    fn put_back_at(&mut self, _lane: usize, _entry: Entry) {}

    fn replace(&mut self, lane: usize, entry: Entry, drain: Drain) {
        self.write(Array::Lanes, lane, &entry, drain);
    }

    fn insert(&mut self, fingerprint: Fingerprint, entry: Entry, drain: Drain) {
        let tag = tag_of(fingerprint);
        if let Some(slot) = self.vacancy(Array::Lanes, tag) {
            self.occupy(Array::Lanes, slot, tag, low_of(fingerprint));
            self.write(Array::Lanes, slot, &entry, drain);
        }
    }

    fn give_up(&mut self, lane: usize) {
        self.vacate(Array::Lanes, lane);
    }

    fn has_room(&self, key: u64, most: usize) -> bool {
        self.get(part::LANES) < most as u64 && self.back_lanes() && self.vacancy(Array::Lanes, key.max(1)).is_some()
    }

    fn closed(&self, timeline: Timeline, cell: usize) -> Micros {
        self.get(cell_at(timeline, cell))
    }

    fn set_closed(&mut self, timeline: Timeline, cell: usize, until: Micros) {
        self.set(cell_at(timeline, cell), until);
    }

    fn keep_given(&mut self, lives: Micros) {
        self.set(part::GIVEN_UNTIL, self.get(part::GIVEN_UNTIL).max(self.now.saturating_add(lives)));
    }
}
