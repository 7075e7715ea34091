//! The memory of a process that decides alone: as bounded as any, and nobody is forgotten in it.
#![cfg(feature = "redis")]
#![allow(missing_docs, reason = "a test")]

mod calls;
mod servers;

use calls::{DEADLINE, hourly};
use tidegate::remote::OnError;
use tidegate::{Call, Check, Limiter, Redis};

#[test]
fn a_full_fallback_counts_newcomers_together_and_frees_nobody() {
    const CAP: usize = 300;
    const VICTIMS: usize = 200;
    let url = format!("redis://127.0.0.1:{}", servers::free_port());
    let store = Redis::open(&url).expect("a URL").timeout(DEADLINE).on_error(OnError::Local).max_entries(CAP);
    let (limiter, limit) = (Limiter::new(store), hourly("fallback", 5));
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
