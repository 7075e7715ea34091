//! Access to a server: what a user may do, and passwords that change.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::calls::{ask_within, hourly, raising_store};
use crate::servers::{Server, wait_until};
use tidegate::redis::RedisBuilder;
use tidegate::remote::{EventKind, Failure};
use tidegate::{Error, Limit, LimitInfo, Limiter};

const DEADLINE: Duration = Duration::from_millis(200);

fn store(url: &str) -> RedisBuilder {
    raising_store(url, DEADLINE)
}

fn ask(limiter: &Limiter, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
    ask_within(DEADLINE, limiter, limit, actor)
}

fn failure(answer: &Result<LimitInfo, Error>) -> Option<Failure> {
    match answer {
        Err(Error::Store(error)) => Some(error.failure()),
        _ => None,
    }
}

#[test]
fn the_least_that_a_user_must_be_allowed_is_enough() {
    let server = Server::start();
    let user = "+eval +evalsha +script|load +get +set +pexpire +time +ping +hello +client";
    server.run::<()>(&format!("ACL SETUSER app on >secret ~tidegate:* {user}"));
    let url = format!("redis://app:secret@127.0.0.1:{}", server.port);
    let (limiter, limit) = (Limiter::new(store(&url).build().expect("a store")), hourly("faults", 2));
    assert!(!ask(&limiter, &limit, "ada").expect("allowed").blocked);
    limiter.refund_sync(&limit, "ada").expect("emptying an entry is allowed");
    limiter.reset_sync(&limit, "ada").expect("forgetting is allowed");
    let refused = ask(&limiter.namespace("other"), &limit, "ada");
    assert_eq!(failure(&refused), Some(Failure::Denied), "{refused:?} in another namespace");

    let wrong = format!("redis://app:wrong@127.0.0.1:{}", server.port);
    let answer = ask(&Limiter::new(store(&wrong).build().expect("a store")), &limit, "ada");
    // What connects in the background may have been refused already, and then the call is not sent.
    assert!(matches!(failure(&answer), Some(Failure::Denied | Failure::Unavailable)), "{answer:?}");
    assert!(format!("{answer:?}").contains("WRONGPASS"), "{answer:?}");
}

#[test]
fn what_a_user_may_not_do_is_told_once() {
    let server = Server::start();
    server.run::<()>("ACL SETUSER app on >secret ~tidegate:* +@all -set");
    let heard: Arc<Mutex<Vec<EventKind>>> = Arc::default();
    let listener = heard.clone();
    let url = format!("redis://app:secret@127.0.0.1:{}", server.port);
    let limiter = Limiter::new(
        store(&url).listener(move |event| listener.lock().expect("a lock").push(event.kind)).build().expect("a store"),
    );
    for _ in 0..20 {
        let answer = ask(&limiter, &hourly("faults", 10), "ada");
        assert_eq!(failure(&answer), Some(Failure::Denied), "{answer:?}");
    }
    let told = heard.lock().expect("a lock").iter().map(|kind| kind.name()).collect::<Vec<_>>();
    assert_eq!(told, ["failure", "degraded"]);
    assert_eq!(limiter.stats().failures[&Failure::Denied], 20);
}

#[test]
fn a_password_may_be_replaced_while_nobody_looks() {
    let server = Server::start();
    let user = "~tidegate:* +@all";
    server.run::<()>(&format!("ACL SETUSER app on >old {user}"));
    let limiter = |password| {
        Limiter::new(store(&format!("redis://app:{password}@127.0.0.1:{}", server.port)).build().expect("a store"))
    };
    let (before, after, limit) = (limiter("old"), limiter("new"), hourly("faults", 1000));
    assert!(ask(&before, &limit, "ada").is_ok());
    // Both are good for a while: nobody notices anything.
    server.run::<()>("ACL SETUSER app >new");
    server.run::<()>("CLIENT KILL TYPE normal SKIPME yes");
    wait_until("both are let in", || ask(&before, &limit, "ada").is_ok() && ask(&after, &limit, "ada").is_ok());
    // Whoever still has the old one is refused, by the deadline; and let in again once it is good again.
    server.run::<()>("ACL SETUSER app <old");
    server.run::<()>("CLIENT KILL TYPE normal SKIPME yes");
    wait_until("the new one is let in", || ask(&after, &limit, "ada").is_ok());
    for _ in 0..20 {
        let answer = ask(&before, &limit, "ada");
        assert!(answer.is_err(), "{answer:?}");
    }
    server.run::<()>("ACL SETUSER app >old");
    let took = wait_until("the old one is let in", || ask(&before, &limit, "ada").is_ok());
    assert!(took < Duration::from_secs(1), "{took:?}");
}
