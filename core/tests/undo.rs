//! An undo leaves what would be left, had the call charged only what was spent; what was spent beyond is charged.

use std::time::Duration;

use crate::strategies::{cost, definition_of, definition_without_block, of_each_kind, scale, start, step};
use proptest::prelude::*;
use serde_json::Value;
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory};

/// One actor of one limit, in a store of its own.
struct World {
    limiter: Limiter,
    limit: Limit,
    charge: Call,
}

/// Units are held instead of spent: none is charged beyond what fits.
fn holds(definition: &Value) -> bool {
    definition["type"] == "concurrency"
}

impl World {
    fn new(definition: &Value) -> Self {
        let mut definition = definition.clone();
        if holds(&definition) {
            definition["max"] = 1000.into();
        }
        let limit = Limit::from_json(&definition.to_string()).expect("a sound definition");
        let charge = if holds(&definition) { Call::Limit } else { Call::Charge };
        Self { limiter: Limiter::new(Memory::new()), limit, charge }
    }

    fn check(&self, cost: u64) -> Check<'_> {
        Check::new(&self.limit, "ada").cost(cost)
    }

    fn ask(&self, checks: &[Check<'_>], call: Call, now: u64) -> LimitInfo {
        self.limiter.decide_sync_at(checks, call, now).expect("an answer")
    }

    fn charge(&self, cost: u64, now: u64) {
        self.ask(&[self.check(cost)], self.charge, now);
    }

    fn left(&self, now: u64) -> LimitInfo {
        self.ask(&[self.check(0)], Call::Peek, now)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^63")]
fn after(now: u64, share: f64, definition: &Value) -> u64 {
    now + (share * scale(definition)) as u64
}

/// The units that a call is charged, and those that it turns out to have spent: more than that at times.
fn settled() -> impl Strategy<Value = (u64, u64)> {
    (0_u64..40).prop_flat_map(|cost| (Just(cost), 0..=cost + 2))
}

/// A charge beyond a log's limit pushes older instants out, and they do not come back.
fn uncrowded(definition: &Value) -> Value {
    let mut definition = definition.clone();
    if definition["type"] == "sliding-log" {
        definition["max"] = 1000.into();
    }
    definition
}

/// Alone in its entry, a call that is settled later leaves exactly what its actual cost would have left. A block stays,
/// so none of these limits blocks.
fn alone(definition: &Value, start: u64, share: f64, (cost, spent): (u64, u64)) -> Result<(), TestCaseError> {
    let definition = &uncrowded(definition);
    let spent = if holds(definition) { spent.min(cost) } else { spent };
    let (settled, known) = (World::new(definition), World::new(definition));
    settled.charge(cost, start);
    known.charge(spent.min(cost), start);
    let now = after(start, share, definition);
    known.charge(spent.saturating_sub(cost), now);
    settled.ask(&[settled.check(cost).spent(spent)], Call::Undo { charged_at: start }, now);
    let (settled, known) = (settled.left(now), known.left(now));
    let what = format!("{spent} of {cost} after {} us", now - start);
    if definition["type"] == "decay" {
        // A difference of two doubles may be a trace more or less than a whole unit.
        prop_assert!(settled.remaining.abs_diff(known.remaining) <= 1, "{}", what);
        return Ok(());
    }
    prop_assert_eq!(settled.remaining, known.remaining, "{}", &what);
    prop_assert_eq!(settled.full_reset_ms, known.full_reset_ms, "{}", &what);
    Ok(())
}

/// Among other calls, it leaves no less room than if all had been charged and no more than if only what was spent had.
fn among_others(
    definition: &Value,
    start: u64,
    history: &[(f64, u64)],
    (cost, spent): (u64, u64),
    later: &[(f64, u64)],
) -> Result<(), TestCaseError> {
    let definition = uncrowded(definition);
    let worlds = [cost, cost, spent.min(cost)].map(|cost| (World::new(&definition), cost));
    let mut now = start;
    for (share, others) in history {
        now = after(now, *share, &definition);
        for (world, _) in &worlds {
            world.charge(*others, now);
        }
    }
    let charged_at = now;
    for (world, cost) in &worlds {
        world.charge(*cost, now);
    }
    for (share, others) in later {
        now = after(now, *share, &definition);
        for (world, _) in &worlds {
            world.charge(*others, now);
        }
    }
    let [(whole, _), (undone, _), (known, _)] = worlds;
    undone.ask(&[undone.check(cost).spent(spent.min(cost))], Call::Undo { charged_at }, now);
    let [whole, undone, known] = [whole, undone, known].map(|world| world.left(now));
    prop_assert!(whole.remaining <= undone.remaining, "{} was free before", whole.remaining);
    // A trace of a decaying count, or of a stored permit, may round to either side of a whole unit.
    let rounding = u64::from(definition["type"] == "decay" || definition["type"] == "smooth");
    // A window that is empty sooner may start later, so that a smaller charge can leave less room in the end.
    let free = known.remaining.max(whole.remaining) + rounding;
    // A block that the smaller charges have closed, or closed later, leaves no room at all.
    let may_be_closed = definition.get("blockFor").is_some();
    prop_assert!(may_be_closed || undone.remaining <= free, "{} ought to be free", free);
    Ok(())
}

/// Two checks of one entry in one decision are undone as one check of both their costs is.
fn twice(
    definition: &Value,
    start: u64,
    share: f64,
    first: (u64, u64),
    second: (u64, u64),
    other: u64,
) -> Result<(), TestCaseError> {
    let (two, one) = (World::new(definition), World::new(definition));
    let bounded = |(cost, spent): (u64, u64)| (cost, if holds(definition) { spent.min(cost) } else { spent });
    let (first, second) = (bounded(first), bounded(second));
    let both = first.0 + second.0;
    let spent = first.1 + second.1;
    two.charge(both, start);
    one.charge(both, start);
    let (now, undo) = (after(start, share, definition), Call::Undo { charged_at: start });
    two.charge(other, now);
    one.charge(other, now);
    two.ask(&[two.check(first.0).spent(first.1), two.check(second.0).spent(second.1)], undo, now);
    one.ask(&[one.check(both).spent(spent)], undo, now);
    prop_assert_eq!(two.left(now), one.left(now));
    Ok(())
}

/// Charges of other calls, at shares of a definition's own times.
fn others() -> impl Strategy<Value = Vec<(f64, u64)>> {
    proptest::collection::vec((step(), cost()), 0..6)
}

macro_rules! undoes {
    ($($kind:ident $name:literal)*) => { $(mod $kind {
        use super::*;

        proptest! {
            #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn alone((definition, start, share, cost) in (definition_without_block($name), start(), step(), settled())) {
                // What was waited for a permit is not given back, nor is it known when permits began to come back.
                if $name != "smooth" {
                    super::alone(&definition, start, share, cost)?;
                }
            }

            #[test]
            fn among_others(
                (definition, start) in (definition_without_block($name), start()),
                (history, cost, later) in (others(), settled(), others()),
            ) {
                super::among_others(&definition, start, &history, cost, &later)?;
            }

            #[test]
            fn among_others_beside_a_block(
                (definition, start) in (definition_of($name), start()),
                (history, cost, later) in (others(), settled(), others()),
            ) {
                super::among_others(&definition, start, &history, cost, &later)?;
            }

            #[test]
            fn twice(
                (definition, start, share) in (definition_of($name), start(), step()),
                (first, second, other) in (settled(), settled(), cost()),
            ) {
                super::twice(&definition, start, share, first, second, other)?;
            }
        }
    })* };
}

of_each_kind!(undoes);

/// Permits that are stored more slowly than calls are let through: what was owed has been waited for, and what a later
/// call owes stays.
#[test]
fn a_cold_smooth_limit_keeps_what_a_later_call_owes() {
    let definition = serde_json::json!({
        "key": "k", "type": "smooth", "rate": 0.5, "maxBurst": 1000, "warmup": 2316, "coldFactor": 4.5,
    });
    let (world, start) = (World::new(&definition), 1_000_000_000_000_000);
    let now = start + 60_000_000;
    world.charge(29, start);
    world.charge(1, now);
    let before = world.left(now);
    assert_eq!(before.reset_ms, 2000);
    world.ask(&[world.check(29).spent(0)], Call::Undo { charged_at: start }, now);
    assert_eq!(world.left(now), before);
}

/// An instant's units that had to make room for newer ones have not drained: what was not spent of the others goes.
#[test]
fn a_crowded_log_gives_back_what_is_kept() {
    let definition = serde_json::json!({ "key": "k", "type": "sliding-log", "max": 10, "period": 60_000 });
    let (world, start) = (World::new(&definition), 1_700_000_000_000_000);
    world.charge(10, start);
    world.charge(5, start + 1);
    world.ask(&[world.check(10).spent(3)], Call::Undo { charged_at: start }, start + 2);
    assert_eq!(world.left(start + 2).remaining, 5);
    // A charge beyond the limit is kept up to the limit.
    let later = start + 100_000_000;
    world.charge(50, later);
    world.ask(&[world.check(50).spent(45)], Call::Undo { charged_at: later }, later + 2);
    assert_eq!(world.left(later + 2).remaining, 5);
}

#[test]
fn what_was_spent_beyond_measure_is_refused_and_may_be_settled_again() {
    let limiter = Limiter::new(Memory::new());
    let limit = Limit::bucket("tokens", 10).drip_rate(Duration::from_hours(1)).build().expect("a bucket");
    let checks = [Check::new(&limit, "ada")];
    let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    let receipt = limiter.receipt(&checks, Call::Limit, &info);
    let refused = receipt.settle_sync(&[1 << 52]).expect_err("more than is exact").to_string();
    assert!(refused.contains("tokens") && refused.contains("cost"), "{refused}");
    assert_eq!(limiter.peek_sync(&limit, "ada").expect("an answer").remaining, 9);
    assert_eq!(receipt.settle_sync(&[3]).expect("it is still open").remaining, 7);
}

#[test]
fn a_log_whose_clock_was_set_back_says_when_it_was_charged() {
    const LATER: u64 = 1_700_000_000_000_000;
    let limiter = Limiter::new(Memory::new());
    let limit = Limit::sliding_log("log", 3, Duration::from_mins(1)).build().expect("a log");
    let checks = [Check::new(&limit, "ada")];
    let ask = |now| limiter.decide_sync_at(&checks, Call::Limit, now).expect("an answer");
    ask(LATER);
    let info = ask(LATER - 1_000_000);
    assert_eq!((info.at, info.remaining), (LATER, 1));
    let receipt = limiter.receipt(&checks, Call::Limit, &info);
    assert_eq!(receipt.settle_sync_at(&[0], LATER - 500_000).expect("an answer").remaining, 2);
}

/// Three units leave in each second, evenly: after 0.4 s one of two has left, and the other one is given back.
#[test]
fn what_is_left_in_the_middle_of_a_group_can_be_given_back() {
    let world =
        World::new(&serde_json::json!({ "type": "token-bucket", "key": "k", "count": 3, "period": 1000, "burst": 5 }));
    let start = 1_700_000_000_000_000;
    world.charge(2, start);
    assert_eq!(world.left(start + 400_000).remaining, 4);
    world.ask(&[world.check(1)], Call::Refund, start + 400_000);
    assert_eq!(world.left(start + 400_000).remaining, 5);
    assert_eq!(world.left(start + 100_000).remaining, 5, "nothing is there any more, wherever the clock is set");
}
