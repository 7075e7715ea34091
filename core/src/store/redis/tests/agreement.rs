//! The script against the engine: random definitions, random calls, clocks that jump, alone and in batches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::strategies::{KINDS, cost, definition, definition_of, jump, of_each_kind, scale, start, with_key};
use super::{Question, Script};
use crate::Error;
use crate::check::Check;
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::store::remote::Reply;
use crate::time::EXACT;

#[derive(Clone, Copy, Debug)]
enum Drawn {
    Limit,
    Peek,
    Charge,
    Refund,
    /// The charge of an earlier step, or of none.
    Undo(Index),
    Renew(Index),
    Acquire(u64),
    Block(u64),
    /// The units that are left upstream, and the time to wait there.
    Observe(Option<u64>, u64),
}

/// One check: which limit, whose, the cost, what was spent of it, the factor, and whether it is not enforced.
#[derive(Clone, Debug)]
struct Asking {
    limit: Index,
    second_actor: bool,
    cost: u64,
    spent: u64,
    factor: f64,
    observed: bool,
}

/// One call; no checks are a reset of the first limit.
#[derive(Clone, Debug)]
struct Step {
    jump: f64,
    asked: Drawn,
    /// The least part of the cost of the first check that every check takes; 0 = each takes all of its own.
    at_least: u64,
    checks: Vec<Asking>,
}

/// The history of the entries of one namespace.
#[derive(Clone, Debug)]
struct World {
    definitions: Vec<Value>,
    start: u64,
    steps: Vec<Step>,
}

fn asked() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        8 => Just(Drawn::Limit),
        2 => Just(Drawn::Peek),
        2 => Just(Drawn::Charge),
        2 => Just(Drawn::Refund),
        2 => any::<Index>().prop_map(Drawn::Undo),
        2 => any::<Index>().prop_map(Drawn::Renew),
        2 => (proptest::option::of(0_u64..20), prop_oneof![Just(0), 0_u64..10_000_000])
            .prop_map(|(remaining, time)| Drawn::Observe(remaining, time)),
        3 => prop_oneof![Just(0), 0_u64..10_000_000, Just(1 << 50), Just(u64::MAX)].prop_map(Drawn::Acquire),
        1 => prop_oneof![Just(0), 0_u64..10_000_000].prop_map(Drawn::Block),
    ]
}

fn asking(cost: impl Strategy<Value = u64>) -> impl Strategy<Value = Asking> {
    let factor = prop_oneof![4 => Just(1.0), 1 => select(vec![0.0, 0.5, 2.0, 0.3, 0.7, 3.0, 1.7])];
    let spent = prop_oneof![2 => Just(0), 1 => 0_u64..5];
    let observed = proptest::bool::weighted(0.2);
    (any::<Index>(), any::<bool>(), cost, spent, factor, observed).prop_map(
        |(limit, second_actor, cost, spent, factor, observed)| Asking {
            limit,
            second_actor,
            cost,
            spent,
            factor,
            observed,
        },
    )
}

fn steps(cost: BoxedStrategy<u64>, checks: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let checks = prop_oneof![
        40 => proptest::collection::vec(asking(cost), checks),
        1 => Just(Vec::new()),
    ];
    let at_least = prop_oneof![4 => Just(0), 1 => 1_u64..5];
    let step = (jump(), asked(), at_least, checks);
    let step = step.prop_map(|(jump, asked, at_least, checks)| Step { jump, asked, at_least, checks });
    proptest::collection::vec(step, 1..60)
}

/// One limit, one check at a time.
fn single(definition: BoxedStrategy<Value>, cost: BoxedStrategy<u64>) -> impl Strategy<Value = World> {
    let one = (definition, start(), steps(cost, 1..2));
    one.prop_map(|(definition, start, steps)| World { definitions: vec![definition], start, steps })
}

/// Definitions of one key that take turns, of one type or of several.
fn changing(kinds: &'static [&'static str]) -> impl Strategy<Value = World> {
    let definitions = proptest::collection::vec(select(kinds).prop_flat_map(definition_of), 2..4);
    (definitions, start(), steps(cost().boxed(), 1..2)).prop_map(|(definitions, start, steps)| World {
        definitions,
        start,
        steps,
    })
}

/// Several limits, some of which keep different things under one key.
fn several() -> impl Strategy<Value = World> {
    let definitions = proptest::collection::vec((definition(), 0..3_u32), 1..5);
    (definitions, start(), steps(cost().boxed(), 1..5)).prop_map(|(definitions, start, steps)| {
        let named = |(definition, key): (Value, u32)| with_key(definition, &format!("k{key}"));
        World { definitions: definitions.into_iter().map(named).collect(), start, steps }
    })
}

/// Limits as large as they may be.
fn large() -> BoxedStrategy<Value> {
    let count = || prop_oneof![Just(1_000_000_000_000_u64), Just(999), Just(1000), Just(1001), 1_u64..10_000_000];
    let period = || select(vec![0.001, 1.0, 1000.0, 86_400_000.0]);
    let bucket = (count(), period(), count())
        .prop_map(|(size, rate, drip)| json!({ "type": "bucket", "size": size, "dripRate": rate, "dripSize": drip }));
    let token = (count(), period(), count()).prop_map(
        |(count, period, burst)| json!({ "type": "token-bucket", "count": count, "period": period, "burst": burst }),
    );
    let window = (count(), period(), any::<bool>()).prop_map(|(max, period, blocked)| {
        json!({ "type": "sliding-window", "max": max, "period": period, "resolution": period / 10.0, "countBlocked": blocked })
    });
    let counter = (count(), period())
        .prop_map(|(max, period)| json!({ "type": "sliding-counter", "max": max, "period": period }));
    let log = (count(), period(), any::<bool>()).prop_map(|(max, period, blocked)| {
        json!({ "type": "sliding-log", "max": max, "period": period, "countBlocked": blocked })
    });
    let decay = (count(), 1.0001..3.0, period()).prop_map(
        |(max, factor, period)| json!({ "type": "decay", "max": max, "decayFactor": factor, "resolution": period }),
    );
    let smooth = (0.001..1e9, period(), prop_oneof![Just(0.0), period()]).prop_map(
        |(rate, burst, warmup)| json!({ "type": "smooth", "rate": rate, "maxBurst": burst, "warmup": warmup }),
    );
    prop_oneof![bucket, token, window, counter, log, decay, smooth]
        .prop_map(|definition| with_key(definition, "k"))
        .prop_filter("refused", |definition| Limit::from_json(&definition.to_string()).is_ok())
        .boxed()
}

fn large_cost() -> BoxedStrategy<u64> {
    let bits = (0_u32..53, any::<u64>()).prop_map(|(bits, number)| number & ((2 << bits) - 1));
    prop_oneof![4 => cost(), 4 => 900_u64..1100, 4 => bits, 1 => select(vec![EXACT / 2, EXACT - 1, EXACT, EXACT / 4])]
        .prop_map(|cost| cost.min(EXACT))
        .boxed()
}

/// The clock after a jump by a share of the definition's own times.
fn moved(now: u64, jump: f64, definition: &Value) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
    let by = (jump * scale(definition)) as i64;
    now.saturating_add_signed(by).min(1 << 52)
}

/// A step as it is asked of the script, with what the engine answers; nothing to a reset.
struct Played<'a> {
    question: Question,
    step: &'a Step,
    now: u64,
    want: Option<Result<LimitInfo, String>>,
}

impl World {
    fn play(&self) -> Vec<Played<'_>> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let namespace = format!("world-{}", WORLDS.fetch_add(1, Ordering::Relaxed));
        let parse = |definition: &Value| Limit::from_json(&definition.to_string()).expect("a sound definition");
        let limits: Vec<_> = self.definitions.iter().map(parse).collect();
        let limiter = Limiter::new(Memory::new());
        let (mut now, mut instants) = (self.start, vec![self.start]);
        let mut played = Vec::new();
        for step in &self.steps {
            now = moved(now, step.jump, &self.definitions[0]);
            if step.checks.is_empty() {
                limiter.reset_sync(&limits[0], "ada").expect("a reset");
                let question = Question::forget(&namespace, &limits[0], "ada");
                played.push(Played { question, step, now, want: None });
                continue;
            }
            let call = match step.asked {
                Drawn::Limit => Call::Limit,
                Drawn::Peek => Call::Peek,
                Drawn::Charge => Call::Charge,
                Drawn::Refund => Call::Refund,
                Drawn::Undo(of) => Call::Undo { charged_at: *of.get(&instants) },
                Drawn::Renew(of) => Call::Renew { charged_at: *of.get(&instants) },
                Drawn::Observe(remaining, time) => {
                    Call::Observe { remaining, retry_after: Some(Duration::from_micros(time)) }
                }
                Drawn::Acquire(max_wait) => Call::Acquire { max_wait: Duration::from_micros(max_wait) },
                Drawn::Block(time) => Call::Block { time: Duration::from_micros(time) },
            };
            instants.push(now);
            let check = |asking: &Asking| {
                let check = Check::new(asking.limit.get(&limits), if asking.second_actor { "bob" } else { "ada" });
                let check = check.cost(asking.cost).spent(asking.spent).factor(asking.factor);
                // Some were charged at an instant of their own.
                let own = (asking.spent % 2 == 1).then(|| *asking.limit.get(&instants));
                Check { charged_at: own, observed: asking.observed, ..check }
            };
            let mut checks: Vec<_> = step.checks.iter().map(check).collect();
            if let Call::Observe { remaining, .. } = call {
                for check in &mut checks {
                    *check = check.cost(remaining.unwrap_or(1 << 40));
                }
            }
            if step.at_least > 0 && matches!(call, Call::Limit | Call::Peek) {
                let cost = checks[0].cost.max(step.at_least);
                for check in &mut checks {
                    *check = check.cost(cost).at_least(step.at_least);
                }
            }
            if checks.iter().any(|check| check.limit.rules(check.factor).is_err()) {
                // Scaled, it would be larger than a limit may be.
                continue;
            }
            let want = match limiter.decide_sync_at(&checks, call, now) {
                // Two definitions or two factors of one entry, which no store is asked about.
                Err(Error::Limit(error))
                    if ["limits", "factor", "atLeast", "type", "blockFor"].contains(&error.field()) =>
                {
                    continue;
                }
                answer => answer.map_err(|error| error.to_string()),
            };
            let question = Question::new(&namespace, &checks, call, Some(now));
            played.push(Played { question, step, now, want: Some(want) });
        }
        played
    }
}

/// The same answers, whether each decision travels alone or with others, about other entries or the same.
fn agree(script: &mut Script, world: &World, sizes: &[usize]) -> Result<(), TestCaseError> {
    let (mut sent, mut expected) = (Vec::new(), Vec::new());
    for played in world.play() {
        match &played.question.decision {
            Ok(decision) => {
                sent.push(decision.clone());
                expected.push(played);
            }
            Err((part, why)) => {
                let refusal = Some(Err(played.question.refusal(*part, *why).to_string()));
                prop_assert_eq!(refusal, played.want, "{:?} at {}", played.step, played.now);
            }
        }
    }
    let (mut batches, mut rest) = (Vec::new(), &sent[..]);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (batch, others) = rest.split_at(rest.len().min(*size));
        batches.push(batch);
        rest = others;
    }
    let outcomes = script.decide_batches(&batches);
    let outcomes = outcomes.map_err(|_| TestCaseError::fail("an answer that makes no sense"))?;
    for (Played { question, step, now, want }, outcome) in expected.iter().zip(&outcomes) {
        if want.is_some() {
            let got = question.answer(outcome).map_err(|error| error.to_string());
            prop_assert_eq!(&Some(got), want, "{:?} at {}", step, now);
        }
    }
    Ok(())
}

fn hold(cases: u32, worlds: impl Strategy<Value = World>) {
    let mut script = Script::start();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let sizes = proptest::collection::vec(prop_oneof![Just(1_usize), 1_usize..20], 1..5);
    let script = std::cell::RefCell::new(&mut script);
    let held =
        TestRunner::new(config).run(&(worlds, sizes), |(world, sizes)| agree(&mut script.borrow_mut(), &world, &sizes));
    if let Err(error) = held {
        panic!("{error}");
    }
}

macro_rules! agreement {
    ($($test:ident $kind:literal)*) => {$(
        #[test]
        fn $test() {
            hold(300, single(definition_of($kind), cost().boxed()));
        }
    )*};
}

of_each_kind!(agreement);

#[test]
fn levels_that_change() {
    hold(500, changing(&["bucket", "token-bucket", "fixed-window", "legacy"]));
}

#[test]
fn slots_that_change() {
    hold(300, changing(&["sliding-window"]));
}

#[test]
fn counters_that_change() {
    hold(300, changing(&["sliding-counter"]));
}

#[test]
fn logs_that_change() {
    hold(300, changing(&["sliding-log"]));
}

#[test]
fn decay_that_changes() {
    hold(300, changing(&["decay"]));
}

#[test]
fn pacing_that_changes() {
    hold(300, changing(&["smooth"]));
}

#[test]
fn held_units_that_change() {
    hold(500, changing(&["concurrency"]));
}

#[test]
fn shapes_that_change() {
    hold(300, changing(KINDS));
}

/// The commonest call goes a way of its own, by the server's clock alone.
#[test]
fn the_servers_own_clock() {
    let mut script = Script::start();
    let fast = || prop_oneof![Just(1.0), (1_u32..40).prop_map(|tenths| f64::from(tenths) / 10.0)];
    let definition = prop_oneof![
        (1_u32..30, fast(), 1_u32..9).prop_map(
            |(size, rate, drip)| json!({ "type": "bucket", "size": size, "dripRate": rate.ceil(), "dripSize": drip })
        ),
        (1_u32..999, fast(), 1_u32..30).prop_map(
            |(count, period, burst)| json!({ "type": "token-bucket", "count": count, "period": period, "burst": burst })
        ),
        (1_u32..30, fast(), select(vec!["epoch", "first-request"])).prop_map(
            |(max, period, anchor)| json!({ "type": "fixed-window", "max": max, "period": period, "anchor": anchor })
        ),
    ];
    // With another definition, an entry may expire that this one would not find empty.
    let definition = definition.prop_map(|definition| with_key(definition, "k"));
    let step = (prop_oneof![5 => Just(None), 1 => asked().prop_map(Some)], cost(), 0_u64..3000);
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let (script, worlds) = (std::cell::RefCell::new(&mut script), AtomicU64::new(0));
    let steps = proptest::collection::vec(step, 1..40);
    let held = TestRunner::new(config).run(&(definition, steps), |(definition, steps)| {
        let limit = Limit::from_json(&definition.to_string()).expect("a sound definition");
        let (limiter, mut at) = (Limiter::new(Memory::new()), 0);
        let namespace = format!("clock-{}", worlds.fetch_add(1, Ordering::Relaxed));
        for (asked, cost, pause) in steps {
            let call = match asked {
                None | Some(Drawn::Limit) => Call::Limit,
                Some(Drawn::Peek | Drawn::Block(_)) => Call::Peek,
                Some(Drawn::Charge) => Call::Charge,
                Some(Drawn::Refund) => Call::Refund,
                Some(Drawn::Undo(_) | Drawn::Renew(_)) => Call::Undo { charged_at: at },
                Some(Drawn::Observe(_, time)) => {
                    let retry_after = Some(Duration::from_micros(time.min(5000)));
                    Call::Observe { remaining: Some(cost), retry_after }
                }
                Some(Drawn::Acquire(max_wait)) => Call::Acquire { max_wait: Duration::from_micros(max_wait.min(5000)) },
            };
            std::thread::sleep(Duration::from_micros(if pause > 2000 { pause } else { 0 }));
            let check = [Check::new(&limit, "ada").cost(cost)];
            let question = Question::new(&namespace, &check, call, None);
            let Ok(decision) = &question.decision else { continue };
            let outcome = script.borrow_mut().decide(decision);
            let Reply::Decided { now, .. } = outcome else { continue };
            if now < at {
                // The clock was set back: what has expired before is still there to memory.
                break;
            }
            at = now;
            let want = limiter.decide_sync_at(&check, call, now).map_err(|error| error.to_string());
            let got = question.answer(&outcome).map_err(|error| error.to_string());
            prop_assert_eq!(got, want, "{:?} of {} in {:?}", call, cost, check);
        }
        Ok(())
    });
    if let Err(error) = held {
        panic!("{error}");
    }
}

#[test]
fn several_limits() {
    hold(800, several());
}

#[test]
fn large_limits() {
    hold(800, single(large(), large_cost()));
}
