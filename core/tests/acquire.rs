//! Waiting for one's turn, in real time and on virtual clocks.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tidegate::acquire::{Acquire, Step};
use tidegate::{Call, Check, Limit, Limiter, Memory};

const SECOND: Duration = Duration::from_secs(1);

fn limiter() -> Limiter {
    Limiter::new(Memory::new())
}

fn drips(every: Duration) -> Limit {
    Limit::bucket("drips", 1).drip_rate(every).build().expect("a sound definition")
}

fn log(max: u64, period: Duration) -> Limit {
    Limit::sliding_log("log", max, period).build().expect("a sound definition")
}

#[test]
fn a_reservation_is_served_in_order_and_after_its_wait() {
    let (limiter, limit) = (limiter(), drips(SECOND / 4));
    let start = Instant::now();
    let waits: Vec<u64> = (0..4)
        .map(|_| limiter.acquire_sync(&limit, "ada", SECOND).expect("an answer"))
        .map(|info| {
            assert!(!info.blocked);
            info.wait_ms
        })
        .collect();
    assert_eq!(waits[0], 0);
    assert!(waits[1..].iter().all(|wait| (1..=250).contains(wait)), "{waits:?}");
    assert!(start.elapsed() >= Duration::from_millis(749));
}

#[test]
fn too_long_a_wait_is_refused_at_once_and_charges_nothing() {
    for limit in [drips(60 * SECOND), log(1, 60 * SECOND)] {
        let limiter = limiter();
        limiter.limit_sync(&limit, "ada").expect("an answer");
        let start = Instant::now();
        let info = limiter.acquire_sync(&limit, "ada", 10 * SECOND).expect("an answer");
        assert!(info.blocked && info.wait_ms == 0 && info.reset_ms > 50_000);
        assert!(start.elapsed() < 9 * SECOND);
        assert!(limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms <= 60_000);
    }
}

#[test]
fn too_long_a_wait_is_charged_where_denied_attempts_are() {
    let hour = Duration::from_hours(1);
    let limit = Limit::decay("score", 1, 2.0, hour).count_blocked(true).build().expect("a limit");
    let wider = Limit::decay("score", 9, 2.0, hour).build().expect("a limit");
    for now in [None, Some(0)] {
        let limiter = limiter();
        let ask = |limit, wait| {
            let acquire = limiter.start_acquire(&[Check::new(limit, "ada")], wait);
            if let Some(now) = now { acquire.at(now) } else { acquire }.finish_sync().expect("an answer")
        };
        assert!(ask(&limit, Duration::ZERO).allowed());
        assert!(ask(&limit, Duration::from_millis(50)).blocked);
        assert_eq!(ask(&wider, Duration::ZERO).remaining, 6, "{now:?}");
    }
}

#[test]
fn what_cannot_reserve_waits_until_there_is_room() {
    let (limiter, limit) = (limiter(), log(2, SECOND / 2));
    let start = Instant::now();
    limiter.limit_sync(&limit, "ada").expect("an answer");
    limiter.limit_sync(&limit, "ada").expect("an answer");
    let asked = Instant::now();
    let info = limiter.acquire_sync(&limit, "ada", 10 * SECOND).expect("an answer");
    assert!(!info.blocked);
    assert!(start.elapsed() >= Duration::from_millis(499));
    assert!(info.wait_ms > 0 && u128::from(info.wait_ms) <= asked.elapsed().as_millis() + 1, "{}", info.wait_ms);
}

#[test]
fn the_line_is_in_order_of_arrival() {
    let (limiter, limit) = (limiter(), log(1, SECOND / 4));
    limiter.limit_sync(&limit, "ada").expect("an answer");
    let mut line: Vec<_> = (0..3).map(|_| limiter.start_acquire(&[Check::new(&limit, "ada")], 60 * SECOND)).collect();
    let mut served = Vec::new();
    let deadline = Instant::now() + 30 * SECOND;
    for acquire in &mut line {
        assert!(matches!(acquire.step(), Ok(Step::Wait(_))));
    }
    // The last in line asks first each time, and still goes last.
    while served.len() < 3 && Instant::now() < deadline {
        for (number, acquire) in line.iter_mut().enumerate().rev() {
            if !served.contains(&number) && matches!(acquire.step(), Ok(Step::Done(info)) if !info.blocked) {
                served.push(number);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(served, [0, 1, 2]);
}

#[test]
fn giving_up_returns_the_charge_exactly_once() {
    let (limiter, limit) = (limiter(), Limit::bucket("slow", 2).build().expect("a sound definition"));
    let check = Check::new(&limit, "ada").cost(2);
    limiter.decide_sync(&[check], Call::Limit).expect("an answer");
    let mut waiting = limiter.start_acquire(&[check], 10 * SECOND);
    assert!(matches!(waiting.step(), Ok(Step::Wait(_))));
    let reserved = limiter.peek_sync(&limit, "ada").expect("an answer");
    assert!(reserved.full_reset_ms > 3000);
    drop(waiting);
    let freed = limiter.peek_sync(&limit, "ada").expect("an answer");
    assert!((1000..=2000).contains(&freed.full_reset_ms), "{}", freed.full_reset_ms);
}

#[test]
fn giving_up_late_returns_the_whole_charge() {
    let (limiter, limit) = (limiter(), drips(SECOND / 10));
    let mut line: Vec<_> = (0..40).map(|_| limiter.start_acquire(&[Check::new(&limit, "ada")], 60 * SECOND)).collect();
    for acquire in &mut line {
        acquire.step().expect("a place");
    }
    let last = line.pop().expect("the last in line");
    // Several drips later none of the last one's own has drained, for others stand before it.
    std::thread::sleep(SECOND / 4);
    let full = || limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms;
    let (start, before) = (Instant::now(), full());
    drop(last);
    let (freed, passed) = (before - full(), start.elapsed());
    assert!(freed >= 99 && Duration::from_millis(freed) <= passed + Duration::from_millis(101), "{freed} of {before}");
}

#[test]
fn giving_up_after_its_turn_frees_nothing_of_a_later_call() {
    let (limiter, limit) = (limiter(), drips(SECOND / 4));
    let check = Check::new(&limit, "ada");
    limiter.decide_sync(&[check], Call::Charge).expect("an answer");
    let mut waiting = limiter.start_acquire(&[check], 10 * SECOND);
    assert!(matches!(waiting.step(), Ok(Step::Wait(_))));
    // Its turn came long ago, and all that it charged has drained.
    std::thread::sleep(SECOND);
    limiter.decide_sync(&[check.cost(40)], Call::Charge).expect("an answer");
    let full = || limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms;
    let (start, before) = (Instant::now(), full());
    drop(waiting);
    let (after, passed) = (full(), start.elapsed());
    assert!(Duration::from_millis(before - after) <= passed + Duration::from_millis(1), "{before} became {after}");
}

#[test]
fn with_an_instant_given_it_does_not_wait() {
    let (limiter, limit) = (limiter(), drips(SECOND));
    let check = Check::new(&limit, "ada");
    let at = |now| match limiter.start_acquire(&[check], 10 * SECOND).at(now).step() {
        Ok(Step::Done(info)) => info.wait_ms,
        step => panic!("{step:?}"),
    };
    assert_eq!([at(0), at(0), at(500_000)], [0, 1000, 1500]);
}

#[test]
fn a_dropped_future_gives_its_place_back() {
    let (limiter, limit) = (limiter(), Limit::bucket("slow", 1).build().expect("a sound definition"));
    limiter.limit_sync(&limit, "ada").expect("an answer");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let mut waiting = pin!(limiter.acquire(&limit, "ada", 10 * SECOND));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(waiting.as_mut().poll(&mut context), Poll::Pending));
        assert!(limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms > 1000);
    });
    assert!(limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms <= 1000);
}

#[test]
fn thousands_wait_on_one_thread() {
    const WAITERS: usize = 2000;
    let limit = Limit::token_bucket("many", 100_000, SECOND).burst(1).build().expect("a sound definition");
    let limiter = limiter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let admitted = runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..WAITERS {
            let (limiter, limit) = (limiter.clone(), limit.clone());
            tasks.spawn(async move { limiter.acquire(&limit, "ada", 10 * SECOND).await });
        }
        tasks.join_all().await.into_iter().filter(|info| info.as_ref().is_ok_and(|info| !info.blocked)).count()
    });
    assert_eq!(admitted, WAITERS);
}

#[test]
fn a_charge_is_undone_less_what_has_drained_since() {
    let limit = Limit::bucket("login", 10).build().expect("a sound definition");
    let limiter = limiter();
    let at = |seconds: u64| 1_700_000_000_000_000 + seconds * 1_000_000;
    let check = Check::new(&limit, "ada").cost(5);
    let decide = |call, seconds| limiter.decide_sync_at(&[check], call, at(seconds)).expect("an answer");

    let charged = decide(Call::Limit, 0);
    let undone = decide(Call::Undo { charged_at: charged.at }, 2);
    assert_eq!((undone.remaining, undone.full_reset_ms), (10, 0));

    // Too late: all of it has drained, and what a later call charged stays.
    let charged = decide(Call::Limit, 10);
    assert_eq!(decide(Call::Limit, 15).remaining, 5);
    assert_eq!(decide(Call::Undo { charged_at: charged.at }, 15).remaining, 5);
}

#[test]
fn every_type_undoes_its_own_charge_and_no_later_one() {
    let second = SECOND;
    let limits = [
        Limit::bucket("a", 10).build(),
        Limit::token_bucket("b", 10, 10 * second).build(),
        Limit::fixed_window("c", 10, 10 * second).build(),
        Limit::sliding_window("d", 10, 10 * second, second).build(),
        Limit::sliding_counter("e", 10, 10 * second).build(),
        Limit::sliding_log("f", 10, 10 * second).build(),
        Limit::decay("g", 10, 2.0, second).build(),
        Limit::smooth("h", 1.0).max_burst(10 * second).build(),
    ];
    let start = 1_700_000_000_000_000;
    for limit in limits.map(|limit| limit.expect("a sound definition")) {
        let limiter = limiter();
        let check = Check::new(&limit, "ada").cost(4);
        let decide = |check, call, at| limiter.decide_sync_at(&[check], call, at).expect("an answer");
        let before = decide(check, Call::Peek, start).remaining;
        let charged = decide(check, Call::Limit, start);
        let undone = decide(check, Call::Undo { charged_at: charged.at }, start + 1000);
        assert_eq!(undone.remaining, before, "{limit:?}");

        let charged = decide(check, Call::Limit, start + 100_000_000);
        let later = start + 400_000_000;
        let other = decide(check.cost(3), Call::Limit, later);
        let undone = decide(check, Call::Undo { charged_at: charged.at }, later);
        assert_eq!(undone.remaining, other.remaining, "{limit:?}");
    }
}

#[test]
fn only_so_many_wait_and_whoever_leaves_makes_room() {
    for limit in [drips(Duration::from_secs(3600)), log(1, Duration::from_secs(3600))] {
        let limiter = limiter().max_waiters(2);
        limiter.limit_sync(&limit, "ada").expect("an answer");
        let begin = || {
            let mut acquire = limiter.start_acquire(&[Check::new(&limit, "ada")], Duration::from_secs(1 << 20));
            let step = acquire.step().expect("a step");
            (acquire, step)
        };
        let (first, second) = (begin(), begin());
        assert!(matches!((&first.1, &second.1), (Step::Wait(_), Step::Wait(_))));
        let before = limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms;
        let (_third, step) = begin();
        assert!(matches!(step, Step::Done(info) if info.blocked && info.wait_ms == 0));
        let after = limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms;
        assert!(after <= before, "a denial charges nothing");
        // What fits at once needs no place.
        assert!(!limiter.acquire_sync(&limit, "eve", SECOND).expect("an answer").blocked);
        drop(first);
        assert!(matches!(begin().1, Step::Wait(_)));
    }
}

#[test]
fn an_acquire_that_is_over_leaves_its_place() {
    let limiter = limiter().max_waiters(1);
    let limit = drips(Duration::from_secs(3600));
    let mut kept = Vec::new();
    for actor in ["ada", "bob", "eve"] {
        let mut acquire = limiter.start_acquire(&[Check::new(&limit, actor)], SECOND);
        assert!(matches!(acquire.step().expect("a step"), Step::Done(info) if !info.blocked));
        kept.push(acquire);
    }
    limiter.limit_sync(&limit, "zoe").expect("an answer");
    let mut waiting = limiter.start_acquire(&[Check::new(&limit, "zoe")], Duration::from_secs(1 << 20));
    assert!(matches!(waiting.step().expect("a step"), Step::Wait(_)), "{} are over", kept.len());
}

#[test]
fn a_release_wakes_who_waits_in_order() {
    let limiter = limiter();
    let exports = Limit::concurrency("exports", 1, Duration::from_secs(3600)).build().expect("a sound definition");
    let checks = [Check::new(&exports, "ada")];
    let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    let receipt = limiter.receipt(&checks, Call::Limit, &info);
    let mut line: Vec<_> = (0..2).map(|_| limiter.start_acquire(&checks, 10 * SECOND)).collect();
    for acquire in &mut line {
        assert!(matches!(acquire.step(), Ok(Step::Wait(_))));
    }
    let rung = |acquire: &Acquire| acquire.bell().expect("a bell").wait(Duration::ZERO);
    assert_eq!([rung(&line[0]), rung(&line[1])], [false, false]);
    receipt.release_sync().expect("an answer");
    assert_eq!([rung(&line[0]), rung(&line[1])], [true, false]);
    assert!(matches!(line[0].step(), Ok(Step::Done(info)) if !info.blocked));
    assert!(rung(&line[1]), "it is the first now");
    assert!(matches!(line[1].step(), Ok(Step::Wait(_))));
    limiter.reset_sync(&exports, "ada").expect("an answer");
    assert!(rung(&line[1]));
    assert!(matches!(line[1].step(), Ok(Step::Done(info)) if !info.blocked));
}

#[test]
fn a_wait_for_units_is_as_long_as_was_said() {
    let limiter = limiter();
    let exports = Limit::concurrency("exports", 1, Duration::from_secs(3600)).build().expect("a sound definition");
    limiter.limit_sync(&exports, "ada").expect("an answer");
    let waited = Instant::now();
    let info = limiter.acquire_sync(&exports, "ada", Duration::from_millis(50)).expect("an answer");
    assert!(info.blocked && info.reset_ms > 3_000_000);
    assert!(waited.elapsed() >= Duration::from_millis(50));
    let info = limiter.acquire_sync(&exports, "ada", Duration::ZERO).expect("an answer");
    assert!(info.blocked);
}

#[test]
fn a_caller_ahead_that_never_comes_back_makes_no_wait_longer_than_was_said() {
    let (limiter, log) = (limiter(), log(1, SECOND / 4));
    limiter.limit_sync(&log, "ada").expect("admitted");
    let check = Check::new(&log, "ada");
    let mut ahead = limiter.start_acquire(&[check], 60 * SECOND);
    assert!(matches!(ahead.step(), Ok(Step::Wait(_))));
    let mut behind = limiter.start_acquire(&[check], SECOND);
    for _ in 0..1000 {
        match behind.step().expect("a step") {
            Step::Wait(time) => std::thread::sleep(time),
            Step::Done(info) => return assert!(info.blocked),
        }
    }
    panic!("it waits still");
}
