//! The numbers of long entries, in chains of blocks.
//!
//! A list is written to blocks that nobody uses, and its entry is then made to point there. So what a list holds needs
//! no journal, only the few words that say which blocks are in use.

use super::lock::Words as _;
use super::locked::Shard;
use super::plan::{BLOCK, part};
use crate::inline_vec::InlineVec;

/// The numbers of a block; its first word is the number of the next block.
const NUMBERS: usize = BLOCK - 1;
/// So many blocks get memory at a time.
const BACKED_AT_ONCE: usize = 1024;

/// The place of a block; numbers of blocks count from 1, so that 0 is none.
fn at(shard: &Shard<'_>, block: usize) -> usize {
    shard.plan.part_words + shard.plan.lane_words + (block - 1) * BLOCK
}

fn next(shard: &Shard<'_>, block: usize) -> usize {
    shard.index(at(shard, block))
}

/// True for the number of a block that was used once; anything else in its place is damage.
fn is_block(shard: &Shard<'_>, block: usize) -> bool {
    block > 0 && block as u64 <= shard.get(part::FRESH)
}

/// The blocks of a list, from its first on.
pub(super) fn chain<'a>(shard: &'a Shard<'_>, first: usize, blocks: usize) -> impl Iterator<Item = usize> + use<'a> {
    let mut block = first;
    (0..blocks).map_while(move |_| {
        let this = is_block(shard, block).then_some(block)?;
        block = next(shard, this);
        Some(this)
    })
}

pub(super) fn blocks_of(numbers: usize) -> usize {
    numbers.div_ceil(NUMBERS)
}

pub(super) fn read(shard: &Shard<'_>, first: usize, count: usize) -> InlineVec<f64> {
    let words = chain(shard, first, blocks_of(count)).flat_map(|block| {
        let start = at(shard, block) + 1;
        (start..start + NUMBERS).map(|at| f64::from_bits(shard.get(at)))
    });
    words.take(count).collect()
}

/// Writes a list to blocks that were free, and returns the first; `None` where there are not enough.
pub(super) fn write(shard: &Shard<'_>, numbers: &[f64]) -> Option<usize> {
    let first = take(shard, blocks_of(numbers.len()))?;
    let mut block = first;
    for numbers in numbers.chunks(NUMBERS) {
        for (number, at) in numbers.iter().zip(at(shard, block) + 1..) {
            shard.set(at, number.to_bits());
        }
        // The last of them leads elsewhere.
        block = next(shard, block);
    }
    Some(first)
}

/// A chain of at least so many blocks that nobody uses: freed ones, then ones that never were used.
fn take(shard: &Shard<'_>, count: usize) -> Option<usize> {
    let first = shard.index(part::FREE);
    let (mut rest, mut last, mut missing) = (first, 0, count);
    while missing > 0 && is_block(shard, rest) {
        (last, rest, missing) = (rest, next(shard, rest), missing - 1);
    }
    if missing == 0 {
        shard.put(part::FREE, rest as u64);
        return Some(first);
    }
    let fresh = shard.index(part::FRESH);
    if fresh + missing > shard.plan.blocks {
        return None;
    }
    let backed = shard.index(part::BACKED);
    if fresh + missing > backed {
        let more = (fresh + missing - backed).next_multiple_of(BACKED_AT_ONCE).min(shard.plan.blocks - backed);
        if !(shard.back)(shard.plan.lane_words + backed * BLOCK, more * BLOCK) {
            return None;
        }
        shard.put(part::BACKED, (backed + more) as u64);
    }
    for block in fresh + 1..fresh + missing {
        shard.set(at(shard, block), block as u64 + 1);
    }
    shard.set(at(shard, fresh + missing), 0);
    if last > 0 {
        shard.put(at(shard, last), fresh as u64 + 1);
    }
    shard.put(part::FRESH, (fresh + missing) as u64);
    shard.put(part::FREE, 0);
    Some(if last > 0 { first } else { fresh + 1 })
}

/// Frees the blocks of a list.
pub(super) fn free(shard: &Shard<'_>, first: usize, count: usize) {
    if let Some(last) = chain(shard, first, blocks_of(count)).last() {
        shard.put(at(shard, last), shard.get(part::FREE));
        shard.put(part::FREE, first as u64);
    }
}
