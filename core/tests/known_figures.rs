//! The figures that the systems our users come from are known by.

use std::time::Duration;

use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory};

const SECOND: u64 = 1_000_000;
/// A whole minute and hour of some day.
const START: u64 = 1_750_000_200 * SECOND;

/// One actor's calls on a clock of the test's own.
struct Client {
    limiter: Limiter,
    limit: Limit,
    now: u64,
}

impl Client {
    fn of(definition: &str) -> Self {
        let limit = Limit::from_json(definition).expect("a sound definition");
        Self { limiter: Limiter::new(Memory::new()), limit, now: START }
    }

    fn ask(&self, call: Call, cost: u64) -> LimitInfo {
        let check = Check::new(&self.limit, "client").cost(cost);
        self.limiter.decide_sync_at(&[check], call, self.now).expect("an answer")
    }

    fn is_admitted(&self) -> bool {
        !self.ask(Call::Limit, 1).blocked
    }

    fn sleep(&mut self, millis: u64) {
        self.now += millis * 1000;
    }

    /// The time to wait before each of these may go; waits like Guava's `acquire`, by sleeping.
    fn waits_asleep(&mut self, permits: &[u64]) -> Vec<u64> {
        let take = |permits: &u64| {
            let info = self.ask(Call::Acquire { max_wait: Duration::MAX }, *permits);
            assert!(!info.blocked);
            self.sleep(info.wait_ms);
            info.wait_ms
        };
        permits.iter().map(take).collect()
    }

    /// The fates of so many requests that come at once: each one's delay, or none if it is refused.
    fn burst_of(&self, requests: usize, max_wait: Duration) -> Vec<Option<u64>> {
        let request = |_| Some(self.ask(Call::Acquire { max_wait }, 1)).filter(|info| !info.blocked);
        (0..requests).map(request).map(|info| info.map(|info| info.wait_ms)).collect()
    }
}

#[test]
fn guava_smooth_warming_up_starts_three_times_slower_and_reaches_its_rate_after_the_warm_up() {
    let mut client = Client::of(r#"{ "key": "k", "type": "smooth", "rate": 2, "warmup": 4000 }"#);
    assert_eq!(client.waits_asleep(&[1; 7]), [0, 1375, 1125, 875, 625, 500, 500]);
    // Four seconds of rest, and it is cold again.
    client.sleep(500 + 4000);
    assert_eq!(client.waits_asleep(&[1; 7]), [0, 1375, 1125, 875, 625, 500, 500]);
    // Half of that, and it is half warm.
    client.sleep(500 + 2000);
    assert_eq!(client.waits_asleep(&[1; 4])[1..], [625, 500, 500]);
}

#[test]
fn guava_smooth_bursty_spends_a_second_saved_up_then_paces_at_200_ms() {
    let mut client = Client::of(r#"{ "key": "k", "type": "smooth", "rate": 5 }"#);
    // Five are in store; the sixth goes at once too, and the seventh pays for it.
    assert_eq!(client.waits_asleep(&[1, 1, 3, 1, 1, 1]), [0, 0, 0, 0, 200, 200]);
    // A large call goes at once after a pause; the one after it waits for what was not in store.
    client.sleep(10_000);
    assert_eq!(client.waits_asleep(&[10, 1, 1]), [0, 1000, 200]);
}

#[test]
fn nginx_burst_3_without_nodelay_holds_requests_back_at_the_rate() {
    // limit_req_zone rate=2r/s; limit_req burst=3;
    let mut client = Client::of(r#"{ "key": "k", "type": "token-bucket", "count": 2, "period": 1000, "burst": 1 }"#);
    let three_intervals = Duration::from_millis(1500);
    assert_eq!(client.burst_of(6, three_intervals), [Some(0), Some(500), Some(1000), Some(1500), None, None]);
    client.sleep(500);
    assert_eq!(client.burst_of(2, three_intervals), [Some(1500), None]);
}

#[test]
fn nginx_burst_3_nodelay_admits_one_and_three_at_once_then_one_each_500_ms() {
    // limit_req_zone rate=2r/s; limit_req burst=3 nodelay;
    let mut client = Client::of(r#"{ "key": "k", "type": "token-bucket", "count": 2, "period": 1000, "burst": 4 }"#);
    assert_eq!(client.burst_of(6, Duration::ZERO), [Some(0), Some(0), Some(0), Some(0), None, None]);
    client.sleep(499);
    assert!(!client.is_admitted());
    client.sleep(1);
    assert!(client.is_admitted());
    assert!(!client.is_admitted());
}

#[test]
fn nginx_delay_1_admits_two_at_once_and_holds_two_more_back() {
    // limit_req_zone rate=2r/s; limit_req burst=3 delay=1;
    let client = Client::of(r#"{ "key": "k", "type": "token-bucket", "count": 2, "period": 1000, "burst": 2 }"#);
    assert_eq!(client.burst_of(5, Duration::from_secs(1)), [Some(0), Some(0), Some(500), Some(1000), None]);
}

#[test]
fn a_rolling_log_that_counts_blocked_attempts_stays_shut_to_a_client_that_keeps_trying() {
    let log = r#"{ "key": "k", "type": "sliding-log", "max": 5, "period": 1000, "countBlocked": true }"#;
    let mut client = Client::of(log);
    assert!((0..5).all(|_| client.is_admitted()));
    for _ in 0..100 {
        client.sleep(150);
        assert!(!client.is_admitted(), "six attempts a second are more than five");
    }
    // Only the five newest attempts count. The oldest of them came 600 ms ago.
    assert_eq!(client.ask(Call::Peek, 1).reset_ms, 400);
    client.sleep(400);
    assert!(client.is_admitted());

    let forgiving = log.replace("true", "false");
    let mut client = Client::of(&forgiving);
    let admitted = (0..100).filter(|_| {
        let admitted = client.is_admitted();
        client.sleep(150);
        admitted
    });
    // 15 s at 5 a second; an attempt each 150 ms seldom meets the very instant at which the oldest is past.
    assert!((70..=75).contains(&admitted.count()));
}

#[test]
fn a_rolling_log_keeps_calls_a_least_interval_apart() {
    let log = r#"{ "key": "k", "type": "sliding-log", "max": 5, "period": 60000, "minInterval": 1000 }"#;
    let mut client = Client::of(log);
    assert!(client.is_admitted());
    client.sleep(999);
    let denied = client.ask(Call::Limit, 1);
    assert_eq!((denied.blocked, denied.reset_ms, denied.remaining), (true, 1, 4));
    client.sleep(1);
    assert!(client.is_admitted());
}

#[test]
fn ar_1_with_factor_2_halves_its_count_each_slot() {
    let mut client = Client::of(r#"{ "key": "k", "type": "decay", "max": 8, "decayFactor": 2, "resolution": 1000 }"#);
    let full = client.ask(Call::Limit, 8);
    // 8 = 2^3 is below 2^-20 after 24 halvings.
    assert_eq!((full.remaining, full.reset_ms, full.full_reset_ms), (0, 1000, 24_000));
    let remaining: Vec<_> = (0..5)
        .map(|_| {
            client.sleep(1000);
            client.ask(Call::Peek, 0).remaining
        })
        .collect();
    // 4, 2, 1, a half and a quarter are left.
    assert_eq!(remaining, [4, 6, 7, 7, 7]);
    // At a steady two a slot the sum approaches 2 / (1 - 1/2) = 4, and never gets there.
    let steady: Vec<_> = (0..20)
        .map(|_| {
            client.sleep(1000);
            client.ask(Call::Limit, 2).remaining
        })
        .collect();
    assert_eq!(steady[..3], [5, 4, 4]);
    assert!(steady[3..].iter().all(|remaining| *remaining == 4));
}

#[test]
fn sk_rate_limiter_service_turns_10_per_10_s_into_a_bucket_of_10_that_drips_1_per_second() {
    let mut client = Client::of(r#"{ "key": "k", "max": 10, "duration": 10000 }"#);
    assert!((0..10).all(|_| client.is_admitted()));
    let denied = client.ask(Call::Limit, 1);
    assert_eq!((denied.blocked, denied.reset_ms, denied.full_reset_ms), (true, 1000, 10_000));
    client.sleep(3500);
    assert_eq!(client.ask(Call::Peek, 0).remaining, 3);
}

#[test]
fn sk_rate_limiter_service_drips_two_at_once_for_a_min_interval_longer_than_the_rate() {
    let mut client = Client::of(r#"{ "key": "k", "max": 10, "duration": 5000, "minInterval": 1000 }"#);
    // The interval between calls is not enforced: all ten go at once.
    assert!((0..10).all(|_| client.is_admitted()));
    client.sleep(999);
    assert!(!client.is_admitted());
    client.sleep(1);
    assert_eq!((0..3).filter(|_| client.is_admitted()).count(), 2);

    let exact = r#"{ "key": "k", "max": 10, "duration": 5000, "minInterval": 1000, "translation": "exact" }"#;
    let mut client = Client::of(exact);
    assert_eq!((0..10).filter(|_| client.is_admitted()).count(), 1);
    client.sleep(1000);
    assert!(client.is_admitted());
}

#[test]
fn sk_rate_limiter_service_rounds_700_per_second_to_one_per_millisecond_and_exact_does_not() {
    let admitted_in_the_second_after_a_burst = |definition: &str| {
        let mut client = Client::of(definition);
        assert!((0..700).all(|_| client.is_admitted()));
        assert!(!client.is_admitted());
        let mut admitted = 0;
        for _ in 0..1000 {
            client.sleep(1);
            admitted += u64::from(client.is_admitted()) + u64::from(client.is_admitted());
        }
        admitted
    };
    let as_bucket = r#"{ "key": "k", "max": 700, "duration": 1000 }"#;
    let exact = r#"{ "key": "k", "max": 700, "duration": 1000, "translation": "exact" }"#;
    assert_eq!(admitted_in_the_second_after_a_burst(as_bucket), 1000);
    assert_eq!(admitted_in_the_second_after_a_burst(exact), 700);
}
