//! The actual costs of the work behind a hold.

use std::fmt::Display;

use crate::charge::ONE_EACH;
use crate::check::Check;
use crate::error::LimitError;

/// The actual costs of the work behind a hold, as far as its caller says them: a number, one for each check, or
/// some by name. Units that are held cost nothing at the end, whatever this says of them.
///
/// ```
/// use tidegate::hold::Costs;
///
/// assert!(matches!(Costs::from(20), Costs::One(20)));
/// assert!(matches!(Costs::from(&[1, 20]), Costs::Each([1, 20])));
/// assert!(matches!(Costs::from(&[("rows", 20)]), Costs::Named([("rows", 20)])));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Costs<'a, T = u64> {
    /// Of the only check that holds no units.
    One(T),
    /// Of each check, in order.
    Each(&'a [T]),
    /// Of the checks with these keys, or at these positions.
    Named(&'a [(&'a str, T)]),
}

impl From<u64> for Costs<'_> {
    fn from(units: u64) -> Self {
        Self::One(units)
    }
}

impl<'a> From<&'a [u64]> for Costs<'a> {
    fn from(each: &'a [u64]) -> Self {
        Self::Each(each)
    }
}

impl<'a, const N: usize> From<&'a [u64; N]> for Costs<'a> {
    fn from(each: &'a [u64; N]) -> Self {
        Self::Each(each)
    }
}

impl<'a> From<&'a [(&'a str, u64)]> for Costs<'a> {
    fn from(named: &'a [(&'a str, u64)]) -> Self {
        Self::Named(named)
    }
}

impl<'a, const N: usize> From<&'a [(&'a str, u64); N]> for Costs<'a> {
    fn from(named: &'a [(&'a str, u64); N]) -> Self {
        Self::Named(named)
    }
}

/// The units spent of each of these checks at the end of a hold, for `Charge::settle`: nothing of those that are held, and
/// of the others their actual cost, or else what they were charged. `cost` reads a cost of the check with this key.
pub(crate) fn spent_of_hold<T: Copy + Display>(
    checks: &[Check<'_>],
    costs: Costs<'_, T>,
    cost: impl Fn(&str, T) -> Result<u64, LimitError>,
) -> Result<Vec<u64>, LimitError> {
    let key = checks.first().map_or("", Check::key);
    let mut spent: Vec<u64> = checks.iter().map(|check| if check.holds() { 0 } else { check.cost }).collect();
    let set = |spent: &mut [u64], index: usize, units: T| {
        let units = cost(checks[index].key(), units)?;
        if !checks[index].holds() {
            spent[index] = units;
        }
        Ok::<_, LimitError>(())
    };
    match costs {
        Costs::One(units) => {
            let mut others = (0..checks.len()).filter(|index| !checks[*index].holds());
            match (others.next(), others.next()) {
                (Some(only), None) => set(&mut spent, only, units)?,
                _ => return Err(LimitError::wrong_type(key, "costs", ONE_OTHER, units)),
            }
        }
        Costs::Each(each) if each.len() == checks.len() => {
            for (index, units) in each.iter().enumerate() {
                set(&mut spent, index, *units)?;
            }
        }
        Costs::Each(each) => {
            let given = format!("{} costs for {} checks", each.len(), checks.len());
            return Err(LimitError::range(key, "costs", ONE_EACH, given));
        }
        Costs::Named(named) => {
            for (name, units) in named {
                let mut places: Vec<usize> = (0..checks.len()).filter(|index| checks[*index].key() == *name).collect();
                if places.is_empty() {
                    places.extend(name.parse().ok().filter(|index: &usize| *index < checks.len()));
                }
                if places.is_empty() {
                    return Err(LimitError::range(key, "costs", "must name checks of the hold", *name));
                }
                for index in places {
                    set(&mut spent, index, *units)?;
                }
            }
        }
    }
    Ok(spent)
}

/// The problem of one cost that could be of several checks, or of none.
const ONE_OTHER: &str = "must be a list, or costs by the keys of limits, unless one limit is not of type concurrency";
