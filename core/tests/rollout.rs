//! Definitions and factors of one key that answer in turns, as in a rollout: what they admit together.

use std::time::Duration;

use crate::strategies::{cost, definition_of, scale, start, step};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use tidegate::{Call, Check, Limit, Limiter, Memory};

/// A definition as one of two processes has it, for its own idea of the actor's factor.
#[derive(Clone, Debug)]
struct Voice {
    wire: Value,
    factor: f64,
}

impl Voice {
    fn time(&self, field: &str) -> u64 {
        micros(self.wire[field].as_f64().expect("a time") * 1000.0).max(1)
    }

    fn number(&self, field: &str) -> f64 {
        self.wire[field].as_f64().unwrap_or_else(|| panic!("{field} in {}", self.wire))
    }

    fn scaled(&self, field: &str) -> u64 {
        micros((self.number(field) / self.factor).ceil().max(1.0))
    }

    /// The units that a level admits at once.
    fn size(&self) -> u64 {
        self.scaled(match self.wire["type"].as_str().expect("a type") {
            "bucket" => "size",
            "fixed-window" => "max",
            _ if self.wire["burst"].is_u64() => "burst",
            _ => "count",
        })
    }

    /// The most that a level drains in a span.
    fn drains(&self, span: u64) -> u64 {
        match self.wire["type"].as_str().expect("a type") {
            "bucket" => {
                let scales = self.wire["factorScales"] == "size-and-rate";
                let rate = self.number("dripRate") * if scales { self.factor } else { 1.0 };
                self.scaled_by(1.0, "dripSize") * span.div_ceil(1000 * micros(rate.ceil().max(1.0)))
            }
            "fixed-window" => self.size() * span.div_ceil(self.time("period")),
            _ => (self.scaled("count") * span).div_ceil(self.time("period")),
        }
    }

    /// The longest time by which the instant of a level lags behind: a drip, a window, or the span after which a token
    /// bucket has drained whole units.
    fn step(&self) -> u64 {
        match self.wire["type"].as_str().expect("a type") {
            "bucket" => {
                let scales = self.wire["factorScales"] == "size-and-rate";
                1000 * micros((self.number("dripRate") * if scales { self.factor } else { 1.0 }).ceil().max(1.0))
            }
            _ => self.time("period"),
        }
    }

    fn scaled_by(&self, factor: f64, field: &str) -> u64 {
        Self { factor, ..self.clone() }.scaled(field)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^63")]
fn micros(span: f64) -> u64 {
    span.round() as u64
}

fn voices(kinds: &'static [&'static str]) -> impl Strategy<Value = [Voice; 2]> {
    let factor = || select(vec![1.0, 1.0, 0.5, 2.0, 0.3, 3.0]);
    let voice =
        || (select(kinds).prop_flat_map(definition_of), factor()).prop_map(|(wire, factor)| Voice { wire, factor });
    (voice(), voice(), any::<bool>()).prop_map(|(first, second, same)| {
        // Often it is the factor alone that differs.
        let second = if same { Voice { wire: first.wire.clone(), ..second } } else { second };
        [first, second]
    })
}

/// The calls: time that passes before, as a share of a definition's own times, the cost, and who decides.
fn calls() -> impl Strategy<Value = Vec<(f64, u64, bool)>> {
    let pause = prop_oneof![4 => Just(0.0), 3 => 0.0..0.05, 1 => step()];
    proptest::collection::vec((pause, cost(), any::<bool>()), 1..120)
}

/// The instants and costs that are admitted.
fn admitted(voices: &[Voice; 2], start: u64, calls: &[(f64, u64, bool)]) -> Vec<(u64, u64)> {
    let (limiter, mut now) = (Limiter::new(Memory::new()), start);
    let limits = voices.each_ref().map(|voice| Limit::from_json(&voice.wire.to_string()).expect("a definition"));
    let shorter = voices.iter().map(|voice| scale(&voice.wire)).fold(f64::INFINITY, f64::min);
    let mut admitted = Vec::new();
    for (share, cost, which) in calls {
        now += micros(share * shorter);
        let (limit, voice) = (&limits[usize::from(*which)], &voices[usize::from(*which)]);
        let check = Check::new(limit, "ada").cost(*cost).factor(voice.factor);
        if limiter.decide_sync_at(&[check], Call::Limit, now).is_ok_and(|info| !info.blocked) {
            admitted.push((now, *cost));
        }
    }
    admitted
}

/// Every span from one admitted call to another, with what was admitted in it, both ends included.
fn spans(admitted: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    (0..admitted.len()).flat_map(move |from| {
        let mut sum = 0;
        admitted[from..].iter().map(move |(now, cost)| {
            sum += cost;
            (now - admitted[from].0, sum)
        })
    })
}

fn shorter(voices: &[Voice; 2], field: &str) -> u64 {
    voices.iter().map(|voice| voice.time(field)).min().expect("two")
}

macro_rules! together {
    ($(#[doc = $doc:literal] $test:ident: $kinds:expr, |$voices:ident, $admitted:ident| $bound:block)*) => { proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
        $(
            #[doc = $doc]
            #[test]
            fn $test(($voices, start, calls) in (voices($kinds), start(), calls())) {
                let $admitted = admitted(&$voices, start, &calls);
                $bound
            }
        )*
    } };
}

together! {
    /// Both sizes, and what the faster one drains in the span and in one step of the slower one.
    levels: &["bucket", "token-bucket", "fixed-window"], |voices, admitted| {
        let sizes: u64 = voices.iter().map(Voice::size).sum();
        let step = voices.iter().map(Voice::step).max().expect("two");
        for (span, sum) in spans(&admitted) {
            let drained = voices.iter().map(|voice| voice.drains(span + step)).max().expect("two");
            prop_assert!(sum <= sizes + drained, "{} in {} us", sum, span);
        }
    }

    /// In a span of the shorter period, both sizes.
    sliding_logs: &["sliding-log"], |voices, admitted| {
        let (sizes, period) = (voices.iter().map(|voice| voice.scaled("max")).sum(), shorter(&voices, "period"));
        for (span, sum) in spans(&admitted).filter(|(span, _)| *span < period) {
            prop_assert!(sum <= sizes, "{} in {} us", sum, span);
        }
    }

    /// In a span of the shorter period less the larger resolution, both sizes.
    sliding_windows: &["sliding-window"], |voices, admitted| {
        let sizes: u64 = voices.iter().map(|voice| voice.scaled("max")).sum();
        let slot = voices.iter().map(|voice| voice.time("resolution")).max().expect("two");
        let sure = shorter(&voices, "period").checked_sub(slot);
        for (span, sum) in spans(&admitted).filter(|(span, _)| sure.is_some_and(|sure| *span <= sure)) {
            prop_assert!(sum <= sizes, "{} in {} us", sum, span);
        }
    }

    /// In a span of the shorter period, twice both sizes.
    sliding_counters: &["sliding-counter"], |voices, admitted| {
        let sizes: u64 = voices.iter().map(|voice| voice.scaled("max")).sum();
        let period = shorter(&voices, "period");
        for (span, sum) in spans(&admitted).filter(|(span, _)| *span < period) {
            prop_assert!(sum <= 2 * sizes, "{} in {} us", sum, span);
        }
    }

    /// As many as one would admit whose count is divided at the slots of both.
    decaying_counts: &["decay"], |voices, admitted| {
        let most = voices.iter().map(|voice| voice.scaled("max")).max().expect("two");
        for (index, (now, _)) in admitted.iter().enumerate() {
            let weight = |(then, cost): &(u64, u64)| {
                let divided = voices.iter().map(|voice| {
                    let slots = now / voice.time("resolution") - then / voice.time("resolution");
                    voice.number("decayFactor").powi(i32::try_from(slots).unwrap_or(i32::MAX))
                });
                *cost as f64 / divided.product::<f64>()
            };
            let count: f64 = admitted[..=index].iter().map(weight).sum();
            prop_assert!(count <= most as f64 + 1e-4, "{} at {}", count, now);
        }
    }
}

/// Turns at one instant, which admitted all of a thousand calls while each turn moved the state into the past.
#[test]
fn turns_at_one_instant_admit_both_sizes_at_most() {
    let (hour, minute) = (Duration::from_hours(1), Duration::from_mins(1));
    let pairs = [
        [Limit::decay("k", 10, 2.0, minute).build(), Limit::decay("k", 10, 2.0, Duration::from_secs(7)).build()],
        [Limit::sliding_counter("k", 10, hour).build(), Limit::sliding_counter("k", 10, minute * 7).build()],
        [
            Limit::sliding_window("k", 10, hour, minute).build(),
            Limit::sliding_window("k", 10, hour, minute * 7).build(),
        ],
        [
            Limit::sliding_log("k", 500, hour).count_blocked(true).build(),
            Limit::sliding_log("k", 1, hour).count_blocked(true).build(),
        ],
    ];
    for [first, second] in pairs {
        let limits = [first.expect("a limit"), second.expect("a limit")];
        let (limiter, now) = (Limiter::new(Memory::new()), 1_700_000_123_456_789);
        let sizes: u64 = limits.iter().map(|limit| limiter.peek_sync(limit, "nobody").expect("an answer").quota).sum();
        let blocked = |turn: usize| {
            let check = Check::new(&limits[turn % 2], "ada");
            limiter.decide_sync_at(&[check], Call::Limit, now).expect("an answer").blocked
        };
        let admitted = (0..1000).filter(|turn| !blocked(*turn)).count() as u64;
        assert!(admitted <= sizes, "{admitted} of {limits:?}");
    }
}
