//! No history of calls admits more than a type's bound in any span: every span of random histories is looked at.

use std::time::Duration;

use crate::strategies::{cost, definition_of, scale, start, step};
use proptest::prelude::*;
use serde_json::Value;
use tidegate::{Call, Check, Limit, Limiter, Memory, State};

/// The calls admitted, and their instants.
type Admitted = Vec<(u64, u64)>;

/// A history of greedy calls, each only as far from the last as a share of the definition's own times.
fn admitted(definition: &Value, start: u64, calls: &[(f64, u64)]) -> Admitted {
    let limit = Limit::from_json(&definition.to_string()).expect("a sound definition");
    let (mut state, mut now, mut admitted) = (State::default(), start, Vec::new());
    for (share, cost) in calls {
        now += micros(share * scale(definition));
        let Ok((info, after)) = limit.decide_with(state.clone(), now, Call::Limit, *cost, 1.0) else { continue };
        state = after;
        if !info.blocked {
            admitted.push((now, *cost));
        }
    }
    admitted
}

/// Every span from one admitted call to another: how long it is, and how much was admitted in it, both ends included.
fn spans(admitted: &Admitted) -> impl Iterator<Item = (u64, u64)> {
    (0..admitted.len()).flat_map(move |from| {
        let mut sum = 0;
        admitted[from..].iter().map(move |(now, cost)| {
            sum += cost;
            (now - admitted[from].0, sum)
        })
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^63")]
fn micros(span: f64) -> u64 {
    span.round() as u64
}

fn whole(definition: &Value, field: &str) -> u64 {
    definition[field].as_u64().unwrap_or_else(|| panic!("{field} in {definition}"))
}

fn time(definition: &Value, field: &str) -> u64 {
    micros(definition[field].as_f64().expect("a time") * 1000.0).max(1)
}

fn calls() -> impl Strategy<Value = Vec<(f64, u64)>> {
    proptest::collection::vec((prop_oneof![2 => Just(0.0), 3 => 0.0..0.05, 1 => step()], cost()), 1..80)
}

macro_rules! bounded {
    ($(#[doc = $doc:literal] $test:ident $kind:literal |$definition:ident, $admitted:ident| $bound:block)*) => { proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        $(
            #[doc = $doc]
            #[test]
            fn $test(($definition, start, calls) in (definition_of($kind), start(), calls())) {
                let $admitted = admitted(&$definition, start, &calls);
                $bound
            }
        )*
    } };
}

bounded! {
    /// A bucket admits its size, and a drip for each tick begun.
    a_bucket "bucket" |definition, admitted| {
        let (tick, drain) = ((time(&definition, "dripRate")).div_ceil(1000) * 1000, whole(&definition, "dripSize"));
        for (span, sum) in spans(&admitted) {
            prop_assert!(sum <= whole(&definition, "size") + drain * span.div_ceil(tick), "{} in {} us", sum, span);
        }
    }

    /// A token bucket admits its burst, and what flows in meanwhile, exactly.
    a_token_bucket "token-bucket" |definition, admitted| {
        let (count, period) = (whole(&definition, "count"), time(&definition, "period"));
        let burst = definition["burst"].as_u64().unwrap_or(count);
        for (span, sum) in spans(&admitted) {
            prop_assert!(sum.saturating_sub(burst) * period <= count * span, "{} in {} us", sum, span);
        }
    }

    /// Fixed windows admit `max` in each window, so twice that across an edge and no more.
    fixed_windows "fixed-window" |definition, admitted| {
        let (max, period) = (whole(&definition, "max"), time(&definition, "period"));
        for (span, sum) in spans(&admitted) {
            prop_assert!(sum <= max + max * span.div_ceil(period), "{} in {} us", sum, span);
        }
        if definition["anchor"] == "epoch" {
            for (now, _) in &admitted {
                let same = admitted.iter().filter(|(other, _)| other / period == now / period);
                prop_assert!(same.map(|(_, cost)| cost).sum::<u64>() <= max);
            }
        }
    }

    /// The bounds that a legacy limit asks for exactly hold exactly: `max` at once and at its rate, and `minInterval` apart.
    an_exact_legacy_limit "legacy" |definition, admitted| {
        if definition["translation"] == "exact" {
            for (span, sum) in spans(&admitted) {
                if definition["max"].is_u64() {
                    let (max, duration) = (whole(&definition, "max"), time(&definition, "duration"));
                    prop_assert!(sum.saturating_sub(max) * duration <= max * span, "{} in {} us", sum, span);
                }
                if definition["minInterval"].as_f64().is_some_and(|interval| interval > 0.0) {
                    let interval = time(&definition, "minInterval");
                    prop_assert!(sum <= 1 + span / interval, "{} in {} us", sum, span);
                }
            }
        }
    }

    /// A sliding window never holds more than `max` in a period less one slot.
    a_sliding_window "sliding-window" |definition, admitted| {
        let bounded = time(&definition, "period") - time(&definition, "resolution");
        for (_, sum) in spans(&admitted).filter(|(span, _)| *span <= bounded) {
            prop_assert!(sum <= whole(&definition, "max"));
        }
    }

    /// A sliding counter holds to its own estimate: this window's count and the last one's, weighted.
    a_sliding_counter "sliding-counter" |definition, admitted| {
        let (max, period) = (whole(&definition, "max"), time(&definition, "period"));
        for (index, (now, _)) in admitted.iter().enumerate() {
            let in_window = |window: u64| -> u64 {
                admitted[..=index].iter().filter(|(then, _)| then / period == window).map(|(_, cost)| cost).sum()
            };
            let previous = (now / period).checked_sub(1).map_or(0, in_window);
            let used = previous * (period - now % period) + in_window(now / period) * period;
            prop_assert!(used <= max * period, "at {}", now);
        }
    }

    /// A sliding log never holds more than `max` in any period, and no two calls within the interval.
    a_sliding_log "sliding-log" |definition, admitted| {
        let period = time(&definition, "period");
        for (_, sum) in spans(&admitted).filter(|(span, _)| *span < period) {
            prop_assert!(sum <= whole(&definition, "max"));
        }
        if definition["minInterval"].as_f64() > Some(0.0) {
            let charged: Vec<_> = admitted.iter().filter(|(_, cost)| *cost > 0).collect();
            prop_assert!(charged.windows(2).all(|pair| pair[1].0 - pair[0].0 >= time(&definition, "minInterval")));
        }
    }

    /// The cost that decay admits, weighed by how often it has been divided since, never exceeds `max`.
    a_decaying_count "decay" |definition, admitted| {
        let resolution = time(&definition, "resolution");
        let (max, factor) = (whole(&definition, "max") as f64, definition["decayFactor"].as_f64().expect("a factor"));
        for (index, (now, _)) in admitted.iter().enumerate() {
            let weighed = admitted[..=index].iter().map(|(then, cost)| {
                let slots = i32::try_from(now / resolution - then / resolution).unwrap_or(i32::MAX);
                *cost as f64 / factor.powi(slots)
            });
            // What decays below 2^-20 counts as nothing, and each division rounds.
            prop_assert!(weighed.sum::<f64>() <= max + 1e-4, "at {}", now);
        }
    }

    /// Before the call that is paid by the next, pacing admits what was stored and what the rate gives.
    a_paced_flow "smooth" |definition, admitted| {
        let field = |name: &str| definition[name].as_f64().expect("a number");
        let (rate, warmup) = (field("rate"), field("warmup"));
        let stored = if warmup > 0.0 {
            // Guava's own: half of the warm-up at the full rate, and the trapezoid of the other half.
            warmup / 1000.0 * rate * (0.5 + 2.0 / (1.0 + field("coldFactor")))
        } else {
            field("maxBurst") / 1000.0 * rate
        };
        for (from, (first, _)) in admitted.iter().enumerate() {
            let mut sum = 0.0;
            for (now, cost) in &admitted[from..] {
                let flow = (now - first) as f64 / 1e6 * rate;
                // Each call may gain a microsecond by rounding down.
                let rounding = 1e-6 * rate * admitted.len() as f64 + 1e-6;
                prop_assert!(sum <= stored + flow * (1.0 + 1e-9) + rounding, "{} by {}", sum, now);
                sum += *cost as f64;
            }
        }
    }
}

/// 0.29 s at 100 per second are 28.999999999999996 permits, as numbers are: the rest of the last one costs no time.
#[test]
fn a_smooth_limit_admits_as_many_at_once_as_is_said() {
    for (rate, millis) in [(100.0, 290), (100.0, 300), (3.0, 1100), (999_999.0, 10), (0.5, 1000)] {
        let limit = Limit::smooth("s", rate).max_burst(Duration::from_millis(millis)).build().expect("a limit");
        let limiter = Limiter::new(Memory::new());
        let is_admitted =
            || !limiter.decide_sync_at(&[Check::new(&limit, "a")], Call::Limit, 0).expect("decided").blocked;
        let admitted = std::iter::repeat_with(is_admitted).take_while(|admitted| *admitted).count() as u64;
        assert_eq!(limit.explain().allowances[0].burst, Some(admitted), "{rate} {millis}");
    }
}
