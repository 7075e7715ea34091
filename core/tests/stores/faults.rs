//! Faults of a store that is asked over a network: deadlines, policies, and charges that nobody was told of.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use tidegate::ffi;
use tidegate::remote::{Failure, OnError};
use tidegate::{Call, Check, Error, Limit, LimitInfo, Limiter, Receipt};

use crate::servers::proxy::Proxy;
use crate::servers::wait_until;
use crate::suite::hourly;

pub(crate) const DEADLINE: Duration = Duration::from_millis(300);
/// The time that a busy machine may add.
const SLACK: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(20);

/// A store behind a wire that can be held and slowed down.
pub(crate) trait Faulty {
    fn wire(&self) -> &Proxy;

    /// A limiter over that wire with this policy, whose calls may take [`DEADLINE`].
    fn over(&self, policy: OnError) -> Limiter;
}

/// A limiter whose store decides.
fn well(subject: &impl Faulty, policy: OnError) -> Limiter {
    let limiter = subject.over(policy);
    left(&limiter, &hourly("warm", 1));
    limiter
}

/// The units left, once the store says so.
fn left(limiter: &Limiter, limit: &Limit) -> u64 {
    let mut left = None;
    wait_until("the store decides", || {
        left = limiter.peek_sync(limit, "ada").ok().filter(|info| !info.degraded).map(|info| info.remaining);
        left.is_some()
    });
    left.expect("an answer")
}

/// Lets bytes through again: those that were sent meanwhile are lost.
fn mend(wire: &Proxy) {
    wire.black_hole(false);
    wire.deafen(false);
    wire.cut();
}

fn in_time<T>(call: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let answer = call();
    assert!(started.elapsed() < DEADLINE + SLACK, "took {:?}", started.elapsed());
    answer
}

fn failure(answer: Result<LimitInfo, Error>) -> Failure {
    match answer {
        Err(Error::Store(error)) => error.failure(),
        other => panic!("{other:?}"),
    }
}

fn charge(limiter: &Limiter, limit: &Limit, cost: u64) -> Receipt {
    let checks = [Check::new(limit, "ada").cost(cost)];
    let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    limiter.receipt(&checks, Call::Limit, &info)
}

pub(crate) fn a_server_that_hangs_costs_a_deadline_and_the_policy_answers(subject: &impl Faulty) {
    let limit = hourly("hangs", 3);
    let answers = |policy| {
        subject.wire().black_hole(false);
        let limiter = well(subject, policy);
        subject.wire().black_hole(true);
        let answers: Vec<_> = (0..5).map(|_| in_time(|| limiter.limit_sync(&limit, "ada"))).collect();
        mend(subject.wire());
        answers
    };
    for info in answers(OnError::Allow) {
        let info = info.expect("an answer");
        assert_eq!((info.blocked, info.degraded, info.remaining, info.quota), (false, true, 3, 3));
    }
    for info in answers(OnError::Deny) {
        let info = info.expect("an answer");
        assert_eq!((info.blocked, info.degraded, info.remaining, info.reset_sec()), (true, true, 0, 1));
    }
    let blocked: Vec<_> = answers(OnError::Local).into_iter().map(|info| info.expect("an answer").blocked).collect();
    assert_eq!(blocked, [false, false, false, true, true], "this process enforces the limit by itself");
    for answer in answers(OnError::Raise) {
        let failure = failure(answer);
        assert!(matches!(failure, Failure::Timeout | Failure::Unavailable | Failure::Unreachable), "{failure:?}");
    }
}

pub(crate) fn nobody_has_to_be_there_at_first(subject: &impl Faulty) {
    subject.wire().black_hole(true);
    let limiter = in_time(|| subject.over(OnError::Allow));
    let limit = hourly("first", 3);
    let (answered, answers) = channel();
    let done = move |answer: Result<LimitInfo, Error>| answered.send(answer).map_err(|_| unreachable!());
    assert!(ffi::start(&limiter, &[Check::new(&limit, "ada")], Call::Limit, None, done).is_none());
    let answer = in_time(|| answers.recv_timeout(PATIENCE)).expect("every call is answered");
    assert!(answer.expect("an answer").degraded);
    // A call that cannot be decided at all is the caller's fault, whatever the store does.
    let check = Check::new(&limit, "ada").cost(4);
    assert!(matches!(limiter.decide_sync(&[check], Call::Limit), Err(Error::Limit(_))));
    mend(subject.wire());
    assert_eq!(left(&limiter, &limit), 3);
    assert!(limiter.stats().degraded > 0 && limiter.stats().failed == 1);
}

pub(crate) fn an_answer_that_comes_too_late_leaves_no_charge(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Raise), hourly("late", 10));
    // A store that needs two round trips is late at the second one.
    let answers = [DEADLINE * 2 / 3, DEADLINE * 3 / 2].map(|delay| {
        subject.wire().delay(delay);
        let answer = in_time(|| limiter.limit_sync(&limit, "ada"));
        subject.wire().delay(Duration::ZERO);
        stays_charged(&limiter, &limit, u64::from(answer.is_ok()));
        limiter.reset_sync(&limit, "ada").expect("a reset");
        answer
    });
    let [_, late] = answers;
    assert_eq!(failure(late), Failure::Timeout);
}

pub(crate) fn a_request_that_comes_too_late_is_not_charged(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Raise), hourly("late", 10));
    subject.wire().round_trip(DEADLINE * 3);
    assert_eq!(failure(in_time(|| limiter.limit_sync(&limit, "ada"))), Failure::Timeout);
    subject.wire().round_trip(Duration::ZERO);
    stays_charged(&limiter, &limit, 0);
}

fn stays_charged(limiter: &Limiter, limit: &Limit, units: u64) {
    // All that was on its way is there by then.
    thread::sleep(DEADLINE * 3);
    wait_until("a late charge is given back", || left(limiter, limit) == 10 - units);
    thread::sleep(DEADLINE);
    assert_eq!(left(limiter, limit), 10 - units);
}

pub(crate) fn a_receipt_whose_use_may_have_happened_is_used_up(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Raise), hourly("login", 10));
    let mine = charge(&limiter, &limit, 4);
    charge(&limiter, &limit, 4);
    // The server hears of it; its answer is lost.
    subject.wire().deafen(true);
    assert_eq!(failure(in_time(|| mine.refund_sync())), Failure::Timeout);
    mend(subject.wire());
    let now = left(&limiter, &limit);
    assert!([2, 6].contains(&now), "{now}");
    assert!(!mine.is_open());
    assert_eq!(mine.refund_sync().expect("an answer").remaining, now);
}

pub(crate) fn a_charge_is_given_back_where_it_was_made(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Local), hourly("login", 10));
    let [first, second] = [charge(&limiter, &limit, 4), charge(&limiter, &limit, 4)];
    subject.wire().black_hole(true);
    let here = [charge(&limiter, &limit, 3), charge(&limiter, &limit, 2)];
    let remaining = || limiter.peek_sync(&limit, "ada").expect("an answer").remaining;
    assert_eq!(remaining(), 5);
    assert!(first.refund_sync().expect("an answer").degraded);
    assert_eq!(remaining(), 5);
    assert!(second.settle_sync(&[5]).expect("an answer").degraded);
    assert_eq!(remaining(), 4);
    assert!(here[0].refund_sync().expect("an answer").degraded);
    assert_eq!(remaining(), 7);

    mend(subject.wire());
    let before = left(&limiter, &limit);
    assert_eq!(before, 2, "nothing of that reached the store");
    here[1].refund_sync().expect("an answer");
    assert_eq!(left(&limiter, &limit), before);
}

pub(crate) fn an_acquire_that_was_answered_is_called_off_once(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Raise), hourly("mail", 10));
    let check = Check::new(&limit, "ada").cost(4);
    let (answered, answers) = channel();
    let spawn = || {
        let answered = answered.clone();
        limiter.start_acquire(&[check], PATIENCE).spawn(move |answer, _| drop(answered.send(answer))).expect("a thread")
    };
    let [cancelled, taken] = [spawn(), spawn()];
    for _ in 0..2 {
        assert!(!answers.recv_timeout(PATIENCE).expect("in time").expect("an answer").blocked);
    }
    assert_eq!(left(&limiter, &limit), 2);
    assert!(taken.take());
    assert!(!taken.cancel());
    assert!(cancelled.cancel());
    assert!(!cancelled.cancel());
    assert!(!cancelled.take());
    wait_until("its charge is given back", || left(&limiter, &limit) == 6);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(left(&limiter, &limit), 6);
}

pub(crate) fn an_acquire_that_this_process_answered_is_given_back_here(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Local), hourly("mail", 10));
    charge(&limiter, &limit, 1);
    subject.wire().black_hole(true);
    charge(&limiter, &limit, 3);
    let check = Check::new(&limit, "ada").cost(4);
    let (answered, answers) = channel();
    let acquire = limiter.start_acquire(&[check], PATIENCE).spawn(move |answer, _| drop(answered.send(answer)));
    let acquire = acquire.expect("a thread");
    assert!(answers.recv_timeout(PATIENCE).expect("in time").expect("an answer").degraded);
    let remaining = || limiter.peek_sync(&limit, "ada").expect("an answer").remaining;
    assert_eq!(remaining(), 3);
    assert!(acquire.cancel());
    assert_eq!(remaining(), 7);
    assert!(!acquire.cancel());
    assert_eq!(remaining(), 7);
}

pub(crate) fn a_denial_is_remembered_until_it_is_given_back(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Raise), hourly("denied", 2));
    for _ in 0..2 {
        assert!(!limiter.limit_sync(&limit, "eve").expect("an answer").blocked);
    }
    let first = limiter.limit_sync(&limit, "eve").expect("an answer");
    let before = limiter.stats();
    for _ in 0..1000 {
        let info = limiter.limit_sync(&limit, "eve").expect("an answer");
        assert!(info.blocked && info.reset_ms <= first.reset_ms);
    }
    assert!(limiter.stats().deny_cache_hits - before.deny_cache_hits >= 990);
    let check = [Check::new(&limit, "eve").cost(2)];
    assert!(limiter.decide_sync(&check, Call::Limit).expect("an answer").blocked, "another cost is another denial");
    limiter.refund_sync(&limit, "eve").expect("an answer");
    assert!(!limiter.limit_sync(&limit, "eve").expect("an answer").blocked, "given back, so the store is asked again");
    assert!(limiter.limit_sync(&limit, "eve").expect("an answer").blocked);
    limiter.reset_sync(&limit, "eve").expect("an answer");
    assert!(!limiter.limit_sync(&limit, "eve").expect("an answer").blocked, "removed, so the store is asked again");
}

pub(crate) fn a_store_that_is_fit_says_so_and_can_be_cleared(subject: &impl Faulty) {
    let (limiter, limit) = (well(subject, OnError::Raise), hourly("kept", 10));
    let health = limiter.ping_sync().expect("a store that is fit");
    assert_eq!(health.servers.len(), 1);
    let other = limiter.namespace("another");
    for limiter in [&limiter, &other] {
        limiter.limit_sync(&limit, "ada").expect("an answer");
    }
    limiter.clear_sync().expect("entries are removed");
    assert_eq!((left(&limiter, &limit), left(&other, &limit)), (10, 9));
    subject.wire().black_hole(true);
    assert!(matches!(limiter.ping_sync(), Err(Error::Store(_))));
}
