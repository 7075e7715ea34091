//! A part of a table that is locked: its entries, in buckets of eight.
//!
//! An entry sits in one of the two buckets that its fingerprint names, and never moves. So no change touches more than
//! one slot, a few counts and the blocks of one long entry, and the journal is short.

use std::sync::atomic::AtomicU64;

use super::lists;
use super::lock::Words;
use super::locked::Shard;
use super::plan::{REST, SLOTS, part};
use super::slots::{self, DRAIN, INLINE, LOW, NONE, NUMBERS};
use crate::algorithm::{Algorithm, Doubles, Entry, IntoEntry, Rule, Small, Stored};
use crate::fingerprint::Fingerprint;
use crate::inline_vec::InlineVec;
use crate::store::memory::{CANDIDATES, Drain, GIVEN_LIVES, Moment, SWEEP_AT_MOST, SWEEP_PER_MILLI};

/// The array that an entry is in.
#[derive(Clone, Copy)]
pub(super) enum Array {
    Own,
    Lanes,
}

/// The first number is that of the first block, and the second the count of numbers there.
const ASIDE: u64 = 1 << 63;

impl Shard<'_> {
    /// The place of an array, and its words.
    fn array(&self, array: Array) -> (usize, &[AtomicU64]) {
        match array {
            Array::Own => (part::SLOTS, self.space.slots),
            Array::Lanes => (self.plan.part_words, self.space.later),
        }
    }

    fn buckets(&self, array: Array) -> usize {
        match array {
            Array::Own => self.plan.buckets,
            Array::Lanes => self.plan.lane_buckets,
        }
    }

    fn tag_at(&self, array: Array, slot: usize) -> usize {
        self.array(array).0 + slots::tag_at(slot)
    }

    fn rest_at(&self, array: Array, slot: usize) -> usize {
        self.array(array).0 + slots::rest_at(slot)
    }

    pub(super) fn tag(&self, array: Array, slot: usize) -> u64 {
        self.get(self.tag_at(array, slot))
    }

    pub(super) fn low(&self, array: Array, slot: usize) -> u64 {
        self.get(self.rest_at(array, slot) + LOW)
    }

    pub(super) fn slots(&self, array: Array) -> usize {
        self.buckets(array) * SLOTS
    }

    /// The two buckets of a tag.
    pub(super) fn homes(&self, array: Array, tag: u64) -> [usize; 2] {
        slots::homes(self.buckets(array), tag)
    }

    /// The slot of this tag, and of this low half if one is given.
    pub(super) fn search(&self, array: Array, tag: u64, low: Option<u64>) -> Option<usize> {
        slots::search(self.array(array).1, self.buckets(array), tag, low)
    }

    /// A vacant slot for this tag, in the emptier of its buckets.
    pub(super) fn vacancy(&self, array: Array, tag: u64) -> Option<usize> {
        let vacant = |home: usize| {
            let slots = home * SLOTS..(home + 1) * SLOTS;
            slots.filter(|slot| self.tag(array, *slot) == 0)
        };
        let [first, second] = self.homes(array, tag);
        let most = if vacant(first).count() >= vacant(second).count() { first } else { second };
        vacant(most).next()
    }

    pub(super) fn drain(&self, array: Array, slot: usize) -> Drain {
        Drain::of_word(self.get(self.rest_at(array, slot) + DRAIN))
    }

    /// The numbers of an entry, in the slot or in blocks.
    fn numbers(&self, array: Array, slot: usize) -> InlineVec<f64> {
        let at = self.rest_at(array, slot) + NUMBERS;
        if let Some((first, count)) = self.list(array, slot) {
            return lists::read(self, first, count);
        }
        let words = (at..at + INLINE).map(|at| self.get(at)).take_while(|word| *word != NONE);
        words.map(f64::from_bits).collect()
    }

    /// The first block and the count of numbers of an entry that has blocks.
    pub(super) fn list(&self, array: Array, slot: usize) -> Option<(usize, usize)> {
        let at = self.rest_at(array, slot) + NUMBERS;
        let first = self.get(at);
        (first & ASIDE != 0 && first != NONE)
            .then(|| (usize::try_from(first & !ASIDE).unwrap_or(0), self.index(at + 1)))
    }

    /// The entry in a slot, of this rule's shape.
    pub(super) fn entry(&self, array: Array, slot: usize, rule: &Rule) -> Entry {
        let numbers = self.numbers(array, slot);
        if numbers.is_empty() {
            return Entry::Absent;
        }
        rule.entry_of(&mut Doubles(numbers.into_iter())).unwrap_or_default()
    }

    /// Writes an entry to its slot.
    pub(super) fn write(&self, array: Array, slot: usize, entry: &Entry, drain: Drain) {
        let mut numbers: InlineVec<f64> = InlineVec::new();
        entry.write(&mut numbers);
        let old = self.list(array, slot);
        let mut words = [NONE; INLINE];
        if numbers.len() > INLINE {
            if let Some(first) = lists::write(self, &numbers) {
                (words[0], words[1]) = (ASIDE | first as u64, numbers.len() as u64);
            } else {
                // The units of all runs count at the newest instant, which frees nobody early.
                let newest = &numbers[numbers.len() - 2..];
                words.iter_mut().zip(newest).for_each(|(word, number)| *word = number.to_bits());
                self.set(part::OVERFLOWED, self.get(part::OVERFLOWED) + 1);
            }
        } else {
            words.iter_mut().zip(numbers).for_each(|(word, number)| *word = number.to_bits());
        }
        let (start, array) = self.array(array);
        self.space.put_entry(start, array, slot, words, drain);
        if let Some((first, count)) = old {
            lists::free(self, first, count);
        }
        self.commit();
    }

    /// Takes a vacant slot, for an entry that says nothing yet.
    pub(super) fn occupy(&self, array: Array, slot: usize, tag: u64, low: u64) {
        let at = self.rest_at(array, slot);
        self.set(at + LOW, low);
        self.set(at + DRAIN, 0);
        (at + NUMBERS..at + REST).for_each(|at| self.set(at, NONE));
        self.count(array, 1);
        self.put(self.tag_at(array, slot), tag);
        self.commit();
    }

    pub(super) fn vacate(&self, array: Array, slot: usize) {
        if let Some((first, count)) = self.list(array, slot) {
            lists::free(self, first, count);
        }
        self.count(array, -1);
        self.put(self.tag_at(array, slot), 0);
        self.commit();
    }

    /// The number of entries of an array.
    pub(super) fn len(&self, array: Array) -> u64 {
        self.get(len_at(array))
    }

    fn count(&self, array: Array, more: i64) {
        self.put(len_at(array), self.len(array).wrapping_add_signed(more));
    }

    /// Drops drained entries from a stretch of the part; the longer ago the last sweep, the longer the stretch.
    #[inline]
    pub(super) fn sweep_if_due(&self) {
        if self.now >= self.get(part::SWEPT_AT) + 1000 {
            self.sweep_some();
        }
    }

    #[cold]
    fn sweep_some(&self) {
        let millis = (self.now - self.get(part::SWEPT_AT)) / 1000;
        self.set(part::SWEPT_AT, self.now);
        let most = millis.saturating_mul(SWEEP_PER_MILLI).min(SWEEP_AT_MOST);
        if self.get(part::LEN) > 0 {
            self.sweep_array(Array::Own, part::HAND, most);
        }
        if self.get(part::SHARED) == 0 {
            return;
        }
        if self.has_lanes() {
            self.sweep_array(Array::Lanes, part::LANE_HAND, most);
        }
        let closed = (part::CELL..part::SLOTS - super::super::memory::CELLS).any(|at| self.get(at) > self.now);
        if self.get(part::LANES) == 0 && self.get(part::GIVEN_UNTIL) <= self.now && !closed {
            self.set(part::SHARED, 0);
        }
    }

    fn sweep_array(&self, array: Array, hand_at: usize, most: u64) {
        let slots = self.slots(array);
        let (mut hand, given_at) = (self.index(hand_at) % slots, self.get(part::GIVEN_AT));
        for _ in 0..most.min(slots as u64) {
            if self.tag(array, hand) != 0 && self.drain(array, hand).is_disposable(self.now, given_at) {
                self.vacate(array, hand);
            }
            hand = (hand + 1) % slots;
        }
        self.set(hand_at, hand as u64);
    }

    pub(super) fn note_given(&self) {
        self.set(part::GIVEN_AT, self.get(part::GIVEN_AT).max(self.now));
        let until = self.get(part::GIVEN_UNTIL);
        if until > 0 {
            self.set(part::GIVEN_UNTIL, until.max(self.now.saturating_add(GIVEN_LIVES)));
        }
    }

    /// Drops one entry that has drained of these slots, and none of `needed`, which is sorted.
    pub(super) fn drop_one(&self, slots: impl Iterator<Item = usize>, moment: Moment, needed: &[Fingerprint]) -> bool {
        let drained = |slot: &usize| {
            let tag = self.tag(Array::Own, *slot);
            let is_needed = || {
                let is_it = |one: &Fingerprint| tag_of(*one) == tag && low_of(*one) == self.low(Array::Own, *slot);
                needed.iter().any(is_it)
            };
            tag != 0 && self.drain(Array::Own, *slot).is_empty(moment) && !is_needed()
        };
        let found = slots.into_iter().find(drained);
        if let Some(slot) = found {
            self.vacate(Array::Own, slot);
            self.set(part::EVICTIONS, self.get(part::EVICTIONS) + 1);
        }
        found.is_some()
    }

    /// Drops one of the entries that come next in turn, if one has drained.
    pub(super) fn drop_in_turn(&self, moment: Moment, needed: &[Fingerprint]) -> bool {
        let (slots, hand) = (self.slots(Array::Own), self.index(part::HAND));
        let in_turn = (0..slots).map(|step| (hand + step) % slots);
        let candidates: InlineVec<usize> =
            in_turn.filter(|slot| self.tag(Array::Own, *slot) != 0).take(CANDIDATES).collect();
        let dropped = self.drop_one(candidates.iter().copied(), moment, needed);
        if let Some(last) = candidates.last() {
            self.set(part::HAND, (*last as u64 + 1) % slots as u64);
        }
        dropped
    }

    /// Takes a slot for a new entry, if there is room.
    pub(super) fn new_slot(&self, fingerprint: Fingerprint) -> Option<usize> {
        if self.get(part::LEN) >= self.plan.own as u64 {
            return None;
        }
        let tag = tag_of(fingerprint);
        let slot = self.vacancy(Array::Own, tag)?;
        self.occupy(Array::Own, slot, tag, low_of(fingerprint));
        Some(slot)
    }

    /// Keeps an entry that a wrong clock had left in the future; this is the state as it was brought to now.
    #[cold]
    #[inline(never)]
    pub(super) fn mend_small<R: Algorithm<State: Small + Stored>>(
        &self,
        algorithm: &R,
        slot: usize,
        state: &R::State,
        moment: Moment,
    ) {
        let mended = self.space.small::<R::State>(slot).and_then(|before| algorithm.mended(&before, moment.now));
        let drain = if algorithm.is_empty(state, moment.now) {
            self.drain(Array::Own, slot)
        } else {
            Drain::new(algorithm.drains(state, moment.now), moment.timeline)
        };
        match mended.map_or(Entry::Absent, |mended| mended.into_entry(IntoEntry::into_entry)) {
            Entry::Absent => self.vacate(Array::Own, slot),
            mended => self.write(Array::Own, slot, &mended, drain),
        }
    }
}

/// The place of an array's number of entries.
fn len_at(array: Array) -> usize {
    match array {
        Array::Own => part::LEN,
        Array::Lanes => part::LANES,
    }
}

/// The high half of a fingerprint; 0 stands for a vacant slot.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the high half")]
pub(super) fn tag_of(fingerprint: Fingerprint) -> u64 {
    ((fingerprint.0 >> 64) as u64).max(1)
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the low half")]
pub(super) fn low_of(fingerprint: Fingerprint) -> u64 {
    fingerprint.0 as u64
}
