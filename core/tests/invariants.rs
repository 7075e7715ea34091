//! The promises of every limit type, each as a property of its own, held against the engine alone.

use crate::strategies::{cost, definition_of, definition_without_block, of_each_kind, scale, start, step};
use proptest::prelude::*;
use serde_json::Value;
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory, State};

/// The end of 2099. A clock that is wrong by 90 years after it is still one that the engine can tell.
const LAST: u64 = 4_102_444_799_999_999;

/// An entry at some instant, decided purely.
#[derive(Clone)]
struct Entry {
    limit: Limit,
    state: State,
    now: u64,
}

impl Entry {
    /// Calls `limit`, and now and then `charge` and `refund`, as the clock moves forwards: by years, where those are windows.
    fn with_history(definition: &Value, start: u64, history: &[(f64, u64, u8)]) -> Self {
        let limit = Limit::from_json(&definition.to_string()).expect("a sound definition");
        let mut entry = Self { limit, state: State::default(), now: start };
        for (share, cost, which) in history {
            entry.now = LAST.min(entry.now + micros(share * scale(definition)));
            let call = match which {
                0 => Call::Charge,
                1 => Call::Refund,
                _ => Call::Limit,
            };
            entry.ask(call, *cost);
        }
        entry
    }

    /// The answer, unless the cost is more than is ever admitted; the entry is then as the call left it.
    fn ask(&mut self, call: Call, cost: u64) -> Option<LimitInfo> {
        let (info, state) = self.limit.decide_with(self.state.clone(), self.now, call, cost, 1.0).ok()?;
        self.state = state;
        Some(info)
    }

    fn after(&self, micros: u64) -> Self {
        Self { now: self.now + micros, ..self.clone() }
    }

    fn peek_after(&self, micros: u64, cost: u64) -> LimitInfo {
        self.after(micros).ask(Call::Peek, cost).expect("a cost that was asked about before")
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^63")]
fn micros(span: f64) -> u64 {
    span as u64
}

fn history() -> impl Strategy<Value = Vec<(f64, u64, u8)>> {
    proptest::collection::vec((step(), cost(), 0_u8..12), 1..30)
}

/// Once its full reset has passed, an entry may be dropped without a trace.
fn absent_is_empty(mut entry: Entry, later: &[(f64, u64, u8)], scale: f64) -> Result<(), TestCaseError> {
    let full = entry.peek_after(0, 0).full_reset_ms;
    entry.now += full * 1000;
    let mut dropped = Entry { state: State::default(), ..entry.clone() };
    for (share, cost, which) in later {
        let call = if *which == 0 { Call::Refund } else { Call::Limit };
        prop_assert_eq!(entry.ask(call, *cost), dropped.ask(call, *cost));
        entry.now += micros(share * scale);
        dropped.now = entry.now;
    }
    Ok(())
}

/// Denied with a reset of R, the same call is denied until the last microsecond of R, and admitted after it.
fn a_denial_is_tight(entry: &Entry, cost: u64) -> Result<(), TestCaseError> {
    let Some(denied) = entry.after(0).ask(Call::Peek, cost).filter(|info| info.blocked) else { return Ok(()) };
    prop_assert!(denied.reset_ms > 0);
    // R is in the last millisecond of what was answered; look where in it the denials end.
    let (mut before, mut after) = ((denied.reset_ms - 1) * 1000, denied.reset_ms * 1000);
    prop_assert!(entry.peek_after(before, cost).blocked);
    prop_assert!(!entry.peek_after(after, cost).blocked);
    while after - before > 1 {
        let middle = before.midpoint(after);
        if entry.peek_after(middle, cost).blocked { before = middle } else { after = middle }
    }
    // And all the way there, every answer counts down to that very microsecond.
    let reset = after;
    for left in [1, 2, 999, 1000, 1001, 2000, 2001, reset / 2, reset - 1, reset] {
        if (1..=reset).contains(&left) {
            let info = entry.peek_after(reset - left, cost);
            prop_assert!(info.blocked, "{} us before {}", left, reset);
            prop_assert_eq!(info.reset_ms, left.div_ceil(1000), "{} us before {}", left, reset);
        }
    }
    Ok(())
}

/// A denied call leaves the entry as it was, unless the limit counts blocked calls: then it is charged like any other.
fn a_denial_costs_nothing(entry: &Entry, cost: u64, counts_blocked: bool) -> Result<(), TestCaseError> {
    let (mut asked, mut charged) = (entry.clone(), entry.clone());
    if asked.ask(Call::Limit, cost).is_none_or(|info| !info.blocked) {
        return Ok(());
    }
    if counts_blocked {
        charged.ask(Call::Charge, cost);
        prop_assert_eq!(asked.state, charged.state);
    } else {
        prop_assert_eq!(asked.state, entry.state.clone());
    }
    Ok(())
}

/// A clock that steps back drains nothing and fills nothing: the call is judged as at the entry's own time.
fn time_never_runs_backwards(mut entry: Entry, back: u64) -> Result<(), TestCaseError> {
    // Units that are held cannot be charged.
    let charged = entry.ask(Call::Charge, 1).or_else(|| entry.ask(Call::Limit, 1)).expect("a charge of one");
    // Further back, the entry would be from a future that cannot be. The shortest window of a calendar has more than four
    // fifths of the longest.
    let window = charged.checks().iter().map(|check| check.window_ms / 5 * 4).min().unwrap_or(0);
    let back =
        back.min(charged.full_reset_ms.saturating_sub(1) * 1000).min(window.saturating_sub(1) * 1000).min(entry.now);
    let then = Entry { now: entry.now - back, ..entry.clone() };
    let (now, then) = (entry.peek_after(0, 1), then.peek_after(0, 1));
    prop_assert!(then.remaining <= now.remaining);
    prop_assert!(then.blocked || !now.blocked);
    // What was to come at an instant comes at that instant still, by either clock.
    let until_then = |info: &LimitInfo, now: u64| now + info.full_reset_ms * 1000;
    let (of_now, of_then) = (until_then(&now, entry.now), until_then(&then, entry.now - back));
    prop_assert!(of_then.abs_diff(of_now) < 1000, "{} and {}", of_now, of_then);
    Ok(())
}

/// After a clock that was wrong, the entry is mended: no call has to wait for that clock's time to come.
fn a_wrong_clock_is_forgotten(mut entry: Entry, cost: u64, years: u64) -> Result<(), TestCaseError> {
    let (right, drains_in) = (entry.now, entry.peek_after(0, 0).full_reset_ms);
    entry.now += years * 31_557_600_000_000;
    entry.ask(Call::Limit, cost);
    let drains_in = drains_in.max(entry.peek_after(0, 0).full_reset_ms);
    entry.now = right;
    entry.ask(Call::Limit, 1);
    let full = entry.peek_after(0, 0);
    let window = full.checks().iter().map(|check| check.window_ms).max().unwrap_or(0);
    prop_assert!(full.full_reset_ms <= 2 * drains_in.max(window), "{} ms", full.full_reset_ms);
    Ok(())
}

/// Three times the same check in one decision is one check of three times the cost, charged as a whole or not at all.
fn all_or_nothing(definition: &Value, start: u64, history: &[(f64, u64, u8)]) -> Result<(), TestCaseError> {
    let limit = Limit::from_json(&definition.to_string()).expect("a sound definition");
    let (other, limiter) = (Limit::bucket("other", 3).build().expect("a bucket"), Limiter::new(Memory::new()));
    let counts_blocked = definition["countBlocked"] == true;
    let mut now = start;
    for (share, cost, which) in history {
        now += micros(share * scale(definition));
        let thrice = || Check::new(&limit, "thrice").cost(*cost);
        let checks = [thrice(), thrice(), thrice(), Check::new(&other, "x").cost(u64::from(*which % 3))];
        let look = || checks.map(|check| limiter.decide_sync_at(&[check], Call::Peek, now).ok());
        let (before, said) = (look(), limiter.decide_sync_at(&checks, Call::Peek, now).ok());
        let once = Check::new(&limit, "thrice").cost(3 * cost);
        let fits = limiter.decide_sync_at(&[once], Call::Peek, now).ok();
        let got = limiter.decide_sync_at(&checks, Call::Limit, now).ok();
        prop_assert_eq!(got.as_ref().map(|info| info.blocked), said.map(|info| info.blocked));
        match got {
            Some(info) if !info.blocked => {
                prop_assert!(fits.is_some_and(|fits| !fits.blocked));
                prop_assert_eq!(
                    info.binding(),
                    info.checks().iter().position(|check| check.remaining == info.remaining).expect("it")
                );
            }
            Some(_) if counts_blocked => {}
            _ => prop_assert_eq!(before, look()),
        }
    }
    Ok(())
}

// A denial that blocks does leave something behind, by intent: those are left out where nothing may change.
macro_rules! invariants {
    ($($kind:ident $name:literal)*) => { $(mod $kind {
        use super::*;

        proptest! {
            #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn absent_is_empty((definition, start, history, later) in (definition_of($name), start(), history(), history())) {
                super::absent_is_empty(Entry::with_history(&definition, start, &history), &later, scale(&definition))?;
            }

            #[test]
            fn a_denial_is_tight((definition, start, history, cost) in (definition_of($name), start(), history(), cost())) {
                super::a_denial_is_tight(&Entry::with_history(&definition, start, &history), cost)?;
            }

            #[test]
            fn a_denial_costs_nothing((definition, start, history, cost) in (definition_without_block($name), start(), history(), cost())) {
                let counts_blocked = definition["countBlocked"] == true;
                super::a_denial_costs_nothing(&Entry::with_history(&definition, start, &history), cost, counts_blocked)?;
            }

            #[test]
            fn time_never_runs_backwards((definition, start, history, back) in (definition_without_block($name), start(), history(), step())) {
                let back = micros(back * scale(&definition));
                super::time_never_runs_backwards(Entry::with_history(&definition, start, &history), back)?;
            }

            #[test]
            fn a_wrong_clock_is_forgotten((definition, start, history, cost) in (definition_without_block($name), start(), history(), cost())) {
                // Permits that are paced may have been promised for years ahead: that is no wrong clock.
                if $name != "smooth" {
                    super::a_wrong_clock_is_forgotten(Entry::with_history(&definition, start, &history), cost, 90)?;
                }
            }

            #[test]
            fn all_or_nothing((definition, start, history) in (definition_without_block($name), start(), history())) {
                super::all_or_nothing(&definition, start, &history)?;
            }
        }
    })* };
}

of_each_kind!(invariants);
