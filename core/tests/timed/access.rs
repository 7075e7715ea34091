//! Access to a server that changes.

use std::time::Duration;

use crate::calls::{ask_within, hourly, over_in};
use crate::servers::{Server, wait_until};
use tidegate::remote::OnError;
use tidegate::{Error, LimitInfo, Limiter};

const DEADLINE: Duration = Duration::from_millis(200);

fn ask(limiter: &Limiter) -> Result<LimitInfo, Error> {
    ask_within(DEADLINE, limiter, &hourly("faults", 1000), "ada")
}

#[test]
fn a_password_may_be_replaced_while_nobody_looks() {
    let server = Server::start();
    let user = "~tidegate:* +@all";
    server.run::<()>(&format!("ACL SETUSER app on >old {user}"));
    let limiter =
        |password| over_in(&format!("redis://app:{password}@127.0.0.1:{}", server.port), OnError::Raise, DEADLINE);
    let (before, after) = (limiter("old"), limiter("new"));
    wait_until("the old one is let in", || ask(&before).is_ok());
    // Both are good for a while: nobody notices anything.
    server.run::<()>("ACL SETUSER app >new");
    server.run::<()>("CLIENT KILL TYPE normal SKIPME yes");
    wait_until("both are let in", || ask(&before).is_ok() && ask(&after).is_ok());
    // Whoever still has the old one is refused, by the deadline; and let in again once it is good again.
    server.run::<()>("ACL SETUSER app <old");
    server.run::<()>("CLIENT KILL TYPE normal SKIPME yes");
    wait_until("the new one is let in", || ask(&after).is_ok());
    for _ in 0..20 {
        let answer = ask(&before);
        assert!(answer.is_err(), "{answer:?}");
    }
    server.run::<()>("ACL SETUSER app >old");
    let took = wait_until("the old one is let in", || ask(&before).is_ok());
    assert!(took < Duration::from_secs(1), "{took:?}");
}
