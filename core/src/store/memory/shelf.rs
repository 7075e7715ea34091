//! A locked part of a table, wherever its entries are kept: all that a decision of several checks needs of one.

use std::sync::atomic::Ordering;

use spin::MutexGuard;

use super::overflow::{BoundedTable, Overflow, Seats};
use super::table::Position;
use super::{Memory, Moment};
use crate::algorithm::{Entry, Rule};
use crate::fingerprint::Fingerprint;

/// A locked part of a table.
pub(in crate::store) trait Shelf {
    type Seats: Seats;

    fn find(&self, fingerprint: Fingerprint) -> Position;

    /// True if the entry at a place has drained by the rule that wrote it, and is only not swept away yet.
    fn is_over(&self, place: Position, moment: Moment) -> bool;

    /// True if actors without an entry may have been counted in a shared one.
    fn is_shared(&self) -> bool;

    /// The entry at a place, for this rule; it has to be [put back](Self::put_back) or kept, and is a copy unless it may
    /// be lent.
    fn take(&mut self, place: Position, rule: Option<&Rule>, moment: Moment, may_lend: bool) -> Entry;

    /// Ends the loan of an entry that stays as it was.
    fn put_back(&mut self, place: Position, entry: Entry);

    /// Keeps what a decision has left, or only what it has mended.
    fn keep(
        &mut self,
        place: Position,
        fingerprint: Fingerprint,
        entry: (Entry, Option<Box<Entry>>),
        rule: &Rule,
        moment: Moment,
    ) -> Kept;

    /// Takes room for an entry that is missing, if there is.
    fn reserve(&mut self, fingerprint: Fingerprint) -> bool;

    /// Gives back room that was taken, and is not needed.
    fn release(&mut self, fingerprint: Fingerprint);

    /// Takes room for an entry that is missing, where there is some or an entry has drained that is not among these, which
    /// are sorted.
    fn make_room(&mut self, fingerprint: Fingerprint, moment: Moment, needed: &[Fingerprint]) -> bool;

    /// The most shared entries.
    fn lanes(&self) -> usize;

    /// The shared entries, if there are any.
    fn seats(&mut self) -> Option<&mut Self::Seats>;

    fn seats_or_new(&mut self) -> &mut Self::Seats;
}

/// The fate of an entry that was to be kept.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::store) struct Kept {
    /// Others may be at other places now.
    pub(in crate::store) moved: bool,
    /// It is a new one, in the room that was taken for it.
    pub(in crate::store) inserted: bool,
}

/// A part of this process's memory.
pub(super) struct Locked<'a> {
    pub(super) memory: &'a Memory,
    pub(super) table: MutexGuard<'a, BoundedTable>,
}

impl Shelf for Locked<'_> {
    type Seats = Overflow;

    fn find(&self, fingerprint: Fingerprint) -> Position {
        self.table.find(fingerprint)
    }

    fn is_over(&self, place: Position, moment: Moment) -> bool {
        self.table.is_over(place, moment)
    }

    fn is_shared(&self) -> bool {
        self.table.is_shared()
    }

    fn take(&mut self, place: Position, rule: Option<&Rule>, moment: Moment, may_lend: bool) -> Entry {
        self.table.take(place, |entry| may_lend && rule.is_some_and(|rule| rule.may_borrow(entry, moment.now)))
    }

    fn put_back(&mut self, place: Position, entry: Entry) {
        self.table.put_back(place, entry);
    }

    fn keep(
        &mut self,
        place: Position,
        fingerprint: Fingerprint,
        entry: (Entry, Option<Box<Entry>>),
        rule: &Rule,
        moment: Moment,
    ) -> Kept {
        let before = self.table.len();
        let moved = self.memory.keep_or_mend(&mut self.table, place, fingerprint, entry, rule, moment);
        Kept { moved, inserted: self.table.len() > before }
    }

    fn reserve(&mut self, _fingerprint: Fingerprint) -> bool {
        self.memory.reserve(1)
    }

    fn release(&mut self, _fingerprint: Fingerprint) {
        self.memory.release(1);
    }

    fn make_room(&mut self, _fingerprint: Fingerprint, moment: Moment, needed: &[Fingerprint]) -> bool {
        if self.memory.reserve(1) {
            return true;
        }
        let dropped = self.table.drop_drained(moment, needed);
        self.memory.evictions.fetch_add(u64::from(dropped), Ordering::Relaxed);
        dropped
    }

    fn lanes(&self) -> usize {
        self.memory.lanes
    }

    fn seats(&mut self) -> Option<&mut Overflow> {
        self.table.overflow()
    }

    fn seats_or_new(&mut self) -> &mut Overflow {
        self.table.overflow_or_new()
    }
}

/// The locked parts of a table that a decision needs, each with its number, in order of these.
pub(in crate::store) struct Shelves<'a, T>(pub(in crate::store) &'a mut [(usize, T)]);

impl<T> Shelves<'_, T> {
    /// The index of a part that is among them.
    pub(in crate::store) fn index(&self, shard: usize) -> usize {
        self.0.iter().take_while(|(other, _)| *other < shard).count()
    }

    pub(in crate::store) fn get(&mut self, index: usize) -> &mut T {
        &mut self.0[index].1
    }
}
