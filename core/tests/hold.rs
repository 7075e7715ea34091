//! Units that are held while work goes on, in memory.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tidegate::hold::{Costs, HoldError};
use tidegate::{Call, Check, Limit, Limiter, Memory};

const PATIENCE: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(60);

fn exports(lease: Duration) -> Limit {
    Limit::concurrency("exports", 1, lease).build().expect("a limit")
}

fn free(limiter: &Limiter, limit: &Limit) -> u64 {
    limiter.peek_sync(limit, "ada").expect("an answer").remaining
}

async fn first_poll(future: &mut (impl Future + Unpin)) -> bool {
    let mut future = pin!(future);
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

#[tokio::test]
async fn units_are_released_by_the_call_and_by_a_drop() {
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(LONG));
    let held = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    assert_eq!((held.info().remaining, free(&limiter, &limit), held.is_lost()), (0, 0, false));
    assert_eq!(held.release().await.expect("an answer").remaining, 1);
    let held = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    assert_eq!(free(&limiter, &limit), 0);
    drop(held);
    assert_eq!(free(&limiter, &limit), 1);
    let checks = [Check::new(&limit, "ada")];
    let held = limiter.hold_checks_sync(&checks, Duration::ZERO).expect("held");
    assert_eq!(held.release_sync().expect("an answer").remaining, 1);
}

#[tokio::test]
async fn a_denial_says_when_it_fits_and_a_limit_that_holds_nothing_is_an_error() {
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(LONG));
    let _held = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    let error = limiter.hold(&limit, "ada", Duration::from_millis(5)).await.expect_err("no room");
    assert!(error.retry_after().is_some_and(|time| time <= LONG && time > LONG / 2), "{error}");
    assert!(matches!(&error, HoldError::Blocked { key, .. } if &**key == "exports"), "{error}");

    let bucket = Limit::bucket("login", 1).build().expect("a limit");
    let error = limiter.hold(&bucket, "ada", Duration::ZERO).await.expect_err("holds nothing");
    assert_eq!(error.to_string(), r#"limit "login": limits must hold one of type concurrency, got none"#);
    assert_eq!(free(&limiter, &bucket), 1, "nothing is charged");
}

#[tokio::test]
async fn a_waiting_hold_gets_the_place_and_one_that_is_cancelled_takes_none() {
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(LONG));
    let held = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    let mut given_up = Box::pin(limiter.hold(&limit, "ada", LONG));
    let mut waiting = Box::pin(limiter.hold(&limit, "ada", LONG));
    assert!(!first_poll(&mut given_up).await && !first_poll(&mut waiting).await);
    drop(held);
    drop(given_up);
    let second = tokio::time::timeout(PATIENCE, waiting).await.expect("in time").expect("held");
    assert_eq!(free(&limiter, &limit), 0);
    drop(second);
    assert_eq!(free(&limiter, &limit), 1);
}

#[tokio::test]
async fn it_is_renewed_past_its_lease_and_lost_when_its_units_are_taken_away() {
    let lease = Duration::from_secs(3);
    let (limiter, limit) = (Limiter::new(Memory::new()), exports(lease));
    let held = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    let mut lost = Box::pin(held.lost());
    assert!(!first_poll(&mut lost).await);
    tokio::time::sleep(lease + lease / 3).await;
    assert_eq!((free(&limiter, &limit), held.is_lost()), (0, false), "renewed");
    limiter.reset_sync(&limit, "ada").expect("reset");
    tokio::time::timeout(PATIENCE, lost).await.expect("lost in time");
    assert!(held.is_lost());

    let other = limiter.hold(&limit, "ada", Duration::ZERO).await.expect("held");
    drop(held);
    assert_eq!(free(&limiter, &limit), 0, "what is lost frees no unit of others");
    drop(other);
}

#[tokio::test]
async fn actual_costs_are_settled_at_the_end_of_the_hold() {
    let limiter = Limiter::new(Memory::new());
    let (limit, rows) = (exports(LONG), Limit::token_bucket("rows", 100, LONG * 60).build().expect("a limit"));
    let checks = [Check::new(&limit, "ada"), Check::new(&rows, "ada").cost(50)];
    let ways: [Costs<'_>; 4] = [20.into(), (&[1, 20]).into(), (&[("rows", 20)]).into(), (&[("1", 20)]).into()];
    for costs in ways {
        let held = limiter.hold_checks(&checks, Duration::ZERO).await.expect("held");
        assert_eq!((free(&limiter, &limit), free(&limiter, &rows)), (0, 50));
        held.settle(costs).expect("costs of its checks");
        drop(held);
        assert_eq!((free(&limiter, &limit), free(&limiter, &rows)), (1, 80), "{costs:?}");
        limiter.reset_sync(&rows, "ada").expect("reset");
    }
    let held = limiter.hold_checks(&checks, Duration::ZERO).await.expect("held");
    let error = held.settle(&[("row", 20)]).expect_err("no such check");
    assert_eq!(error.to_string(), r#"limit "exports": costs must name checks of the hold, got row"#);
    held.release().await.expect("released");
    assert_eq!((free(&limiter, &limit), free(&limiter, &rows)), (1, 50), "what was not settled stays");
}

#[test]
fn a_part_that_was_granted_and_is_lost_says_when_that_part_fits() {
    let (limiter, limit) =
        (Limiter::new(Memory::new()), Limit::concurrency("exports", 2, LONG).build().expect("a limit"));
    let checks = [Check::new(&limit, "ada").cost(5).at_least(1)];
    let info = limiter.decide_sync_at(&checks, Call::Limit, 0).expect("an answer");
    assert_eq!(info.granted, 2);
    let receipt = limiter.receipt(&checks, Call::Limit, &info);
    receipt.release_sync_at(0).expect("released");
    limiter.decide_sync_at(&[Check::new(&limit, "ada")], Call::Limit, 0).expect("an answer");
    let (lost, _) = receipt.renew_sync_at(0).expect("an answer");
    assert_eq!((lost.blocked, u128::from(lost.reset_ms)), (true, LONG.as_millis()));
}

#[test]
fn many_holds_end_in_any_order_and_leave_nothing_held() {
    let limiter = Limiter::new(Memory::new());
    let limit = Limit::concurrency("exports", 1000, Duration::from_millis(300)).build().expect("a limit");
    let checks = [Check::new(&limit, "ada")];
    let mut held: Vec<_> = (0..500).map(|_| limiter.hold_checks_sync(&checks, Duration::ZERO).expect("held")).collect();
    // While they are renewed, half of them end from two sides.
    while held.len() > 250 {
        drop(held.swap_remove(held.len() / 3));
        held.pop().map(tidegate::hold::Hold::release_sync).transpose().expect("released");
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(held);
    let began = std::time::Instant::now();
    while free(&limiter, &limit) < 1000 {
        assert!(began.elapsed() < PATIENCE, "a renewal that was under way releases too");
        std::thread::yield_now();
    }
}
