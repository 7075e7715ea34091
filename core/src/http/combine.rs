//! The checks of one request, from all places that have limits for it, as one decision.

use crate::check::Check;

/// One check for each limit and actor, with the index at which it came first: what is asked for twice, by an
/// application and by one of its routes, is charged once, the larger of the two costs.
///
/// Checks with different definitions or factors stay apart, even where their keys are the same.
///
/// ```
/// use tidegate::http::combined;
/// use tidegate::{Check, Limit};
///
/// let (api, login) = (Limit::bucket("api", 100).build()?, Limit::bucket("login", 5).build()?);
/// let checks = [Check::new(&api, "ada"), Check::new(&login, "ada"), Check::new(&api, "ada").cost(3)];
/// let combined = combined(&checks);
/// assert_eq!(combined.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1]);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[must_use]
pub fn combined<'a>(checks: &[Check<'a>]) -> Vec<(usize, Check<'a>)> {
    let mut kept: Vec<(usize, Check<'a>)> = Vec::with_capacity(checks.len());
    for (index, check) in checks.iter().enumerate() {
        let same = |(_, known): &&mut (usize, Check<'a>)| {
            known.actor == check.actor && known.factor.to_bits() == check.factor.to_bits() && known.limit == check.limit
        };
        match kept.iter_mut().find(same) {
            Some((_, known)) => known.cost = known.cost.max(check.cost),
            None => kept.push((index, *check)),
        }
    }
    kept
}
