//! The numbers of a limiter, after calls that are known.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use tidegate::metrics::MetricKind;
use tidegate::{Call, Check, Limit, Limiter, Memory, ffi};

const HOUR: Duration = Duration::from_hours(1);

fn bucket(key: &str, size: u64) -> Limit {
    Limit::bucket(key, size).drip_rate(HOUR).build().expect("a bucket")
}

/// The numbers by limit that are not zero, by the metric's name and the labels.
fn numbers(limiter: &Limiter) -> BTreeMap<String, f64> {
    let metrics = limiter.metrics();
    let by_limit = metrics.iter().filter(|metric| metric.labels.contains(&"limit"));
    let samples = by_limit.flat_map(|metric| metric.samples.iter().map(move |sample| (metric.name, sample)));
    let named = samples.map(|(name, sample)| (format!("{name} {}", sample.labels.join(" ")), sample.value));
    named.filter(|(_, value)| *value > 0.0).collect()
}

/// One limit of each way to decide and to count, all called in the same ways.
fn call(limiter: &Limiter) {
    let legacy = Limit::legacy("legacy").max(3).duration(HOUR).min_interval(Duration::from_secs(1)).build();
    let closing = Limit::bucket("closing", 3).drip_rate(HOUR).block_for(HOUR).build();
    let limits = [
        bucket("bucket", 7),
        Limit::sliding_log("log", 3, HOUR).build().expect("a limit"),
        Limit::concurrency("jobs", 3, HOUR).build().expect("a limit"),
        legacy.expect("a limit"),
        closing.expect("a limit"),
    ];
    for limit in &limits {
        for _ in 0..9 {
            limiter.limit_sync(limit, "ada").expect("an answer");
            let check = |actor| [Check::new(limit, actor).cost(2)];
            limiter.decide_sync(&check("bob"), Call::Limit).expect("an answer");
            limiter.decide_sync_at(&check("cat"), Call::Limit, 1_000_000_000_000_000).expect("an answer");
        }
        let check = Check::new(limit, "eve");
        for checks in [check.factor(0.0), check.cost(0), check.cost(9).at_least(1), check.observed()] {
            limiter.decide_sync(&[checks], Call::Limit).expect("an answer");
        }
        limiter.decide_sync(&[check.cost(100)], Call::Limit).expect_err("more than there ever is");
        limiter.decide_sync(&[check, Check::new(&limits[0], "eve")], Call::Limit).expect("an answer");
        limiter.peek_sync(limit, "ada").expect("an answer");
        limiter.refund_sync(limit, "ada").expect("an answer");
    }
}

#[test]
fn the_short_way_counts_as_the_long_one_does() {
    let [short, in_turn, long] = [(); 3].map(|()| Limiter::new(Memory::new()));
    let in_turn = ffi::in_turn(in_turn);
    for limiter in [&short, &in_turn, &long] {
        assert_eq!(numbers(limiter), BTreeMap::new());
    }
    // Whoever counts actors looks at every check.
    let _ = long.top(1);
    for limiter in [&short, &in_turn, &long] {
        call(limiter);
    }
    let counted = numbers(&short);
    assert_eq!([&numbers(&in_turn), &numbers(&long)], [&counted; 2]);
    let of = |name: &str| counted[&format!("tidegate_{name}")];
    // Of ada 3, of bob and cat 2 units each, and of eve 3 at once, beside a call without limit and one without cost.
    assert_eq!((of("decisions_total log allowed"), of("decisions_total log denied")), (8.0, 23.0));
    assert_eq!((of("decisions_total log failed"), of("observed_decisions_total log denied")), (1.0, 1.0));
    assert_eq!((of("decisions_total jobs allowed"), of("held_units_total jobs")), (8.0, 11.0));
    assert!(of("near_limit_total bucket") < of("decisions_total bucket allowed"));
    assert!(of("decisions_total closing denied") > 0.0);
}

#[test]
#[expect(clippy::float_cmp, reason = "counts, and a sum that is computed in the same way")]
fn threads_that_come_and_go_lose_no_count() {
    const THREADS: usize = 40;
    let (limiter, limit) = (Limiter::new(Memory::new()), bucket("api", 1000));
    let _ = limiter.metrics();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..500 {
                    limiter.limit_sync(&limit, "ada").expect("an answer");
                }
            });
        }
    });
    let counted = numbers(&limiter);
    assert_eq!(counted["tidegate_decisions_total api allowed"], 1000.0);
    assert_eq!(counted["tidegate_near_limit_total api"], 200.0);
    assert_eq!(counted["tidegate_decisions_total api denied"], 500.0 * THREADS as f64 - 1000.0);
}

#[test]
#[expect(clippy::float_cmp, reason = "counts, and a sum that is computed in the same way")]
fn waits_are_a_histogram_of_each_limit_that_had_one_wait() {
    let (limiter, never) = (Limiter::new(Memory::new()), bucket("never", 9));
    let _ = limiter.metrics();
    let door = Limit::token_bucket("door", 1, Duration::from_millis(20)).build().expect("a limit");
    let mut waited = Vec::new();
    limiter.acquire_sync(&never, "ada", HOUR).expect("a turn");
    // A busy machine may come after its turn.
    while waited.len() < 3 {
        let info = limiter.acquire_sync(&door, "ada", HOUR).expect("a turn");
        waited.extend(Some(info.wait_ms).filter(|wait| *wait > 0));
    }
    let metrics = limiter.metrics();
    let metric = metrics.iter().find(|metric| metric.name == "tidegate_wait_duration_seconds").expect("a metric");
    assert_eq!((metric.kind, metric.instrument, metric.unit), (MetricKind::Histogram, "tidegate.wait_duration", "s"));
    let [histogram] = &*metric.histograms else { panic!("{:?}", metric.histograms) };
    assert_eq!(histogram.labels, ["door"]);
    assert_eq!(histogram.count, waited.len() as u64);
    assert_eq!(histogram.sum, waited.iter().sum::<u64>() as f64 / 1000.0);
    assert_eq!(histogram.buckets.len(), 10);
    for (bound, count) in &histogram.buckets {
        let within = waited.iter().filter(|wait| **wait as f64 / 1000.0 <= *bound);
        assert_eq!(*count, within.count() as u64, "{bound}");
    }
    assert!(metric.samples.is_empty());
}
