//! A flood of ten names for each entry of a store: memory within its bound, nobody freed, no step that takes long.
//! Its times need optimization, so it runs where debug assertions are off.
#![cfg(not(debug_assertions))]
#![allow(missing_docs, reason = "a test")]

use std::time::{Duration, Instant};

use tidegate::{Check, Limit, Limiter, Memory};

const CAP: usize = 100_000;
const NAMES: usize = CAP * 10;
/// Calls that are timed together.
const STEP: usize = 64;
const VICTIMS: usize = 200;
const LONGEST_STEP: Duration = Duration::from_millis(5);
/// Memory that is nobody's entry: the allocator's, the steps' own times.
const BESIDE: usize = 16 << 20;

#[test]
fn ten_names_for_each_entry_cost_no_more_memory_free_nobody_and_stall_nobody() {
    let limit = Limit::bucket("flood", 5).drip_rate(Duration::from_hours(1)).build().expect("a bucket");
    let mut steps = vec![Duration::MAX; NAMES / STEP];
    let mut most = 0;
    // A step that is slow for what the store does is slow each time; one that the machine interrupts is not.
    for round in 0..2 {
        let before = resident();
        let limiter = Limiter::new(Memory::with_max_entries(CAP));
        let victims: Vec<_> = (0..VICTIMS).map(|victim| format!("victim {victim}")).collect();
        for victim in &victims {
            limiter.decide_sync(&[Check::new(&limit, victim).cost(5)], tidegate::Call::Charge).expect("an answer");
        }
        for (step, shortest) in steps.iter_mut().enumerate() {
            let names: Vec<_> = (0..STEP).map(|name| format!("hostile {}", step * STEP + name)).collect();
            let started = Instant::now();
            for name in &names {
                limiter.limit_sync(&limit, name).expect("an answer");
            }
            *shortest = started.elapsed().min(*shortest);
        }
        if round == 0 {
            most = resident().saturating_sub(before);
        }
        let blocked = victims.iter().filter(|victim| limiter.limit_sync(&limit, victim).expect("an answer").blocked);
        assert_eq!(blocked.count(), VICTIMS);
        assert!(limiter.memory().len() <= CAP);
    }
    let longest = steps.iter().max().expect("steps");
    println!("{NAMES} names, {CAP} entries: {} KiB, {longest:?} for {STEP} calls at the most", most / 1024);
    assert!(*longest < LONGEST_STEP, "{longest:?} for {STEP} calls");
    assert!(most <= CAP * 128 + BESIDE, "{most} bytes for {CAP} entries");
}

/// Bytes of this process in memory now.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).map_or(0, |pages| pages * 4096)
}
