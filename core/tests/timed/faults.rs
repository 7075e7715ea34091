//! Faults of a store as a caller notices them: never more than a deadline, and nothing once it is back.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{DEADLINE, ask, from_the_store, over, well};
use crate::servers::proxy::Proxy;
use crate::servers::{Server, wait_until};
use tidegate::remote::{BreakerState, Event, EventKind, Failure, OnError};
use tidegate::{Call, Check, Limit, Limiter, Redis};

fn hourly(size: u64) -> Limit {
    crate::calls::hourly("faults", size)
}

/// Calls until the store decides again, and says how long that took.
fn recovery(limiter: &Limiter, limit: &Limit) -> Duration {
    wait_until("the store is asked again", || from_the_store(limiter, limit, "recovery"))
}

#[test]
fn a_server_that_stops_answering_costs_a_deadline_and_then_nothing() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Local), hourly(1000));
    assert!(from_the_store(&limiter, &limit, "ada"));
    server.pause();
    for _ in 0..5 {
        assert!(ask(&limiter, &limit, "ada").expect("the policy's answer").degraded);
    }
    assert_eq!(limiter.stats().breaker, BreakerState::Open);
    let started = Instant::now();
    for _ in 0..1000 {
        assert!(limiter.limit_sync(&limit, "bob").expect("the policy's answer").degraded);
    }
    assert!(started.elapsed() < DEADLINE, "an open breaker does not wait: {:?}", started.elapsed());
    server.resume();
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));
    // What timed out was not charged later: the server's clock was past the deadline when it ran.
    let info = limiter.peek_sync(&limit, "ada").expect("an answer");
    assert_eq!((info.remaining, info.degraded), (999, false));
}

#[test]
fn a_server_that_was_killed_is_asked_again_when_it_is_back() {
    let mut server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Local), hourly(1000));
    assert!(from_the_store(&limiter, &limit, "ada"));
    server.kill();
    for _ in 0..20 {
        assert!(ask(&limiter, &limit, "ada").expect("the policy's answer").degraded);
    }
    server.restart();
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));
}

#[test]
fn nothing_has_to_be_there_at_first() {
    let port = crate::servers::free_port();
    let started = Instant::now();
    let limiter = over(&format!("redis://127.0.0.1:{port}"), OnError::Local);
    assert!(started.elapsed() < DEADLINE);
    let limit = hourly(2);
    let answers: Vec<_> = (0..3).map(|_| ask(&limiter, &limit, "ada").expect("the policy's answer")).collect();
    assert!(answers.iter().all(|info| info.degraded));
    let blocked: Vec<_> = answers.iter().map(|info| info.blocked).collect();
    assert_eq!(blocked, [false, false, true], "this process enforces the limit by itself");
    let _server = Server::on(port, &[]);
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));
}

#[test]
fn pauses_black_holes_and_slow_wires_cost_a_deadline_each() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let (limiter, limit) = (well(&proxy.url(), OnError::Local), hourly(1000));
    assert!(from_the_store(&limiter, &limit, "ada"));

    server.run::<()>("CLIENT PAUSE 400 ALL");
    for _ in 0..4 {
        ask(&limiter, &limit, "ada").expect("an answer");
    }
    recovery(&limiter, &limit);

    proxy.black_hole(true);
    for _ in 0..6 {
        assert!(ask(&limiter, &limit, "ada").expect("an answer").degraded);
    }
    proxy.black_hole(false);
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));

    proxy.delay(Duration::from_millis(300));
    for _ in 0..6 {
        assert!(ask(&limiter, &limit, "ada").expect("an answer").degraded);
    }
    proxy.delay(Duration::ZERO);
    assert!(recovery(&limiter, &limit) < Duration::from_secs(2));
}

#[test]
fn a_connection_that_went_silent_is_replaced_within_a_second() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let (limiter, limit) = (well(&proxy.url(), OnError::Local), hourly(100_000));
    assert!(from_the_store(&limiter, &limit, "ada"));
    proxy.hold_present();
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));
}

/// Has nothing come through any more, until the breaker is open.
fn go_silent(proxy: &Proxy, limiter: &Limiter, limit: &Limit) {
    proxy.black_hole(true);
    wait_until("it has noticed", || {
        ask(limiter, limit, "ada").expect("the policy's answer");
        limiter.stats().breaker == BreakerState::Open
    });
}

#[test]
fn an_attempt_to_connect_that_is_stuck_holds_nobody_up() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let (limiter, limit) = (well(&proxy.url(), OnError::Local), hourly(1000));
    go_silent(&proxy, &limiter, &limit);
    let before = proxy.opened();
    wait_until("another connection is tried", || proxy.opened() > before);
    thread::sleep(Duration::from_millis(20));
    // What was said over it is lost, and nothing will come of it.
    proxy.black_hole(false);
    let took = recovery(&limiter, &limit);
    assert!(took < Duration::from_millis(500), "{took:?}");
}

#[test]
fn a_server_that_is_out_of_reach_is_tried_often() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let (limiter, limit) = (well(&proxy.url(), OnError::Local), hourly(1000));
    go_silent(&proxy, &limiter, &limit);
    // Four attempts in each half of a second, one after the other; fewer where the machine has much else to do.
    let attempts = || {
        let before = proxy.opened();
        thread::sleep(Duration::from_millis(1500));
        proxy.opened() - before
    };
    assert!((0..3).any(|_| (9..=14).contains(&attempts())), "{} attempts in 1.5 s", attempts());
}

#[test]
fn connections_that_are_cut_lose_what_was_on_its_way_and_no_more() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let (limiter, limit) = (well(&proxy.url(), OnError::Raise), hourly(500_000));
    let (mut calls, mut failed) = (0_u32, 0_u32);
    ask(&limiter, &limit, "bob").expect("a connection");
    let started = Instant::now();
    let mut cuts = 0;
    while started.elapsed() < Duration::from_millis(1500) {
        if started.elapsed() > Duration::from_millis(250) * (cuts + 1) {
            proxy.cut();
            cuts += 1;
        }
        calls += 1;
        failed += u32::from(ask(&limiter, &limit, "ada").is_err());
    }
    assert!(cuts >= 4 && failed * 20 <= calls, "{failed} of {calls} failed at {cuts} cuts");
    let charged = 500_000 - limiter.peek_sync(&limit, "ada").expect("an answer").remaining;
    let calls = u64::from(calls);
    assert!(charged <= calls && charged >= calls - u64::from(failed), "{charged} charged for {calls} calls");
}

#[test]
fn scripts_and_data_may_be_flushed_at_any_time() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Raise), hourly(500_000));
    for round in 0..30 {
        if round % 3 == 0 {
            server.run::<()>("SCRIPT FLUSH");
        }
        if round % 10 == 9 {
            server.run::<()>("FLUSHALL");
        }
        for _ in 0..10 {
            ask(&limiter, &limit, "ada").expect("no error");
        }
    }
}

#[test]
fn error_replies_are_answered_by_policy_at_once() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Local), hourly(1000));
    let at_once = |limiter: &Limiter| {
        let started = Instant::now();
        let info = limiter.limit_sync(&limit, "ada").expect("the policy's answer");
        assert!(info.degraded && started.elapsed() < DEADLINE / 2, "{:?}", started.elapsed());
    };
    assert!(from_the_store(&limiter, &limit, "ada"));

    // Full: what is there already may still be read, but nothing can be charged.
    server.run::<()>("CONFIG SET maxmemory 1");
    at_once(&limiter);
    server.run::<()>("CONFIG SET maxmemory 0");
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));

    // Demoted.
    server.run::<()>("REPLICAOF 127.0.0.1 1");
    at_once(&limiter);
    server.run::<()>("REPLICAOF NO ONE");
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));

    // Busy with somebody's endless script.
    server.run::<()>("CONFIG SET busy-reply-threshold 10");
    let mut other = server.connect();
    let endless = thread::spawn(move || redis::cmd("EVAL").arg("while true do end").arg(0).query::<()>(&mut other));
    wait_until("the server is busy", || limiter.limit_sync(&limit, "ada").is_ok_and(|info| info.degraded));
    at_once(&limiter);
    server.run::<()>("SCRIPT KILL");
    assert!(endless.join().expect("a thread").is_err());
    assert!(recovery(&limiter, &limit) < Duration::from_secs(1));

    let failures = limiter.stats().failures;
    assert!(failures[&Failure::OutOfMemory] > 0, "{failures:?}");
    assert!(failures[&Failure::ReadOnly] > 0, "{failures:?}");
    assert!(failures[&Failure::NotReady] + failures[&Failure::Timeout] > 0, "{failures:?}");
}

#[test]
fn what_somebody_else_left_under_a_key_is_repaired_and_counted() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Raise), hourly(5));
    assert!(from_the_store(&limiter, &limit, "ada"));
    for garbage in ["SET @ nonsense", "RPUSH @ a b", "SET @ c-1:nan", "HSET @ a b", "ZADD @ 1 x"] {
        let key: String = server.run::<Vec<String>>("KEYS *").pop().expect("the entry's key");
        server.run::<()>(&format!("DEL {key}"));
        server.run::<redis::Value>(&garbage.replace('@', &key));
        let before = limiter.stats().corrupt_entries;
        assert_eq!(ask(&limiter, &limit, "ada").expect("repaired").remaining, 4, "{garbage}");
        assert_eq!(limiter.stats().corrupt_entries, before + 1, "{garbage}");
        assert_eq!(ask(&limiter, &limit, "ada").expect("as ever").remaining, 3, "{garbage}");
    }
}

#[test]
fn the_breaker_tells_when_it_opens_and_closes() {
    let mut server = Server::start();
    let heard: Arc<Mutex<Vec<EventKind>>> = Arc::default();
    let listener = heard.clone();
    let store = Redis::builder(&server.url()).listener(move |event: &Event| {
        assert!(event.server.contains("127.0.0.1"), "{event}");
        listener.lock().expect("a lock").push(event.kind);
    });
    let (limiter, limit) = (Limiter::new(store.build().expect("a store")), hourly(1000));
    assert!(from_the_store(&limiter, &limit, "ada"));
    server.kill();
    wait_until("it has noticed", || {
        let _ = ask(&limiter, &limit, "ada");
        limiter.stats().breaker == BreakerState::Open
    });
    server.restart();
    recovery(&limiter, &limit);
    let heard = heard.lock().expect("a lock");
    let opened = heard.iter().filter(|kind| matches!(kind, EventKind::BreakerOpen(_))).count();
    let closed = heard.iter().filter(|kind| matches!(kind, EventKind::BreakerClose)).count();
    assert_eq!((opened, closed), (1, 1), "{heard:?}");
    assert!(heard.len() <= 4, "once each, not once a call: {heard:?}");
}

#[test]
fn a_server_that_evicts_at_random_is_warned_of_once() {
    let server = Server::with(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-random"]);
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = heard.clone();
    let store = Redis::builder(&server.url());
    let limiter = Limiter::new(
        store.listener(move |event| listener.lock().expect("a lock").push(event.to_string())).build().expect("a store"),
    );
    for _ in 0..3 {
        assert!(from_the_store(&limiter, &hourly(10), "ada"));
    }
    let heard = heard.lock().expect("a lock");
    assert!(heard.len() == 1 && heard[0].contains("maxmemory-policy"), "{heard:?}");
}

#[test]
fn what_is_given_back_during_an_outage_is_not_denied_from_memory() {
    let mut server = Server::start();
    let store = Redis::builder(&server.url()).deny_cache(Duration::from_mins(1));
    let (limiter, limit) = (Limiter::new(store.build().expect("a store")), hourly(1));
    for blocked in [false, true, true] {
        assert_eq!(limiter.limit_sync(&limit, "eve").expect("an answer").blocked, blocked);
    }
    server.kill();
    wait_until("it has noticed", || {
        let _ = limiter.limit_sync(&limit, "ada");
        limiter.stats().breaker == BreakerState::Open
    });
    let refunded = limiter.refund_sync(&limit, "eve").expect("an answer");
    let again = limiter.limit_sync(&limit, "eve").expect("an answer");
    assert_eq!((refunded.degraded, again.degraded, again.blocked), (true, true, false));
    // What is not limited is answered as ever, and what cannot be is still refused.
    let free = [Check::new(&limit, "eve").factor(0.0)];
    assert!(!limiter.decide_sync(&free, Call::Limit).expect("an answer").degraded);
    let before = limiter.stats();
    assert!(limiter.decide_sync(&[Check::new(&limit, "eve").cost(2)], Call::Limit).is_err());
    let after = limiter.stats();
    assert_eq!((after.failed - before.failed, after.degraded - before.degraded), (1, 0));
}

#[test]
fn a_remembered_denial_ends_when_it_said() {
    let server = Server::start();
    let limiter = Limiter::new(Redis::builder(&server.url()).timeout(Duration::from_secs(5)).build().expect("a store"));
    let limit = Limit::bucket("quick", 1).drip_rate(Duration::from_millis(30)).build().expect("a bucket");
    let ask = || limiter.limit_sync(&limit, "eve").expect("an answer");
    let mut remembered = 0;
    for _ in 0..20 {
        let denied = loop {
            let info = ask();
            if info.blocked {
                break info;
            }
        };
        let before = limiter.stats().store_calls;
        // A busy machine may keep this thread away for longer than the denial holds.
        if ask().blocked {
            assert_eq!(limiter.stats().store_calls, before, "a denial that is remembered asks nobody");
            remembered += 1;
        }
        thread::sleep(Duration::from_millis(denied.reset_ms));
        assert!(!ask().blocked, "it said {} ms", denied.reset_ms);
    }
    assert!(remembered > 0, "no denial was remembered");
}

#[test]
fn what_is_given_back_is_not_denied_from_the_memory_of_any_limiter_of_the_process() {
    let server = Server::start();
    let limit = hourly(1);
    let (url, other) = (server.url(), format!("{}/1", server.url()));
    let over = |url: &str| {
        let store = Redis::builder(url).timeout(Duration::from_secs(10)).on_error(OnError::Raise);
        Limiter::new(store.deny_cache(Duration::from_hours(1)).build().expect("a store"))
    };
    let [app, admin, elsewhere] = [&url, &url, &other].map(|url| over(url));
    let charged = app.decide_sync(&[Check::new(&limit, "ada")], Call::Limit).expect("an answer");
    elsewhere.limit_sync(&limit, "ada").expect("an answer");
    let remembers = |limiter: &Limiter| {
        let before = limiter.stats().deny_cache_hits;
        for _ in 0..2 {
            assert!(limiter.limit_sync(&limit, "ada").expect("an answer").blocked);
        }
        assert!(limiter.stats().deny_cache_hits > before);
    };
    let refund = || {
        let receipt = admin.receipt(&[Check::new(&limit, "ada")], Call::Limit, &charged);
        receipt.refund_sync().expect("an answer");
    };
    let reset = || admin.reset_sync(&limit, "ada").expect("an answer");
    let clear = || assert_eq!(admin.clear_sync().expect("an answer"), 1);
    let give_back: [(&str, &dyn Fn()); 3] = [("refund", &refund), ("reset", &reset), ("clear", &clear)];
    for (how, give_back) in give_back {
        remembers(&app);
        remembers(&elsewhere);
        give_back();
        assert!(!app.limit_sync(&limit, "ada").expect("an answer").blocked, "{how}");
        let before = elsewhere.stats().deny_cache_hits;
        assert!(elsewhere.limit_sync(&limit, "ada").expect("an answer").blocked, "{how}");
        assert_eq!(elsewhere.stats().deny_cache_hits, before + 1, "another store's are kept: {how}");
    }
}

#[test]
fn a_remembered_denial_is_no_answer_to_an_observed_check() {
    let server = Server::start();
    let store = Redis::builder(&server.url()).timeout(Duration::from_secs(5));
    let (limiter, limit) =
        (Limiter::new(store.deny_cache(Duration::from_mins(1)).build().expect("a store")), hourly(1));
    for blocked in [false, true, true] {
        assert_eq!(limiter.limit_sync(&limit, "eve").expect("an answer").blocked, blocked);
    }
    let observed = [Check::new(&limit, "eve").observed()];
    let info = limiter.decide_sync(&observed, Call::Limit).expect("an answer");
    assert!(!info.blocked && info.checks()[0].blocked);
}
