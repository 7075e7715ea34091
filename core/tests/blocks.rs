//! Blocks after a refusal: what vectors and properties do not reach.

use std::time::{Duration, Instant};

use tidegate::{Call, Check, Error, Limit, Limiter, Memory, Micros, State};

const SECOND: u64 = 1_000_000;
const START: u64 = 1_750_000_000 * SECOND;

fn login() -> Limit {
    let minute = Duration::from_secs(60);
    Limit::bucket("login", 1).drip_rate(minute).block_for(15 * minute).block_growth(2.0).build().expect("a limit")
}

#[test]
fn an_acquire_waits_until_a_block_is_over_and_then_reserves() {
    let limiter = Limiter::new(Memory::new());
    let door = Limit::bucket("door", 1).drip_rate(Duration::from_millis(1)).block_for(Duration::from_millis(500));
    let door = door.build().expect("a limit");
    let checks = [Check::new(&door, "ada")];
    let start = Instant::now();
    limiter.decide_sync(&checks, Call::Block { time: Duration::from_millis(500) }).expect("an answer");
    let info = limiter.acquire_sync(&door, "ada", Duration::from_secs(10)).expect("an answer");
    assert!(info.allowed() && (1..10_000).contains(&info.wait_ms), "{info:?}");
    assert!(start.elapsed() >= Duration::from_millis(499), "{:?}", start.elapsed());
    limiter.decide_sync(&checks, Call::Block { time: Duration::from_secs(60) }).expect("an answer");
    let info = limiter.acquire_sync(&door, "ada", Duration::from_secs(10)).expect("an answer");
    assert!(info.blocked && info.reset_ms > 50_000, "longer than it may wait: {info:?}");
}

#[test]
fn an_acquire_that_cannot_wait_closes_a_limit_that_does_not_reserve() {
    let limiter = Limiter::new(Memory::new());
    let hour = Duration::from_secs(3600);
    let codes = Limit::sliding_log("codes", 1, hour).block_for(24 * hour).build().expect("a limit");
    let acquire = || limiter.acquire_sync(&codes, "ada", Duration::ZERO).expect("an answer");
    assert!(acquire().allowed());
    assert!(acquire().blocked);
    let after = limiter.decide_sync(&[Check::new(&codes, "ada")], Call::Peek).expect("an answer");
    assert!(after.reset_ms > 80_000_000, "{after:?}");
}

#[test]
fn only_a_limit_with_a_block_is_blocked_and_for_a_hundred_years_at_most() {
    let limiter = Limiter::new(Memory::new());
    let plain = Limit::bucket("plain", 1).build().expect("a limit");
    let block = |limit: &Limit, time| limiter.decide_sync(&[Check::new(limit, "ada")], Call::Block { time });
    let refused = |answer| match answer {
        Err(Error::Limit(error)) => (error.key().to_owned(), error.field().to_owned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(block(&plain, Duration::from_secs(1))), ("plain".to_owned(), "blockFor".to_owned()));
    assert_eq!(refused(block(&login(), Duration::MAX)), ("login".to_owned(), "time".to_owned()));
    assert_eq!(limiter.memory().len(), 0);
}

/// The table is full of others: who has no entry of their own shares the block, and is never let in by that.
#[test]
fn a_full_table_keeps_blocks_too() {
    let limiter = Limiter::new(Memory::with_max_entries(16));
    let login = login();
    let ask = |actor: &str, now| {
        limiter.decide_sync_at(&[Check::new(&login, actor)], Call::Limit, now).expect("an answer").blocked
    };
    for actor in 0..100 {
        ask(&format!("other {actor}"), START);
    }
    ask("eve", START);
    assert!(ask("eve", START));
    assert!(ask("eve", START + 14 * 60 * SECOND), "closed");
    // What others closed in one place opens in turn: of a hundred after 25 hours at the latest.
    assert!(!ask("eve", START + 48 * 3600 * SECOND), "and open again");
}

#[test]
fn a_denial_that_was_not_charged_beside_a_block_is_not_given_back() {
    let limiter = Limiter::new(Memory::new());
    let hour = Duration::from_secs(3600);
    let limit = Limit::decay("score", 2, 1.1, hour).count_blocked(true).block_for(hour).build().expect("a limit");
    let checks = [Check::new(&limit, "ada")];
    let ask = |call| limiter.decide_sync_at(&checks, call, START).expect("an answer");
    ask(Call::Limit);
    ask(Call::Limit);
    ask(Call::Limit);
    let denied = ask(Call::Limit);
    let before = ask(Call::Peek).full_reset_ms;
    limiter.receipt(&checks, Call::Limit, &denied).settle_sync_at(&[0], START).expect("an answer");
    assert_eq!(ask(Call::Peek).full_reset_ms, before);
}

#[test]
fn a_block_is_explained() {
    let words = login().explain().to_string();
    assert!(
        words.ends_with(
            "\nA denial for these reasons closes it for 15 min, then for 2 times as long each time, up to 15 min."
        ),
        "{words}"
    );
    let plain = Limit::bucket("plain", 1).build().expect("a limit").explain();
    assert!(!plain.to_string().contains("closes") && !plain.to_json().contains("block"));
}

#[test]
fn a_reset_without_a_store_lifts_a_block_too() {
    let (limit, mut state) = (login(), State::default());
    let mut ask = |call| {
        let (info, after) = limit.decide(std::mem::take(&mut state), START, call).expect("an answer");
        state = after;
        info
    };
    while !ask(Call::Limit).blocked {}
    assert!(ask(Call::Peek).blocked);
    let info = ask(Call::Reset);
    assert_eq!((info.blocked, info.remaining, info.reset_ms, info.full_reset_ms), (false, info.quota, 0, 0));
    assert!(!ask(Call::Limit).blocked);
}

#[test]
fn a_call_that_a_block_denies_is_explained_by_it() {
    let (limiter, login) = (Limiter::new(Memory::new()), login());
    let explained = |actor: &str, now: Micros| {
        limiter.explain_checks_sync(&[Check::new(&login, actor)], Some(now)).expect("an explanation").to_string()
    };
    for _ in 0..2 {
        limiter.decide_sync_at(&[Check::new(&login, "ada")], Call::Limit, 0).expect("an answer");
    }
    // The unit has come back after a minute.
    let closed =
        r#""login" would refuse this call: it is closed by a block. Retry in 13 min 20 s; empty in 28 min 20 s."#;
    assert_eq!(explained("ada", 100 * SECOND), closed);
    let block = Call::Block { time: Duration::from_secs(10) };
    limiter.decide_sync_at(&[Check::new(&login, "bob")], block, 0).expect("an answer");
    assert!(
        explained("bob", 0).starts_with(r#""login" would refuse this call: it is closed by a block. Retry in 10 s"#)
    );
    assert_eq!(explained("bob", 30 * SECOND), r#""login" would admit this call: all 1 units are free."#);
}
