//! The checks of one request, from all places that have limits for it, as one decision.

use crate::check::Check;

/// The checks of one request, each limit of an actor once.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Combined<'a> {
    /// The checks to decide, each with the index at which it came first.
    pub kept: Vec<(usize, Check<'a>)>,
    /// The place in `kept` of each check that was given.
    pub places: Vec<usize>,
}

/// One check for each limit and actor: what is asked for twice, by an application and by one of its routes, is charged
/// once, the larger of the two costs.
///
/// Checks with different definitions or factors stay apart, even where their keys are the same. An
/// [observed](Check::observed) check that is enforced as well is charged as that one alone.
///
/// ```
/// use tidegate::http::combined;
/// use tidegate::{Check, Limit};
///
/// let (api, login) = (Limit::bucket("api", 100).build()?, Limit::bucket("login", 5).build()?);
/// let checks = [Check::new(&api, "ada"), Check::new(&login, "ada"), Check::new(&api, "ada").cost(3)];
/// let combined = combined(&checks);
/// assert_eq!(combined.kept.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1]);
/// assert_eq!(combined.places, [0, 1, 0]);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[must_use]
pub fn combined<'a>(checks: &[Check<'a>]) -> Combined<'a> {
    let mut kept: Vec<(usize, Check<'a>)> = Vec::with_capacity(checks.len());
    let mut places = Vec::with_capacity(checks.len());
    for (index, check) in checks.iter().enumerate() {
        let same = |(_, known): &(usize, Check<'a>)| {
            known.actor == check.actor && known.factor.to_bits() == check.factor.to_bits() && known.limit == check.limit
        };
        let place = kept.iter().position(same).unwrap_or(kept.len());
        places.push(place);
        let Some((_, known)) = kept.get_mut(place) else {
            kept.push((index, *check));
            continue;
        };
        match (known.observed, check.observed) {
            (true, false) => *known = *check,
            (false, true) => {}
            _ => known.cost = known.cost.max(check.cost),
        }
    }
    Combined { kept, places }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    #[test]
    fn an_observed_check_that_is_enforced_as_well_is_charged_once_at_the_cost_of_that_one() {
        let [one, other] = ["one", "other"].map(|key| Limit::bucket(key, 9).build().expect("a bucket"));
        let checks = [
            Check::new(&one, "ada").cost(7).observed(),
            Check::new(&one, "ada").cost(2),
            Check::new(&other, "ada").observed(),
            Check::new(&one, "ada").cost(5).observed(),
            Check::new(&other, "ada").cost(3).observed(),
        ];
        let Combined { kept, places } = combined(&checks);
        let kept: Vec<_> = kept.iter().map(|(_, check)| (check.key(), check.units(), check.observed)).collect();
        assert_eq!(kept, [("one", 2, false), ("other", 3, true)]);
        assert_eq!(places, [0, 0, 1, 0, 1]);
    }
}
