//! A part of a table that is locked: its words.

use std::sync::atomic::AtomicU64;

use super::lock::Words;
use super::plan::Plan;
use crate::time::Micros;

/// The words of a part, and its blocks, whose places count on from those of the part.
#[derive(Clone, Copy)]
pub(super) struct Space<'a> {
    pub(super) part: &'a [AtomicU64],
    pub(super) blocks: &'a [AtomicU64],
}

impl Words for Space<'_> {
    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        #[cfg(test)]
        super::steps::step();
        match self.part.get(at) {
            Some(word) => word,
            None => &self.blocks[at - self.part.len()],
        }
    }
}

/// A locked part of a table.
pub(super) struct Shard<'a> {
    pub(super) plan: &'a Plan,
    pub(super) space: Space<'a>,
    /// Makes sure of memory for so many blocks from one on; false where there is none.
    pub(super) back: &'a dyn Fn(usize, usize) -> bool,
    /// The host's clock.
    pub(super) now: Micros,
}

impl Words for Shard<'_> {
    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        self.space.word(at)
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
