//! The actors that a limiter denied and charged most.

use std::thread;
use std::time::Duration;

use tidegate::metrics::{Top, TopActor};
use tidegate::{Call, Check, Limit, Limiter, Memory};

const HOUR: Duration = Duration::from_hours(1);

fn bucket(key: &str, size: u64) -> Limit {
    Limit::bucket(key, size).drip_rate(HOUR).build().expect("a bucket")
}

fn rows(actors: &[TopActor]) -> Vec<(&str, u64)> {
    assert!(actors.iter().all(|row| row.error == 0), "{actors:?}");
    actors.iter().map(|row| (row.actor.as_str(), row.count)).collect()
}

#[test]
fn calls_that_decide_are_counted_from_the_first_look() {
    let (limiter, api) = (Limiter::new(Memory::new()), bucket("api", 3));
    limiter.limit_sync(&api, "before").expect("room");
    let _ = limiter.metrics();
    limiter.limit_sync(&api, "before").expect("room");
    assert_eq!(limiter.top(10), Top::default());
    for _ in 0..5 {
        limiter.clone().limit_sync(&api, "ada").expect("an answer");
    }
    limiter.peek_sync(&api, "ada").expect("an answer");
    limiter.refund_sync(&api, "ada").expect("an answer");
    limiter.reset_sync(&api, "ada").expect("an answer");
    limiter.charge_sync(&api, "eve").expect("an answer");
    let costs = Check::new(&api, "bob").cost(2);
    limiter.decide_sync(&[costs], Call::Limit).expect("an answer");
    limiter.decide_sync(&[costs.cost(5).at_least(1)], Call::Limit).expect("an answer");
    limiter.decide_sync(&[costs.cost(4)], Call::Limit).expect_err("more than there ever is");
    let top = limiter.top(10);
    assert_eq!(rows(&top.denied), [("ada", 2)]);
    assert_eq!(rows(&top.charged), [("ada", 3), ("bob", 3), ("eve", 1)]);
    assert_eq!(rows(&limiter.top(1).charged), [("ada", 3)]);
    assert_eq!(limiter.top(0), Top::default());
}

#[test]
fn a_call_counts_once_for_an_actor_that_it_denied() {
    let limiter = Limiter::new(Memory::new());
    let _ = limiter.top(0);
    let [one, two, all] = [bucket("one", 1), bucket("two", 1), bucket("all", 9)];
    let checks = [Check::new(&one, "ada"), Check::new(&two, "ada"), Check::new(&all, "ip:192.0.2.1")];
    for _ in 0..3 {
        limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    }
    let top = limiter.top(10);
    assert_eq!(rows(&top.denied), [("ada", 2)]);
    assert_eq!(rows(&top.charged), [("ada", 2), ("ip:192.0.2.1", 1)]);
}

#[test]
fn a_check_that_is_observed_never_counts() {
    let limiter = Limiter::new(Memory::new());
    let _ = limiter.top(0);
    let [live, trial] = [bucket("live", 2), bucket("trial", 1)];
    let checks = [Check::new(&live, "ada"), Check::new(&trial, "bob").observed()];
    for _ in 0..3 {
        limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    }
    limiter.decide_sync(&checks[1..], Call::Charge).expect("an answer");
    let top = limiter.top(10);
    assert_eq!((rows(&top.denied), rows(&top.charged)), (vec![("ada", 1)], vec![("ada", 2)]));
}

#[test]
fn a_turn_counts_once_however_often_it_asks() {
    let limiter = Limiter::new(Memory::new());
    let _ = limiter.top(0);
    let door = Limit::sliding_log("door", 1, Duration::from_millis(30)).build().expect("a limit");
    let closed = bucket("closed", 1);
    for _ in 0..3 {
        let info = limiter.acquire_sync(&door, "ada", HOUR).expect("a turn");
        assert!(!info.blocked);
    }
    for _ in 0..3 {
        limiter.acquire_sync(&closed, "bob", Duration::ZERO).expect("an answer");
        let at_an_instant = Call::Acquire { max_wait: Duration::ZERO };
        limiter.decide_sync_at(&[Check::new(&closed, "eve")], at_an_instant, 0).expect("an answer");
    }
    let top = limiter.top(10);
    assert_eq!(rows(&top.denied), [("bob", 2), ("eve", 2)]);
    assert_eq!(rows(&top.charged), [("ada", 3), ("bob", 1), ("eve", 1)]);
}

#[test]
fn no_call_of_any_thread_is_lost() {
    let (limiter, all) = (Limiter::new(Memory::new()), bucket("all", 100));
    let _ = limiter.top(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for call in 0..500 {
                    let actor = ["ada", "bob", "eve", "joe"][call % 4];
                    limiter.limit_sync(&all, actor).expect("an answer");
                }
            });
        }
    });
    let top = limiter.top(10);
    assert_eq!(rows(&top.denied), [("ada", 900), ("bob", 900), ("eve", 900), ("joe", 900)]);
    assert_eq!(rows(&top.charged), [("ada", 100), ("bob", 100), ("eve", 100), ("joe", 100)]);
}

#[test]
fn a_flood_of_names_hides_no_heavy_actor() {
    let (limiter, door) = (Limiter::new(Memory::new()), bucket("door", 1));
    let _ = limiter.top(0);
    for call in 0..20_000 {
        limiter.limit_sync(&door, &format!("ip:{call}")).expect("an answer");
        if call % 10 == 0 {
            limiter.limit_sync(&door, "eve").expect("an answer");
        }
    }
    let top = limiter.top(usize::MAX);
    assert_eq!((top.denied[0].actor.as_str(), top.denied[0].count), ("eve", 1999));
    assert_eq!(top.denied.len(), 1);
    // A minute may end in between.
    assert!(top.charged.len() <= 512, "{}", top.charged.len());
    assert!(top.charged.iter().all(|row| row.error <= 20_001 / 256));
}
