//! The lock of a part of the table, which a decision holds for some ten nanoseconds.

use std::time::Duration;
use std::{hint, thread};

use spin::{Mutex, MutexGuard};

/// Looks at the lock before a thread sleeps: a few microseconds.
const LOOKS: usize = 64;
const SLEEP: Duration = Duration::from_micros(50);

/// A lock that a plain store releases. To wake those who wait, as a lock of the standard library does, takes an atomic
/// exchange for which the processor stands still: with it a hot key took 48 ns in place of 41, and a call of eight threads
/// on one key twice as long.
///
/// So who waits looks again and again, and soon sleeps in between: the owner may have lost its processor, perhaps to the
/// very thread that waits for it. A panic of the owner releases the lock.
#[derive(Default)]
pub(super) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.try_lock().unwrap_or_else(|| self.wait())
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) -> MutexGuard<'_, T> {
        let mut looks = 0;
        loop {
            if looks < LOOKS {
                looks += 1;
                hint::spin_loop();
            } else {
                thread::sleep(SLEEP);
            }
            // To look at the lock leaves it in the cache of its owner; to try to take it does not.
            if !self.0.is_locked()
                && let Some(guard) = self.0.try_lock()
            {
                return guard;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn one_thread_at_a_time_has_the_lock() {
        const THREADS: usize = 8;
        const TURNS: usize = 20_000;
        let (lock, all_are_here) = (Lock::<[usize; 2]>::default(), Barrier::new(THREADS));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    all_are_here.wait();
                    for _ in 0..TURNS {
                        let mut numbers = lock.lock();
                        assert_eq!(numbers[0], numbers[1]);
                        numbers[0] += 1;
                        hint::spin_loop();
                        numbers[1] += 1;
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), [THREADS * TURNS; 2]);
    }

    #[test]
    fn who_waits_for_an_owner_that_has_lost_its_processor_gets_the_lock_when_it_is_released() {
        let (lock, is_released) = (Lock::<()>::default(), AtomicBool::new(false));
        let held = lock.lock();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                drop(lock.lock());
                is_released.load(Ordering::Relaxed)
            });
            thread::sleep(100 * SLEEP);
            is_released.store(true, Ordering::Relaxed);
            drop(held);
            assert!(waiting.join().expect("it got the lock"));
        });
    }

    #[test]
    fn a_panic_releases_the_lock() {
        let lock = Lock::<u64>::default();
        let owner = AssertUnwindSafe(|| {
            *lock.lock() += 1;
            let _held = lock.lock();
            panic!("as its owner");
        });
        catch_unwind(owner).expect_err("a panic");
        assert_eq!(*lock.lock(), 1);
    }
}
