//! Explanations, against the engine's decisions.

use std::time::Duration;

use proptest::prelude::*;
use tidegate::explain::{Allowance, Explanation};
use tidegate::{Call, Check, Limit, Limiter, Memory, Micros, State};

fn limit(wire: &str) -> Limit {
    Limit::from_json(wire).unwrap_or_else(|error| panic!("{error}"))
}

fn explained(wire: &str) -> Explanation {
    limit(wire).explain()
}

fn most(allowance: &Allowance) -> [Option<u64>; 4] {
    [allowance.most_in_second, allowance.most_in_minute, allowance.most_in_hour, allowance.most_in_day]
}

fn only(explanation: &Explanation) -> &Allowance {
    let [allowance] = &explanation.allowances[..] else { panic!("one allowance: {explanation}") };
    allowance
}

#[test]
fn a_bucket_in_numbers_and_words() {
    let explanation = explained(r#"{ "key": "login", "type": "bucket", "size": 10 }"#);
    let allowance = only(&explanation);
    assert_eq!((allowance.burst, allowance.per_second, allowance.window_ms), (Some(10), Some(1.0), 10_000));
    assert_eq!(most(allowance), [Some(10), Some(69), Some(3609), Some(86_409)]);
    assert_eq!(
        explanation.to_string(),
        "\"login\" (bucket) admits 10 at once, then 1 per second.\n\
         At most 10 in any second, 69 in any minute, 3,609 in any hour, 86,409 in any day.\n\
         A full entry empties in 10 s."
    );
}

#[test]
fn each_type_by_the_bound_of_its_kind() {
    for (wire, burst, per_second, bounds) in [
        (
            r#"{ "key": "a", "type": "token-bucket", "count": 100, "period": 60000, "burst": 20 }"#,
            20,
            100.0 / 60.0,
            [21, 119, 6019, 144_019],
        ),
        (
            r#"{ "key": "a", "type": "fixed-window", "max": 100, "period": 60000 }"#,
            100,
            100.0 / 60.0,
            [200, 200, 6100, 144_100],
        ),
        (
            r#"{ "key": "a", "type": "sliding-window", "max": 60, "period": 60000, "resolution": 10000 }"#,
            60,
            1.0,
            [60, 120, 4320 - 660, 103_680 - 17_220],
        ),
        (r#"{ "key": "a", "type": "sliding-counter", "max": 60, "period": 60000 }"#, 60, 1.0, [61, 120, 3660, 86_460]),
        (r#"{ "key": "a", "type": "sliding-log", "max": 60, "period": 60000 }"#, 60, 1.0, [60, 60, 3600, 86_400]),
        (
            r#"{ "key": "a", "type": "sliding-log", "max": 60, "period": 60000, "minInterval": 2000 }"#,
            1,
            0.5,
            [1, 30, 1800, 43_200],
        ),
        (
            r#"{ "key": "a", "type": "decay", "max": 8, "decayFactor": 2, "resolution": 1000 }"#,
            8,
            4.0,
            [12, 248, 14_408, 345_608],
        ),
        (r#"{ "key": "a", "type": "smooth", "rate": 5 }"#, 6, 5.0, [11, 306, 18_006, 432_008]),
        (r#"{ "key": "a", "type": "smooth", "rate": 5, "warmup": 3000 }"#, 1, 5.0, [6, 301, 18_001, 432_007]),
    ] {
        let explanation = explained(wire);
        let allowance = only(&explanation);
        assert_eq!(allowance.burst, Some(burst), "{wire}");
        assert!(allowance.per_second.is_some_and(|rate| (rate - per_second).abs() < 1e-9), "{wire}: {explanation}");
        assert_eq!(most(allowance), bounds.map(Some), "{wire}");
    }
}

#[test]
fn a_factor_scales_what_is_allowed() {
    let login = limit(r#"{ "key": "login", "type": "bucket", "size": 10 }"#);
    let double = login.explain_with(0.5).expect("a factor");
    assert_eq!((only(&double).burst, only(&double).per_second), (Some(20), Some(1.0)));
    assert!(double.to_string().starts_with("\"login\" (bucket) with factor 0.5 admits 20 at once"), "{double}");
    let lifted = login.explain_with(0.0).expect("a factor");
    assert!(lifted.allowances.is_empty());
    assert_eq!(lifted.to_string(), "\"login\" (bucket) with factor 0 limits nothing.");
    assert_eq!(login.explain_with(-1.0).expect_err("negative").field(), "factor");
    assert_eq!(login.explain_with(1.0), Ok(login.explain()));
}

#[test]
fn a_translation_says_how_far_it_is_from_what_was_asked() {
    let explanation = explained(r#"{ "key": "notes", "max": 700, "duration": 1000, "minInterval": 0.5 }"#);
    let translated = explanation.translated.as_ref().expect("a translation");
    assert_eq!((translated.size, translated.drip_rate, translated.drip_size), (Some(700), Some(1.0), Some(1)));
    assert_eq!((translated.asked_per_second, translated.enforced_per_second), (700.0, 1000.0));
    assert!((translated.deviation - 3.0 / 7.0).abs() < 1e-12);
    assert!(!translated.min_interval_enforced);
    assert!(
        explanation.to_string().ends_with(
            "It was translated to a bucket of 700 that drips 1 every 1 ms: 700 per second were asked for, \
             1,000 per second are enforced: +42.9 %. The minInterval of 0.5 ms is not enforced."
        ),
        "{explanation}"
    );
}

#[test]
fn an_exact_translation_keeps_both_promises() {
    let wire = r#"{ "key": "notes", "max": 700, "duration": 1000, "minInterval": 10, "translation": "exact" }"#;
    let explanation = explained(wire);
    assert_eq!(explanation.allowances.len(), 2);
    let translated = explanation.translated.as_ref().expect("a translation");
    assert_eq!((translated.deviation, translated.min_interval_enforced, translated.size), (0.0, true, None));
    assert!(
        explanation.to_string().contains("At the same time it admits no more than 1 at once, then 100 per second.")
    );
    assert!(explanation.to_string().ends_with("are enforced. The minInterval of 10 ms is enforced."), "{explanation}");
}

#[test]
fn a_translation_of_an_interval_alone_and_of_nothing() {
    let alone = explained(r#"{ "key": "a", "minInterval": 1.4 }"#);
    let translated = alone.translated.expect("a translation");
    assert!(!translated.min_interval_enforced, "it was rounded down to 1 ms");
    assert!((translated.deviation - 0.4).abs() < 1e-9);
    assert!(explained(r#"{ "key": "a", "minInterval": 1000 }"#).translated.expect("one").min_interval_enforced);
    for wire in [r#"{ "key": "a" }"#, r#"{ "key": "a", "max": 5, "duration": 0 }"#] {
        let nothing = explained(wire);
        assert!(nothing.allowances.is_empty() && nothing.translated.is_none());
        assert_eq!(nothing.to_string(), "\"a\" (legacy) limits nothing.");
    }
}

#[test]
fn the_numbers_are_json_too() {
    let json: serde_json::Value =
        serde_json::from_str(&explained(r#"{ "key": "a", "max": 60, "duration": 60000 }"#).to_json()).expect("JSON");
    assert_eq!(json["type"], "legacy");
    assert_eq!(json["allowances"][0]["mostInMinute"], 119);
    assert_eq!((&json["translated"]["size"], &json["translated"]["dripRate"]), (&60.into(), &1000.0.into()));
    let unbounded: serde_json::Value =
        serde_json::from_str(&explained(r#"{ "key": "a", "type": "smooth", "rate": 1e9 }"#).to_json()).expect("JSON");
    assert!(unbounded["allowances"][0]["mostInDay"].is_null());
}

fn explanation(limits: &[&str], charges: &[(usize, u64, Micros)], cost: u64, now: Micros) -> String {
    let limits: Vec<_> = limits.iter().map(|wire| limit(wire)).collect();
    let limiter = Limiter::new(Memory::new());
    for (index, cost, at) in charges {
        let check = Check::new(&limits[*index], "ada").cost(*cost);
        limiter.decide_sync_at(&[check], Call::Charge, *at).expect("charged");
    }
    let checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, "ada").cost(cost)).collect();
    let before = limiter.decide_sync_at(&checks, Call::Peek, now).expect("a peek");
    let explanation = limiter.explain_checks_sync(&checks, Some(now)).expect("an explanation");
    assert_eq!(explanation.info, before, "explaining is peeking");
    assert_eq!(limiter.decide_sync_at(&checks, Call::Peek, now).expect("a peek"), before, "and charges nothing");
    assert_eq!(explanation.blocked_until(), before.blocked.then(|| now + before.reset_ms * 1000));
    explanation.to_string()
}

#[test]
fn why_an_answer_is_what_it_is() {
    let bucket = r#"{ "key": "login", "type": "bucket", "size": 10 }"#;
    assert_eq!(explanation(&[bucket], &[], 1, 0), r#""login" would admit this call: all 10 units are free."#);
    assert_eq!(
        explanation(&[bucket], &[(0, 3, 0)], 1, 600_000),
        r#""login" would admit this call: 7 of 10 units are free, the next comes back in 0.4 s, all of them in 2.4 s."#
    );
    assert_eq!(
        explanation(&[bucket], &[(0, 9, 0)], 5, 600_000),
        r#""login" would refuse this call of cost 5: 1 of 10 units are free. Retry in 3.4 s; empty in 8.4 s."#
    );
    let log = r#"{ "key": "otp", "type": "sliding-log", "max": 5, "period": 60000, "minInterval": 1000 }"#;
    assert_eq!(
        explanation(&[log], &[(0, 1, 0)], 1, 250_000),
        r#""otp" would refuse this call: the last call was less than 1 s ago. Retry in 0.75 s; empty in 59.75 s."#
    );
    let smooth = r#"{ "key": "mail", "type": "smooth", "rate": 2 }"#;
    assert_eq!(
        explanation(&[smooth], &[(0, 3, 0)], 1, 100_000),
        r#""mail" would refuse this call: the permits of earlier calls have not come back yet. Retry in 0.4 s; empty in 1.4 s."#
    );
    assert_eq!(
        explanation(&[smooth], &[], 1, 0),
        r#""mail" would admit this call: its turn has come, with 2 permits saved up."#
    );
    assert_eq!(
        explanation(&[r#"{ "key": "free" }"#], &[], 1, 0),
        r#""free" would admit this call: it limits nothing."#
    );
}

#[test]
fn several_limits_each_say_their_own() {
    let both = r#"{ "key": "both", "max": 10, "duration": 10000, "minInterval": 500, "translation": "exact" }"#;
    let free = r#"{ "key": "free" }"#;
    assert_eq!(
        explanation(&[free, both], &[(1, 1, 0)], 1, 100_000),
        "The call would be refused; \"both\" decides.\n\
         \"free\" would admit this call: it limits nothing.\n\
         \"both\" would admit this call: 9 of 10 units are free, the next comes back in 0.9 s, all of them in 0.9 s.\n\
         \"both\" would refuse this call: 0 of 1 units are free. Retry in 0.4 s."
            .replace(", the next comes back in 0.9 s, all", ", all")
    );
}

#[test]
fn a_cost_that_can_never_be_is_an_error() {
    let login = limit(r#"{ "key": "login", "type": "bucket", "size": 10 }"#);
    let limiter = Limiter::new(Memory::new());
    let error = limiter.explain_checks_sync(&[Check::new(&login, "ada").cost(11)], None).expect_err("too much");
    assert!(error.to_string().contains("cost must be at most 10"), "{error}");
    assert!(!limiter.explain_sync(&login, "ada").expect("an explanation").info.blocked);
}

#[tokio::test]
async fn the_futures_say_the_same() {
    let login = Limit::bucket("login", 10).drip_rate(Duration::from_mins(1)).build().expect("sound");
    let limiter = Limiter::new(Memory::new());
    limiter.limit(&login, "ada").await.expect("admitted");
    let explanation = limiter.explain(&login, "ada").await.expect("an explanation");
    assert!(explanation.to_string().starts_with("\"login\" would admit this call: 9 of 10 units are free"));
    let several = limiter.explain_checks(&[Check::new(&login, "ada")], None).await.expect("an explanation");
    assert_eq!(several.checks.len(), 1);
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let (max, millis) = (1_u32..12, 1_u32..40);
    let wire = prop_oneof![
        (max.clone(), millis.clone(), 1_u32..15).prop_map(|(size, rate, drip)| format!(
            r#""type":"bucket","size":{size},"dripRate":{rate},"dripSize":{drip}"#
        )),
        (max.clone(), millis.clone(), max.clone()).prop_map(|(count, period, burst)| format!(
            r#""type":"token-bucket","count":{count},"period":{period},"burst":{burst}"#
        )),
        (max.clone(), millis.clone(), any::<bool>()).prop_map(|(max, period, epoch)| format!(
            r#""type":"fixed-window","max":{max},"period":{period},"anchor":"{}""#,
            if epoch { "epoch" } else { "first-request" }
        )),
        (max.clone(), millis.clone(), 1_u32..=40).prop_map(|(max, period, part)| format!(
            r#""type":"sliding-window","max":{max},"period":{period},"resolution":{}"#,
            f64::from(part.min(period)) * 0.75
        )),
        (max.clone(), millis.clone())
            .prop_map(|(max, period)| format!(r#""type":"sliding-counter","max":{max},"period":{period}"#)),
        (max.clone(), millis.clone(), 0_u32..10).prop_map(|(max, period, interval)| format!(
            r#""type":"sliding-log","max":{max},"period":{period},"minInterval":{interval}"#
        )),
        (max.clone(), millis.clone(), 11_u32..60).prop_map(|(max, resolution, tenths)| format!(
            r#""type":"decay","max":{max},"resolution":{resolution},"decayFactor":{}"#,
            f64::from(tenths) / 10.0
        )),
        (1_u32..900, 0_u32..20, prop_oneof![Just(0), 1_u32..50]).prop_map(|(rate, burst, warmup)| format!(
            r#""type":"smooth","rate":{rate},"maxBurst":{burst},"warmup":{warmup}"#
        )),
        (max, millis, prop::option::of(0_u32..20), any::<bool>()).prop_map(|(max, duration, interval, exact)| {
            let interval = interval.map_or(String::new(), |interval| format!(r#","minInterval":{interval}"#));
            format!(
                r#""max":{max},"duration":{duration},"translation":"{}"{interval}"#,
                if exact { "exact" } else { "bucket" }
            )
        }),
    ];
    wire.prop_map(|fields| limit(&format!(r#"{{"key":"a",{fields}}}"#)))
}

/// Asks at these instants and returns those that were admitted.
fn admitted(limit: &Limit, instants: impl IntoIterator<Item = Micros>) -> Vec<Micros> {
    let mut state = State::default();
    let mut admitted = Vec::new();
    for now in instants {
        let (info, next) = limit.decide(state, now, Call::Limit).expect("an answer");
        state = next;
        if !info.blocked {
            admitted.push(now);
        }
    }
    admitted
}

/// The time between two calls of a flood.
const STEP: Micros = 50;

fn flood(calls: u64) -> impl Iterator<Item = Micros> {
    (0..calls).map(|call| 1_000_000_000 + call * STEP)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The burst is what an untouched limit admits at one instant.
    #[test]
    fn the_burst_is_what_the_engine_admits_at_once(limit in any_limit()) {
        let burst = limit.explain().allowances.iter().filter_map(|allowance| allowance.burst).min().expect("a burst");
        prop_assert_eq!(admitted(&limit, std::iter::repeat_n(5_000_000, 2000)).len() as u64, burst);
    }

    /// However a second is laid on whatever history, it holds no more than is said.
    #[test]
    fn no_second_holds_more_than_is_said(
        limit in any_limit(),
        pauses in prop::collection::vec((0_u64..60_000, prop_oneof![Just(0_u64), Just(250), 0_u64..9_000], 1_usize..60), 1..40),
    ) {
        let bound = limit.explain().allowances.iter().filter_map(|allowance| allowance.most_in_second).min().expect("a bound");
        let mut now = 1_000_000_000;
        let mut instants = Vec::new();
        for (pause, step, calls) in pauses {
            now += pause;
            for _ in 0..calls {
                instants.push(now);
                now += step;
            }
        }
        let admitted = admitted(&limit, instants);
        for (index, first) in admitted.iter().enumerate() {
            let within = admitted[index..].iter().take_while(|at| **at < first + 1_000_000).count();
            prop_assert!(within as u64 <= bound, "{within} in a second, {bound} said: {}", limit.explain());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// Under a flood no more than the rate is admitted in the long run, and nearly all of it where a type promises that:
    /// decay frees parts of a unit that nobody can use, and a sliding counter never forgets the window before quite.
    #[test]
    fn a_flood_gets_the_rate_that_is_said(limit in any_limit()) {
        let explanation = limit.explain();
        let rate = explanation.allowances.iter().filter_map(|allowance| allowance.per_second).fold(f64::INFINITY, f64::min);
        let bursts = || explanation.allowances.iter().filter_map(|allowance| allowance.burst);
        let burst = bursts().min().expect("a burst") as f64;
        let admitted = admitted(&limit, flood(40_000));
        let first = flood(10_000).last().expect("a call");
        let first = admitted.partition_point(|at| *at <= first) as f64;
        let all = admitted.len() as f64;
        // Calls that have to keep their distance come no further apart than that, so many of them in a row.
        let (peeked, _) = limit.decide(State::default(), 0, Call::Peek).expect("an answer");
        let row = bursts().chain([peeked.quota]).max().expect("a quota") as f64;
        prop_assert!(all - first <= 1.5 * rate + row + 1.0, "{all} - {first} in a second and a half: {explanation}");
        let promised = match explanation.type_name {
            "decay" | "legacy" => 0.0,
            "sliding-counter" => rate * (burst - 1.0) / burst,
            _ => rate,
        };
        // A call that could come between two of the flood comes with the later one, and so does what it would free. A
        // warm-up of up to 50 ms admits half of that time's permits.
        let reached = promised / (1.0 + promised * STEP as f64 / 1e6);
        prop_assert!(all >= (2.0 - 0.025) * reached - burst - 2.0, "{all} in two seconds: {explanation}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The most that is said of a second is reached, by a flood that begins somewhere between the ticks.
    #[test]
    fn a_second_holds_as_much_as_is_said(
        count in prop::sample::select(vec![1_u64, 2, 4, 5]),
        period in prop::sample::select(vec![200_u64, 400, 1000, 2000]),
        burst in 1_u64..6,
        is_aligned in any::<bool>(),
    ) {
        let limit = if is_aligned {
            limit(&format!(r#"{{ "key": "a", "type": "fixed-window", "max": {count}, "period": {period} }}"#))
        } else {
            limit(&format!(r#"{{ "key": "a", "type": "token-bucket", "count": {count}, "period": {period}, "burst": {burst} }}"#))
        };
        let most = (0..period / 10).flat_map(|phase| {
            let begin = 1_000_000_000 + phase * 10_000;
            let flood = (0..100).flat_map(move |step| std::iter::repeat_n(begin + step * 10_000, 6));
            let before = admitted(&limit, std::iter::once(1_000_000_000).chain(flood.clone()));
            let within = before.iter().filter(|at| **at >= begin).count() - usize::from(phase == 0);
            [within, admitted(&limit, flood).len()]
        });
        prop_assert_eq!(most.max().map(|most| most as u64), only(&limit.explain()).most_in_second, "{}", limit.explain());
    }
}
