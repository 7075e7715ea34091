//! Checks of a decision: each sound by itself, and all of them in agreement.

use std::collections::HashMap;
use std::ptr;

use ahash::RandomState;

use crate::check::{Check, LONGEST_ACTOR, long_actor};
use crate::decision::{Call, Verb};
use crate::error::LimitError;
use crate::limit::Rules;
use crate::time::{EXACT, Micros};

/// The most checks that one decision takes.
const MOST: usize = 1000;

/// So many are compared faster than hashed.
const FEW: usize = 8;

/// The checks of a decision, each limit of an actor once: where it is asked for again, the costs are summed.
#[derive(Clone, Debug)]
pub(super) struct Summed<'a> {
    pub(super) checks: Vec<Check<'a>>,
    /// The place among them of each check that was given.
    pub(super) places: Vec<usize>,
}

/// Refuses no check, more checks than a decision takes, an actor that is too long, and two definitions or two factors for
/// one entry. Where a limit is asked for twice, for one actor and to be enforced, it sums up the checks.
pub(super) fn agree<'a>(checks: &[Check<'a>], verb: Verb) -> Result<Option<Summed<'a>>, LimitError> {
    // No limit at all is nearly always one that was left out, so it does not mean "no limit".
    let [first, rest @ ..] = checks else {
        return Err(LimitError::range("", "limits", "must not be empty", "none"));
    };
    if checks.len() > MOST {
        let problem = format!("must be at most {MOST} in one call");
        return Err(LimitError::range(first.limit.key(), "checks", problem, checks.len()));
    }
    if let Some(long) = checks.iter().find(|check| check.actor.len() > LONGEST_ACTOR) {
        return Err(long_actor(long.limit.key(), long.actor.len()));
    }
    let mut repeats = false;
    if checks.len() <= FEW {
        for (check, index) in rest.iter().zip(1..) {
            // Keys first: several limits of one actor are the most common case.
            let is_same =
                |earlier: &&Check<'_>| same(earlier.limit.key(), check.limit.key()) && same(earlier.actor, check.actor);
            for earlier in checks.iter().take(index).filter(is_same) {
                agrees(earlier, check)?;
                repeats |= !earlier.observed && !check.observed;
            }
        }
    } else {
        let mut known: HashMap<(&str, &str), (&Check<'_>, bool), RandomState> = HashMap::default();
        for check in checks {
            let (earlier, is_enforced) = known.entry((check.limit.key(), check.actor)).or_insert((check, false));
            agrees(earlier, check)?;
            repeats |= *is_enforced && !check.observed;
            *is_enforced |= !check.observed;
        }
    }
    Ok(repeats.then(|| sum(checks, verb)))
}

#[cold]
fn sum<'a>(checks: &[Check<'a>], verb: Verb) -> Summed<'a> {
    let mut known: HashMap<(&str, &str), usize, RandomState> = HashMap::default();
    let mut summed = Summed { checks: Vec::new(), places: Vec::with_capacity(checks.len()) };
    for check in checks {
        let next = summed.checks.len();
        let place = if check.observed { next } else { *known.entry((check.limit.key(), check.actor)).or_insert(next) };
        summed.places.push(place);
        match summed.checks.get_mut(place) {
            // What is left upstream is left once.
            Some(_) if matches!(verb, Verb::Observe { .. }) => {}
            Some(same) => {
                same.cost = same.cost.saturating_add(check.cost);
                same.spent = same.spent.saturating_add(check.spent);
            }
            None => summed.checks.push(*check),
        }
    }
    summed
}

/// Refuses a least part of a cost where it has no meaning: in other calls, and where checks would get different units, as
/// where one of them `repeats` another.
pub(super) fn at_least(checks: &[Check<'_>], verb: Verb, repeats: bool) -> Result<(), LimitError> {
    let Some(first) = checks.iter().find(|check| check.at_least > 0) else { return Ok(()) };
    let refused =
        |check: &Check<'_>, problem: &str, value: u64| Err(LimitError::range(check.key(), "atLeast", problem, value));
    if !matches!(verb, Verb::Limit | Verb::Peek) {
        return refused(first, "must be given to limit and peek alone", first.at_least);
    }
    if first.at_least > first.cost {
        return refused(first, &format!("must be at most the cost, {}", first.cost), first.at_least);
    }
    if repeats {
        return refused(first, "must not be given where a limit stands twice for one actor", first.at_least);
    }
    for check in checks {
        if check.at_least != first.at_least {
            return refused(check, "must be the same for all checks of a call", check.at_least);
        }
        if check.cost != first.cost {
            let problem = format!("must be {}, as for the other checks of a call with atLeast", first.cost);
            return Err(LimitError::range(check.key(), "cost", problem, check.cost));
        }
    }
    Ok(())
}

/// Refuses calls that have no meaning for a limit of theirs. Of one that takes over what an upstream server said, it
/// returns the checks to make.
#[inline]
pub(super) fn of_call<'a>(checks: &[Check<'a>], call: Call) -> Result<Option<Vec<Check<'a>>>, LimitError> {
    match call {
        Call::Limit | Call::Peek | Call::Refund | Call::Acquire { .. } | Call::Reset => Ok(None),
        _ => of_rarer_call(checks, call),
    }
}

#[cold]
fn of_rarer_call<'a>(checks: &[Check<'a>], call: Call) -> Result<Option<Vec<Check<'a>>>, LimitError> {
    let cost = |check: &Check<'a>| call.cost_at(check.limit, check.cost, check.spent);
    if matches!(call, Call::Observe { .. }) {
        return checks.iter().map(|check| Ok(check.cost(cost(check)?))).collect::<Result<_, _>>().map(Some);
    }
    checks.iter().try_for_each(|check| cost(check).map(drop)).map(|()| None)
}

/// Compares two names, of which most are one and the same string.
#[inline]
pub(super) fn same(one: &str, other: &str) -> bool {
    ptr::eq(one, other) || one == other
}

#[expect(clippy::float_cmp, reason = "a factor is what was given, not what was computed")]
fn agrees(earlier: &Check<'_>, check: &Check<'_>) -> Result<(), LimitError> {
    if earlier.limit != check.limit {
        let problem = "must not define one key in two ways for one actor in one call";
        return Err(LimitError::range(
            check.limit.key(),
            "limits",
            problem,
            check.limit.kind().type_name().unwrap_or("a legacy limit"),
        ));
    }
    if earlier.factor != check.factor && !(earlier.factor.is_nan() && check.factor.is_nan()) {
        let problem = format!("must be the same for one actor in one call ({} before)", earlier.factor);
        return Err(LimitError::range(check.limit.key(), "factor", problem, check.factor));
    }
    Ok(())
}

/// An instant that arithmetic stays exact with.
pub(super) fn check_now(checks: &[Check<'_>], now: Micros) -> Result<(), LimitError> {
    if now < EXACT {
        return Ok(());
    }
    let key = checks.first().map_or("", |check| check.limit.key());
    Err(LimitError::range(key, "now", format!("must be below {EXACT} microseconds"), now))
}

/// The rules that a check is decided by, once its own numbers are known to be sound.
pub(super) fn rules(check: &Check<'_>) -> Result<Rules, LimitError> {
    let most = check.cost.max(check.spent);
    if most > EXACT {
        let problem = format!("must be at most {EXACT}");
        return Err(LimitError::range(check.limit.key(), "cost", problem, most));
    }
    check.limit.rules(check.factor)
}
