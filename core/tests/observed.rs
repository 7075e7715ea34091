//! Observed checks: decided as calls of their own, and never enforced.

use std::time::Duration;

use crate::strategies::{cost, definition, jump, scale, start, with_key};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory};

const NOW: u64 = 1_700_000_000_000_000;
const HOUR: Duration = Duration::from_hours(1);

fn bucket(key: &str, size: u64) -> Limit {
    Limit::bucket(key, size).drip_rate(HOUR).build().expect("a bucket")
}

/// One enforced check, and whether it is not: by its limit, its actor and its cost.
type Asking = (Index, bool, u64, bool);

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The oracle makes one call of the enforced checks, and then one of each of the others.
    #[test]
    fn each_is_a_call_of_its_own(
        definitions in prop::collection::vec(definition(), 1..4),
        start in start(),
        steps in prop::collection::vec(
            (
                jump(),
                select(vec![Call::Limit, Call::Limit, Call::Limit, Call::Peek, Call::Acquire { max_wait: HOUR }]),
                prop::collection::vec((any::<Index>(), any::<bool>(), cost(), any::<bool>()), 1..5),
            ),
            1..25,
        ),
    ) {
        let named = definitions.into_iter().enumerate().map(|(index, wire)| with_key(wire, &format!("k{index}")));
        let wires: Vec<_> = named.collect();
        let parse = |wire: &serde_json::Value| Limit::from_json(&wire.to_string()).expect("a sound definition");
        let limits: Vec<_> = wires.iter().map(parse).collect();
        let (together, apart, mut now) = (Limiter::new(Memory::new()), Limiter::new(Memory::new()), start);
        for (jump, call, asked) in steps {
            #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
            let by = (jump * scale(&wires[0])) as i64;
            now = now.saturating_add_signed(by).min(1 << 52);
            let plain = |(limit, second, cost, _): &Asking| {
                Check::new(limit.get(&limits), if *second { "bob" } else { "ada" }).cost(*cost)
            };
            let checks: Vec<_> =
                asked.iter().map(|one| if one.3 { plain(one).observed() } else { plain(one) }).collect();
            // A cost that cannot be is an error of the whole call, and nothing is charged.
            let Ok(info) = together.decide_sync_at(&checks, call, now) else { continue };
            prop_assert_eq!(info.checks().len() >= checks.len(), true);

            let enforced: Vec<_> = asked.iter().filter(|one| !one.3).map(plain).collect();
            let mut expected: Vec<Vec<LimitInfo>> = vec![Vec::new(); asked.len()];
            if enforced.is_empty() {
                prop_assert!(!info.blocked && info.quota == LimitInfo::unlimited().quota);
            } else {
                let want = apart.decide_sync_at(&enforced, call, now).expect("an answer");
                let (blocked, remaining, reset) = (want.blocked, want.remaining, want.reset_ms);
                prop_assert_eq!((info.blocked, info.remaining, info.reset_ms), (blocked, remaining, reset));
                let places: Vec<usize> = (0..asked.len()).filter(|index| !asked[*index].3).collect();
                for answer in want.checks() {
                    expected[places[answer.check_index()]].push(answer.clone());
                }
            }
            for (index, one) in asked.iter().enumerate().filter(|(_, one)| one.3) {
                let want = apart.decide_sync_at(&[plain(one)], call, now).expect("an answer");
                expected[index] = want.checks().to_vec();
            }
            let numbers = |info: &LimitInfo| {
                (info.blocked, info.remaining, info.reset_ms, info.full_reset_ms, info.wait_ms, info.next_ms, info.at)
            };
            let want: Vec<_> = expected.iter().flatten().map(numbers).collect();
            prop_assert_eq!(info.checks().iter().map(numbers).collect::<Vec<_>>(), want, "{:?}", checks);
            for answer in info.checks() {
                prop_assert_eq!(answer.is_observed(), asked[answer.check_index()].3);
            }
        }
    }
}

#[test]
fn is_charged_beside_a_denial_and_denied_beside_an_admission() {
    let limiter = Limiter::new(Memory::new());
    let (live, wide, narrow) = (bucket("live", 2), bucket("wide", 4), bucket("narrow", 1));
    let checks = [Check::new(&wide, "ada").observed(), Check::new(&live, "ada"), Check::new(&narrow, "ada").observed()];
    let answers: Vec<_> =
        (0..6).map(|_| limiter.decide_sync_at(&checks, Call::Limit, NOW).expect("an answer")).collect();
    let blocked: Vec<_> = answers.iter().map(|info| info.blocked).collect();
    assert_eq!(blocked, [false, false, true, true, true, true]);
    let of = |index: usize| answers.iter().map(|info| info.checks()[index].blocked).collect::<Vec<_>>();
    assert_eq!(of(0), [false, false, false, false, true, true]);
    assert_eq!(of(2), [false, true, true, true, true, true]);
    assert!(answers.iter().all(|info| info.binding() == 1 && info.quota == 2 && info.key(&checks) == "live"));
    assert_eq!(answers[0].remaining, 1);
}

#[test]
fn alone_limits_nothing() {
    let limiter = Limiter::new(Memory::new());
    let limit = bucket("shadow", 1);
    let checks = [Check::new(&limit, "ada").observed()];
    for blocked in [false, true, true] {
        let info = limiter.decide_sync_at(&checks, Call::Limit, NOW).expect("an answer");
        assert_eq!((info.blocked, info.remaining, info.reset_ms), (false, LimitInfo::unlimited().remaining, 0));
        assert_eq!((info.checks().len(), info.checks()[0].blocked), (1, blocked));
    }
    let peek = limiter.decide_sync_at(&[Check::new(&limit, "ada")], Call::Peek, NOW).expect("an answer");
    assert!(peek.blocked, "it was charged");
}

#[test]
fn a_receipt_gives_back_what_each_charged() {
    let limiter = Limiter::new(Memory::new());
    let (live, wide, narrow) = (bucket("live", 2), bucket("wide", 9), bucket("narrow", 1));
    let left = || [&live, &wide, &narrow].map(|limit| limiter.peek_sync(limit, "ada").expect("an answer").remaining);
    let checks = [Check::new(&live, "ada"), Check::new(&wide, "ada").observed(), Check::new(&narrow, "ada").observed()];
    for (before, after) in [([2, 9, 1], [1, 8, 0]), ([1, 8, 0], [0, 7, 0]), ([0, 7, 0], [0, 6, 0])] {
        assert_eq!(left(), before);
        let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
        assert_eq!(left(), after);
        limiter.receipt(&checks, Call::Limit, &info).refund_sync().expect("an answer");
        assert_eq!(left(), before);
        limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    }
}

#[test]
fn a_cost_that_cannot_be_charges_nothing() {
    let limiter = Limiter::new(Memory::new());
    let (live, narrow) = (bucket("live", 5), bucket("narrow", 1));
    let checks = [Check::new(&live, "ada").cost(2), Check::new(&narrow, "ada").cost(2).observed()];
    let error = limiter.decide_sync(&checks, Call::Limit).expect_err("more than it ever admits").to_string();
    assert!(error.contains("narrow"), "{error}");
    assert_eq!(limiter.peek_sync(&live, "ada").expect("an answer").remaining, 5);
}

#[test]
fn what_an_enforced_check_takes_is_no_part_of_an_observed_ones_cost() {
    let limiter = Limiter::new(Memory::new());
    let limit = bucket("both", 2);
    let checks = [Check::new(&limit, "ada").cost(2), Check::new(&limit, "ada").observed()];
    let info = limiter.decide_sync(&checks, Call::Limit).expect("each could be admitted by itself");
    assert!(!info.blocked && info.checks()[1].blocked);
}
