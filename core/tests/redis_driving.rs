//! Blocking calls that are alone, one soon after the other: they drive the runtime of the process themselves.
#![cfg(feature = "redis")]
#![allow(missing_docs, reason = "a test")]

mod calls;
mod servers;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use calls::{hourly, well_in};
use servers::Server;
use tidegate::ffi;
use tidegate::remote::OnError;
use tidegate::{Call, Check, Limit, Limiter};

/// Never waited out, however busy the machine is.
const SOON: Duration = Duration::from_secs(20);
const DEADLINE: Duration = Duration::from_millis(200);

/// All tests of this file are one process, which has one such runtime.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls until this thread drives.
fn drive(limiter: &Limiter, limit: &Limit) {
    for _ in 0..200 {
        assert!(!limiter.limit_sync(limit, "ada").expect("an answer").degraded);
    }
}

#[test]
fn a_deadline_is_kept_while_a_caller_drives() {
    let _alone = alone();
    let server = Server::start();
    let (limiter, limit) = (well_in(&server.url(), OnError::Raise, DEADLINE), hourly("deadline", 100_000));
    drive(&limiter, &limit);
    server.pause();
    let started = Instant::now();
    limiter.limit_sync(&limit, "ada").expect_err("no answer");
    let waited = started.elapsed();
    server.resume();
    assert!((Duration::from_millis(199)..SOON / 2).contains(&waited), "{waited:?}");
}

#[test]
fn other_calls_are_answered_while_a_caller_drives() {
    let _alone = alone();
    let server = Server::start();
    let (limiter, limit) = (well_in(&server.url(), OnError::Raise, SOON), hourly("others", 800_000));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drive(&limiter, &limit);
            }
        });
        for round in 0..50 {
            thread::sleep(Duration::from_millis(5));
            let (answered, answer) = channel();
            if round % 2 == 0 {
                let done = move |info| answered.send(info).map_err(|_| unreachable!("the test waits"));
                assert!(ffi::start(&limiter, &[Check::new(&limit, "eve")], Call::Limit, None, done).is_none());
            } else {
                let acquire = limiter.start_acquire(&[Check::new(&limit, "eve")], SOON);
                acquire.spawn(move |info, _| answered.send(info).expect("a test")).expect("a runtime");
            }
            answer.recv_timeout(SOON).expect("answered").expect("by the store");
        }
        limiter.ping_sync().expect("healthy");
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_turn_comes_in_time_while_a_caller_drives_now_and_then() {
    let _alone = alone();
    let server = Server::start();
    let (limiter, limit) = (well_in(&server.url(), OnError::Raise, SOON), hourly("now and then", 800_000));
    let turns = Limit::bucket("turns", 1).drip_rate(Duration::from_millis(30)).build().expect("a limit");
    drive(&limiter, &limit);
    for _ in 0..10 {
        let (answered, answer) = channel();
        let acquire = limiter.start_acquire(&[Check::new(&turns, "eve")], SOON);
        acquire.spawn(move |info, _| answered.send(info).expect("a test")).expect("a runtime");
        let end = Instant::now() + SOON;
        while answer.try_recv().is_err() {
            assert!(Instant::now() < end, "never");
            limiter.limit_sync(&limit, "ada").expect("an answer");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_connection_that_was_closed_while_nobody_drove_is_not_written_to() {
    let _alone = alone();
    let server = Server::start();
    let (limiter, limit) = (well_in(&server.url(), OnError::Allow, SOON), hourly("closed", 800_000));
    let mut other = server.connect();
    let (rounds, mut degraded) = (50, 0);
    for _ in 0..rounds {
        drive(&limiter, &limit);
        let mut kill = redis::cmd("CLIENT");
        let killed: u64 = kill.arg("KILL").arg("TYPE").arg("normal").query(&mut other).expect("a number");
        assert_eq!(killed, 1, "one connection");
        thread::sleep(Duration::from_millis(1));
        degraded += u32::from(limiter.limit_sync(&limit, "ada").expect("an answer").degraded);
    }
    // On a busy machine the thread may be back, and about to read that it was closed, when a call is written.
    assert!(degraded < rounds / 4, "{degraded} of {rounds} calls were lost");
}

#[test]
fn a_caller_inside_of_a_runtime_and_one_at_its_end_wait_as_ever() {
    struct AtTheEnd(Option<(Limiter, Limit, std::sync::mpsc::Sender<bool>)>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            if let Some((limiter, limit, answered)) = self.0.take() {
                let _ = answered.send(limiter.limit_sync(&limit, "ada").is_ok());
            }
        }
    }
    thread_local! {
        static LAST: RefCell<AtTheEnd> = const { RefCell::new(AtTheEnd(None)) };
    }

    let _alone = alone();
    let server = Server::start();
    let (limiter, limit) = (well_in(&server.url(), OnError::Raise, SOON), hourly("inside", 100_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for _ in 0..5 {
        drive(&limiter, &limit);
        runtime.block_on(async { limiter.limit_sync(&limit, "ada").expect("an answer") });
        drive(&limiter, &limit);
        let (answered, answer) = channel();
        let last = (limiter.clone(), limit.clone(), answered);
        thread::spawn(move || {
            // Made before the thread-locals of the runtime, and dropped after them.
            LAST.with_borrow_mut(|at_the_end| at_the_end.0 = Some(last));
        });
        assert_eq!(answer.recv_timeout(SOON), Ok(true));
    }
}
