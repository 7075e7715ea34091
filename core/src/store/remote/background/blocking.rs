//! Blocking calls: one that is alone drives the process's runtime itself, see [`Handover`](super::super::handover).

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep};

use super::super::handover::Seen;
use super::{Background, LINGER_MICROS, Need};
use crate::clock;
use crate::time::Micros;

/// The longest time that a caller drives; a call that takes longer gains nothing from it.
pub(crate) const LONGEST_DRIVE: Duration = Duration::from_millis(10);
/// The time after a call that drove for which what was read from the servers is recent.
const RECENT_MICROS: Micros = 100;

impl Background {
    /// True at the end of a call; false if that took too long, so that the thread drives from then on.
    async fn drive(&self, began: Micros, mut ended: oneshot::Receiver<()>) -> bool {
        let mut relief = self.relief().take().unwrap_or_else(|| Box::pin(sleep(LONGEST_DRIVE)));
        let is_over = loop {
            tokio::select! {
                biased;
                _ = &mut ended => break true,
                () = relief.as_mut() => {}
            }
            let driven = Duration::from_micros(clock::now().saturating_sub(began));
            let left = LONGEST_DRIVE.saturating_sub(driven);
            if left.is_zero() {
                break false;
            }
            // It was set for an earlier call.
            relief.as_mut().reset(Instant::now() + left);
        };
        *self.relief() = Some(relief);
        is_over
    }

    fn relief(&self) -> MutexGuard<'_, Option<Pin<Box<Sleep>>>> {
        self.relief.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way of a blocking call, on a thread outside of every runtime.
    pub(crate) fn blocking(self: &Arc<Self>) -> Blocking {
        if self.handover.take_seat() {
            return Blocking::Drives(Seat { need: Need(self.clone()), is_over: false, drove: false });
        }
        Blocking::Waits(Watch { background: self.clone(), before: self.handover.seen() })
    }
}

/// A blocking call's part in driving the runtime.
pub(crate) enum Blocking {
    /// It drives the runtime itself.
    Drives(Seat),
    /// It waits while the thread drives.
    Waits(Watch),
}

impl Blocking {
    /// Begins the call, which drops what it is given when it has its answer. It is over when the result is dropped: one
    /// that is driven has ended by then, or is driven by the thread for the rest.
    pub(crate) fn begin<T>(mut self, call: impl FnOnce(Hold) -> T) -> (T, Self) {
        let under_way = match &mut self {
            Self::Drives(seat) => seat.drive(call),
            Self::Waits(watch) => call(watch.background.need().into()),
        };
        (under_way, self)
    }
}

/// The hold of a call on the runtime: it is driven until this is dropped.
pub(crate) struct Hold(#[expect(dead_code, reason = "it acts when it is dropped")] Claim);

enum Claim {
    Need(#[expect(dead_code, reason = "it acts when it is dropped")] Need),
    /// By the caller, for whom this marks the end.
    End(#[expect(dead_code, reason = "it acts when it is dropped")] oneshot::Sender<()>),
}

impl From<Need> for Hold {
    fn from(need: Need) -> Self {
        Self(Claim::Need(need))
    }
}

/// The right to drive the runtime.
pub(crate) struct Seat {
    need: Need,
    is_over: bool,
    /// The runtime was driven.
    drove: bool,
}

impl Seat {
    /// Begins a call, and drives the runtime until its end, or for as long as that pays.
    fn drive<T>(&mut self, call: impl FnOnce(Hold) -> T) -> T {
        let background = &self.need.0;
        let began = clock::now();
        if began.saturating_sub(background.last.load(Ordering::Relaxed)) > RECENT_MICROS {
            background.runtime.block_on(catch_up());
            self.drove = true;
        }
        let (end, mut ended) = oneshot::channel();
        let under_way = call(Hold(Claim::End(end)));
        // One that is answered at once, because no server is asked, drives nothing: the next such call has to catch up.
        self.is_over = ended.try_recv() != Err(TryRecvError::Empty);
        if !self.is_over {
            self.is_over = background.runtime.block_on(background.drive(began, ended));
            self.drove = true;
        }
        if !self.is_over {
            background.call_back();
        }
        under_way
    }
}

/// Reads what has come while the runtime stood still: a call is not to be written to a connection that was closed.
async fn catch_up() {
    // Once for the sockets, and once for the tasks that they wake.
    for _ in 0..2 {
        yield_now().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let background = &self.need.0;
        if self.drove {
            background.last.store(clock::now(), Ordering::Relaxed);
        }
        if !self.is_over {
            // As after a panic.
            background.call_back();
        }
    }
}

/// The watch on a blocking call, which at its end sends the thread away if that pays.
pub(crate) struct Watch {
    background: Arc<Background>,
    before: Seen,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Background { handover, alone, wanted, last, sent_away, .. } = &*self.background;
        let now = clock::now();
        let soon = now.saturating_sub(last.swap(now, Ordering::Relaxed)) < LINGER_MICROS;
        if !soon || !handover.was_alone_since(self.before) {
            alone.store(0, Ordering::Relaxed);
        } else if alone.fetch_add(1, Ordering::Relaxed) + 1 >= wanted.load(Ordering::Relaxed) {
            alone.store(0, Ordering::Relaxed);
            if handover.send_away() {
                sent_away.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU32;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::{self, ThreadId};

    use super::super::FEWEST_CALLS;
    use super::*;
    use crate::fork::Process;

    const SOON: Duration = Duration::from_secs(20);

    fn start() -> Arc<Background> {
        Background::start(Process::current()).expect("a runtime")
    }

    /// A blocking call, whose task ends after this time, and the thread that ended it.
    fn call(background: &Arc<Background>, takes: Duration) -> ThreadId {
        let (answered, answer) = channel();
        let (_task, _blocking) = background.blocking().begin(|hold| {
            background.handle().spawn(async move {
                work(takes).await;
                drop(hold);
                let _ = answered.send(thread::current().id());
            })
        });
        answer.recv_timeout(SOON).expect("an answer")
    }

    async fn work(takes: Duration) {
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
    }

    /// Calls until this thread drives, which a busy machine may keep it from for a while.
    fn until_alone(background: &Arc<Background>) {
        let end = Instant::now() + SOON;
        while call(background, Duration::ZERO) != thread::current().id() {
            assert!(Instant::now() < end, "never alone");
        }
    }

    /// Work that is not a blocking call's, and the thread that did it.
    fn other(background: &Arc<Background>) -> Receiver<ThreadId> {
        let (done, is_done) = channel();
        drop(background.spawn(async move { done.send(thread::current().id()).expect("a test") }));
        is_done
    }

    #[test]
    fn a_caller_that_is_alone_call_after_call_drives() {
        let background = start();
        let here = thread::current().id();
        for _ in 0..FEWEST_CALLS {
            assert_ne!(call(&background, Duration::ZERO), here, "not before it is known to be alone");
        }
        until_alone(&background);
        // Others are served by the thread, at once.
        for _ in 0..4 {
            until_alone(&background);
            assert_ne!(other(&background).recv_timeout(SOON), Ok(here));
        }
    }

    #[test]
    fn the_thread_comes_back_when_there_are_no_calls() {
        let background = start();
        let end = Instant::now() + SOON;
        // A busy machine may come here only when the thread is back.
        while !background.handover.is_away() {
            assert!(Instant::now() < end, "never away");
            until_alone(&background);
        }
        // It is not called back.
        let (done, is_done) = channel();
        drop(background.handle().spawn(async move { done.send(()).expect("a test") }));
        is_done.recv_timeout(SOON).expect("the thread");
        let end = Instant::now() + SOON;
        while background.handover.is_away() {
            assert!(Instant::now() < end);
            thread::yield_now();
        }
        assert_ne!(call(&background, Duration::ZERO), thread::current().id());
    }

    #[test]
    fn others_are_served_while_a_caller_drives_and_afterwards() {
        let background = start();
        for _ in 0..5 {
            until_alone(&background);
            let Blocking::Drives(mut seat) = background.blocking() else { continue };
            let others = background.clone();
            let (later, is_later) = channel();
            seat.drive(|hold| {
                thread::spawn(move || {
                    other(&others).recv_timeout(SOON).expect("served while another thread drives");
                    // Longer than the caller stays.
                    let need = others.need();
                    drop(others.handle().spawn(async move {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        drop((later.send(()), need));
                    }));
                    drop(hold);
                });
            });
            is_later.recv_timeout(SOON).expect("served after it has left");
            assert!(!background.handover.is_away());
        }
    }

    #[test]
    fn a_call_that_takes_long_is_left_to_the_thread() {
        let background = start();
        for _ in 0..3 {
            until_alone(&background);
            assert_ne!(call(&background, LONGEST_DRIVE * 20), thread::current().id());
        }
    }

    #[test]
    fn calls_that_are_answered_at_once_do_not_keep_the_runtime_from_its_other_work() {
        const TURNS: u32 = 3000;
        let background = start();
        until_alone(&background);
        let turns = Arc::new(AtomicU32::new(0));
        let counted = turns.clone();
        // No call waits for it, as none does for a new connection.
        drop(background.handle().spawn(async move {
            while counted.fetch_add(1, Ordering::Relaxed) < TURNS {
                yield_now().await;
            }
        }));
        let end = Instant::now() + SOON;
        while turns.load(Ordering::Relaxed) < TURNS {
            background.blocking().begin(drop);
            assert!(Instant::now() < end, "{turns:?} turns of {TURNS}");
        }
    }

    #[test]
    fn a_panic_while_a_caller_drives_leaves_the_runtime_as_it_was() {
        let background = start();
        for _ in 0..5 {
            until_alone(&background);
            let Blocking::Drives(mut seat) = background.blocking() else { continue };
            let panics = AssertUnwindSafe(move || seat.drive(|_| panic!("a defect")));
            assert!(catch_unwind(panics).is_err());
            assert!(!background.handover.is_away());
            other(&background).recv_timeout(SOON).expect("served");
        }
    }

    #[test]
    fn what_many_threads_call_is_never_left() {
        let background = start();
        let driven = AtomicU32::new(0);
        thread::scope(|scope| {
            for number in 0..4_u64 {
                let (background, driven) = (&background, &driven);
                scope.spawn(move || {
                    for round in 0..40 {
                        // Alone for a while, then several at a time.
                        thread::sleep(Duration::from_millis(number * 3));
                        for _ in 0..25 {
                            let by = call(background, Duration::ZERO);
                            driven.fetch_add(u32::from(by == thread::current().id()), Ordering::Relaxed);
                        }
                        if round % 4 == number {
                            other(background).recv_timeout(SOON).expect("served");
                        }
                    }
                });
            }
        });
        assert!(driven.into_inner() > 0, "callers drove as well");
    }
}
