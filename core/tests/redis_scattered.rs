//! Decisions whose entries are in several slots of a cluster answer as memory does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::servers::Cluster;
use crate::strategies::{cost, definition, jump, scale, start, with_key};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use tidegate::ffi;
use tidegate::remote::OnError;
use tidegate::{Call, Check, Limit, Limiter, Memory, Redis};

const START: u64 = 1_700_000_000_000_000;
const ACTORS: [&str; 4] = ["ada", "bob", "eve", "mallory"];
const HOUR: Duration = Duration::from_hours(1);

fn over(cluster: &Cluster) -> Limiter {
    let store = Redis::builder(&cluster.url()).timeout(Duration::from_secs(10)).on_error(OnError::Raise);
    let limiter = Limiter::new(store.deny_cache(Duration::ZERO).build().expect("a store"));
    let warm = Limit::bucket("warm", 5).build().expect("a bucket");
    crate::servers::wait_until("the cluster decides", || limiter.peek_sync(&warm, "warm").is_ok());
    limiter
}

fn agree(stores: [&Limiter; 2], checks: &[Check<'_>], call: Call, now: u64) -> Result<(), TestCaseError> {
    let [want, got] = stores.map(|limiter| {
        let answer = limiter.decide_sync_at(checks, call, now);
        answer.map_err(|error| error.to_string())
    });
    prop_assert_eq!(got, want, "{:?} of {:?} at {}", call, checks, now);
    Ok(())
}

#[test]
fn a_denial_keeps_what_was_mended_and_charges_what_counts_attempts() {
    let cluster = Cluster::start(0);
    let (memory, shared) = (Limiter::new(Memory::new()), over(&cluster));
    let full = Limit::bucket("full", 1).drip_rate(HOUR).build().expect("a bucket");
    let ahead = Limit::bucket("ahead", 10).build().expect("a bucket");
    let counted = Limit::sliding_log("counted", 50, HOUR).count_blocked(true).build().expect("a log");
    for actor in ACTORS {
        let checks = [
            Check::new(&full, "ada"),
            Check::new(&ahead, actor).cost(4),
            Check::new(&counted, actor),
            Check::new(&counted, actor).cost(2),
        ];
        let both = [&memory, &shared];
        agree(both, &checks[1..2], Call::Charge, START + 3_600_000_000).expect("an entry from the future");
        for now in [START, START + 1_000_000, START + 2_000_000] {
            agree(both, &checks, Call::Limit, now).expect("the same denial");
            agree(both, &checks[1..], Call::Peek, now).expect("the same entries");
        }
    }
}

#[test]
fn an_observed_check_that_cannot_be_decided_is_nobody_elses_trouble() {
    const NOW: u64 = START + 1_000_000;
    let cluster = Cluster::start(0);
    let (memory, shared) = (Limiter::new(Memory::new()), over(&cluster));
    let limit = Limit::bucket("beyond", 100).drip_rate(HOUR).build().expect("a bucket");
    // As much as drains while numbers are exact; one more has no instant at which it will have drained.
    let most = (1 << 53) / 3_600_000_000;
    for actor in ["eve", "zoe"] {
        for store in [&memory, &shared] {
            let charge = [Check::new(&limit, actor).cost(most)];
            store.decide_sync_at(&charge, Call::Charge, START).expect("so much can be charged");
            let error = store.decide_sync_at(&charge, Call::Charge, START).expect_err("and no more").to_string();
            assert!(error.contains("beyond"), "{error}");
        }
    }
    let (eve, zoe) = (Check::new(&limit, "eve").observed(), Check::new(&limit, "zoe").observed());
    let same = |checks: &[Check<'_>]| {
        let wait = Call::Acquire { max_wait: Duration::MAX };
        agree([&memory, &shared], checks, wait, NOW).expect("the same answer");
    };
    for actor in ACTORS.into_iter().filter(|actor| *actor != "eve") {
        let check = Check::new(&limit, actor).cost(3);
        same(&[check, eve]);
        same(&[eve, check]);
        same(&[eve, check.observed()]);
        agree([&memory, &shared], &[Check::new(&limit, actor)], Call::Peek, NOW).expect("the same charges");
    }
    same(&[eve]);
    same(&[eve, zoe]);
    let info = shared.decide_sync_at(&[eve, Check::new(&limit, "bob")], Call::Acquire { max_wait: Duration::MAX }, NOW);
    let info = info.expect("an answer");
    assert!(!info.blocked && info.checks()[0].blocked, "{info:?}");
}

#[test]
fn units_in_several_slots_are_all_renewed_or_none() {
    let cluster = Cluster::start(0);
    let limit = Limit::concurrency("exports", 5, HOUR).block_for(HOUR).build().expect("a limit");
    let checks = ACTORS.map(|actor| Check::new(&limit, actor));
    for store in [&Limiter::new(Memory::new()), &over(&cluster)] {
        let info = store.decide_sync_at(&checks, Call::Limit, START).expect("an answer");
        let receipt = store.receipt(&checks, Call::Limit, &info);
        let (info, receipt) = receipt.renew_sync_at(START + 1_000_000).expect("an answer");
        assert!(info.allowed() && info.checks().iter().all(|info| info.full_reset_ms == 3_600_000), "{info:?}");
        store.decide_sync(&checks[..1], Call::Reset).expect("an answer");
        let (info, _) = receipt.renew_sync_at(START + 2_000_000).expect("an answer");
        let full: Vec<_> = info.checks().iter().map(|info| (info.blocked, info.full_reset_ms)).collect();
        assert_eq!(full, [(true, 0), (false, 3_599_000), (false, 3_599_000), (false, 3_599_000)]);
        assert_eq!(receipt.release_sync_at(START + 2_000_000).expect("an answer").remaining, 5);
    }
}

/// As much as all have room for, in every slot the same.
#[test]
fn slots_take_as_much_as_there_is_room_for() {
    let cluster = Cluster::start(0);
    let both = [&Limiter::new(Memory::new()), &over(&cluster)];
    let bucket = Limit::bucket("bucket", 20).drip_rate(HOUR).build().expect("a bucket");
    let counted = Limit::sliding_log("counted", 9, HOUR).count_blocked(true).build().expect("a log");
    for (round, (cost, least)) in [(100, 5), (100, 2), (7, 1), (3, 3), (100, 1)].into_iter().enumerate() {
        let now = START + round as u64;
        agree(both, &[Check::new(&bucket, ACTORS[round % 4])], Call::Limit, now).expect("the same answer");
        let checks = ACTORS.map(|actor| Check::new(&bucket, actor).cost(cost).at_least(least));
        for call in [Call::Peek, Call::Limit, Call::Limit] {
            agree(both, &checks, call, now).expect("the same units");
            agree(both, &checks.map(|check| check.cost(1).at_least(0)), Call::Peek, now).expect("the same entries");
        }
        let logs = ACTORS.map(|actor| Check::new(&counted, actor).cost(cost).at_least(least));
        agree(both, &[&checks[..], &logs[..2]].concat(), Call::Limit, now).expect("the same denial");
        agree(both, &logs, Call::Limit, now + 100).expect("the same units");
    }
}

/// One level would leave the exact range: nothing is stored in any entry, and the error is the one of memory.
#[test]
fn a_call_that_cannot_be_decided_stores_nothing_in_any_slot() {
    const HIGHEST: u64 = 1 << 52;
    let cluster = Cluster::start(0);
    let both = [&Limiter::new(Memory::new()), &over(&cluster)];
    let keys = || cluster.nodes.iter().map(|node| node.run::<u64>("DBSIZE")).sum::<u64>();
    let level = Limit::bucket("level", 1000).drip_rate(Duration::from_millis(1)).build().expect("a bucket");
    let pace = Limit::smooth("pace", 1.0).build().expect("a pace");
    let log = Limit::sliding_log("log", 50, HOUR).build().expect("a log");
    let slots = Limit::sliding_window("slots", 50, HOUR, HOUR / 60).build().expect("a window");
    let counter = Limit::sliding_counter("counter", 50, HOUR).build().expect("a counter");
    let fixed = Limit::fixed_window("fixed", 50, HOUR).build().expect("a window");
    let others = [&pace, &log, &slots, &counter, &fixed];
    let fine = ACTORS
        .iter()
        .zip(0..)
        .flat_map(|(actor, cost)| others.into_iter().map(move |limit| Check::new(limit, actor).cost(3 + cost)));
    let fine: Vec<_> = fine.collect();
    let (last, rest) = fine.split_at(7);
    let checks =
        [last, &[Check::new(&level, "zoe").cost(HIGHEST + 1), Check::new(&level, "ida").cost(HIGHEST + 2)], rest];
    let before = keys();
    for _ in 0..3 {
        agree(both, &checks.concat(), Call::Charge, START).expect("the same error");
        assert_eq!(keys(), before, "nothing is stored");
    }
    // What can be charged is, and another such error changes none of it.
    agree(both, &fine, Call::Charge, START).expect("the same charges");
    agree(both, &checks.concat(), Call::Charge, START + 1_000_000).expect("the same error");
    for check in &fine {
        agree(both, &[*check], Call::Peek, START + 1_000_000).expect("the same entry");
    }

    // One who waits longer than numbers are exact.
    let line = |actor: &'static str| Check::new(&pace, actor).cost(1);
    let most = (1_u64 << 53) / 1_000_000 - START / 1_000_000 - 1;
    agree(both, &[Check::new(&pace, "zoe").cost(most)], Call::Charge, START).expect("nearly all");
    let wait = Call::Acquire { max_wait: Duration::MAX };
    for actor in ["kim", "lee", "max"] {
        for _ in 0..2 {
            let checks = [line(actor).cost(5), Check::new(&pace, "zoe").cost(100), line(actor).cost(2)];
            agree(both, &checks, wait, START).expect("the same error");
            agree(both, &[line(actor)], Call::Peek, START).expect("it takes no time");
        }
    }
}

/// A charge of a `smooth` limit takes time, which cannot be given back; so a look comes first.
#[test]
fn a_place_in_line_that_another_slot_denies_takes_no_time() {
    let cluster = Cluster::start(0);
    let both = [&Limiter::new(Memory::new()), &over(&cluster)];
    let full = Limit::bucket("full", 1).drip_rate(HOUR).build().expect("a bucket");
    let pace = Limit::smooth("pace", 1.0).build().expect("a pace");
    agree(both, &[Check::new(&full, "ada")], Call::Limit, START).expect("the only one");
    for actor in ACTORS.into_iter().filter(|actor| *actor != "ada") {
        let checks = [Check::new(&pace, actor).cost(5), Check::new(&full, "ada")];
        for max_wait in [Duration::ZERO, Duration::from_secs(60), Duration::from_nanos(500)] {
            agree(both, &checks, Call::Acquire { max_wait }, START).expect("the same denial");
            agree(both, &checks[..1], Call::Peek, START).expect("the same pace");
        }
        // Each waits for what the one before cost.
        let twice = [Check::new(&pace, actor).cost(5), Check::new(&full, "ada").cost(0)];
        for now in [START, START + 1_000_000] {
            agree(both, &twice, Call::Acquire { max_wait: HOUR }, now).expect("the same place");
        }
        for max_wait in [Duration::from_secs(8), Duration::from_secs(9), Duration::from_micros(9_000_001)] {
            agree(both, &twice, Call::Acquire { max_wait }, START + 1_000_000).expect("in time, or not");
        }
    }
}

#[test]
fn a_settlement_that_cannot_be_gives_nothing_back_and_one_that_was_made_in_part_is_not_made_again() {
    const HIGHEST: u64 = 1 << 52;
    let cluster = Cluster::start(0);
    let (shared, limit) = (over(&cluster), Limit::bucket("settled", 100).drip_rate(HOUR).build().expect("a bucket"));
    // Another caller's charges, which must not be given back.
    let checks = ACTORS.map(|actor| Check::new(&limit, actor).cost(4));
    shared.decide_sync(&checks, Call::Limit).expect("an answer");
    let info = shared.decide_sync(&checks, Call::Limit).expect("an answer");
    let receipt = shared.receipt(&checks, Call::Limit, &info);
    let left = || ACTORS.map(|actor| shared.peek_sync(&limit, actor).expect("an answer").remaining);
    let settled_at_last =
        |want: [u64; 4]| crate::servers::wait_until("the others are as they should be", || left() == want);

    // One level would leave the exact range. What the second one is charged is given back, and nothing else happens.
    receipt.settle_sync(&[0, 6, HIGHEST, 1]).expect_err("beyond the exact range");
    settled_at_last([92; 4]);
    assert!(receipt.is_open(), "nothing has happened");

    // One server refuses what changes anything. The others have made their part, so the receipt is used.
    let slot_of = |actor: &str| cluster.nodes[0].run::<u64>(&format!("CLUSTER KEYSLOT {actor}"));
    let refuses =
        cluster.nodes.iter().find(|node| node.run::<u64>(&format!("CLUSTER COUNTKEYSINSLOT {}", slot_of("ada"))) > 0);
    let refuses = refuses.expect("one has the entry");
    refuses.run::<()>("CONFIG SET maxmemory 1");
    receipt.refund_sync().expect_err("out of memory");
    assert!(!receipt.is_open(), "a part of it has happened");
    refuses.run::<()>("CONFIG SET maxmemory 0");
    crate::servers::wait_until("all servers decide", || {
        ACTORS.iter().all(|actor| shared.peek_sync(&limit, actor).is_ok())
    });
    let after = left();
    assert_eq!(after[0], 92);
    assert!(after.contains(&96), "{after:?}");
    receipt.refund_sync().expect("an answer");
    assert_eq!(left(), after);
}

#[test]
fn a_settlement_of_several_actors_answers_as_memory_does() {
    let cluster = Cluster::start(0);
    let stores = [Limiter::new(Memory::new()), over(&cluster)];
    let limits = [
        Limit::bucket("level", 100).build().expect("a bucket"),
        Limit::token_bucket("fraction", 700, HOUR).build().expect("a bucket"),
        Limit::sliding_window("slots", 50, HOUR, Duration::from_mins(1)).build().expect("a window"),
        Limit::sliding_log("log", 50, HOUR).build().expect("a log"),
        Limit::decay("decay", 50, 2.0, HOUR).build().expect("a decay"),
        Limit::sliding_counter("counter", 50, HOUR).build().expect("a counter"),
        Limit::smooth("smooth", 10.0).build().expect("a pace"),
    ];
    for (round, limit) in limits.iter().enumerate() {
        let now = START + 1_000_000_000 * round as u64;
        // Twice the same actor: their costs count as one.
        let checks =
            [("ada", 4), ("bob", 5), ("eve", 6), ("ada", 3)].map(|(actor, cost)| Check::new(limit, actor).cost(cost));
        let settled = stores.each_ref().map(|limiter| {
            let info = limiter.decide_sync_at(&checks, Call::Limit, now).expect("an answer");
            let receipt = limiter.receipt(&checks, Call::Limit, &info);
            receipt.settle_sync_at(&[1, 9, 0, 8], now + 2_500_000).expect("an answer")
        });
        assert_eq!(settled[0], settled[1], "{}", limit.key());
        for actor in ACTORS {
            agree([&stores[0], &stores[1]], &[Check::new(limit, actor)], Call::Peek, now + 3_000_000)
                .expect("the same");
        }
    }
}

#[test]
fn any_checks_of_several_actors() {
    let cluster = Cluster::start(0);
    let (shared, worlds) = (over(&cluster), AtomicU64::new(0));
    let wait = |max_wait| Call::Acquire { max_wait };
    let acquires = [wait(Duration::ZERO), wait(Duration::from_secs(2)), wait(Duration::MAX)];
    let call = select(
        [&[Call::Limit, Call::Limit, Call::Limit, Call::Peek, Call::Charge, Call::Refund], &acquires[..]].concat(),
    );
    let checks =
        proptest::collection::vec((any::<Index>(), any::<Index>(), cost(), proptest::bool::weighted(0.3)), 1..5);
    let steps = proptest::collection::vec((jump(), call, checks), 1..25);
    let definitions = proptest::collection::vec(definition(), 1..4);
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let held = TestRunner::new(config).run(&(definitions, start(), steps), |(definitions, start, steps)| {
        let named = definitions.into_iter().enumerate().map(|(index, wire)| with_key(wire, &format!("k{index}")));
        let wires: Vec<_> = named.collect();
        let parse = |wire: &serde_json::Value| Limit::from_json(&wire.to_string()).expect("a sound definition");
        let limits: Vec<_> = wires.iter().map(parse).collect();
        let shared = shared.namespace(&format!("world-{}", worlds.fetch_add(1, Ordering::Relaxed)));
        let (memory, mut now) = (Limiter::new(Memory::new()), start);
        for (jump, call, checks) in steps {
            #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
            let by = (jump * scale(&wires[0])) as i64;
            now = now.saturating_add_signed(by).min(1 << 52);
            let check = |(limit, actor, cost, observed): &(Index, Index, u64, bool)| {
                let check = Check::new(limit.get(&limits), ACTORS[actor.index(ACTORS.len())]).cost(*cost);
                if *observed { check.observed() } else { check }
            };
            let checks: Vec<_> = checks.iter().map(check).collect();
            agree([&memory, &shared], &checks, call, now)?;
        }
        Ok(())
    });
    if let Err(error) = held {
        panic!("{error}");
    }
}

#[test]
fn what_some_slots_charged_of_a_call_that_timed_out_is_given_back() {
    const CALLS: usize = 30;
    let deadline = Duration::from_millis(500);
    let cluster = Cluster::start(0);
    let limit = Limit::bucket("halves", 1000).drip_rate(HOUR).build().expect("a bucket");
    let store = Redis::builder(&cluster.url()).timeout(deadline).on_error(OnError::Raise);
    let limiter = Limiter::new(store.deny_cache(Duration::ZERO).build().expect("a store"));
    let actor_of = |node: &crate::servers::Server| {
        let mut actors = (0..).map(|number| format!("actor{number}"));
        let is_there = |actor: &String| {
            crate::servers::wait_until("the store decides", || limiter.limit_sync(&limit, actor).is_ok());
            limiter.reset_sync(&limit, actor).expect("a reset");
            let mut write = redis::cmd("SET");
            write.arg(format!("{{{actor}}}")).arg("").query::<()>(&mut node.connect()).is_ok()
        };
        actors.find(is_there).expect("an actor")
    };
    let (here, there) = (actor_of(&cluster.nodes[0]), actor_of(&cluster.nodes[1]));
    let (answered, answers) = std::sync::mpsc::channel();
    cluster.nodes[1].pause();
    for _ in 0..CALLS {
        let answered = answered.clone();
        let done = move |answer: Result<_, _>| answered.send(answer.is_err()).map_err(|_| unreachable!());
        let checks = [Check::new(&limit, &here), Check::new(&limit, &there)];
        // No look comes before, so that one half is charged.
        assert!(ffi::start(&limiter, &checks, Call::Charge, None, done).is_none());
    }
    for _ in 0..CALLS {
        assert!(answers.recv_timeout(Duration::from_secs(20)).expect("every call is answered"), "one half hangs");
    }
    cluster.nodes[1].resume();
    for actor in [&here, &there] {
        crate::servers::wait_until("nothing is charged", || {
            limiter.peek_sync(&limit, actor).is_ok_and(|info| !info.degraded && info.remaining == 1000)
        });
    }
}

/// A denial closes the limits of those that refused by themselves, in their slots only.
#[test]
fn slots_close_where_they_refused() {
    let cluster = Cluster::start(0);
    let both = [&Limiter::new(Memory::new()), &over(&cluster)];
    let limit = Limit::bucket("login", 2).drip_rate(HOUR);
    let limit = limit.block_for(2 * HOUR).block_growth(2.0).block_max(10 * HOUR).build().expect("a bucket");
    let counted = Limit::sliding_log("counted", 3, HOUR).count_blocked(true).block_for(HOUR).build().expect("a log");
    let all = ACTORS.map(|actor| Check::new(&limit, actor));
    let logs = ACTORS.map(|actor| Check::new(&counted, actor));
    let as_they_stand = |now: u64| {
        for check in all.iter().chain(&logs) {
            agree(both, &[*check], Call::Peek, now).expect("the same entries");
            agree(both, &[check.cost(0)], Call::Limit, now).expect("the same entries");
        }
    };
    for actor in ["ada", "eve"] {
        agree(both, &[Check::new(&limit, actor).cost(2)], Call::Limit, START).expect("the same answer");
    }
    // The second denial finds what the first one closed, and the third one does so after its end.
    for (hours, call) in [(0, Call::Limit), (1, Call::Limit), (5, Call::Charge), (6, Call::Limit), (20, Call::Limit)] {
        let now = START + hours * 3_600_000_000 + 1;
        agree(both, &[&all[..], &logs[..]].concat(), call, now).expect("the same answer");
        as_they_stand(now + 1);
        let wait = Call::Acquire { max_wait: Duration::from_secs(1) };
        agree(both, &[all[1], all[2], logs[3].cost(2)], wait, now + 2).expect("the same answer");
        as_they_stand(now + 3);
    }
    let closed = |actor: &str, at: u64| {
        let peek = [Check::new(&limit, actor)];
        let info = both[1].decide_sync_at(&peek, Call::Peek, at).expect("an answer");
        info.blocked && info.reset_ms > 3_600_000
    };
    for limiter in both {
        let reset = all.map(|check| limiter.decide_sync_at(&[check], Call::Reset, START));
        assert!(reset.iter().all(Result::is_ok), "{reset:?}");
    }
    agree(both, &[all[0].cost(2)], Call::Limit, START).expect("the same answer");
    agree(both, &all, Call::Limit, START).expect("the same denial");
    assert_eq!(ACTORS.map(|actor| closed(actor, START + 1)), [true, false, false, false]);
    agree(both, &[all[0]], Call::Block { time: Duration::ZERO }, START).expect("the same answer");
    as_they_stand(START + 2);
}
