//! Waiting for a turn over a shared store.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::servers::{Server, wait_until};
use tidegate::remote::OnError;
use tidegate::{Call, Check, Limit, Limiter, Redis};

const SECOND: Duration = Duration::from_secs(1);

fn over(server: &Server) -> Limiter {
    let store = Redis::builder(&server.url()).on_error(OnError::Raise);
    // A machine that tests many things at once is slow at each.
    Limiter::new(store.timeout(10 * SECOND).build().expect("a store"))
}

fn bucket(key: &str, drip_rate: Duration) -> Limit {
    Limit::bucket(key, 2).drip_rate(drip_rate).build().expect("a bucket")
}

#[tokio::test]
async fn places_are_taken_in_order_and_waited_out() {
    let server = Server::start();
    let (limiter, limit) = (over(&server), bucket("turns", SECOND / 4));
    let started = Instant::now();
    let turns = (0..6).map(|_| limiter.acquire(&limit, "ada", 10 * SECOND));
    let infos = futures_util::future::join_all(turns).await;
    let waits: Vec<_> = infos.into_iter().map(|info| info.expect("a turn").wait_ms).collect();
    assert!(started.elapsed() >= Duration::from_millis(950), "{:?}", started.elapsed());
    assert!(waits[..2].iter().all(|wait| *wait == 0), "{waits:?}");
    assert!(waits.windows(2).all(|two| two[0] <= two[1]), "{waits:?}");
    let slow = bucket("slow", Duration::from_hours(1));
    let denied = async || limiter.acquire(&slow, "ada", SECOND).await.expect("an answer").blocked;
    assert_eq!([denied().await, denied().await, denied().await], [false, false, true], "a wait too long is refused");
}

#[tokio::test]
async fn whoever_gives_up_is_not_charged() {
    let server = Server::start();
    let limiter = over(&server);
    let log = Limit::sliding_log("log", 2, Duration::from_hours(1)).build().expect("a log");
    for limit in [bucket("given up", Duration::from_hours(1)), log] {
        limiter.decide(&[Check::new(&limit, "ada")], Call::Limit).await.expect("an answer");
        // Given up at every stage: before it was asked, while it is on its way, while it waits.
        for pause in [0_u64, 50, 200, 1000, 20_000] {
            let patience = Duration::from_hours(9);
            let taken = Cell::new(0);
            let take_one = async || {
                let info = limiter.acquire(&limit, "ada", patience).await.expect("an answer");
                taken.set(taken.get() + u64::from(!info.blocked));
            };
            let waiting = futures_util::future::join_all((0..5).map(|_| take_one()));
            let _ = tokio::time::timeout(Duration::from_micros(pause), waiting).await;
            let deadline = Instant::now() + 20 * SECOND;
            while limiter.peek(&limit, "ada").await.expect("an answer").remaining != 1 - taken.get() {
                assert!(Instant::now() < deadline, "{} of {} were served", taken.get(), limit.key());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let back = [Check::new(&limit, "ada").cost(taken.get())];
            limiter.decide(&back, Call::Refund).await.expect("an answer");
        }
    }
}

#[test]
fn a_host_that_waits_in_its_own_way_can_call_it_off() {
    let server = Server::start();
    let (limiter, limit) = (over(&server), bucket("hosts", Duration::from_hours(1)));
    let check = Check::new(&limit, "ada").cost(2);
    let (told, heard) = std::sync::mpsc::channel();
    let tell = |told: &std::sync::mpsc::Sender<_>| {
        let told = told.clone();
        move |answer, _| drop(told.send(answer))
    };
    let _first = limiter.start_acquire(&[check], SECOND).spawn(tell(&told)).expect("a thread");
    let info = heard.recv_timeout(20 * SECOND).expect("in time").expect("an answer");
    assert_eq!((info.blocked, info.wait_ms), (false, 0));
    let second = limiter.start_acquire(&[check], Duration::from_hours(9)).spawn(tell(&told)).expect("a thread");
    let owed = || limiter.peek_sync(&limit, "ada").expect("an answer").full_reset_ms;
    wait_until("its place is taken", || owed() > 3 * 3_600_000);
    second.cancel();
    wait_until("its place is given back", || owed() <= 2 * 3_600_000);
    assert!(heard.try_recv().is_err(), "nobody is told of what was called off");
}
