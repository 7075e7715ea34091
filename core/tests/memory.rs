//! The memory store: its bound, what it gives up, what it drops, and many threads at once.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use tidegate::limits::Anchor;
use tidegate::{Call, Check, Limit, Limiter, Memory};

#[cfg(feature = "remote")]
const SECOND: Duration = Duration::from_secs(1);

/// A flood of clients that come once each.
fn flood(limiter: &Limiter, limit: &Limit, clients: std::ops::Range<u32>, now: Option<u64>) {
    for client in clients {
        let name = client.to_string();
        let check = [Check::new(limit, &name)];
        match now {
            Some(now) => limiter.decide_sync_at(&check, Call::Limit, now),
            None => limiter.decide_sync(&check, Call::Limit),
        }
        .expect("an answer");
    }
}

fn hourly(size: u64) -> Limit {
    Limit::bucket("login", size).drip_rate(Duration::from_hours(1)).build().expect("a bucket")
}

#[test]
fn is_printed_in_a_line_however_much_it_keeps() {
    let limiter = Limiter::new(Memory::new());
    flood(&limiter, &hourly(3), 0..10_000, None);
    let shown = format!("{limiter:?}");
    assert!(shown.len() < 600 && shown.contains("len: 10000"), "{shown}");
}

#[test]
fn never_keeps_more_entries_than_it_may() {
    for most in [1, 2, 10, 100, 5000, 40_000] {
        let limiter = Limiter::new(Memory::with_max_entries(most));
        let clients = u32::try_from(most * 2 + 50).expect("few");
        for chunk in 0..10 {
            flood(&limiter, &hourly(3), clients / 10 * chunk..clients / 10 * (chunk + 1), None);
            assert!(limiter.memory().len() <= most, "{} of {most}", limiter.memory().len());
        }
        let (memory, came) = (limiter.memory(), u64::from(clients / 10 * 10));
        // An eighth is for those who find no place of their own.
        let own = if most > 1 { most - (most / 8).max(1) } else { 1 };
        assert_eq!((memory.len(), memory.evictions()), (own, 0));
        assert_eq!(memory.overflowed(), came - own as u64, "every newcomer past {own} shares an entry");
    }
}

#[test]
fn a_flood_of_newcomers_never_frees_a_blocked_client() {
    for now in [None, Some(1_750_000_000_000_000)] {
        for limit in [
            hourly(4),
            Limit::sliding_log("log", 4, Duration::from_hours(1)).build().expect("a log"),
            // From the first request: late in a window that all share, everybody is as good as empty.
            Limit::fixed_window("window", 4, Duration::from_hours(1))
                .anchor(Anchor::FirstRequest)
                .build()
                .expect("a window"),
            Limit::sliding_counter("counter", 4, Duration::from_hours(10_000)).build().expect("a counter"),
            Limit::decay("decay", 4, 2.0, Duration::from_hours(1)).build().expect("a decay"),
        ] {
            let limiter = Limiter::new(Memory::with_max_entries(1000));
            let blocked: Vec<_> = (0..500).map(|client| format!("blocked {client}")).collect();
            for client in &blocked {
                let check = [Check::new(&limit, client).cost(4)];
                match now {
                    Some(now) => limiter.decide_sync_at(&check, Call::Limit, now),
                    None => limiter.decide_sync(&check, Call::Limit),
                }
                .expect("an answer");
            }
            flood(&limiter, &limit, 0..20_000, now);
            assert!(limiter.memory().overflowed() >= 19_000);
            for client in &blocked {
                let check = [Check::new(&limit, client)];
                let info = match now {
                    Some(now) => limiter.decide_sync_at(&check, Call::Limit, now),
                    None => limiter.decide_sync(&check, Call::Limit),
                };
                assert!(info.expect("an answer").blocked, "{client} of {} was forgotten", limit.key());
            }
        }
    }
}

#[test]
fn a_full_table_gives_up_what_has_drained_and_nothing_else() {
    let (limit, now) = (Limit::bucket("login", 100).build().expect("a bucket"), 1_750_000_000_000_000);
    for drained in 0..11 {
        let limiter = Limiter::new(Memory::with_max_entries(12));
        let clients: Vec<_> = (0..11).map(|client| format!("client {client}")).collect();
        for (index, client) in clients.iter().enumerate() {
            let cost = if index == drained { 5 } else { 20 + 4 * index as u64 };
            limiter.decide_sync_at(&[Check::new(&limit, client).cost(cost)], Call::Limit, now).expect("an answer");
        }
        let later = now + 8_000_000;
        for newcomer in ["first", "second"] {
            let check = [Check::new(&limit, newcomer).cost(50)];
            limiter.decide_sync_at(&check, Call::Limit, later).expect("an answer");
        }
        let memory = limiter.memory();
        assert_eq!((memory.len(), memory.evictions(), memory.overflowed()), (11, 1, 1));
        limiter.reset_sync(&limit, "second").expect("a reset");
        for (index, client) in clients.iter().enumerate().filter(|(index, _)| *index != drained) {
            let left = limiter.decide_sync_at(&[Check::new(&limit, client)], Call::Peek, later).expect("an answer");
            assert_eq!(left.remaining, 100 - (20 + 4 * index as u64) + 8, "{client} beside {drained}");
        }
    }
}

#[test]
fn a_flood_of_denials_takes_no_room() {
    let (limiter, limit) = (Limiter::new(Memory::with_max_entries(100)), hourly(1));
    flood(&limiter, &limit, 0..88, None);
    for _ in 0..10 {
        flood(&limiter, &limit, 0..88, None);
    }
    let memory = limiter.memory();
    assert_eq!((memory.len(), memory.evictions(), memory.overflowed()), (88, 0, 0));
}

/// Lets passers-by look, and store nothing, until something is so, for a minute at most.
fn with_traffic(limiter: &Limiter, until: impl Fn(&Memory) -> bool) {
    let (limit, start) = (hourly(1), Instant::now());
    for passer_by in 0_u64.. {
        if until(&limiter.memory()) {
            return;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{} are left", limiter.memory().len());
        limiter.peek_sync(&limit, &format!("passer-by {passer_by}")).expect("an answer");
    }
}

#[test]
fn drained_entries_are_dropped_in_passing_and_a_flooded_table_shrinks() {
    let limiter = Limiter::new(Memory::with_max_entries(4000));
    let brief = Limit::bucket("brief", 1).drip_rate(Duration::from_millis(1)).build().expect("a bucket");
    flood(&limiter, &brief, 0..20_000, None);
    with_traffic(&limiter, Memory::is_empty);
    // What came before the flood's end is found where it is in the smaller table.
    assert!(!limiter.limit_sync(&brief, "another").expect("an answer").blocked);
    let lasting = hourly(1);
    flood(&limiter, &lasting, 0..100, None);
    flood(&limiter, &brief, 0..3000, None);
    with_traffic(&limiter, |memory| memory.len() <= 100);
    for client in 0..100 {
        assert!(limiter.limit_sync(&lasting, &client.to_string()).expect("an answer").blocked);
    }
}

#[test]
fn logs_are_dropped_too_and_what_a_callers_clock_wrote_is_not() {
    let limiter = Limiter::new(Memory::new());
    let brief = Limit::sliding_log("brief", 3, Duration::from_millis(1)).build().expect("a log");
    flood(&limiter, &brief, 0..500, Some(1_000_000));
    let kept = limiter.memory().len();
    assert_eq!(kept, 500, "an hour has to pass before a caller's clock is forgotten");
    flood(&limiter, &brief, 1000..2000, None);
    with_traffic(&limiter, |memory| memory.len() <= kept);
    for client in 0..500 {
        let name = client.to_string();
        assert!(
            limiter
                .decide_sync_at(&[Check::new(&brief, &name).cost(3)], Call::Peek, 1_000_999)
                .expect("an answer")
                .blocked
        );
    }
}

#[test]
fn what_is_empty_again_takes_no_room() {
    let limiter = Limiter::new(Memory::new());
    for limit in [
        hourly(2),
        Limit::smooth("smooth", 1.0).max_burst(Duration::from_secs(5)).build().expect("a pace"),
        Limit::sliding_log("log", 2, Duration::from_mins(1)).build().expect("a log"),
        Limit::sliding_counter("counter", 2, Duration::from_mins(1)).build().expect("a counter"),
    ] {
        limiter.limit_sync(&limit, "ada").expect("an answer");
        assert_eq!(limiter.memory().len(), 1);
        limiter.refund_sync(&limit, "ada").expect("an answer");
        assert!(limiter.memory().is_empty(), "{}", limit.key());
        limiter.charge_sync(&limit, "ada").expect("an answer");
        limiter.reset_sync(&limit, "ada").expect("a reset");
        assert!(limiter.memory().is_empty(), "{}", limit.key());
        assert!(!limiter.peek_sync(&limit, "ada").expect("an answer").blocked);
        assert!(limiter.memory().is_empty(), "looking stores nothing");
    }
}

#[test]
fn namespaces_are_apart_and_clones_are_one() {
    let limiter = Limiter::new(Memory::new());
    let (shop, forum, twin) = (limiter.namespace("shop"), limiter.namespace("forum"), limiter.clone());
    let once = hourly(1);
    assert!(!shop.limit_sync(&once, "ada").expect("an answer").blocked);
    assert!(!forum.limit_sync(&once, "ada").expect("an answer").blocked);
    assert!(!limiter.limit_sync(&once, "ada").expect("an answer").blocked);
    assert!(twin.limit_sync(&once, "ada").expect("an answer").blocked);
    assert!(limiter.namespace("shop").limit_sync(&once, "ada").expect("an answer").blocked);
    forum.reset_sync(&once, "ada").expect("a reset");
    assert!(shop.limit_sync(&once, "ada").expect("an answer").blocked);
    assert_eq!(limiter.memory().len(), 2);
    // A name that runs on from one part into the next is another name.
    let other = Limit::bucket("ada", 1).build().expect("a bucket");
    assert!(!limiter.namespace("login").limit_sync(&other, "").expect("an answer").blocked);
    assert!(!limiter.namespace("").limit_sync(&other, "login").expect("an answer").blocked);
}

const THREADS: usize = 8;

/// Runs the same on eight threads, which start together, and adds up what they return.
fn on_threads(work: impl Fn(usize) -> u64 + Sync) -> u64 {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        let run = |thread| {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(thread)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    })
}

/// One of each type that admits 500 at one instant.
fn five_hundred() -> Vec<Limit> {
    let hour = Duration::from_hours(1);
    [
        Limit::bucket("bucket", 500).build(),
        Limit::token_bucket("token-bucket", 500, hour).build(),
        Limit::fixed_window("fixed-window", 500, hour).build(),
        Limit::sliding_window("sliding-window", 500, hour, Duration::from_mins(1)).build(),
        Limit::sliding_counter("sliding-counter", 500, hour).build(),
        Limit::sliding_log("sliding-log", 500, hour).build(),
        Limit::decay("decay", 500, 2.0, hour).build(),
        Limit::legacy("legacy").max(500).duration(hour).build(),
    ]
    .map(|limit| limit.expect("a sound definition"))
    .into()
}

#[test]
fn eight_threads_together_admit_exactly_what_one_would() {
    let now = 1_750_000_000_000_000;
    for limit in five_hundred() {
        let limiter = Limiter::new(Memory::new());
        let admitted = on_threads(|_| {
            let ask = || limiter.decide_sync_at(&[Check::new(&limit, "all")], Call::Limit, now).expect("an answer");
            (0..200).filter(|_| !ask().blocked).count() as u64
        });
        assert_eq!(admitted, 500, "{}", limit.key());
    }
    // Pacing lets through what is stored, in ones, and then the one that the next pays for.
    let paced = Limit::smooth("smooth", 500.0).build().expect("a pace");
    let limiter = Limiter::new(Memory::new());
    let admitted = on_threads(|_| {
        let ask = || limiter.decide_sync_at(&[Check::new(&paced, "all")], Call::Limit, now).expect("an answer");
        (0..200).filter(|_| !ask().blocked).count() as u64
    });
    assert_eq!(admitted, 501);
}

#[test]
fn eight_threads_that_name_their_limits_in_opposite_orders_neither_deadlock_nor_admit_more() {
    let (limiter, limits, now) = (Limiter::new(Memory::new()), five_hundred(), 1_750_000_000_000_000);
    let tight = Limit::bucket("tight", 300).build().expect("a bucket");
    let admitted = on_threads(|thread| {
        let mut checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, "all")).collect();
        checks.push(Check::new(&tight, "all"));
        checks.rotate_left(thread);
        if thread % 2 == 1 {
            checks.reverse();
        }
        let ask = || limiter.decide_sync_at(&checks, Call::Limit, now).expect("an answer");
        (0..100).filter(|_| !ask().blocked).count() as u64
    });
    assert_eq!(admitted, 300);
    for limit in &limits {
        let left = limiter.decide_sync_at(&[Check::new(limit, "all")], Call::Peek, now).expect("an answer");
        assert_eq!(left.remaining, 200, "all or nothing: {} was charged with the tight one alone", limit.key());
    }
}

#[test]
fn threads_with_the_real_clock_stay_within_the_bound() {
    let (limiter, limit) = (Limiter::new(Memory::new()), hourly(777));
    let admitted = on_threads(|_| {
        (0..1000).filter(|_| !limiter.limit_sync(&limit, "all").expect("an answer").blocked).count() as u64
    });
    assert_eq!(admitted, 777);
}

#[test]
fn a_flood_on_all_threads_keeps_the_bound() {
    let (limiter, limit) = (Limiter::new(Memory::with_max_entries(9000)), hourly(3));
    on_threads(|thread| {
        let first = u32::try_from(thread).expect("few") * 5000;
        flood(&limiter, &limit, first..first + 5000, None);
        0
    });
    assert!(limiter.memory().len() <= 9000);
    assert!(limiter.memory().overflowed() >= 40_000 - 9000);
}

#[cfg(feature = "remote")]
#[test]
fn every_call_is_counted_once() {
    let window = |key: &str| Limit::sliding_window(key, 2, SECOND, SECOND / 10).build().expect("a sound definition");
    let exact = |key: &str| {
        let fields = Limit::legacy(key).max(3).duration(SECOND).min_interval(SECOND / 10);
        fields.translation(tidegate::limits::Translation::Exact).build().expect("a sound definition")
    };
    let counts = |limiter: &Limiter| {
        let stats = limiter.stats();
        assert_eq!(stats.decisions, stats.admitted + stats.blocked + stats.failed);
        [stats.admitted, stats.blocked, stats.failed]
    };
    for limit in [hourly(2), window("window"), Limit::sliding_log("log", 2, SECOND).build().expect("a log"), exact("l")]
    {
        let limiter = Limiter::new(Memory::new());
        let check = Check::new(&limit, "ada");
        limiter.decide_sync_at(&[check], Call::Limit, 0).expect("an answer");
        limiter.decide_sync_at(&[check.factor(0.0)], Call::Limit, 0).expect("an answer");
        limiter.decide_sync_at(&[check.cost(5)], Call::Charge, 0).expect("an answer");
        assert_eq!(counts(&limiter), [3, 0, 0]);
        limiter.decide_sync_at(&[check], Call::Limit, 0).expect("an answer");
        limiter.decide_sync_at(&[check], Call::Peek, 0).expect("an answer");
        assert_eq!(counts(&limiter), [3, 2, 0]);
        limiter.decide_sync_at(&[check.cost(1000)], Call::Limit, 0).expect_err("it never fits");
        limiter.decide_sync_at(&[check.cost(1000)], Call::Peek, 0).expect_err("it never fits");
        assert_eq!(counts(&limiter), [3, 2, 2]);
        limiter.decide_sync_at(&[check], Call::Refund, 0).expect("an answer");
        limiter.decide_sync_at(&[check], Call::Reset, 0).expect("an answer");
        assert_eq!(counts(&limiter), [5, 2, 2], "what gives back is not denied");
        let other = hourly(100);
        let both = [check, Check::new(&other, "bob")];
        for _ in 0..2 {
            limiter.decide_sync_at(&both, Call::Limit, 10_000_000).expect("an answer");
        }
        let before = counts(&limiter);
        limiter.decide_sync_at(&[both[0].cost(1000), both[1]], Call::Limit, 10_000_000).expect_err("it never fits");
        limiter.decide_sync_at(&[both[1]; 6], Call::Limit, 10_000_000).expect("an answer");
        assert_eq!(counts(&limiter), [before[0] + 1, before[1], before[2] + 1]);
        assert_eq!(before.iter().sum::<u64>(), 11);
    }
}

#[cfg(feature = "remote")]
#[test]
fn calls_of_a_full_store_are_counted_once() {
    let (limiter, limit) = (Limiter::new(Memory::with_max_entries(4)), hourly(1));
    flood(&limiter, &limit, 0..100, None);
    assert_eq!(limiter.stats().decisions, 100);
    assert!(limiter.stats().blocked > 80 && limiter.memory().overflowed() > 90);
    let both = [Check::new(&limit, "ada"), Check::new(&limit, "bob")];
    limiter.decide_sync(&both, Call::Limit).expect("an answer");
    assert_eq!(limiter.stats().decisions, 101);
}
