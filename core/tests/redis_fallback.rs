//! The memory of a process that decides alone: as bounded as any, and nobody is forgotten in it.

use std::time::Duration;

use crate::calls::{DEADLINE, hourly, well_in};
use crate::servers::{Server, wait_until};
use tidegate::remote::{BreakerState, OnError};
use tidegate::{Call, Check, Limiter, Redis};

#[test]
fn a_full_fallback_counts_newcomers_together_and_frees_nobody() {
    const CAP: usize = 300;
    const VICTIMS: usize = 200;
    let url = format!("redis://127.0.0.1:{}", crate::servers::free_port());
    let store = Redis::builder(&url).timeout(DEADLINE).on_error(OnError::Local).max_entries(CAP);
    let (limiter, limit) = (Limiter::new(store.build().expect("a store")), hourly("fallback", 5));
    let ask = |actor: &str| {
        let info = limiter.limit_sync(&limit, actor).expect("the policy's answer");
        assert!(info.degraded);
        info
    };
    let victims: Vec<_> = (0..VICTIMS).map(|victim| format!("victim {victim}")).collect();
    for victim in &victims {
        assert_eq!((0..6).filter(|_| !ask(victim).blocked).count(), 5);
    }
    // One call each, and all that the limit admits at once.
    for name in 0..10 * CAP {
        ask(&format!("hostile {name}"));
        let dear = format!("dear {name}");
        let check = Check::new(&limit, &dear).cost(5);
        assert!(limiter.decide_sync(&[check], Call::Limit).expect("the policy's answer").degraded);
    }
    let memory = limiter.memory();
    assert!(memory.len() <= CAP && memory.overflowed() > 0, "{} entries", memory.len());
    assert_eq!(victims.iter().filter(|victim| ask(victim).blocked).count(), VICTIMS);
    let admitted = (0..1000).filter(|_| !ask("newcomer").blocked).count();
    assert!(admitted <= 5, "{admitted} of one newcomer");
    // They are counted together: all of a thousand newcomers are admitted no more than the lanes hold.
    let shared = memory.overflowed();
    let admitted = (0..1000).filter(|name| !ask(&format!("newcomer {name}")).blocked).count();
    assert!(admitted <= CAP / 8 * 5 && memory.overflowed() > shared, "{admitted} of many newcomers");
}

#[test]
fn what_the_store_charged_is_not_given_back_here() {
    let server = Server::start();
    // The store has to charge in time, on a busy machine too.
    let deadline = Duration::from_millis(500);
    let (limiter, limit) = (well_in(&server.url(), OnError::Local, deadline), hourly("receipts", 2));
    let ask = |actor: &str| {
        let checks = [Check::new(&limit, actor).cost(2)];
        let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
        (limiter.receipt(&checks, Call::Limit, &info), info)
    };
    let receipts = ["ada", "bob"].map(|actor| {
        let (receipt, info) = ask(actor);
        assert!(!info.blocked && !info.degraded, "{actor} is charged by the store");
        receipt
    });
    server.pause();
    // The store is asked in vain at first, and then not at all.
    for (actor, receipt) in ["ada", "bob"].into_iter().zip(receipts) {
        let (_, info) = ask(actor);
        assert!(!info.blocked && info.degraded, "{actor} is charged here");
        assert!(receipt.refund_sync().expect("the policy's answer").degraded);
        assert!(limiter.limit_sync(&limit, actor).expect("an answer").blocked, "{actor} has nothing left here");
        wait_until("the store is not asked any more", || {
            let _ = limiter.limit_sync(&limit, "eve");
            limiter.stats().breaker == BreakerState::Open
        });
    }
}
