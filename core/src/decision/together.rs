//! Several checks in one decision: all of them are charged, or none is.

use std::borrow::Borrow;

use super::{Entry, Impossible, Settled, Verb};
use crate::few::Few;
use crate::info::LimitInfo;
use crate::limit::Rule;
use crate::time::Micros;

/// One check as a decision sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<R = Rule> {
    pub(crate) rule: R,
    pub(crate) cost: u64,
    /// What an undo leaves charged of the cost.
    pub(crate) spent: u64,
    /// Which of the decision's entries this check is about; several may be about the same one.
    pub(crate) entry: usize,
}

/// An entry while it is decided about, and where it comes from.
#[derive(Debug)]
pub(crate) struct Held<P = ()> {
    pub(crate) entry: Entry,
    /// The check that has it kept as it is now; of several the last one.
    pub(crate) kept_by: Option<usize>,
    pub(crate) place: P,
}

impl<P> Held<P> {
    pub(crate) fn new(entry: Entry, place: P) -> Self {
        Self { entry, kept_by: None, place }
    }
}

/// Every check, at one `now`, answered in order; on error, the index of the check that cannot be decided, and nothing
/// is charged.
pub(crate) fn together<R: Borrow<Rule>, P>(
    parts: &[Part<R>],
    entries: &mut [Held<P>],
    now: Micros,
    verb: Verb,
) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
    let mut settled: Few<Settled> = Few::new();
    let mut admitted = true;
    for (index, part) in parts.iter().enumerate() {
        let earlier = parts.iter().take(index).filter(|earlier| earlier.entry == part.entry);
        let prior = earlier.fold(0_u64, |sum, earlier| sum.saturating_add(earlier.cost));
        let Some(held) = entries.get_mut(part.entry) else { continue };
        let verdict = part.rule.borrow().examine(&mut held.entry, now, verb, part.cost, prior);
        let verdict = verdict.map_err(|why| (index, why))?;
        admitted &= verdict.fits;
        settled.push(Settled { verdict, admitted: false, cost: part.cost, prior });
    }
    let mut answers = Vec::with_capacity(parts.len());
    for (index, (part, check)) in parts.iter().zip(&settled).enumerate() {
        let Some(held) = entries.get_mut(part.entry) else { continue };
        let (cost, spent) = if matches!(verb, Verb::Undo { .. }) { undone(parts, index) } else { (part.cost, 0) };
        let (rule, check) = (part.rule.borrow(), Settled { admitted, cost, ..*check });
        if rule.commit(&mut held.entry, now, verb, check, spent) {
            held.kept_by = Some(index);
        }
        answers.push(rule.answer(&mut held.entry, now, verb, check));
    }
    Ok(answers)
}

/// What a check of an undo gives back, and how much of that was spent: the first one of an entry for all others of the
/// same rule too. What they charged at one instant has drained together, and must not be taken off each of them.
pub(crate) fn undone<R: Borrow<Rule>>(parts: &[Part<R>], index: usize) -> (u64, u64) {
    let Some(part) = parts.get(index) else { return (0, 0) };
    let of_it = |other: &&Part<R>| other.entry == part.entry && other.rule.borrow() == part.rule.borrow();
    if parts.iter().take(index).any(|earlier| of_it(&earlier)) {
        return (0, 0);
    }
    parts.iter().skip(index).filter(of_it).fold((0, 0), |(cost, spent), other| {
        (cost.saturating_add(other.cost), spent.saturating_add(other.spent.min(other.cost)))
    })
}
