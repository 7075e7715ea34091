//! Buckets in the layout of Sharkey's rate limiter: by transactions, by the script, and beside the original.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::raising_store;
use crate::servers::Server;
use crate::servers::proxy::Proxy;
use crate::sharkey::Sharkey;
use futures_util::future::join_all;
use tidegate::redis::{Layout, RedisBuilder, Strategy};
use tidegate::remote::OnError;
use tidegate::{Call, Check, Error, Limit, LimitInfo, Limiter, Memory, Redis};

const PATIENT: Duration = Duration::from_secs(5);

fn store(url: &str) -> RedisBuilder {
    raising_store(url, PATIENT)
}

fn by_transactions(url: &str) -> Limiter {
    Limiter::new(store(url).strategy(Strategy::Transactions).build().expect("a store"))
}

fn by_script(url: &str) -> Limiter {
    Limiter::new(store(url).layout(Layout::Sharkey).build().expect("a store"))
}

fn bucket(key: &str, size: u64, drip_rate: Duration) -> Limit {
    Limit::bucket(key, size).drip_rate(drip_rate).build().unwrap()
}

fn hourly(key: &str, size: u64) -> Limit {
    bucket(key, size, Duration::from_hours(1))
}

/// Every key that is left has an end.
fn assert_everything_ends(connection: &mut redis::Connection) {
    for key in redis::cmd("KEYS").arg("*").query::<Vec<Vec<u8>>>(connection).unwrap() {
        let left: i64 = redis::cmd("PTTL").arg(&key).query(connection).unwrap();
        // One that has ended in between says -2.
        assert!(left >= 0 || left == -2, "{} never ends", String::from_utf8_lossy(&key));
    }
}

fn level(connection: &mut redis::Connection, key: &str) -> i64 {
    redis::cmd("GET").arg(format!("{key}_c")).query::<Option<i64>>(connection).unwrap().unwrap_or(0)
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Histories of every call, of one check and of several, at instants that go forth and back: what memory answers.
fn play(seed: u64, stores: &[Limiter], connection: &mut redis::Connection) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let stores: Vec<_> = stores.iter().map(|store| store.namespace(&format!("world-{seed}"))).collect();
    let memory = Limiter::new(Memory::new());
    let limits: Vec<_> = (0..=dice.roll(3))
        .map(|number| {
            let (size, rate, drip) = (1 + dice.roll(12), 1 + dice.roll(5_000), 1 + dice.roll(4));
            let builder = Limit::bucket(format!("k{number}"), size);
            builder.drip_rate(Duration::from_millis(rate)).drip_size(drip).build().unwrap()
        })
        .chain([Limit::from_json(r#"{ "key": "old", "max": 7, "duration": 3000, "minInterval": 250 }"#).unwrap()])
        .collect();
    let mut now = 1_784_000_000_000 + dice.roll(1_000_000);
    let mut instants = vec![now];
    for step in 0..60 {
        match dice.roll(12) {
            0 => now += dice.roll(60_000),
            1 => now -= dice.roll(20_000),
            2 => now -= dice.roll(200_000),
            _ => now += dice.roll(1_500),
        }
        let call = match dice.roll(12) {
            0..=5 => Call::Limit,
            6 => Call::Peek,
            7 => Call::Charge,
            8 => Call::Refund,
            9 => Call::Undo { charged_at: 1000 * instants[usize::try_from(dice.roll(instants.len() as u64)).unwrap()] },
            _ => Call::Acquire { max_wait: Duration::from_millis(dice.roll(10_000)) },
        };
        instants.push(now);
        let checks: Vec<_> = (0..=dice.roll(3).saturating_sub(dice.roll(3)))
            .map(|_| {
                let limit = &limits[usize::try_from(dice.roll(limits.len() as u64)).unwrap()];
                let cost = if dice.roll(40) == 0 { dice.roll(1 << 40) } else { dice.roll(4) };
                let factor = [1.0, 1.0, 1.0, 1.0, 0.5, 2.0, 0.0][usize::try_from(dice.roll(7)).unwrap()];
                let actor = ["ada", "bob"][usize::try_from(dice.roll(2)).unwrap()];
                let check = Check::new(limit, actor).cost(cost).spent(dice.roll(3)).factor(factor);
                if dice.roll(4) == 0 { check.observed() } else { check }
            })
            .collect();
        // The same entries, whoever decides.
        let store = &stores[usize::try_from(dice.roll(stores.len() as u64)).unwrap()];
        if dice.roll(25) == 0 {
            for limiter in [&memory, store] {
                limiter.reset_sync(&limits[0], "ada").unwrap();
            }
            continue;
        }
        let [want, got] = [&memory, store].map(|limiter| {
            let answer = limiter.decide_sync_at(&checks, call, now * 1000);
            format!("{:#?}", answer.map_err(|error| error.to_string()))
        });
        assert_eq!(got, want, "seed {seed}, step {step}: {call:?} of {checks:?} at {now}");
        if step % 10 == 0 {
            assert_everything_ends(connection);
        }
    }
}

/// `TIDEGATE_SEEDS` in the environment asks for more.
fn seeds() -> u64 {
    std::env::var("TIDEGATE_SEEDS").map_or(150, |seeds| seeds.parse().unwrap())
}

fn agree(stores: impl Fn(&str) -> Vec<Limiter>) {
    let server = Server::start();
    let (stores, mut connection) = (stores(&server.url()), server.connect());
    for seed in 1..=seeds() {
        play(seed, &stores, &mut connection);
        redis::cmd("FLUSHALL").exec(&mut connection).unwrap();
    }
}

#[test]
fn transactions_answer_as_memory_does() {
    agree(|url| vec![by_transactions(url)]);
}

#[test]
fn the_script_answers_as_memory_does_in_this_layout() {
    agree(|url| vec![by_script(url)]);
}

#[test]
fn both_keep_the_same_entries() {
    agree(|url| vec![by_transactions(url), by_script(url)]);
}

#[test]
fn only_buckets_are_kept_so() {
    let server = Server::start();
    let all = ["token-bucket", "fixed-window", "sliding-window", "sliding-counter", "sliding-log", "decay", "smooth"];
    let definitions = [
        r#""count": 3, "period": 1000"#,
        r#""max": 3, "period": 1000"#,
        r#""max": 3, "period": 1000, "resolution": 100"#,
        r#""max": 3, "period": 1000"#,
        r#""max": 3, "period": 1000"#,
        r#""max": 3, "decayFactor": 2, "resolution": 100"#,
        r#""rate": 3"#,
    ];
    for limiter in [by_transactions(&server.url()), by_script(&server.url())] {
        for (kind, fields) in all.iter().zip(definitions) {
            let limit = Limit::from_json(&format!(r#"{{ "key": "api", "type": "{kind}", {fields} }}"#)).unwrap();
            let Err(Error::Limit(error)) = limiter.limit_sync(&limit, "ada") else { panic!("{kind} was decided") };
            assert_eq!((error.key(), error.field(), error.value()), ("api", "type", *kind));
            assert!(error.to_string().contains("script strategy in its own layout takes every type"), "{error}");
        }
        let exact = r#"{ "key": "old", "max": 3, "duration": 1000, "minInterval": 10, "translation": "exact" }"#;
        assert!(matches!(limiter.limit_sync(&Limit::from_json(exact).unwrap(), "ada"), Err(Error::Limit(_))));
        assert!(!limiter.limit_sync(&Limit::bucket("api", 3).build().unwrap(), "ada").unwrap().blocked);
    }
    let kept = server.run::<Vec<String>>("KEYS *");
    assert!(kept.iter().all(|key| key.starts_with("rl_ada_api_")), "{kept:?}");
}

#[test]
fn a_cluster_is_refused() {
    let cluster = || Redis::builder("redis+cluster://127.0.0.1:7000");
    let layout = cluster().layout(Layout::Sharkey).build().unwrap_err();
    let strategy = cluster().strategy(Strategy::Transactions).build().unwrap_err();
    assert_eq!((layout.field(), strategy.field()), ("layout", "strategy"));
    assert!(layout.to_string().contains("cluster") && strategy.to_string().contains("slot"), "{layout}; {strategy}");
    assert!(cluster().layout(Layout::Own).strategy(Strategy::Script).build().is_ok());
}

#[test]
fn names_are_those_of_others() {
    assert_eq!("transactions".parse(), Ok(Strategy::Transactions));
    assert_eq!("sharkey".parse(), Ok(Layout::Sharkey));
    let error = "misskey".parse::<Layout>().unwrap_err();
    assert_eq!(error.to_string(), r#"layout must be "own" or "sharkey", got "misskey""#);
    let server = Server::start();
    let limit = hourly("/notes", 5);
    let prefixed = store(&server.url()).layout(Layout::Sharkey).namespace("example.com");
    for limiter in [by_transactions(&server.url()), Limiter::new(prefixed.build().expect("a store"))] {
        limiter.limit_sync(&limit, "a_{1}").unwrap();
    }
    let mut names = server.run::<Vec<String>>("KEYS *");
    names.sort();
    let both = ["example.com:rl_a_{1}_/notes_c", "example.com:rl_a_{1}_/notes_t"];
    assert_eq!(names, [both[0], both[1], "rl_a_{1}_/notes_c", "rl_a_{1}_/notes_t"]);
    assert_eq!(server.run::<String>("GET rl_a_{1}_/notes_c"), "1");
}

#[test]
fn two_names_that_are_one_are_one_entry() {
    let server = Server::start();
    for limiter in [by_transactions(&server.url()), by_script(&server.url())] {
        let (c, b_c) = (hourly("c", 3), hourly("b_c", 3));
        let checks = [Check::new(&c, "a_b"), Check::new(&b_c, "a")];
        assert!(!limiter.decide_sync(&checks, Call::Limit).unwrap().blocked);
        assert!(limiter.decide_sync(&checks, Call::Limit).unwrap().blocked, "one is left, not one of each");
        assert_eq!(server.run::<i64>("GET rl_a_b_c_c"), 2);
        limiter.reset_sync(&c, "a_b").unwrap();
        assert!(server.run::<Vec<String>>("KEYS *").is_empty());
    }
}

/// Threads with a limiter each, each with so many calls under way, for a second. Answers how many were admitted.
fn hammer(limiters: Vec<Limiter>, at_once: usize, checks: &[Check<'_>]) -> u64 {
    let admitted = AtomicU64::new(0);
    let end = Instant::now() + Duration::from_secs(1);
    thread::scope(|scope| {
        for limiter in limiters {
            let admitted = &admitted;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let caller = async || {
                    while Instant::now() < end {
                        let info = limiter.decide(checks, Call::Limit).await.unwrap();
                        admitted.fetch_add(u64::from(!info.blocked), Ordering::Relaxed);
                    }
                };
                runtime.block_on(join_all((0..at_once).map(|_| caller())));
            });
        }
    });
    admitted.into_inner()
}

#[test]
fn a_decision_takes_one_to_three_transactions_when_nobody_comes_in_between() {
    let server = Server::start();
    let limiter = by_transactions(&server.url());
    let (limit, other) = (bucket("few", 2, Duration::from_secs(1)), hourly("other", 2));
    let both = [Check::new(&limit, "ada"), Check::new(&other, "ada")];
    let taken = |call: Call, checks: &[Check<'_>], second: u64| {
        server.run::<()>("CONFIG RESETSTAT");
        let blocked = limiter.decide_sync_at(checks, call, second * 1_000_000).unwrap().blocked;
        let stats = server.run::<String>("INFO commandstats");
        let line = stats.lines().find(|line| line.starts_with("cmdstat_multi:")).unwrap().to_owned();
        (blocked, line["cmdstat_multi:calls=".len()..].split(',').next().unwrap().parse::<u64>().unwrap())
    };
    assert_eq!(taken(Call::Limit, &both, 10), (false, 2));
    assert_eq!(taken(Call::Limit, &both, 10), (false, 2));
    assert_eq!(taken(Call::Limit, &both, 10), (true, 1));
    assert_eq!(taken(Call::Peek, &both[..1], 11), (false, 1));
    assert_eq!(taken(Call::Limit, &both, 11), (true, 1), "a denial writes nothing, not even what has dripped");
    assert_eq!(taken(Call::Limit, &both[..1], 11), (false, 3));
    assert_eq!(taken(Call::Refund, &both, 11), (false, 2));
}

#[test]
fn many_at_once_overfill_by_no_more_than_they_are_and_it_drains() {
    let server = Server::start();
    let mut connection = server.connect();
    let limit = bucket("hot", 50, Duration::from_millis(10));
    let started = Instant::now();
    let limiters = (0..4).map(|_| by_transactions(&server.url())).collect();
    let admitted = hammer(limiters, 16, &[Check::new(&limit, "ada")]);
    let drained = u64::try_from(started.elapsed().as_millis()).unwrap() / 10 + 1;
    assert!(admitted <= 50 + drained + 64, "{admitted} admitted while {drained} drained");
    assert!(admitted >= 50 + 60, "{admitted} admitted");
    assert!((0..=50 + 64).contains(&level(&mut connection, "rl_ada_hot")));
    assert_everything_ends(&mut connection);
    let limiter = by_transactions(&server.url());
    let info = limiter.peek_sync(&limit, "ada").unwrap();
    thread::sleep(Duration::from_millis(info.full_reset_ms + 1));
    let info = limiter.limit_sync(&limit, "ada").unwrap();
    assert_eq!((info.blocked, info.remaining), (false, 49));
}

#[test]
fn nothing_drips_twice_however_long_answers_take() {
    let server = Server::start();
    let proxies: Vec<_> = (0..4).map(|_| Proxy::to(server.port)).collect();
    let limit = bucket("stalled", 50, Duration::from_millis(10));
    let started = Instant::now();
    let mut admitted = 0;
    thread::scope(|scope| {
        let (server, proxies) = (&server, &proxies);
        // All that were stopped look at the same entry when it goes on, and each takes its time to find out.
        scope.spawn(move || {
            for stop in 0..5 {
                for (number, proxy) in proxies.iter().enumerate() {
                    proxy.delay(Duration::from_millis((7 * (number as u64 + stop)) % 30));
                }
                thread::sleep(Duration::from_millis(80));
                server.pause();
                thread::sleep(Duration::from_millis(100));
                server.resume();
            }
        });
        let limiters = proxies.iter().map(|proxy| by_transactions(&proxy.url())).collect();
        admitted = hammer(limiters, 16, &[Check::new(&limit, "ada")]);
    });
    let drained = started.elapsed().as_millis() / 10 + 1;
    let inside = u64::try_from(level(&mut server.connect(), "rl_ada_stalled")).unwrap();
    assert!(inside <= 50 + 64, "{inside}");
    assert!(u128::from(admitted - inside) <= drained, "{admitted} admitted, {inside} inside, {drained} drained");
}

#[test]
fn several_checks_are_all_charged_or_none() {
    let server = Server::start();
    let mut connection = server.connect();
    let (wide, narrow) = (hourly("wide", 100_000), hourly("narrow", 200));
    let limiters: Vec<_> = (0..4).map(|_| by_transactions(&server.url())).collect();
    let checks = [Check::new(&wide, "ada"), Check::new(&narrow, "ada")];
    let mut admitted = hammer(limiters, 16, &checks);
    // What was given back is there for others.
    let limiter = by_transactions(&server.url());
    while !limiter.decide_sync(&checks, Call::Limit).unwrap().blocked {
        admitted += 1;
    }
    assert_eq!(admitted, 200);
    assert_eq!((level(&mut connection, "rl_ada_wide"), level(&mut connection, "rl_ada_narrow")), (200, 200));
}

#[test]
fn no_half_of_an_entry_admits_without_bound() {
    let server = Server::start();
    let mut connection = server.connect();
    let mut lose = |key: &str| redis::cmd("DEL").arg(key).exec(&mut connection).unwrap();
    for limiter in [by_transactions(&server.url()), by_script(&server.url())] {
        let limit = hourly("halves", 10);
        let mut admitted = 0;
        for round in 0..200 {
            admitted += u32::from(!limiter.limit_sync(&limit, "ada").unwrap().blocked);
            if round % 3 == 0 {
                lose("rl_ada_halves_t");
            }
        }
        assert_eq!(admitted, 10, "a lost tick admits nothing more");
        lose("rl_ada_halves_c");
        let admitted = (0..50).filter(|_| !limiter.limit_sync(&limit, "ada").unwrap().blocked).count();
        assert_eq!(admitted, 10, "a lost counter is an empty bucket");
        limiter.reset_sync(&limit, "ada").unwrap();

        // A full bucket without a tick drips from the next call on, though that is denied.
        let limit = bucket("quick", 1, Duration::from_millis(40));
        limiter.limit_sync(&limit, "ada").unwrap();
        lose("rl_ada_quick_t");
        assert!(limiter.limit_sync(&limit, "ada").unwrap().blocked);
        assert_everything_ends(&mut server.connect());
        thread::sleep(Duration::from_millis(41));
        assert!(!limiter.limit_sync(&limit, "ada").unwrap().blocked);
    }
}

#[test]
fn a_tick_that_is_ahead_locks_nobody_out_for_long() {
    let server = Server::start();
    let limit = bucket("ahead", 2, Duration::from_millis(10));
    for limiter in [by_transactions(&server.url()), by_script(&server.url())] {
        let ahead = |by: Duration, lasts: u64| {
            let (seconds, _) = server.run::<(u64, u64)>("TIME");
            server.run::<()>(&format!("SET rl_ada_ahead_t {}000 EX {lasts}", seconds + by.as_secs()));
            server.run::<()>(&format!("SET rl_ada_ahead_c 2 EX {lasts}"));
            let info = limiter.limit_sync(&limit, "ada").unwrap();
            assert_eq!((info.blocked, info.remaining), (true, 0));
            assert!(info.reset_ms <= 10, "{info:?}");
            crate::servers::wait_until("it is admitted", || !limiter.limit_sync(&limit, "ada").unwrap().blocked)
        };
        assert!(ahead(Duration::from_hours(1), 20) < Duration::from_secs(10), "a clock that was wrong is not believed");
        assert!(ahead(Duration::from_secs(15), 1) < Duration::from_secs(10), "its keys end, and nothing renews them");
        assert_everything_ends(&mut server.connect());
    }
}

#[test]
fn what_is_not_ours_is_mended_and_counted() {
    let server = Server::start();
    let limit = hourly("odd", 3);
    for limiter in [by_transactions(&server.url()), by_script(&server.url())] {
        let odd = ["SET rl_ada_odd_c 1e3", "SET rl_ada_odd_t x", "LPUSH rl_ada_odd_c 1", "HSET rl_ada_odd_t a 1"];
        for (count, command) in odd.iter().enumerate() {
            server.run::<redis::Value>("FLUSHALL");
            server.run::<redis::Value>(command);
            let left: Vec<_> = (0..4).map(|_| limiter.limit_sync(&limit, "ada").unwrap().remaining).collect();
            assert_eq!(left, [2, 1, 0, 0], "{command}");
            assert_eq!(limiter.stats().corrupt_entries, count as u64 + 1, "{command}");
            assert_everything_ends(&mut server.connect());
        }
        // Nothing is as empty as this.
        server.run::<redis::Value>("FLUSHALL");
        server.run::<redis::Value>("SET rl_ada_odd_c -1000000000");
        let admitted = (0..50).filter(|_| !limiter.limit_sync(&limit, "ada").unwrap().blocked).count();
        assert_eq!(admitted, 3);
        server.run::<redis::Value>("FLUSHALL");
    }
}

#[test]
fn a_server_that_runs_no_scripts_decides() {
    let server = Server::start();
    server.run::<()>("ACL SETUSER some on >word ~rl_* +@all -eval -evalsha -script");
    let least = "+multi +exec +get +set +incrby +decrby +expire +time";
    server.run::<()>(&format!("ACL SETUSER few on >word ~rl_* -@all {least}"));
    for user in ["some", "few"] {
        let limiter = by_transactions(&format!("redis://{user}:word@127.0.0.1:{}", server.port));
        let limit = bucket(user, 2, Duration::from_secs(600));
        let blocked: Vec<_> = (0..3).map(|_| limiter.limit_sync(&limit, "ada").unwrap().blocked).collect();
        assert_eq!(blocked, [false, false, true]);
        let quick = bucket(&format!("{user}/quick"), 1, Duration::from_millis(50));
        assert!(!limiter.limit_sync(&quick, "ada").unwrap().blocked);
        thread::sleep(Duration::from_millis(110));
        assert!(!limiter.limit_sync(&quick, "ada").unwrap().blocked, "it drips");
        limiter.refund_sync(&limit, "ada").unwrap();
        limiter.reset_sync(&limit, "ada").unwrap();
        limiter.reset_sync(&quick, "ada").unwrap();
    }
    assert!(server.run::<Vec<String>>("KEYS *").is_empty());
}

#[test]
fn a_store_that_was_away_is_asked_again() {
    let mut server = Server::start();
    let limit = hourly("away", 100);
    let store = Redis::builder(&server.url()).strategy(Strategy::Transactions);
    let limiter = Limiter::new(store.on_error(OnError::Local).deny_cache(Duration::ZERO).build().expect("a store"));
    let ask = || limiter.limit_sync(&limit, "ada").unwrap();
    crate::servers::wait_until("it answers", || !ask().degraded);
    server.pause();
    assert!((0..4).all(|_| ask().degraded));
    server.resume();
    crate::servers::wait_until("it answers", || !ask().degraded);
    server.kill();
    assert!((0..4).all(|_| ask().degraded));
    server.restart();
    crate::servers::wait_until("it answers", || !ask().degraded);
}

/// Our calls and the original's on one key, for a second: what is admitted in all.
fn beside(limiters: Vec<Limiter>, nodes: usize, server: &Server, limit: &Limit, size: i64, rate: u64) -> u64 {
    let end = Instant::now() + Duration::from_secs(1);
    let mut theirs = 0;
    let mut ours = 0;
    thread::scope(|scope| {
        let nodes: Vec<_> = (0..nodes)
            .map(|_| {
                let mut node = Sharkey::new(server.connect(), "rl_ada_shared", size, i64::try_from(rate).unwrap());
                scope.spawn(move || {
                    let mut admitted = 0;
                    while Instant::now() < end {
                        admitted += u64::from(node.limit());
                    }
                    admitted
                })
            })
            .collect();
        ours = hammer(limiters, 1, &[Check::new(limit, "ada")]);
        theirs = nodes.into_iter().map(|node| node.join().unwrap()).sum();
    });
    assert!(ours > 0 && theirs > 0, "{ours} of ours and {theirs} of theirs");
    ours + theirs
}

#[test]
fn the_original_may_run_beside() {
    for both_strategies in [false, true] {
        let server = Server::start();
        let limit = bucket("shared", 20, Duration::from_millis(5));
        let mut limiters = vec![by_transactions(&server.url())];
        limiters.push(if both_strategies { by_script(&server.url()) } else { by_transactions(&server.url()) });
        let started = Instant::now();
        let admitted = beside(limiters, 2, &server, &limit, 20, 5);
        let drained = u64::try_from(started.elapsed().as_millis()).unwrap() / 5 + 1;
        assert!(admitted <= 20 + drained + 4, "{admitted} admitted while {drained} drained");
        assert!(admitted >= drained / 2, "{admitted} admitted while {drained} drained");
        let mut connection = server.connect();
        assert_everything_ends(&mut connection);
        let info: LimitInfo = by_transactions(&server.url()).peek_sync(&limit, "ada").unwrap();
        assert!(info.full_reset_ms <= (20 + 4) * 5, "{info:?}");
    }
}
