//! Several checks in one decision: all of them are charged, or none is.

use super::{Entry, Impossible, Settled, Verb};
use crate::few::Few;
use crate::info::LimitInfo;
use crate::limit::Rule;
use crate::time::Micros;

/// One check as a decision sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) rule: Rule,
    pub(crate) cost: u64,
    /// What an undo leaves charged of the cost.
    pub(crate) spent: u64,
    /// Which of the decision's entries this check is about; several may be about the same one.
    pub(crate) entry: usize,
}

/// What came of several checks.
pub(crate) struct Together {
    /// One answer for each, in order.
    pub(crate) infos: Few<LimitInfo>,
    /// The checks whose entries have to be kept as they are now.
    pub(crate) kept: Few<usize>,
}

/// Every check, at one `now`; on error, the index of the check that cannot be decided, and nothing is charged.
pub(crate) fn together(
    parts: &[Part],
    entries: &mut [Entry],
    now: Micros,
    verb: Verb,
) -> Result<Together, (usize, Impossible)> {
    let mut settled: Few<Settled> = Few::new();
    for (index, part) in parts.iter().enumerate() {
        let earlier = parts.iter().take(index).filter(|earlier| earlier.entry == part.entry);
        let prior = earlier.fold(0_u64, |sum, earlier| sum.saturating_add(earlier.cost));
        let Some(entry) = entries.get_mut(part.entry) else { continue };
        let verdict = part.rule.examine(entry, now, verb, part.cost, prior).map_err(|why| (index, why))?;
        settled.push(Settled { verdict, admitted: false, cost: part.cost, prior });
    }
    let admitted = settled.iter().all(|check| check.verdict.fits);
    let mut infos = Few::new();
    let mut kept = Few::new();
    for (index, (part, check)) in parts.iter().zip(settled).enumerate() {
        let Some(entry) = entries.get_mut(part.entry) else { continue };
        let (cost, spent) = if matches!(verb, Verb::Undo { .. }) { undone(parts, index) } else { (part.cost, 0) };
        let check = Settled { admitted, cost, ..check };
        if part.rule.commit(entry, now, verb, check, spent) {
            kept.push(index);
        }
        infos.push(part.rule.answer(entry, now, verb, check));
    }
    Ok(Together { infos, kept })
}

/// What a check of an undo gives back, and how much of that was spent: the first one of an entry for all others of the
/// same rule too. What they charged at one instant has drained together, and must not be taken off each of them.
pub(crate) fn undone(parts: &[Part], index: usize) -> (u64, u64) {
    let Some(part) = parts.get(index) else { return (0, 0) };
    let of_it = |other: &&Part| other.entry == part.entry && other.rule == part.rule;
    if parts.iter().take(index).any(|earlier| of_it(&earlier)) {
        return (0, 0);
    }
    parts.iter().skip(index).filter(of_it).fold((0, 0), |(cost, spent), other| {
        (cost.saturating_add(other.cost), spent.saturating_add(other.spent.min(other.cost)))
    })
}
