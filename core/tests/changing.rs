//! Definitions and factors that change under entries that are kept, in memory and over Redis.

use std::time::{Duration, Instant};

#[cfg(feature = "redis")]
use crate::servers::Server;
#[cfg(feature = "redis")]
use tidegate::Redis;
#[cfg(feature = "redis")]
use tidegate::redis::RedisBuilder;
#[cfg(feature = "redis")]
use tidegate::remote::OnError;
use tidegate::{Call, Check, Error, Limit, LimitInfo, Limiter, Memory};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// The same on both stores.
fn on_both(test: impl Fn(&Limiter)) {
    test(&Limiter::new(Memory::new()));
    #[cfg(feature = "redis")]
    {
        let server = Server::start();
        test(&Limiter::new(patient(&server).build().expect("a store")));
    }
}

#[cfg(feature = "redis")]
fn patient(server: &Server) -> RedisBuilder {
    Redis::builder(&server.url()).timeout(Duration::from_secs(10)).on_error(OnError::Raise)
}

fn ask(limiter: &Limiter, check: Check<'_>, call: Call, now: u64) -> LimitInfo {
    limiter.decide_sync_at(&[check], call, now).expect("an answer")
}

fn text(key: &str, text: &str) -> Limit {
    Limit::parse(key, text).expect("a limit")
}

#[test]
fn a_text_becomes_a_fixed_window() {
    on_both(|limiter| {
        let before = text("daily", "1000/day");
        ask(limiter, Check::new(&before, "ada"), Call::Limit, START);
        let after = Limit::fixed_window("daily", 1000, Duration::from_hours(24)).build().expect("a window");
        let info = ask(limiter, Check::new(&after, "ada"), Call::Charge, START + SECOND);
        assert_eq!((info.blocked, info.remaining), (false, 998));
        assert!(info.full_reset_ms <= 24 * 3_600_000, "{info:?}");
        let info = ask(limiter, Check::new(&before, "ada"), Call::Limit, START + 2 * SECOND);
        assert_eq!((info.blocked, info.remaining), (false, 997));
    });
}

#[test]
fn a_limit_is_relaxed_and_tightened() {
    on_both(|limiter| {
        let (hourly, minutely) = (text("api", "100/hour"), text("api", "100/minute"));
        ask(limiter, Check::new(&hourly, "ada").cost(50), Call::Limit, START);
        let info = ask(limiter, Check::new(&minutely, "ada"), Call::Limit, START + SECOND);
        assert_eq!((info.blocked, info.remaining, info.full_reset_ms), (false, 50, 29_600));

        ask(limiter, Check::new(&minutely, "bob").cost(100), Call::Limit, START);
        let info = ask(limiter, Check::new(&hourly, "bob"), Call::Limit, START + SECOND);
        assert_eq!((info.blocked, info.remaining, info.reset_ms), (true, 0, 35_000));
    });
}

#[test]
fn an_actors_factor_changes() {
    on_both(|limiter| {
        let limit = Limit::token_bucket("api", 100, Duration::from_secs(1)).build().expect("a bucket");
        let with = |actor, factor| Check::new(&limit, actor).factor(factor);
        ask(limiter, with("ada", 3.0).cost(30), Call::Limit, START);
        assert_eq!(ask(limiter, with("ada", 1.0), Call::Limit, START).remaining, 69);
        ask(limiter, with("bob", 1.0).cost(30), Call::Limit, START);
        assert_eq!(ask(limiter, with("bob", 0.7), Call::Limit, START).remaining, 112);
    });
}

fn of_every_shape() -> Vec<Limit> {
    let made = [
        Limit::bucket("k", 2).drip_rate(HOUR).build(),
        Limit::sliding_log("k", 2, HOUR).build(),
        Limit::sliding_window("k", 2, HOUR, MINUTE).build(),
        Limit::sliding_counter("k", 2, HOUR).build(),
        Limit::decay("k", 2, 2.0, HOUR).build(),
        Limit::smooth("k", 1.0).max_burst(Duration::from_secs(2)).build(),
    ];
    made.into_iter().map(|limit| limit.expect("a limit")).collect()
}

#[test]
fn types_of_another_shape_do_not_see_each_other() {
    on_both(|limiter| {
        let limits = of_every_shape();
        for remaining in [1, 0] {
            for limit in &limits {
                let info = ask(limiter, Check::new(limit, "ada"), Call::Limit, START);
                assert_eq!((info.blocked, info.remaining), (false, remaining), "{limit:?}");
            }
        }
        for limit in limits.iter().filter(|limit| limit.kind() != limits[5].kind()) {
            assert!(ask(limiter, Check::new(limit, "ada"), Call::Limit, START).blocked, "{limit:?}");
        }
        limiter.reset_sync(&limits[0], "ada").expect("a reset");
        for limit in &limits {
            let info = ask(limiter, Check::new(limit, "ada").cost(0), Call::Peek, START);
            assert_eq!((info.remaining, info.full_reset_ms), (2, 0), "{limit:?}");
        }
    });
}

fn refused(limiter: &Limiter, checks: &[Check<'_>]) -> (String, String) {
    match limiter.decide_sync_at(checks, Call::Limit, START) {
        Err(Error::Limit(error)) => (error.key().to_owned(), error.field().to_owned()),
        other => panic!("{other:?}"),
    }
}

fn checks<'a>(limits: &[&'a Limit]) -> Vec<Check<'a>> {
    limits.iter().map(|limit| Check::new(limit, "ada")).collect()
}

#[test]
fn one_decision_has_one_definition_and_one_factor_for_an_entry() {
    on_both(|limiter| {
        let limits = of_every_shape();
        let other = Limit::bucket("other", 5).build().expect("a bucket");
        let of = |key: &str, field: &str| (key.to_owned(), field.to_owned());
        for limit in &limits[1..] {
            assert_eq!(refused(limiter, &checks(&[&limits[0], limit])), of("k", "limits"));
            assert_eq!(refused(limiter, &checks(&[&other, &limits[0], &other, limit])), of("k", "limits"));
        }
        let many: Vec<_> =
            (0..20).map(|size| Limit::bucket(format!("b{size}"), 5).build().expect("a bucket")).collect();
        let mut several = checks(&many.iter().collect::<Vec<_>>());
        several.push(Check::new(&many[7], "ada").factor(0.5));
        assert_eq!(refused(limiter, &several), of("b7", "factor"));
        several.pop();
        several.push(Check::new(&many[7], "bob").factor(0.5));
        assert!(limiter.decide_sync_at(&several, Call::Limit, START).is_ok());
        // The same one twice costs both.
        let twice = [Check::new(&other, "eve").cost(3), Check::new(&other, "eve").cost(3)];
        assert_eq!(refused(limiter, &twice), of("other", "cost"));
    });
}

#[test]
fn a_decision_takes_a_thousand_checks_and_no_more() {
    on_both(|limiter| {
        let limits: Vec<_> = (0..1001).map(|n| Limit::bucket(format!("k{n}"), 5).build().expect("a bucket")).collect();
        let checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, "ada")).collect();
        assert_eq!(refused(limiter, &checks), ("k0".to_owned(), "checks".to_owned()));
        let started = Instant::now();
        let info = limiter.decide_sync_at(&checks[..1000], Call::Limit, START).expect("an answer");
        eprintln!("1,000 checks took {:?}", started.elapsed());
        assert_eq!((info.checks().len(), info.remaining, info.blocked), (1000, 4, false));
    });
}

#[cfg(feature = "redis")]
#[test]
fn a_denial_that_is_remembered_is_that_definitions() {
    let server = Server::start();
    let limiter = Limiter::new(patient(&server).deny_cache(MINUTE).build().expect("a store"));
    let small = Limit::bucket("plan", 1).drip_rate(HOUR).build().expect("a bucket");
    let big = Limit::bucket("plan", 100).drip_rate(HOUR).build().expect("a bucket");
    let blocked = |limit| limiter.limit_sync(limit, "ada").expect("an answer").blocked;
    assert_eq!([blocked(&small), blocked(&small), blocked(&big), blocked(&small)], [false, true, false, true]);
}

#[test]
fn what_would_leave_the_exact_range_is_an_error_however_it_is_asked() {
    on_both(|limiter| {
        let level = Limit::bucket("level", 1).drip_rate(Duration::from_millis(1)).drip_size(1_000_000).build();
        let pace = Limit::smooth("pace", 0.001).build();
        let acquire = Call::Acquire { max_wait: Duration::from_secs(1 << 40) };
        let level = level.expect("a bucket");
        ask(limiter, Check::new(&level, "ada").cost(1 << 52), Call::Charge, START);
        assert_eq!(of(limiter.decide_sync_at(&[Check::new(&level, "ada")], acquire, START)), "cost");
        let pace = pace.expect("a pace");
        let dear = Check::new(&pace, "ada").cost(1 << 50);
        for call in [Call::Limit, acquire, Call::Charge] {
            assert_eq!(of(limiter.decide_sync_at(&[dear], call, START)), "cost");
        }
        // A level that another definition left drains within 2^53 us, whatever reads it.
        let slow = Limit::bucket("level", 1).drip_rate(Duration::from_hours(24 * 365)).build().expect("a bucket");
        let info = ask(limiter, Check::new(&slow, "ada"), Call::Acquire { max_wait: MINUTE }, START);
        assert!(info.blocked && info.reset_ms <= (1 << 53) / 1000, "{info:?}");
    });
}

fn of(answer: Result<LimitInfo, Error>) -> String {
    match answer {
        Err(Error::Limit(error)) => error.field().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pacing_keeps_its_debt_and_forgets_a_wrong_clock() {
    on_both(|limiter| {
        let pace = Limit::smooth("pace", 1.0).max_burst(Duration::from_secs(2)).build().expect("a pace");
        ask(limiter, Check::new(&pace, "ada").cost(10), Call::Limit, START);
        let info = ask(limiter, Check::new(&pace, "ada").cost(3), Call::Refund, START);
        assert_eq!((info.blocked, info.remaining, info.reset_ms), (true, 0, 5000));
        assert!(ask(limiter, Check::new(&pace, "ada"), Call::Limit, START + 4 * SECOND).blocked);
        // An hour back is further than it takes to save up: what was owed is owed from now on.
        let back = START - 3600 * SECOND;
        let info = ask(limiter, Check::new(&pace, "ada"), Call::Limit, back);
        assert_eq!((info.blocked, info.reset_ms), (true, 5000));
        assert!(!ask(limiter, Check::new(&pace, "ada"), Call::Limit, back + 5 * SECOND).blocked);
    });
}

#[test]
fn what_others_wait_for_is_given_back_first() {
    on_both(|limiter| {
        let pace = Limit::smooth("pace", 1.0).max_burst(Duration::ZERO).build().expect("a pace");
        let check = || Check::new(&pace, "ada");
        ask(limiter, check(), Call::Limit, START);
        let acquire = Call::Acquire { max_wait: HOUR };
        for turn in 1..=20 {
            assert_eq!(ask(limiter, check(), acquire, START).wait_ms, turn * 1000);
        }
        for left in (1..=20).rev() {
            assert_eq!(ask(limiter, check(), Call::Refund, START).reset_ms, left * 1000);
        }
        // A call that was admitted at once took what a second brings.
        let info = ask(limiter, check().cost(2), Call::Refund, START);
        assert_eq!((info.blocked, info.reset_ms, info.full_reset_ms), (false, 0, 0));
    });
}

#[test]
fn an_entry_of_a_wrong_clock_keeps_all_but_its_instants() {
    on_both(|limiter| {
        let pace = |burst| Limit::smooth("pace", 1.0).max_burst(Duration::from_secs(burst)).build().expect("a pace");
        let (large, small) = (pace(100), pace(10));
        // Half of the permits are left, which is all for the other definition.
        ask(limiter, Check::new(&large, "ada").cost(50), Call::Limit, START);
        let back = START - 3600 * SECOND;
        let seen = ask(limiter, Check::new(&small, "ada").cost(0), Call::Limit, back);
        assert_eq!((seen.remaining, seen.full_reset_ms), (10, 0));
        let info = ask(limiter, Check::new(&large, "ada"), Call::Peek, back);
        assert_eq!((info.remaining, info.full_reset_ms), (50, 50_000));
        let others = Limit::bucket("other", 1).build().expect("a bucket");
        let checks = [Check::new(&small, "ada").cost(0), Check::new(&others, "ada")];
        let back = back - 3600 * SECOND;
        limiter.decide_sync_at(&checks, Call::Limit, back).expect("an answer");
        let info = ask(limiter, Check::new(&large, "ada"), Call::Peek, back);
        assert_eq!((info.remaining, info.full_reset_ms), (50, 50_000));
    });
}

#[test]
fn a_counter_bears_counts_whose_weights_it_only_compares() {
    on_both(|limiter| {
        let counter = Limit::sliding_counter("k", 1737, Duration::from_hours(24 * 30)).build().expect("a counter");
        let info = ask(limiter, Check::new(&counter, "ada").cost(1738), Call::Charge, START);
        assert_eq!((info.blocked, info.remaining), (false, 0));
        let info = ask(limiter, Check::new(&counter, "ada").cost((1 << 52) - 1738), Call::Charge, START);
        assert_eq!((info.blocked, info.remaining), (false, 0));
        assert_eq!(of(limiter.decide_sync_at(&[Check::new(&counter, "ada")], Call::Charge, START)), "cost");
        assert!(ask(limiter, Check::new(&counter, "ada"), Call::Limit, START).blocked);
    });
    let years = |years: u64| Duration::from_hours(24) * u32::try_from(365 * years).expect("few");
    assert!(Limit::sliding_counter("k", 1, years(50)).build().is_ok());
    let refused = Limit::sliding_counter("k", 1, years(51)).build().expect_err("two periods are over 100 years");
    assert_eq!(refused.field(), "period");
}

#[test]
fn one_limit_twice_is_one_check_of_both_costs() {
    on_both(|limiter| {
        let other = Limit::bucket("other", 1).build().expect("a bucket");
        for limit in of_every_shape() {
            let checks = [Check::new(&limit, "ada"), Check::new(&other, "bob").cost(0), Check::new(&limit, "ada")];
            let info = limiter.decide_sync_at(&checks, Call::Limit, START).expect("an answer");
            let each: Vec<_> = info.checks().iter().map(|info| (info.blocked, info.remaining)).collect();
            assert_eq!(each, [(false, 0), (false, 1), (false, 0)], "{limit:?}");
            assert_eq!((info.checks()[0].reset_ms, info.binding()), (info.checks()[2].reset_ms, 0), "{limit:?}");
            let receipt = limiter.receipt(&checks, Call::Limit, &info);
            let info = receipt.settle_sync_at(&[0, 0, 1], START).expect("an answer");
            assert_eq!(info.checks().iter().map(|info| info.remaining).collect::<Vec<_>>(), [1, 1, 1], "{limit:?}");
        }
    });
}

#[test]
fn a_denial_says_when_what_it_charged_elsewhere_fits_again() {
    on_both(|limiter| {
        let day = Duration::from_hours(24);
        let counted = Limit::sliding_log("counted", 1, day).count_blocked(true).build().expect("a log");
        let short = Limit::bucket("short", 1).drip_rate(Duration::from_secs(1)).build().expect("a bucket");
        ask(limiter, Check::new(&short, "ada"), Call::Limit, START);
        let checks = [Check::new(&counted, "ada"), Check::new(&short, "ada")];
        let info = limiter.decide_sync_at(&checks, Call::Limit, START).expect("an answer");
        assert_eq!((info.blocked, info.reset_ms, info.binding()), (true, 86_400_000, 1));
        let each: Vec<_> = info.checks().iter().map(|info| (info.blocked, info.reset_ms)).collect();
        assert_eq!(each, [(false, 86_400_000), (true, 1000)]);
        let again = |after| limiter.decide_sync_at(&checks, Call::Peek, START + after).expect("an answer").blocked;
        assert_eq!([again(86_400 * SECOND - 1), again(86_400 * SECOND)], [true, false]);
    });
}

#[test]
fn a_denied_acquire_says_of_each_check_what_peek_says() {
    on_both(|limiter| {
        let bucket = |key: &str, rate| Limit::bucket(key, 1).drip_rate(Duration::from_secs(rate)).build();
        let (soon, late) = (bucket("soon", 5).expect("a bucket"), bucket("late", 60).expect("a bucket"));
        let log = Limit::sliding_log("log", 1, Duration::from_secs(2)).build().expect("a log");
        let checks = [Check::new(&soon, "ada"), Check::new(&log, "ada"), Check::new(&late, "bob")];
        limiter.decide_sync_at(&checks[..2], Call::Limit, START).expect("an answer");
        let acquire = Call::Acquire { max_wait: MINUTE };
        let info = limiter.decide_sync_at(&checks, acquire, START).expect("an answer");
        let each: Vec<_> = info.checks().iter().map(|info| (info.blocked, info.reset_ms)).collect();
        assert_eq!(each, [(true, 5000), (true, 2000), (false, 0)]);
        assert_eq!((info.blocked, info.reset_ms, info.binding()), (true, 5000, 0));
    });
}

#[test]
fn a_decision_that_is_an_error_stores_nothing() {
    on_both(|limiter| {
        let fast = Limit::bucket("fast", 5).drip_rate(Duration::from_millis(1)).drip_size(1_000_000).build();
        let fast = fast.expect("a bucket");
        let full = Check::new(&fast, "ada").cost(1 << 52);
        ask(limiter, full, Call::Charge, START);
        for limit in of_every_shape() {
            // From the future, so that a call would mend it.
            ask(limiter, Check::new(&limit, "ada"), Call::Limit, START + 3600 * 24 * 365 * SECOND);
            let before = ask(limiter, Check::new(&limit, "ada"), Call::Peek, START);
            let checks = [Check::new(&limit, "ada"), full];
            assert_eq!(of(limiter.decide_sync_at(&checks, Call::Charge, START)), "cost", "{limit:?}");
            assert_eq!(ask(limiter, Check::new(&limit, "ada"), Call::Peek, START), before, "{limit:?}");
        }
    });
}

#[test]
fn a_trace_of_a_decaying_count_is_nothing() {
    on_both(|limiter| {
        let score = Limit::decay("score", 1, 2.0, Duration::from_secs(1)).build().expect("a score");
        let start = START - START % SECOND;
        ask(limiter, Check::new(&score, "ada"), Call::Limit, start);
        let after = start + 19 * SECOND;
        ask(limiter, Check::new(&score, "ada").cost(3), Call::Charge, after);
        let info = ask(limiter, Check::new(&score, "ada").cost(3), Call::Refund, after + SECOND);
        assert_eq!((info.blocked, info.remaining, info.full_reset_ms), (false, 1, 0));
    });
    for factor in [1.0 + f64::EPSILON, 1.0 + 3e-15, 1.0 + 1e-14] {
        let refused = Limit::decay("score", 1, factor, Duration::from_secs(1)).build().expect_err("too slow");
        assert_eq!(refused.field(), "decayFactor");
    }
}
