//! The slots of a part, as the short way of a decision looks them up, reads and writes them.
//!
//! All of it is of the words by value. What a call has in registers stays there; a part behind a reference is read from
//! memory again after each word that is written.

use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::Words as _;
use super::locked::Space;
use super::plan::{BUCKET, REST, SLOTS, part};
use crate::algorithm::{Doubles, Stored};
use crate::store::memory::Drain;

/// In place of a number that an entry does not have.
pub(super) const NONE: u64 = u64::MAX;
/// The words behind the tag of a slot.
pub(super) const LOW: usize = 0;
pub(super) const DRAIN: usize = 1;
pub(super) const NUMBERS: usize = 2;
pub(super) const INLINE: usize = REST - NUMBERS;

/// The place of a slot's tag, behind the start of its array.
#[inline]
pub(super) fn tag_at(slot: usize) -> usize {
    slot / SLOTS * BUCKET + slot % SLOTS
}

/// The place of a slot's other words, behind the start of its array.
#[inline]
pub(super) fn rest_at(slot: usize) -> usize {
    slot / SLOTS * BUCKET + SLOTS + slot % SLOTS * REST
}

/// The two buckets of a tag, of so many; small numbers of them may coincide.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the high half of a product is below the number of buckets")]
pub(super) fn homes(buckets: usize, tag: u64) -> [usize; 2] {
    let spread = |tag: u64| ((u128::from(tag) * buckets as u128) >> 64) as usize;
    [spread(tag), spread(tag.rotate_left(32).wrapping_mul(0x9e37_79b9_7f4a_7c15))]
}

/// The slot of this tag in an array, and of this low half if one is given.
#[expect(clippy::inline_always, reason = "so that the part stays in registers")]
#[inline(always)]
pub(super) fn search(array: &[AtomicU64], buckets: usize, tag: u64, low: Option<u64>) -> Option<usize> {
    let [first, second] = homes(buckets, tag);
    look(array, first, tag, low).or_else(|| look(array, second, tag, low))
}

/// The same in one bucket.
#[expect(clippy::inline_always, reason = "as its caller")]
#[inline(always)]
fn look(array: &[AtomicU64], home: usize, tag: u64, low: Option<u64>) -> Option<usize> {
    let start = home * BUCKET;
    let bucket = &array[start..start + BUCKET];
    for slot in 0..SLOTS {
        let word = |at: usize| bucket[at].load(Ordering::Relaxed);
        if word(slot) == tag && low.is_none_or(|low| word(SLOTS + slot * REST + LOW) == low) {
            return Some(home * SLOTS + slot);
        }
    }
    None
}

/// The words behind the tag of a slot.
#[expect(clippy::inline_always, reason = "as its callers")]
#[inline(always)]
fn rest(array: &[AtomicU64], slot: usize) -> &[AtomicU64; REST] {
    let at = rest_at(slot);
    &array[at..at + REST].as_chunks().0[0]
}

#[expect(clippy::inline_always, reason = "so that the part stays in registers")]
impl Space<'_> {
    /// A state of a few numbers, in its slot.
    #[inline(always)]
    pub(super) fn small<S: Stored>(self, slot: usize) -> Option<S> {
        let numbers = rest(self.slots, slot)[NUMBERS..].iter().map(|word| word.load(Ordering::Relaxed));
        S::read(&mut Doubles(numbers.take_while(|word| *word != NONE).map(f64::from_bits)))
    }

    /// Writes a state of a few numbers to its slot.
    #[inline(always)]
    pub(super) fn write_small<S: Stored>(self, slot: usize, state: &S, drain: Drain) {
        let mut numbers = Few::default();
        state.write(&mut numbers);
        self.put_entry(part::SLOTS, self.slots, slot, numbers.0, drain);
        self.commit();
    }

    /// Changes the words of a slot, those behind its fingerprint, in the array at this place.
    #[inline(always)]
    pub(super) fn put_entry(
        self,
        start: usize,
        array: &[AtomicU64],
        slot: usize,
        [first, second, third]: [u64; INLINE],
        drain: Drain,
    ) {
        let words = rest(array, slot);
        let change = |word: usize, value| (start + rest_at(slot) + word, &words[word], value);
        self.put_all([
            change(DRAIN, drain.to_word()),
            change(NUMBERS, first),
            change(NUMBERS + 1, second),
            change(NUMBERS + 2, third),
        ]);
    }
}

/// The numbers of a small state.
struct Few([u64; INLINE], usize);

impl Default for Few {
    fn default() -> Self {
        Self([NONE; INLINE], 0)
    }
}

impl Extend<f64> for Few {
    #[inline]
    fn extend<T: IntoIterator<Item = f64>>(&mut self, numbers: T) {
        for number in numbers {
            self.0[self.1] = number.to_bits();
            self.1 += 1;
        }
    }
}
