//! A stripe of counts for each thread, so that to count takes no instruction that other processors wait for.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The stripes that threads have for themselves.
const OWN: usize = 32;
/// The stripe of all threads that found no other.
const COMMON: usize = OWN;
/// The number of stripes.
pub(crate) const STRIPES: usize = OWN + 1;
/// In place of the stripe of a thread that has not asked yet.
const UNASKED: usize = usize::MAX;

/// A bit for each stripe that a thread has. In a forked child those of its parent's other threads stay taken: all that
/// comes of it is that more threads share the common one.
static TAKEN: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(UNASKED) };
    static CLAIM: Claim = const { Claim(Cell::new(COMMON)) };
}

/// The stripe of this thread, and whether no other thread writes to it.
#[inline]
pub(crate) fn mine() -> (usize, bool) {
    let stripe = match MINE.get() {
        UNASKED => claim(),
        stripe => stripe,
    };
    (stripe, stripe != COMMON)
}

#[cold]
#[inline(never)]
fn claim() -> usize {
    let stripe = CLAIM.try_with(|claim| {
        let next = |taken: u32| (taken != u32::MAX).then(|| taken | (taken + 1));
        let before = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, next);
        let stripe = before.map_or(COMMON, |before| before.trailing_ones() as usize);
        claim.0.set(stripe);
        stripe
    });
    let stripe = stripe.unwrap_or(COMMON);
    MINE.set(stripe);
    stripe
}

/// The stripe that a thread gives back when it ends.
struct Claim(Cell<usize>);

impl Drop for Claim {
    fn drop(&mut self) {
        // What the thread still counts, in other destructors, is no longer in a stripe of its own.
        MINE.set(COMMON);
        if self.0.get() != COMMON {
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
    fn threads_at_a_time_have_stripes_of_their_own_or_the_common_one() {
        const THREADS: usize = OWN + 8;
        let all_have_one = Barrier::new(THREADS);
        let mut stripes = thread::scope(|scope| {
            let ask = || {
                let stripe = mine();
                assert_eq!(mine(), stripe);
                all_have_one.wait();
                stripe
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a stripe")).collect::<Vec<_>>()
        });
        assert!(stripes.iter().all(|(stripe, is_own)| *is_own == (*stripe < OWN) && *stripe < STRIPES));
        assert!(stripes.iter().filter(|(_, is_own)| !is_own).count() >= 8);
        stripes.retain(|(_, is_own)| *is_own);
        let count = stripes.len();
        stripes.sort_unstable();
        stripes.dedup();
        assert_eq!(stripes.len(), count);
    }

    #[test]
    fn a_thread_that_ended_leaves_its_stripe_to_others() {
        // Were they not given back, this many threads could not have one each.
        let own = (0..100 * OWN).filter(|_| thread::spawn(|| mine().1).join().expect("a stripe")).count();
        assert!(own > OWN, "{own}");
    }
}
