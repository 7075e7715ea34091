//! The engine against the oracle: random definitions, random calls, clocks that jump.

use std::time::Duration;

use crate::oracle::{Answer, Asked, Decided, Oracle};
use crate::strategies::{KINDS, cost, definition, definition_of, jump, of_each_kind, scale, start, with_key};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory, State};

/// One call of a history; `None` forgets the entry.
#[derive(Clone, Debug)]
struct Step {
    jump: f64,
    call: Option<(Asked, u64)>,
    factor: f64,
    which: Index,
}

fn factor() -> impl Strategy<Value = f64> {
    select(vec![1.0, 1.0, 0.5, 2.0, 0.3, 0.7, 3.0])
}

fn call() -> impl Strategy<Value = Asked> {
    prop_oneof![
        8 => Just(Asked::Limit),
        2 => Just(Asked::Peek),
        2 => Just(Asked::Charge),
        2 => Just(Asked::Refund),
        3 => prop_oneof![Just(0), 0_i128..10_000_000, Just(1 << 50)].prop_map(Asked::Acquire),
        1 => prop_oneof![Just(0), 0_i128..10_000_000].prop_map(Asked::Block),
    ]
}

/// A history of an actor whose factor changes now and then.
fn history() -> impl Strategy<Value = Vec<Step>> {
    let asked = prop_oneof![30 => (call(), cost()).prop_map(Some), 1 => Just(None)];
    let changed = prop_oneof![4 => Just(None), 1 => factor().prop_map(Some)];
    (factor(), proptest::collection::vec((jump(), asked, changed, any::<Index>()), 1..60)).prop_map(|(usual, steps)| {
        let step = |(jump, call, changed, which): (f64, _, Option<f64>, _)| Step {
            jump,
            call,
            factor: changed.unwrap_or(usual),
            which,
        };
        steps.into_iter().map(step).collect()
    })
}

fn engine_call(call: Asked) -> Call {
    match call {
        Asked::Limit => Call::Limit,
        Asked::Peek => Call::Peek,
        Asked::Charge => Call::Charge,
        Asked::Refund => Call::Refund,
        Asked::Block(time) => Call::Block { time: Duration::from_micros(time.try_into().expect("a time")) },
        Asked::Acquire(max_wait) => {
            Call::Acquire { max_wait: Duration::from_micros(u64::try_from(max_wait).expect("a wait")) }
        }
    }
}

fn answer(info: &LimitInfo) -> Answer {
    Answer {
        blocked: info.blocked,
        remaining: info.remaining.into(),
        reset_ms: info.reset_ms.into(),
        full_reset_ms: info.full_reset_ms.into(),
        wait_ms: info.wait_ms.into(),
    }
}

fn decided(info: &LimitInfo) -> Decided {
    Decided { merged: answer(info), each: info.checks().iter().map(answer).collect(), binding: info.binding() }
}

/// The clock after a jump by a share of the definition's own times.
fn moved(now: u64, jump: f64, definition: &Value) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
    let by = (jump * scale(definition)) as i64;
    now.saturating_add_signed(by).min(1 << 52)
}

fn limit(definition: &Value) -> Limit {
    Limit::from_json(&definition.to_string()).expect("a sound definition")
}

/// A store in memory that processes share, to decide the same beside the one in memory; where there is none, one more in
/// memory.
struct Twin(Limiter);

#[cfg(all(feature = "shm", target_os = "linux"))]
impl Twin {
    fn new() -> Self {
        thread_local! {
            static TABLE: Limiter = crate::shared::fresh(1000);
        }
        Self(TABLE.with(Limiter::clone))
    }

    fn len(&self) -> usize {
        usize::try_from(self.0.stats().entries).expect("a small number")
    }
}

#[cfg(all(feature = "shm", target_os = "linux"))]
impl Drop for Twin {
    fn drop(&mut self) {
        let damage = tidegate::ffi::check_shared(&self.0);
        assert!(std::thread::panicking() || damage == Ok(Vec::new()), "{damage:?}");
        self.0.clear_sync().expect("it is empty");
    }
}

#[cfg(not(all(feature = "shm", target_os = "linux")))]
impl Twin {
    fn new() -> Self {
        Self(Limiter::new(Memory::new()))
    }

    fn len(&self) -> usize {
        self.0.memory().len()
    }
}

/// The memory store, the pure function and the oracle agree on every field of every answer, and on what they keep,
/// whichever of the definitions decides.
fn agree(definitions: &[Value], start: u64, history: Vec<Step>) -> Result<(), TestCaseError> {
    let limits: Vec<_> = definitions.iter().map(limit).collect();
    let limiter = Limiter::new(Memory::new());
    let (twin, mut state, mut oracle, mut now) = (Twin::new(), State::default(), Oracle::default(), start);
    for Step { jump, call, factor, which } in history {
        let (limit, definition) = (which.get(&limits), which.get(definitions));
        now = moved(now, jump, definition);
        let Some((asked, cost)) = call else {
            limiter.reset_sync(limit, "ada").expect("a reset");
            twin.0.reset_sync(limit, "ada").expect("a reset");
            oracle.reset(definition, "ada");
            state = State::default();
            continue;
        };
        let call = engine_call(asked);
        let check = crate::oracle::Check { wire: definition, actor: "ada", cost, factor };
        let want = oracle.decide(&[check], asked, now.into()).ok();
        let checks = [Check::new(limit, "ada").cost(cost).factor(factor)];
        let stored = limiter.decide_sync_at(&checks, call, now).ok();
        let pure = limit.decide_with(state.clone(), now, call, cost, factor).ok();
        let what = format!("{asked:?} of {cost} at {now} with {factor}");
        prop_assert_eq!(stored.as_ref().map(decided), want.clone(), "memory: {}", &what);
        prop_assert_eq!(pure.as_ref().map(|(info, _)| decided(info)), want, "pure: {}", &what);
        prop_assert_eq!(pure.as_ref().map(|(info, _)| info), stored.as_ref(), "{}", &what);
        prop_assert_eq!(limiter.memory().len(), oracle.len(), "kept: {}", &what);
        prop_assert_eq!(twin.0.decide_sync_at(&checks, call, now).ok(), stored, "shared: {}", &what);
        prop_assert_eq!(twin.len(), oracle.len(), "kept in shared memory: {}", &what);
        state = pure.map_or(state, |(_, after)| after);
    }
    Ok(())
}

macro_rules! agreement {
    ($($test:ident $kind:literal)*) => {
        proptest! {
            // A failure prints its own minimal case, which then becomes a test with a name.
            #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]
            $(#[test]
            fn $test((definition, start, history) in (definition_of($kind), start(), history())) {
                agree(&[definition], start, history)?;
            })*
        }
    };
}

of_each_kind!(agreement);

fn definitions_of(kinds: &'static [&'static str]) -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec(select(kinds).prop_flat_map(definition_of), 2..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn levels_that_change(
        definitions in definitions_of(&["bucket", "token-bucket", "fixed-window", "legacy"]),
        (start, history) in (start(), history()),
    ) {
        agree(&definitions, start, history)?;
    }

    #[test]
    fn one_type_that_changes(
        definitions in select(&KINDS[4..]).prop_flat_map(|kind| proptest::collection::vec(definition_of(kind), 2..4)),
        (start, history) in (start(), history()),
    ) {
        agree(&definitions, start, history)?;
    }

    #[test]
    fn types_that_change(definitions in definitions_of(KINDS), (start, history) in (start(), history())) {
        agree(&definitions, start, history)?;
    }
}

/// An entry that a clock has left in the future, and that is full to the definition that finds it so, is kept for the one
/// that wrote it.
#[test]
fn what_is_full_to_one_definition_stays_when_the_clock_goes_back() {
    let idle = json!({ "key": "k", "type": "smooth", "rate": 5, "maxBurst": 200 });
    let warm = json!({ "key": "k", "type": "smooth", "rate": 0.5, "maxBurst": 1, "warmup": 2667 });
    let (limiter, mut oracle) = (Limiter::new(Memory::new()), Oracle::default());
    let start = 1_000_000_000_000_000;
    for (definition, asked, cost, now) in [
        (&idle, Asked::Limit, 1, start),
        (&warm, Asked::Refund, 1, start),
        (&idle, Asked::Limit, 0, start - 718_706),
        (&warm, Asked::Peek, 1, start - 718_706),
    ] {
        let check = crate::oracle::Check { wire: definition, actor: "ada", cost, factor: 1.0 };
        let want = oracle.decide(&[check], asked, now.into()).ok();
        let limit = limit(definition);
        let stored = limiter.decide_sync_at(&[Check::new(&limit, "ada").cost(cost)], engine_call(asked), now).ok();
        assert_eq!(stored.as_ref().map(decided), want, "{asked:?} at {now}");
        assert_eq!((limiter.memory().len(), oracle.len()), (1, 1), "{asked:?} at {now}");
    }
}

/// One call about several checks: the jump before it, and which limits at which cost for which of two actors.
type Asking = (f64, Asked, Vec<(Index, u64, bool)>);

fn askings(checks: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Asking>> {
    let picked = proptest::collection::vec((any::<Index>(), cost(), any::<bool>()), checks);
    proptest::collection::vec((jump(), call(), picked), 1..40)
}

/// Several checks in one decision agree too, some of them of the same limit and actor.
fn agree_together(definitions: Vec<Value>, start: u64, history: Vec<Asking>) -> Result<(), TestCaseError> {
    let definitions: Vec<_> = definitions
        .into_iter()
        .enumerate()
        .map(|(index, definition)| with_key(definition, &format!("k{index}")))
        .collect();
    let limits: Vec<_> = definitions.iter().map(limit).collect();
    let (limiter, mut oracle, mut now) = (Limiter::new(Memory::with_max_entries(10_000)), Oracle::default(), start);
    let twin = Twin::new();
    for (jump, asked, picked) in history {
        now = moved(now, jump, &definitions[0]);
        let actor = |second: bool| if second { "bob" } else { "ada" };
        let picked: Vec<_> =
            picked.iter().map(|(index, cost, second)| (index.index(limits.len()), *cost, actor(*second))).collect();
        let checks: Vec<_> =
            picked.iter().map(|(index, cost, actor)| Check::new(&limits[*index], actor).cost(*cost)).collect();
        let same: Vec<_> = picked
            .iter()
            .map(|(index, cost, actor)| crate::oracle::Check {
                wire: &definitions[*index],
                actor,
                cost: *cost,
                factor: 1.0,
            })
            .collect();
        let want = oracle.decide(&same, asked, now.into()).ok();
        let got = limiter.decide_sync_at(&checks, engine_call(asked), now);
        let got = got.ok();
        prop_assert_eq!(got.as_ref().map(decided), want, "{:?} {:?} at {}", asked, &picked, now);
        prop_assert_eq!(limiter.memory().len(), oracle.len());
        let shared = twin.0.decide_sync_at(&checks, engine_call(asked), now).ok();
        prop_assert_eq!(shared, got, "shared: {:?} {:?} at {}", asked, &picked, now);
        prop_assert_eq!(twin.len(), oracle.len());
    }
    Ok(())
}

fn level() -> impl Strategy<Value = Value> {
    select(vec!["bucket", "token-bucket", "fixed-window"]).prop_flat_map(definition_of)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_limits(
        definitions in proptest::collection::vec(definition(), 1..4),
        (start, history) in (start(), askings(1..5)),
    ) {
        agree_together(definitions, start, history)?;
    }

    #[test]
    fn a_few_levels(
        definitions in proptest::collection::vec(level(), 2..6),
        (start, history) in (start(), askings(2..6)),
    ) {
        agree_together(definitions, start, history)?;
    }
}

/// The oracle itself is held against the golden answers, so that two wrong ones do not merely agree.
#[test]
fn the_oracle_gives_the_golden_answers() {
    for name in ["decisions", "beyond"] {
        gives_the_golden_answers(name);
    }
}

fn gives_the_golden_answers(name: &str) {
    let path = format!("{}/../tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let mut vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the vectors")).expect("JSON");
    // It knows no upstream servers.
    let sequences = vectors["one"].as_array_mut().expect("sequences");
    sequences.retain(|sequence| !sequence["steps"].to_string().contains(r#""call":"observe""#));
    let micros = |value: &Value| {
        #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
        let micros = (value.as_f64().expect("milliseconds") * 1000.0).round() as i128;
        micros
    };
    let asked = |step: &Value| match step["call"].as_str().expect("a call") {
        "limit" => Asked::Limit,
        "peek" => Asked::Peek,
        "charge" => Asked::Charge,
        "refund" => Asked::Refund,
        "acquire" => Asked::Acquire(micros(&step["maxWaitMs"])),
        "block" => Asked::Block(micros(&step["forMs"])),
        other => panic!("unknown call {other}"),
    };
    let one = |oracle: &mut Oracle, wire: &Value, factor: &Value, step: &Value| {
        if step["call"] == "reset" {
            oracle.reset(wire, "a");
            return;
        }
        let (cost, factor) = (step["cost"].as_u64().unwrap_or(1), factor.as_f64().expect("a factor"));
        let check = crate::oracle::Check { wire, actor: "a", cost, factor };
        let got = oracle.decide(&[check], asked(step), micros(&step["now"])).expect("an answer");
        assert_eq!(got.merged.to_json(), step["want"], "{wire} {step}");
    };
    for sequence in vectors["one"].as_array().expect("sequences") {
        let mut oracle = Oracle::default();
        for step in sequence["steps"].as_array().expect("steps") {
            one(&mut oracle, &sequence["limit"], &sequence["factor"], step);
        }
    }
    for sequence in vectors["changing"].as_array().expect("sequences") {
        let mut oracle = Oracle::default();
        for step in sequence["steps"].as_array().expect("steps") {
            let index = usize::try_from(step["limit"].as_u64().expect("an index")).expect("an index");
            one(&mut oracle, &sequence["limits"][index], &step["factor"], step);
        }
    }
    for sequence in vectors["together"].as_array().expect("sequences") {
        let mut oracle = Oracle::default();
        let (wires, factors) = (sequence["limits"].as_array().expect("limits"), &sequence["factors"]);
        for step in sequence["steps"].as_array().expect("steps") {
            let costs = step["costs"].as_array().expect("costs").iter().map(|cost| cost.as_u64().expect("a cost"));
            let checks: Vec<_> = wires
                .iter()
                .zip(costs)
                .enumerate()
                .map(|(index, (wire, cost))| {
                    let factor = factors[index].as_f64().expect("a factor");
                    crate::oracle::Check { wire, actor: "a", cost, factor }
                })
                .collect();
            let got = oracle.decide(&checks, asked(step), micros(&step["now"])).expect("an answer");
            let mut merged = got.merged.to_json();
            merged["binding"] = got.binding.into();
            assert_eq!(merged, step["want"], "{step}");
            let each: Vec<_> = got.each.into_iter().map(Answer::to_json).collect();
            assert_eq!(Value::from(each), step["each"], "{step}");
        }
    }
}
