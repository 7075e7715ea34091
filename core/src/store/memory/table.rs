//! Part of the entries: an array sorted by fingerprint, with gaps.
//!
//! An entry's home is the cache line into which its fingerprint falls when fingerprints are spread evenly over the array;
//! it sits there or a few places further on. So a look-up costs one cache miss, growing is one pass from left to right,
//! and no order of insertions or removals leaves anything behind.

use std::mem::{self, offset_of};

use super::moment::{Moment, Timeline};
use super::slot::{CACHE_LINE, Drain, Kept, Slot};
use crate::algorithm::{Entry, IntoEntry, Small};
use crate::fingerprint::Fingerprint;
use crate::time::Micros;

/// Of six slots at most five are taken, and an eighth more are made at once. A fuller table stays in the cache: with
/// steps of a quarter and four of five, a call among 100,000 keys took up to half as long again.
const MOST_TAKEN: (usize, usize) = (5, 6);
const GROWS_BY: usize = 8;
const FEWEST: usize = 16;
/// The slots of a cache line, where homes begin. If they began anywhere, a call among 100,000 keys would take 8 % longer.
const OF_A_LINE: usize = CACHE_LINE / size_of::<Slot>();
/// Places after the last home, for the entries that are pushed past it.
const TAIL: usize = 64;

/// The slots that a sweep looks at per millisecond since the last, and at most.
pub(in crate::store) const SWEEP_PER_MILLI: u64 = 16;
pub(in crate::store) const SWEEP_AT_MOST: u64 = 2048;

/// The entries that are looked at to find one that has drained.
pub(in crate::store) const CANDIDATES: usize = 64;

/// The fields that all calls need first, in one cache line with the lock: in two, two threads took a twentieth longer.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Table<B = ()> {
    slots: Box<[Slot]>,
    /// The slots over which fingerprints are spread, a whole number of cache lines, and the first of them.
    spread: usize,
    first: usize,
    swept_at: Micros,
    /// The calls that were admitted and denied here, counted where the lock is held anyway.
    counts: [u64; 2],
    len: usize,
    /// The place at which sweeping and the choice of candidates go on.
    hand: usize,
    /// The parts that most tables never need, out of the way of what they always do.
    rare: Option<Box<Rare<B>>>,
}

const _: () = assert!(offset_of!(Table, len) + size_of::<u64>() <= CACHE_LINE, "no room for the lock");

#[derive(Debug, Default)]
struct Rare<B> {
    /// The instant of the last call with a caller's clock, by our clock.
    given_at: Micros,
    /// The entries that do not fit into a slot, and the places among them that are free.
    aside: Vec<Entry>,
    free: Vec<usize>,
    /// The shared entries of actors that found no place while the table was full.
    overflow: Option<Box<B>>,
}

/// The place of a fingerprint, or the one that it would have.
pub(in crate::store) type Position = Result<usize, usize>;

/// Shared entries beside a table.
pub(super) trait Beside: Default {
    /// Drops what has drained; true if nothing is left.
    fn sweep(&mut self, now: Micros) -> bool;

    /// Notes a call with a caller's clock.
    fn note_given(&mut self, real_now: Micros);
}

/// No shared entries.
impl Beside for () {
    fn sweep(&mut self, _now: Micros) -> bool {
        true
    }

    fn note_given(&mut self, _real_now: Micros) {}
}

impl<B: Beside> Table<B> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn count(&mut self, admitted: bool) {
        self.counts[usize::from(!admitted)] += 1;
    }

    /// The calls that were admitted and denied here.
    #[cfg(feature = "remote")]
    pub(super) fn counts(&self) -> [u64; 2] {
        self.counts
    }

    /// Removes every entry, and returns their number; the counts stay.
    #[cfg(feature = "remote")]
    pub(super) fn clear(&mut self) -> usize {
        let empty = Self { counts: self.counts, ..Self::default() };
        mem::replace(self, empty).len()
    }

    #[inline]
    pub(super) fn find(&self, fingerprint: Fingerprint) -> Position {
        let mut at = self.home(fingerprint.0);
        while let Some(slot) = self.slots.get(at) {
            if slot.fingerprint >= fingerprint.0 {
                return if slot.fingerprint == fingerprint.0 { Ok(at) } else { Err(at) };
            }
            at += 1;
        }
        Err(at)
    }

    /// The fingerprint at a place, if anything is there.
    pub(super) fn fingerprint(&self, at: usize) -> Option<u128> {
        self.slots.get(at).filter(|slot| !slot.is_vacant()).map(|slot| slot.fingerprint)
    }

    pub(super) fn drain_at(&self, at: usize) -> Drain {
        self.slots[at].drain()
    }

    /// True if the entry at a place has drained by the rule that wrote it, and is only not swept away yet: whatever another
    /// rule makes of it, it keeps nobody out any more. By a caller's clock that is not known.
    pub(super) fn is_over(&self, place: Position, moment: Moment) -> bool {
        let Ok(drain) = place.map(|at| self.slots[at].drain()) else { return false };
        moment.timeline == Timeline::Real && drain.is_empty(moment)
    }

    /// True if actors without an entry may have been counted in a shared one.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.overflow.is_some())
    }

    pub(super) fn overflow(&mut self) -> Option<&mut B> {
        self.rare.as_mut()?.overflow.as_deref_mut()
    }

    pub(super) fn overflow_or_new(&mut self) -> &mut B {
        self.rare.get_or_insert_default().overflow.get_or_insert_default()
    }

    /// The state at a place, if there is one of this kind.
    #[inline]
    pub(super) fn read<S: Small>(&self, place: Position) -> Option<S> {
        match self.slots[place.ok()?].kept() {
            Kept::Here(level) => S::of(&Entry::Level(level)),
            Kept::Aside(index) => S::of(&self.rare.as_ref()?.aside[index]),
        }
    }

    /// The entry at a place: a copy, or where it may be lent, itself, which has to be [put back](Self::put_back) or
    /// replaced.
    #[inline]
    pub(super) fn take(&mut self, place: Position, may_lend: impl FnOnce(&Entry) -> bool) -> Entry {
        match place.map(|at| self.slots[at].kept()) {
            Err(_) => Entry::Absent,
            Ok(Kept::Here(level)) => Entry::Level(level),
            Ok(Kept::Aside(index)) => match self.rare.as_mut().map(|rare| &mut rare.aside[index]) {
                Some(entry) if may_lend(entry) => mem::take(entry),
                Some(entry) => entry.clone(),
                None => Entry::Absent,
            },
        }
    }

    /// Ends the loan of an entry that need not be kept as it is now: a copy is dropped, and what was lent goes back,
    /// which time alone does not change.
    #[inline]
    pub(super) fn put_back(&mut self, place: Position, entry: Entry) {
        if let Ok(at) = place
            && let (Kept::Aside(index), Some(rare)) = (self.slots[at].kept(), self.rare.as_mut())
            && rare.aside[index] == Entry::Absent
        {
            rare.aside[index] = entry;
        }
    }

    /// Keeps an entry in the slot where it was.
    #[expect(clippy::inline_always, reason = "what kind of entry it is, is known where it is called")]
    #[inline(always)]
    pub(super) fn replace(&mut self, at: usize, entry: impl IntoEntry, drain: Drain) {
        let slot = &mut self.slots[at];
        // The kind of state is part of the fingerprint, so the new one goes where the old one was.
        match slot.kept() {
            Kept::Here(_) => {
                if let Entry::Level(level) = entry.into_entry() {
                    slot.keep(&Kept::Here(level), drain);
                }
            }
            kept @ Kept::Aside(index) => {
                slot.keep(&kept, drain);
                if let Some(rare) = self.rare.as_mut() {
                    entry.write_over(&mut rare.aside[index]);
                }
            }
        }
    }

    #[inline]
    fn place_state(&mut self, entry: Entry) -> Kept {
        if let Entry::Level(level) = entry {
            return Kept::Here(level);
        }
        let rare = self.rare.get_or_insert_default();
        let index = rare.free.pop().unwrap_or(rare.aside.len());
        match rare.aside.get_mut(index) {
            Some(place) => *place = entry,
            None => rare.aside.push(entry),
        }
        Kept::Aside(index)
    }

    /// Frees what a slot keeps at the side.
    fn release(&mut self, at: usize) {
        if let (Kept::Aside(index), Some(rare)) = (self.slots[at].kept(), self.rare.as_mut()) {
            rare.aside[index] = Entry::Absent;
            rare.free.push(index);
        }
    }

    /// Keeps an entry that has no slot yet.
    pub(super) fn insert(&mut self, fingerprint: Fingerprint, entry: Entry, drain: Drain) {
        if self.len * MOST_TAKEN.1 >= self.spread * MOST_TAKEN.0 {
            self.grow();
        }
        let kept = self.place_state(entry);
        loop {
            let (Ok(at) | Err(at)) = self.find(fingerprint);
            if let Some(gap) = self.slots[at..].iter().position(Slot::is_vacant) {
                self.slots.copy_within(at..at + gap, at + 1);
                self.slots[at] = Slot::new(fingerprint, &kept, drain);
                self.len += 1;
                return;
            }
            self.grow();
        }
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.release(at);
        let stays = |place: &usize| {
            let slot = &self.slots[*place];
            slot.is_vacant() || self.home(slot.fingerprint) == *place
        };
        let end = (at + 1..self.slots.len()).find(stays).unwrap_or(self.slots.len());
        self.slots.copy_within(at + 1..end, at);
        self.slots[end - 1] = Slot::VACANT;
        self.len -= 1;
    }

    /// Drops drained entries from a stretch of the table; the longer ago the last sweep, the longer the stretch.
    /// Returns how many were dropped.
    #[inline]
    pub(super) fn sweep(&mut self, now: Micros) -> usize {
        if now < self.swept_at + 1000 { 0 } else { self.sweep_some(now) }
    }

    #[cold]
    fn sweep_some(&mut self, now: Micros) -> usize {
        let (before, millis) = (self.len, (now - self.swept_at) / 1000);
        self.swept_at = now;
        if let Some(rare) = &mut self.rare
            && rare.overflow.as_mut().is_some_and(|overflow| overflow.sweep(now))
        {
            rare.overflow = None;
        }
        if self.len == 0 {
            return 0;
        }
        let given_at = self.rare.as_ref().map_or(0, |rare| rare.given_at);
        for _ in 0..(millis.saturating_mul(SWEEP_PER_MILLI)).min(SWEEP_AT_MOST).min(self.slots.len() as u64) {
            // A removal pulls the next entry into this place, so the hand stays.
            if self.slots[self.hand].drain().is_disposable(now, given_at) {
                self.remove(self.hand);
            } else {
                self.move_hand();
            }
        }
        if self.spread > FEWEST && self.len < self.spread / 4 {
            self.rebuild(self.len * 2);
        }
        before - self.len
    }

    pub(super) fn note_given(&mut self, real_now: Micros) {
        let rare = self.rare.get_or_insert_default();
        rare.given_at = rare.given_at.max(real_now);
        if let Some(overflow) = &mut rare.overflow {
            overflow.note_given(real_now);
        }
    }

    /// Drops an entry that has drained, to make room for a newcomer: one of those that come next in turn, and none of
    /// `needed`, which is sorted. Answers whether there was one.
    pub(super) fn drop_drained(&mut self, moment: Moment, needed: &[Fingerprint]) -> bool {
        let mut candidates = 0;
        // The places after the last home are nearly all vacant, and must not be all that is looked at.
        for _ in 0..(CANDIDATES + TAIL).min(self.slots.len()) {
            let slot = &self.slots[self.hand];
            candidates += usize::from(!slot.is_vacant());
            if candidates > CANDIDATES {
                break;
            }
            if slot.drain().is_empty(moment) && needed.binary_search(&Fingerprint(slot.fingerprint)).is_err() {
                self.remove(self.hand);
                return true;
            }
            self.move_hand();
        }
        false
    }

    fn move_hand(&mut self) {
        self.hand = if self.hand + 1 < self.slots.len() { self.hand + 1 } else { 0 };
    }

    fn grow(&mut self) {
        self.rebuild(self.spread + (self.spread / GROWS_BY).max(FEWEST));
    }

    /// Spreads the entries over this many slots, rounded up to whole lines.
    fn rebuild(&mut self, spread: usize) {
        self.spread = spread.max(FEWEST).next_multiple_of(OF_A_LINE);
        let mut slots = vec![Slot::VACANT; self.spread + TAIL];
        self.first = slots.as_ptr().addr() / size_of::<Slot>() % OF_A_LINE;
        let mut free = 0;
        for slot in self.slots.iter().filter(|slot| !slot.is_vacant()) {
            let at = self.home(slot.fingerprint).max(free);
            if at == slots.len() {
                slots.push(*slot);
            } else {
                slots[at] = *slot;
            }
            free = at + 1;
        }
        self.slots = slots.into_boxed_slice();
        self.hand = 0;
    }

    /// The place of a fingerprint, the first of its line, when all of them are spread evenly: the high part of a product
    /// keeps their order. As the number of a line times two, which is the same, it takes 1 ns of 32 longer.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the high halves are taken on purpose")]
    fn home(&self, fingerprint: u128) -> usize {
        let slot = ((fingerprint >> 64) * self.spread as u128) >> 64;
        self.first + (slot as usize & !(OF_A_LINE - 1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::algorithm::{Drains, Level};
    use crate::log_duration::LogDuration;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        /// Those of one bit share their highest bits, and so a home.
        #[test]
        fn entries_stay_in_order_at_their_home_or_behind_it(
            steps in prop::collection::vec((any::<bool>(), 0_u32..8, 0_u128..40), 1..400)
        ) {
            let (mut table, mut kept) = (Table::<()>::default(), BTreeSet::new());
            let (level, drain) = (Level { level: 1, since: 0 }, Drains { since: 0, time: LogDuration::of(1) });
            for (inserts, bit, number) in steps {
                let name = 1 << (120 + bit) | number;
                match (table.find(Fingerprint(name)), inserts) {
                    (Ok(at), false) => table.remove(at),
                    (Err(_), true) => {
                        table.insert(Fingerprint(name), Entry::Level(level), Drain::new(drain, Timeline::Real));
                    }
                    _ => continue,
                }
                if inserts { kept.insert(name) } else { kept.remove(&name) };
                let there = (0..table.slots.len()).filter_map(|at| table.fingerprint(at));
                prop_assert!(there.eq(kept.iter().copied()) && table.len() == kept.len());
                for name in &kept {
                    let (home, at) = (table.home(*name), table.find(Fingerprint(*name)).expect("it is kept"));
                    prop_assert!((home..=at).all(|at| !table.slots[at].is_vacant()), "a gap before {}", at);
                }
            }
        }
    }
}
