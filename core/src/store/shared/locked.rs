//! A part of a table that is locked: its words.

use std::sync::atomic::AtomicU64;

use super::lock::Words;
use super::plan::{Plan, part};
use crate::time::Micros;

/// The words of a part, and its lanes and blocks, whose places count on from those of the part.
#[derive(Clone, Copy)]
pub(super) struct Space<'a> {
    /// The words before the slots. Most that a call touches are here, at places that the compiler knows to be.
    pub(super) front: &'a [AtomicU64; part::SLOTS],
    pub(super) slots: &'a [AtomicU64],
    pub(super) later: &'a [AtomicU64],
}

impl<'a> Space<'a> {
    #[inline]
    pub(super) fn new(part: &'a [AtomicU64], later: &'a [AtomicU64]) -> Self {
        let (front, slots) = part.split_at(part::SLOTS);
        Self { front: &front.as_chunks().0[0], slots, later }
    }
}

impl Words for Space<'_> {
    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        if let Some(word) = self.front.get(at) {
            return word;
        }
        let at = at - part::SLOTS;
        match self.slots.get(at) {
            Some(word) => word,
            None => &self.later[at - self.slots.len()],
        }
    }

    #[cfg(test)]
    fn touch<'a>(&'a self, word: &'a AtomicU64) -> &'a AtomicU64 {
        super::steps::step();
        word
    }
}

/// A locked part of a table.
pub(super) struct Shard<'a> {
    pub(super) plan: &'a Plan,
    pub(super) space: Space<'a>,
    /// Makes sure of memory for so many words from one on of the lanes and blocks; false where there is none.
    pub(super) back: &'a dyn Fn(usize, usize) -> bool,
    /// The host's clock.
    pub(super) now: Micros,
}

impl Words for Shard<'_> {
    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        self.space.word(at)
    }

    #[inline]
    fn touch<'a>(&'a self, word: &'a AtomicU64) -> &'a AtomicU64 {
        self.space.touch(word)
    }
}

impl Drop for Shard<'_> {
    fn drop(&mut self) {
        #[cfg(test)]
        if super::steps::is_dead() {
            return;
        }
        self.unlock();
    }
}
