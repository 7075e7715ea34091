//! A stripe of counts for each thread, so that to count takes no instruction that other processors wait for.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of stripes.
pub(crate) const STRIPES: usize = 32;
/// In place of the stripe of a thread that found none, and of one that has not asked yet.
const NONE: usize = usize::MAX - 1;
const UNASKED: usize = usize::MAX;

/// A bit for each stripe that a thread has. In a forked child those of its parent's other threads stay taken: all that
/// comes of it is that more threads have none.
static TAKEN: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(UNASKED) };
    static CLAIM: Claim = const { Claim(Cell::new(NONE)) };
}

/// The stripe of this thread, which no other one writes to; none of them where it has none, or has not claimed one yet.
#[inline]
pub(crate) fn mine() -> usize {
    MINE.get()
}

/// The same, claimed if this thread has not asked before.
pub(crate) fn claim() -> usize {
    if MINE.get() != UNASKED {
        return MINE.get();
    }
    let stripe = CLAIM.try_with(|claim| {
        let next = |taken: u32| (taken != u32::MAX).then(|| taken | (taken + 1));
        let before = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, next);
        let stripe = before.map_or(NONE, |before| before.trailing_ones() as usize);
        claim.0.set(stripe);
        stripe
    });
    let stripe = stripe.unwrap_or(NONE);
    MINE.set(stripe);
    stripe
}

/// The stripe that a thread gives back when it ends.
struct Claim(Cell<usize>);

impl Drop for Claim {
    fn drop(&mut self) {
        // What the thread still counts, in other destructors, is no longer in a stripe of its own.
        MINE.set(NONE);
        if self.0.get() != NONE {
            TAKEN.fetch_and(!(1 << self.0.get()), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn threads_at_a_time_have_stripes_of_their_own_or_none() {
        const THREADS: usize = STRIPES + 8;
        let all_have_one = Barrier::new(THREADS);
        let mut stripes = thread::scope(|scope| {
            let ask = || {
                let stripe = claim();
                assert_eq!([mine(), claim()], [stripe; 2]);
                all_have_one.wait();
                stripe
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a stripe")).collect::<Vec<_>>()
        });
        assert!(stripes.iter().all(|stripe| *stripe < STRIPES || *stripe == NONE));
        stripes.retain(|stripe| *stripe != NONE);
        assert!(stripes.len() <= STRIPES);
        let count = stripes.len();
        stripes.sort_unstable();
        stripes.dedup();
        assert_eq!(stripes.len(), count);
    }

    #[test]
    fn a_thread_that_ended_leaves_its_stripe_to_others() {
        // Were they not given back, this many threads could not have one each.
        let own = (0..100 * STRIPES).filter(|_| thread::spawn(|| claim() != NONE).join().expect("a stripe")).count();
        assert!(own > STRIPES, "{own}");
    }
}
