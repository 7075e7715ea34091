//! Decisions that every store makes alike.

use std::thread;
use std::time::Duration;

use tidegate::{Call, Check, Limit, Limiter};

use crate::Subject;

pub(crate) fn hourly(key: &str, size: u64) -> Limit {
    Limit::bucket(key, size).drip_rate(Duration::from_hours(1)).build().expect("a bucket")
}

pub(crate) fn left(limiter: &Limiter, limit: &Limit, actor: &str) -> u64 {
    limiter.peek_sync(limit, actor).expect("an answer").remaining
}

pub(crate) fn several_checks_are_all_charged_or_none(subject: &impl Subject) {
    let limiter = subject.limiter();
    let (narrow, wide) = (hourly("narrow", 2), hourly("wide", 50));
    let actors: Vec<String> = (0..6).map(|number| format!("actor {number}")).collect();
    let mut checks: Vec<_> = actors.iter().map(|actor| Check::new(&wide, actor)).collect();
    checks.push(Check::new(&narrow, "ada"));
    for remaining in [1, 0] {
        let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
        assert_eq!((info.blocked, info.remaining, info.checks().len()), (false, remaining, 7));
        assert_eq!(info.binding(), 6);
    }
    for _ in 0..3 {
        let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
        assert!(info.blocked && info.checks()[6].blocked && !info.checks()[0].blocked);
        assert_eq!(info.checks()[0].remaining, 48);
    }
    for actor in &actors {
        assert_eq!(left(&limiter, &wide, actor), 48, "{actor}");
    }
}

/// Two processes, with two threads each.
pub(crate) fn calls_at_once_are_charged_each(subject: &impl Subject) {
    const SIZE: u64 = 40;
    let [limiter, other] = subject.limiters();
    let (few, many) = (hourly("few", SIZE), hourly("many", 1000));
    let admitted = |limiter: &Limiter| {
        let checks = [Check::new(&many, "ada"), Check::new(&few, "ada")];
        (0..25).filter(|_| !limiter.decide_sync(&checks, Call::Limit).expect("an answer").blocked).count() as u64
    };
    let admitted: u64 = thread::scope(|scope| {
        let threads = [&limiter, &other, &limiter, &other].map(|limiter| scope.spawn(|| admitted(limiter)));
        threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    });
    assert_eq!(admitted, SIZE);
    assert_eq!((left(&limiter, &few, "ada"), left(&other, &many, "ada")), (0, 1000 - SIZE));
}

pub(crate) fn several_limits_are_reset_together(subject: &impl Subject) {
    let limiter = subject.limiter();
    let log = Limit::sliding_log("log", 3, Duration::from_hours(1)).build().expect("a log");
    let limits: Vec<_> =
        [hourly("one", 10), hourly("two", 20), log].into_iter().filter(|limit| subject.keeps(limit)).collect();
    let checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, "ada")).collect();
    let others = [Check::new(&limits[0], "eve")];
    for checks in [&checks[..], &others] {
        assert!(!limiter.decide_sync(checks, Call::Limit).expect("an answer").blocked);
    }
    let info = limiter.decide_sync(&checks, Call::Reset).expect("an answer");
    let quotas: Vec<_> = info.checks().iter().map(|info| info.quota).collect();
    let remaining: Vec<_> = info.checks().iter().map(|info| info.remaining).collect();
    assert_eq!((remaining, info.full_reset_ms, info.blocked), (quotas, 0, false));
    let peeked = limiter.decide_sync(&checks, Call::Peek).expect("an answer");
    assert_eq!(peeked.checks().iter().map(|info| info.full_reset_ms).max(), Some(0));
    assert_eq!(left(&limiter, &limits[0], "eve"), 9, "another actor's entries stay");
}

pub(crate) fn a_reset_removes_every_shape_of_a_key(subject: &impl Subject) {
    let limiter = subject.limiter();
    let log = Limit::sliding_log("k", 3, Duration::from_hours(1)).build().expect("a log");
    let limits: Vec<_> = [hourly("k", 10), log].into_iter().filter(|limit| subject.keeps(limit)).collect();
    for limit in &limits {
        limiter.limit_sync(limit, "ada").expect("an answer");
    }
    limiter.reset_sync(&limits[0], "ada").expect("a reset");
    for limit in &limits {
        assert_eq!(limiter.peek_sync(limit, "ada").expect("an answer").full_reset_ms, 0);
    }
}

pub(crate) fn namespaces_are_apart(subject: &impl Subject) {
    let limiter = subject.limiter();
    let limit = hourly("spaces", 10);
    let other = limiter.namespace("another namespace of the suite");
    other.reset_sync(&limit, "ada").expect("a reset");
    limiter.limit_sync(&limit, "ada").expect("an answer");
    assert_eq!((left(&limiter, &limit, "ada"), left(&other, &limit, "ada")), (9, 10));
}

pub(crate) fn an_actor_that_is_too_long_is_refused_by_every_call(subject: &impl Subject) {
    let (limiter, long) = (subject.limiter(), "a".repeat((1 << 16) + 1));
    let (one, two) = (hourly("one", 10), hourly("two", 10));
    let said = r#"limit "one": actor must be at most 65536 bytes long, got 65537 bytes"#;
    let acquire = Call::Acquire { max_wait: Duration::ZERO };
    for call in [Call::Limit, Call::Peek, Call::Charge, Call::Refund, Call::Reset, acquire] {
        for checks in [vec![Check::new(&one, &long)], vec![Check::new(&two, "ada"), Check::new(&one, &long)]] {
            let error = limiter.decide_sync(&checks, call).expect_err("too long");
            assert_eq!(error.to_string(), said, "{call:?}");
        }
    }
    assert_eq!(limiter.limit_sync(&one, &long).expect_err("too long").to_string(), said);
    assert_eq!(left(&limiter, &two, "ada"), 10);
}

pub(crate) fn a_call_that_cannot_be_decided_charges_nothing(subject: &impl Subject) {
    let limiter = subject.limiter();
    let (one, two) = (hourly("one", 10), hourly("two", 10));
    let checks = [Check::new(&one, "ada"), Check::new(&two, "ada").cost(11)];
    let error = limiter.decide_sync(&checks, Call::Limit).expect_err("more than it ever admits");
    assert!(error.to_string().starts_with("limit \"two\": cost must be at most 10"), "{error}");
    assert_eq!(left(&limiter, &one, "ada"), 10);
    // More than any level may hold, which only the store can know.
    let most = 1 << 52;
    let charge = |cost| limiter.decide_sync(&[Check::new(&one, "eve").cost(cost)], Call::Charge);
    charge(1).expect("an answer");
    let error = charge(most).expect_err("out of range");
    assert!(error.to_string().contains("must keep the level below 2^52"), "{error}");
    assert_eq!(left(&limiter, &one, "eve"), 9);
}

pub(crate) fn an_observed_check_is_charged_beside_a_denial_and_denied_beside_an_admission(subject: &impl Subject) {
    let limiter = subject.limiter();
    let (live, wide, narrow) = (hourly("live", 2), hourly("wide", 4), hourly("narrow", 1));
    let checks = [Check::new(&wide, "ada").observed(), Check::new(&live, "ada"), Check::new(&narrow, "ada").observed()];
    let told = |call| {
        let info = limiter.decide_sync(&checks, call).expect("an answer");
        assert_eq!((info.binding(), info.quota, info.checks().len()), (1, 2, 3));
        let each: Vec<_> = info.checks().iter().map(|info| (info.blocked, info.is_observed())).collect();
        assert_eq!(each.iter().map(|(_, is_observed)| *is_observed).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(info.blocked, each[1].0);
        [each[0].0, each[1].0, each[2].0]
    };
    for expected in
        [[false, false, false], [false, false, true], [false, true, true], [false, true, true], [true, true, true]]
    {
        assert_eq!(told(Call::Peek), expected);
        assert_eq!(told(Call::Limit), expected);
    }
    assert_eq!([&wide, &live, &narrow].map(|limit| left(&limiter, limit, "ada")), [0, 0, 0]);
}

pub(crate) fn an_observed_check_alone_limits_nothing(subject: &impl Subject) {
    let limiter = subject.limiter();
    let limit = hourly("shadow", 1);
    for blocked in [false, true, true] {
        let info = limiter.decide_sync(&[Check::new(&limit, "ada").observed()], Call::Limit).expect("an answer");
        assert_eq!((info.blocked, info.reset_ms, info.checks()[0].blocked), (false, 0, blocked));
    }
    assert_eq!(left(&limiter, &limit, "ada"), 0, "it was charged");
}

pub(crate) fn a_receipt_gives_back_what_observed_checks_charged(subject: &impl Subject) {
    let limiter = subject.limiter();
    let (live, wide, narrow) = (hourly("live", 2), hourly("wide", 9), hourly("narrow", 1));
    let all_left = || [&live, &wide, &narrow].map(|limit| left(&limiter, limit, "ada"));
    let checks = [Check::new(&live, "ada"), Check::new(&wide, "ada").observed(), Check::new(&narrow, "ada").observed()];
    for (before, after) in [([2, 9, 1], [1, 8, 0]), ([1, 8, 0], [0, 7, 0]), ([0, 7, 0], [0, 6, 0])] {
        let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
        assert_eq!(all_left(), after);
        limiter.receipt(&checks, Call::Limit, &info).refund_sync().expect("an answer");
        assert_eq!(all_left(), before, "a denied check gives nothing back");
        limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    }
}

/// Charges so much that a few units more would take longer to drain than a decision can say.
fn nearly_overflowing(limiter: &Limiter, key: &str) -> Limit {
    const HOURS: u64 = (1 << 53) / (3600 * 1_000_000);
    let limit = hourly(key, 10);
    limiter.decide_sync(&[Check::new(&limit, "ada").cost(HOURS - 5)], Call::Charge).expect("in range");
    limit
}

/// A place far in the future, for which a call still waits.
const FAR: Call = Call::Acquire { max_wait: Duration::from_micros((1 << 53) - 1) };

pub(crate) fn an_overflow_charges_no_observed_check(subject: &impl Subject) {
    let limiter = subject.limiter();
    let (full, beside, other) = (nearly_overflowing(&limiter, "full"), hourly("beside", 10), hourly("other", 10));
    let checks = [
        Check::new(&beside, "ada").observed(),
        Check::new(&other, "ada"),
        Check::new(&full, "ada").cost(10),
        Check::new(&beside, "eve").observed(),
    ];
    let error = limiter.decide_sync(&checks, FAR).expect_err("out of range").to_string();
    assert!(error.starts_with("limit \"full\"") && error.contains("must keep the level below 2^52"), "{error}");
    assert_eq!((left(&limiter, &beside, "ada"), left(&limiter, &beside, "eve")), (10, 10));
    assert_eq!(left(&limiter, &other, "ada"), 10);
    let info = limiter.decide_sync(&checks[..2], FAR).expect("the next call is fine");
    assert!(!info.blocked && left(&limiter, &beside, "ada") == 9);

    // What is paid later is admitted at any cost, so that a plain call may overflow too.
    let paced = Limit::smooth("paced", 1.0).build().expect("a pace");
    if subject.keeps(&paced) {
        let checks = [Check::new(&beside, "ada").observed(), Check::new(&paced, "ada").cost(1 << 40)];
        limiter.decide_sync(&checks, Call::Limit).expect_err("out of range");
        assert_eq!(left(&limiter, &beside, "ada"), 9);
    }
}

pub(crate) fn an_observed_check_that_overflows_is_denied_alone(subject: &impl Subject) {
    let limiter = subject.limiter();
    let (full, beside, other) = (nearly_overflowing(&limiter, "full"), hourly("beside", 10), hourly("other", 10));
    let checks = [
        Check::new(&full, "ada").cost(10).observed(),
        Check::new(&beside, "ada").observed(),
        Check::new(&other, "ada"),
    ];
    let info = limiter.decide_sync(&checks, FAR).expect("an answer");
    let blocked: Vec<_> = info.checks().iter().map(|info| info.blocked).collect();
    assert_eq!((info.blocked, blocked), (false, vec![true, false, false]));
    assert_eq!((left(&limiter, &beside, "ada"), left(&limiter, &other, "ada")), (9, 9));
}

pub(crate) fn a_limit_that_is_listed_twice_is_observed_once(subject: &impl Subject) {
    let (limiter, limit) = (subject.limiter(), hourly("upstream", 10));
    let checks = [Check::new(&limit, "ada"), Check::new(&limit, "ada")];
    let call = Call::Observe { remaining: Some(2), retry_after: None };
    assert_eq!(limiter.decide_sync(&checks, call).expect("an answer").remaining, 2);
    assert_eq!(left(&limiter, &limit, "ada"), 2);
}

pub(crate) fn a_denied_part_that_was_charged_is_given_back_and_no_more(subject: &impl Subject) {
    let (limiter, day) = (subject.limiter(), Duration::from_hours(24));
    let window = |max| Limit::sliding_window("codes", max, day, day).count_blocked(true).build().expect("a window");
    let (limit, wider) = (window(5), window(100));
    if !subject.keeps(&limit) {
        return;
    }
    limiter.decide_sync(&[Check::new(&limit, "ada").cost(5)], Call::Limit).expect("an answer");
    for (spent, remaining) in [(0, 95), (1, 94), (4, 90)] {
        let checks = [Check::new(&limit, "ada").cost(20).at_least(2)];
        let denied = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
        assert!(denied.blocked && denied.granted == 0);
        limiter.receipt(&checks, Call::Limit, &denied).settle_sync(&[spent]).expect("an answer");
        assert_eq!(left(&limiter, &wider, "ada"), remaining, "{spent}");
    }
}
