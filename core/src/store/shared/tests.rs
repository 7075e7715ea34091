//! A process that ends at any step, and what others find then.

use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use super::steps::{IS_DEAD, LEFT};
use crate::decision::Call;
use crate::limiter::Limiter;
use crate::store::remote::Settings;
use crate::{AnyStore, Check, Limit};

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn index(&mut self, most: u64) -> usize {
        usize::try_from(self.below(most)).expect("a small number")
    }
}

fn table(entries: usize, name: &str) -> Limiter {
    let url = format!("shm://unit-{}-{name}?entries={entries}", std::process::id());
    let limiter = Limiter::new(AnyStore::shm(&url, Settings::default()).expect("a table"));
    std::fs::remove_file(limiter.shared_file().expect("a file")).expect("it is gone");
    limiter
}

/// Runs a call that ends after so many steps; nothing if it did.
fn until<T>(steps: u64, limiter: &Limiter, call: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(steps);
    let done = panic::catch_unwind(AssertUnwindSafe(call)).ok();
    LEFT.set(u64::MAX);
    if IS_DEAD.replace(false) {
        limiter.shared_table().expect("a table").members.forget();
    }
    done
}

/// Thousands of calls of all kinds, of which many end at a step of their own, in tables with room and without.
#[test]
fn whenever_a_process_ends_nothing_is_half_written_and_nobody_gets_too_much() {
    const SIZE: u64 = 5;
    const ALIVE: u64 = u64::MAX - 1;
    for entries in [12, 3000] {
        let limiter = table(entries, &format!("ends-{entries}"));
        let hour = Duration::from_hours(1);
        let limits = [
            Limit::bucket("bucket", SIZE).drip_rate(hour).build().expect("a bucket"),
            Limit::sliding_log("log", SIZE, hour).build().expect("a log"),
            Limit::sliding_window("slots", SIZE, hour, Duration::from_secs(1)).build().expect("a window"),
            Limit::sliding_counter("counter", SIZE, hour).build().expect("a counter"),
        ];
        let actors: Vec<String> = (0..40).map(|actor| actor.to_string()).collect();
        let mut admitted = vec![[0_u64; 4]; actors.len()];
        let (mut random, mut ended) = (Random(7), 0);
        for round in 0..12_000 {
            let (actor, which) = (random.index(40), random.index(4));
            let (steps, other) = (if random.below(3) == 0 { random.below(250) } else { ALIVE }, (which + 1) % 4);
            let check = |which: usize| Check::new(&limits[which], &actors[actor]);
            let answer = match random.below(60) {
                0 => {
                    // What is reset may be charged again, and an end in the middle may leave it reset.
                    admitted[actor] = [0; 4];
                    until(steps, &limiter, || limiter.decide_sync(&[check(which)], Call::Reset)).map(|_| None)
                }
                1 => {
                    admitted.fill([0; 4]);
                    until(steps, &limiter, || limiter.clear_sync()).map(|_| None)
                }
                2..10 => {
                    let both = [check(which), check(other)];
                    until(steps, &limiter, || limiter.decide_sync(&both, Call::Limit)).map(Some)
                }
                _ => until(steps, &limiter, || limiter.limit_sync(&limits[which], &actors[actor])).map(Some),
            };
            ended += u64::from(answer.is_none());
            if let Some(Some(info)) = &answer {
                let info = info.as_ref().expect("an answer");
                assert!(!info.degraded, "{info:?}");
                if !info.blocked {
                    admitted[actor][which] += 1;
                    admitted[actor][other] += u64::from(info.checks().len() == 2);
                }
            }
            assert!(admitted.iter().flatten().all(|count| *count <= SIZE), "{admitted:?}");
            if round % 10 == 0 || answer.is_none() {
                let damage = limiter.check_shared().expect("a walk");
                assert!(damage.is_empty(), "{damage:?} in round {round}");
            }
        }
        assert!(ended > 500, "{ended}");
    }
}
