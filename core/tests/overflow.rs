//! A full memory store: nobody is forgotten, and whoever finds no place is counted all the same.

use std::time::Duration;

use proptest::prelude::*;
use tidegate::limits::Anchor;
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory};

const HOUR: Duration = Duration::from_hours(1);
const START: u64 = 1_750_000_000_000_000;
const SECOND: u64 = 1_000_000;
const VICTIMS: usize = 200;
const CAP: usize = 300;

fn at(limiter: &Limiter, check: Check<'_>, call: Call, now: u64) -> LimitInfo {
    limiter.decide_sync_at(&[check], call, now).expect("an answer")
}

/// One of each type that admits `size` at once, and drains in an hour or more.
fn of_each_type(size: u64) -> Vec<Limit> {
    let per = |limit: Duration| limit / u32::try_from(size).expect("small");
    [
        Limit::bucket("bucket", size).drip_rate(per(HOUR)).build(),
        Limit::token_bucket("token-bucket", size, HOUR).build(),
        Limit::fixed_window("fixed-window", size, HOUR).anchor(Anchor::FirstRequest).build(),
        Limit::fixed_window("epoch-window", size, HOUR * 24 * 365).build(),
        Limit::sliding_window("sliding-window", size, HOUR, Duration::from_mins(1)).build(),
        Limit::sliding_counter("sliding-counter", size, HOUR * 24 * 365).build(),
        Limit::sliding_log("sliding-log", size, HOUR).build(),
        Limit::decay("decay", size, 2.0, HOUR).build(),
        Limit::smooth("smooth", size as f64 / 3600.0).max_burst(HOUR).build(),
        Limit::smooth("warm-up", size as f64 / 3600.0).warmup(HOUR).build(),
        Limit::legacy("legacy").max(size).duration(HOUR).build(),
    ]
    .map(|limit| limit.expect("a sound definition"))
    .into()
}

/// The way in which an attacker uses each of many names.
#[derive(Clone, Copy, Debug)]
enum Flood {
    OneCall,
    FullCost,
    Overfill,
}

impl Flood {
    fn call(self, limiter: &Limiter, limit: &Limit, name: &str, size: u64, now: u64) {
        let check = Check::new(limit, name);
        match self {
            Self::OneCall => drop(at(limiter, check, Call::Limit, now)),
            Self::FullCost => drop(at(limiter, check.cost(size), Call::Limit, now)),
            Self::Overfill => drop(at(limiter, check.cost(3 * size), Call::Charge, now)),
        }
    }
}

/// Victims who use up all they may, and so are denied the next call.
fn block(limiter: &Limiter, limit: &Limit, size: u64) -> Vec<String> {
    let victims: Vec<_> = (0..VICTIMS).map(|victim| format!("victim {victim}")).collect();
    for victim in &victims {
        // A pace is in debt only after a call that is dearer than what is stored.
        at(limiter, Check::new(limit, victim).cost(2 * size), Call::Charge, START);
    }
    victims
}

#[test]
fn victims_stay_blocked_and_a_newcomer_gets_at_most_its_limit_whatever_the_flood() {
    let size = 5;
    for flood in [Flood::OneCall, Flood::FullCost, Flood::Overfill] {
        for limit in of_each_type(size) {
            let limiter = Limiter::new(Memory::with_max_entries(CAP));
            let victims = block(&limiter, &limit, size);
            for name in 0..10 * CAP {
                flood.call(&limiter, &limit, &format!("hostile {name}"), size, START + 1);
            }
            let blocked = victims
                .iter()
                .filter(|victim| at(&limiter, Check::new(&limit, victim), Call::Limit, START + 2).blocked);
            assert_eq!(blocked.count(), VICTIMS, "{flood:?} of {}", limit.key());
            let calls = (0..1000).map(|_| at(&limiter, Check::new(&limit, "newcomer"), Call::Limit, START + 3));
            let admitted = calls.filter(|info| !info.blocked).count() as u64;
            // Pacing lets one more through, which the next pays for.
            assert!(admitted <= size + 1, "{admitted} by {flood:?} of {}", limit.key());
            let memory = limiter.memory();
            assert!(memory.len() <= CAP && memory.overflowed() > 0, "{flood:?} of {}", limit.key());
        }
    }
}

#[test]
fn a_hundred_thousand_logins_of_one_account_are_held_to_five() {
    let limiter = Limiter::new(Memory::with_max_entries(10_000));
    let one = Limit::bucket("page", 1).drip_rate(HOUR).build().expect("a bucket");
    for name in 0..100_000 {
        at(&limiter, Check::new(&one, &format!("hostile {name}")), Call::Limit, START);
    }
    let login = Limit::fixed_window("login", 5, HOUR).build().expect("a window");
    let attempts = (0..100_000).map(|_| at(&limiter, Check::new(&login, "account"), Call::Limit, START));
    assert_eq!(attempts.filter(|info| !info.blocked).count(), 5);
}

#[test]
fn many_limit_keys_and_all_types_at_once_free_nobody_and_admit_nobody_too_often() {
    let (size, limits) = (5, of_each_type(5));
    for now in [None, Some(START)] {
        let limiter = Limiter::new(Memory::with_max_entries(CAP));
        let victims = block(&limiter, &limits[0], size);
        let decide = |check: Check<'_>| match now {
            Some(now) => at(&limiter, check, Call::Limit, now),
            None => limiter.decide_sync(&[check], Call::Limit).expect("an answer"),
        };
        for name in 0..10 * CAP {
            let hostile = format!("hostile {name}");
            decide(Check::new(&limits[name % limits.len()], &hostile));
            let own = Limit::bucket(format!("post {name}"), size).drip_rate(HOUR).build().expect("a bucket");
            decide(Check::new(&own, &hostile));
            limiter.charge_sync(&own, &hostile).expect("an answer");
        }
        if now.is_some() {
            assert!(
                victims.iter().all(|victim| at(&limiter, Check::new(&limits[0], victim), Call::Peek, START).blocked)
            );
        }
        for key in 0..50 {
            let post = Limit::bucket(format!("new {key}"), size).drip_rate(HOUR).build().expect("a bucket");
            let admitted = (0..100).filter(|_| !decide(Check::new(&post, "newcomer")).blocked).count() as u64;
            assert!(admitted <= size, "{admitted} of {size}");
        }
    }
}

#[test]
fn whom_nothing_was_charged_gets_all_of_it_once_the_attack_has_drained() {
    let size = 5;
    for flood in [Flood::OneCall, Flood::FullCost] {
        for limit in of_each_type(size) {
            let limiter = Limiter::new(Memory::with_max_entries(CAP));
            for name in 0..10 * CAP {
                flood.call(&limiter, &limit, &format!("hostile {name}"), size, START);
            }
            // A decay takes the longest, and what is kept of times is rounded up.
            let later = START + 3 * 365 * 24 * 3600 * SECOND;
            let calls = (0..100).map(|_| at(&limiter, Check::new(&limit, "honest"), Call::Limit, later));
            let admitted = calls.filter(|info| !info.blocked).count();
            let unbounded = Limiter::new(Memory::new());
            let calls = (0..100).map(|_| at(&unbounded, Check::new(&limit, "honest"), Call::Limit, later));
            assert_eq!(admitted, calls.filter(|info| !info.blocked).count(), "{flood:?} of {}", limit.key());
        }
    }
}

#[test]
fn as_soon_as_there_is_room_nobody_shares_any_more() {
    let limit = Limit::bucket("login", 5).drip_rate(Duration::from_secs(1)).build().expect("a bucket");
    let limiter = Limiter::new(Memory::with_max_entries(16));
    for name in 0..100 {
        at(&limiter, Check::new(&limit, &format!("hostile {name}")).cost(5), Call::Limit, START);
    }
    assert!(at(&limiter, Check::new(&limit, "ada"), Call::Limit, START).blocked);
    // Some of what is full has drained, but the shared entries have not: each starts from what those say.
    let (later, much_later) = (START + 3 * SECOND, START + 7 * SECOND);
    assert!(!at(&limiter, Check::new(&limit, "ada").cost(2), Call::Limit, later).blocked);
    let shared = limiter.memory().overflowed();
    for name in 0..10 {
        let name = format!("honest {name}");
        let admitted = (0..9).filter(|_| !at(&limiter, Check::new(&limit, &name), Call::Limit, much_later).blocked);
        assert_eq!(admitted.count(), 5);
    }
    assert_eq!(limiter.memory().overflowed(), shared, "all of them have entries of their own");
}

#[test]
fn nothing_is_given_back_to_a_shared_entry_and_a_reset_frees_nobody_else() {
    let limit = Limit::sliding_log("login", 5, HOUR).build().expect("a log");
    let limiter = Limiter::new(Memory::with_max_entries(2));
    at(&limiter, Check::new(&limit, "first"), Call::Limit, START);
    for name in ["ada", "bob"] {
        at(&limiter, Check::new(&limit, name).cost(2), Call::Limit, START);
    }
    let undo = Call::Undo { charged_at: START };
    for call in [Call::Refund, undo] {
        assert_eq!(at(&limiter, Check::new(&limit, "eve").cost(5), call, START).remaining, 1);
    }
    limiter.reset_sync(&limit, "bob").expect("a reset");
    let left: Vec<_> = ["ada", "bob", "eve"]
        .iter()
        .map(|name| at(&limiter, Check::new(&limit, name), Call::Peek, START).remaining)
        .collect();
    assert_eq!(left, [1, 1, 1]);
    // The one with an entry of its own gets back what it was charged.
    assert_eq!(at(&limiter, Check::new(&limit, "first"), Call::Refund, START).remaining, 5);
}

#[test]
fn a_charge_never_fails_for_what_others_were_charged() {
    let limit = Limit::bucket("tokens", 5).drip_rate(HOUR).build().expect("a bucket");
    let limiter = Limiter::new(Memory::with_max_entries(2));
    at(&limiter, Check::new(&limit, "first"), Call::Limit, START);
    for name in 0..100 {
        let hostile = format!("hostile {name}");
        at(&limiter, Check::new(&limit, &hostile).cost(400_000), Call::Charge, START);
    }
    assert!(at(&limiter, Check::new(&limit, "newcomer"), Call::Limit, START).blocked);
}

#[test]
fn several_checks_are_charged_all_or_nothing_in_a_full_store_too() {
    let (size, limits) = (5, of_each_type(5));
    let limiter = Limiter::new(Memory::with_max_entries(64));
    for name in 0..640 {
        at(&limiter, Check::new(&limits[name % limits.len()], &format!("hostile {name}")), Call::Limit, START);
    }
    let tight = Limit::bucket("tight", 3).drip_rate(HOUR).build().expect("a bucket");
    let both = [Check::new(&tight, "ada"), Check::new(&limits[6], "ada")];
    let admitted = (0..100).filter(|_| !limiter.decide_sync_at(&both, Call::Limit, START).expect("an answer").blocked);
    assert!(admitted.count() <= 3);
    // Two who share an entry, or may, are never admitted beyond it.
    let names: Vec<_> = (0..8).map(|name| format!("name {name}")).collect();
    let all: Vec<_> = names.iter().map(|name| Check::new(&tight, name)).collect();
    let admitted = (0..100).filter(|_| !limiter.decide_sync_at(&all, Call::Limit, START).expect("an answer").blocked);
    assert!(admitted.count() as u64 <= size);
}

/// Definitions whose shared state bounds each one's own to the last microsecond.
fn exact() -> Vec<Limit> {
    let ten = Duration::from_secs(10);
    [
        Limit::bucket("a", 4).drip_rate(Duration::from_secs(2)).build(),
        Limit::token_bucket("b", 5, ten).build(),
        Limit::fixed_window("c", 3, ten).build(),
        Limit::legacy("d").max(5).duration(ten).build(),
        Limit::sliding_window("e", 4, ten, Duration::from_secs(1)).build(),
        Limit::sliding_window("f", 4, ten, Duration::from_secs(3)).count_blocked(true).build(),
        Limit::sliding_counter("g", 5, ten).build(),
        Limit::sliding_log("h", 3, ten).min_interval(Duration::from_millis(300)).build(),
        Limit::sliding_log("i", 3, ten).count_blocked(true).build(),
        Limit::decay("j", 4, 2.0, Duration::from_secs(2)).build(),
        Limit::smooth("k", 1.0).max_burst(Duration::from_secs(3)).build(),
        Limit::smooth("l", 1.0).warmup(Duration::from_secs(4)).build(),
    ]
    .map(|limit| limit.expect("a sound definition"))
    .into()
}

/// True if what is denied is charged.
fn counts_blocked(limit: &Limit) -> bool {
    ["f", "i"].contains(&limit.key())
}

#[derive(Clone, Copy, Debug)]
struct Step {
    after: u64,
    limit: usize,
    actor: usize,
    verb: u8,
    cost: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let after = prop_oneof![3 => Just(0), 3 => 0..500_000_u64, 3 => 0..4_000_000_u64, 1 => 0..60_000_000_u64];
    let step = (after, 0..12_usize, 0..12_usize, 0..12_u8, 1..4_u64);
    prop::collection::vec(step, 1..150).prop_map(|steps| {
        steps.into_iter().map(|(after, limit, actor, verb, cost)| Step { after, limit, actor, verb, cost }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Never admits where a store without a bound, which was charged the same, would deny.
    #[test]
    fn nobody_is_admitted_whom_an_unbounded_store_denies(
        steps in steps(), most in 1..24_usize, kinds in 1..=12_usize, first in 0..12_usize,
    ) {
        let limits = exact();
        let (engine, oracle) = (Limiter::new(Memory::with_max_entries(most)), Limiter::new(Memory::new()));
        let (mut now, mut receipts) = (START, Vec::new());
        for step in steps {
            now += step.after;
            let limit = &limits[(first + step.limit % kinds) % limits.len()];
            let actor = step.actor.to_string();
            // Each actor has a factor, so that a limit is several rules.
            let factor = [1.0, 0.5][step.actor % 2];
            let check = Check::new(limit, &actor).cost(step.cost).factor(factor);
            let ask = |limiter: &Limiter, call| limiter.decide_sync_at(&[check], call, now);
            let call = match step.verb {
                0 => Call::Charge,
                1 => Call::Refund,
                2 => Call::Peek,
                3 => Call::Acquire { max_wait: Duration::from_secs(3) },
                4 if !receipts.is_empty() => {
                    let (limit, actor, cost, factor, at): (usize, String, u64, f64, [u64; 2]) = receipts.swap_remove(0);
                    let check = Check::new(&limits[limit], &actor).cost(cost).factor(factor);
                    // Who shares waits for longer, so that each has charged at an instant of its own.
                    for (limiter, charged_at) in [&engine, &oracle].into_iter().zip(at) {
                        limiter.decide_sync_at(&[check], Call::Undo { charged_at }, now).expect("an answer");
                    }
                    continue;
                }
                _ => Call::Limit,
            };
            let Ok(info) = ask(&engine, call) else {
                prop_assert!(ask(&oracle, call).is_err(), "an error of the bound alone: {:?}", step);
                continue;
            };
            let charges = matches!(call, Call::Limit | Call::Acquire { .. });
            if info.blocked && charges {
                if counts_blocked(limit) {
                    ask(&oracle, Call::Charge).expect("an answer");
                }
                continue;
            }
            let unbounded = ask(&oracle, call).expect("an answer");
            if matches!(call, Call::Limit | Call::Peek | Call::Acquire { .. }) {
                prop_assert!(info.blocked || !unbounded.blocked, "{:?} of {} at {now}: {info:?}, not {unbounded:?}", step, limit.key());
                prop_assert!(unbounded.wait_ms <= info.wait_ms);
            }
            if charges {
                let index = limits.iter().position(|other| other == limit).expect("one of them");
                receipts.push((index, actor.clone(), step.cost, factor, [info.at, unbounded.at]));
            }
            prop_assert!(engine.memory().len() <= most);
        }
    }

    /// If ticks are coarse and count from the first charge, the bound of the type holds in every span.
    #[test]
    fn coarse_ticks_keep_their_bound_wherever_somebody_is_counted(
        steps in steps(), most in 1..12_usize, first_request in any::<bool>(),
    ) {
        let tick = 10 * SECOND;
        let (limit, size, drain) = if first_request {
            let window = Limit::fixed_window("window", 5, Duration::from_secs(10)).anchor(Anchor::FirstRequest);
            (window.build().expect("a window"), 5, 5)
        } else {
            let bucket = Limit::bucket("bucket", 5).drip_rate(Duration::from_secs(10)).drip_size(3);
            (bucket.build().expect("a bucket"), 5, 3)
        };
        let (engine, mut now) = (Limiter::new(Memory::with_max_entries(most)), START);
        let mut admitted = vec![Vec::new(); 12];
        for step in steps {
            now += step.after;
            if !at(&engine, Check::new(&limit, &step.actor.to_string()).cost(step.cost), Call::Limit, now).blocked {
                admitted[step.actor].push((now, step.cost));
            }
        }
        for history in admitted {
            for (index, (from, _)) in history.iter().enumerate() {
                let mut sum = 0;
                for (now, cost) in &history[index..] {
                    sum += cost;
                    prop_assert!(sum <= size + drain * (now - from).div_ceil(tick), "{} in {}", sum, now - from);
                }
            }
        }
    }
}

#[test]
fn nobody_warms_up_what_another_is_charged_for() {
    let limit = Limit::smooth("warm-up", 1.0).warmup(Duration::from_secs(20)).build().expect("sound");
    let (engine, alone) = (Limiter::new(Memory::with_max_entries(CAP)), Limiter::new(Memory::new()));
    for name in 0..CAP {
        let dear = Limit::bucket("flood", 1).drip_rate(HOUR).build().expect("sound");
        at(&engine, Check::new(&dear, &name.to_string()), Call::Limit, START);
    }
    // Permits are cheaper the more were taken just before: by others, if they were counted together.
    let warm = |name: u64| format!("warm {name}");
    for round in 0..60 {
        for name in 0..40 {
            at(&engine, Check::new(&limit, &warm(name)), Call::Limit, START + round * SECOND);
        }
    }
    let later = START + 62 * SECOND;
    let mut looks = 0;
    for name in 0..40 {
        let actor = format!("cold {name}");
        let dear = Check::new(&limit, &actor).cost(5);
        if at(&engine, dear, Call::Limit, later).blocked {
            continue;
        }
        at(&alone, dear, Call::Limit, later);
        for second in 1..20 {
            let now = later + second * SECOND;
            let ask = |limiter| at(limiter, Check::new(&limit, &actor), Call::Peek, now).blocked;
            looks += 1;
            assert!(ask(&engine) || !ask(&alone), "{actor} after {second} s");
        }
    }
    assert!(looks > 100, "{looks}");
}

#[test]
fn two_who_share_in_one_decision_do_not_overwrite_each_other() {
    let limiter = Limiter::new(Memory::with_max_entries(CAP));
    let limit = Limit::bucket("shared", 100).drip_rate(HOUR).build().expect("sound");
    for name in 0..2 * CAP {
        at(
            &limiter,
            Check::new(&Limit::bucket("flood", 1).drip_rate(HOUR).build().expect("sound"), &name.to_string()),
            Call::Limit,
            START,
        );
    }
    let names: Vec<_> = (0..40).map(|name| format!("actor {name}")).collect();
    for name in &names {
        at(&limiter, Check::new(&limit, name), Call::Charge, START);
    }
    let costs = |name: usize| if name.is_multiple_of(2) { 100 } else { 1 };
    let checks: Vec<_> =
        names.iter().enumerate().map(|(name, actor)| Check::new(&limit, actor).cost(costs(name))).collect();
    limiter.decide_sync_at(&checks, Call::Charge, START + 1).expect("an answer");
    for actor in names.iter().step_by(2) {
        assert!(at(&limiter, Check::new(&limit, actor), Call::Peek, START + 2).blocked, "{actor} has used all of it");
    }
}
