//! A walk over a table that finds what must not be.

use std::iter;

use super::Table;
use super::lists;
use super::lock::Words as _;
use super::locked::Shard;
use super::plan::{SLOTS, part};
use super::shard::Array;
use crate::failure::Failure;
use crate::time::Micros;

/// The findings of a walk, in words.
pub(crate) type Damage = Vec<String>;

impl Table {
    /// Walks over the whole table, part by part, and names what is wrong.
    pub(crate) fn check(&self, patience: Micros) -> Result<Damage, Failure> {
        let mut damage = Damage::new();
        for number in 0..self.plan.shards {
            self.with_locked(&[number], None, patience, |shards, _| {
                let (_, shard) = &shards[0];
                shard.check(&mut |what: String| damage.push(format!("part {number}: {what}")));
            })?;
        }
        Ok(damage)
    }
}

impl Shard<'_> {
    /// Removes every entry, and returns the number of those of single actors.
    pub(super) fn clear(&self) -> u64 {
        let entries = self.get(part::LEN);
        for array in self.arrays() {
            for slot in (0..self.slots(array)).filter(|slot| self.tag(array, *slot) != 0) {
                self.vacate(array, slot);
            }
        }
        (part::CELL..part::SLOTS).for_each(|at| self.set(at, 0));
        self.set(part::SHARED, 0);
        self.set(part::GIVEN_UNTIL, 0);
        entries
    }

    /// The arrays that have memory.
    fn arrays(&self) -> impl Iterator<Item = Array> {
        iter::once(Array::Own).chain(self.has_lanes().then_some(Array::Lanes))
    }

    fn check(&self, wrong: &mut impl FnMut(String)) {
        let fresh = self.get(part::FRESH);
        if fresh > self.get(part::BACKED) || self.get(part::BACKED) > self.plan.blocks as u64 {
            wrong(format!("{fresh} blocks were used, {} have memory", self.get(part::BACKED)));
            return;
        }
        // For each block how many lists it is in, the list of free ones too.
        let mut used = vec![0_u8; usize::try_from(fresh).unwrap_or(0)];
        let mut use_of = |block: usize| used[block - 1] = used[block - 1].saturating_add(1);
        if !self.has_lanes() && self.get(part::LANES) != 0 {
            wrong(format!("{} lanes are counted, and have no memory", self.get(part::LANES)));
        }
        for array in self.arrays() {
            let mut len = 0;
            for slot in (0..self.slots(array)).filter(|slot| self.tag(array, *slot) != 0) {
                len += 1;
                let (tag, low) = (self.tag(array, slot), self.low(array, slot));
                if !self.homes(array, tag).contains(&(slot / SLOTS)) {
                    wrong(format!("slot {slot} is in a bucket that its tag does not name"));
                }
                if self.search(array, tag, Some(low)) != Some(slot) {
                    wrong(format!("slot {slot} has an entry that is elsewhere too"));
                }
                if let Some((first, count)) = self.list(array, slot) {
                    let blocks = lists::blocks_of(count);
                    let found = lists::chain(self, first, blocks).inspect(|block| use_of(*block)).count();
                    if found != blocks {
                        wrong(format!("slot {slot} has {found} of {blocks} blocks"));
                    }
                    let numbers = lists::read(self, first, count);
                    if numbers.chunks(2).zip(numbers.chunks(2).skip(1)).any(|(one, next)| one[0] >= next[0]) {
                        wrong(format!("slot {slot} has a list that is out of order"));
                    }
                }
            }
            if len != self.len(array) {
                wrong(format!("{len} entries are there, {} are counted", self.len(array)));
            }
        }
        lists::chain(self, usize::try_from(self.get(part::FREE)).unwrap_or(0), used.len() + 1)
            .for_each(|block| used[block - 1] = used[block - 1].saturating_add(1));
        for (block, times) in used.iter().enumerate().filter(|(_, times)| **times != 1) {
            wrong(format!("block {} is in {times} lists", block + 1));
        }
    }
}
