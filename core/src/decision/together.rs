//! Several checks in one decision: all of them are charged, or none is.

use std::borrow::Borrow;
use std::mem;

use smallvec::smallvec;

use super::{Entry, Impossible, Resolved, Verb};
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::Rule;
use crate::time::Micros;

/// One check as a decision sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<R = Rule> {
    pub(crate) rule: R,
    pub(crate) cost: u64,
    /// The units that an undo leaves charged; more than the cost is charged.
    pub(crate) spent: u64,
    /// When an undo's check was charged, where that is another instant than the call's.
    pub(crate) charged_at: Option<Micros>,
    /// The index of the entry that this check is about; several may be about the same one.
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
    let mut resolved: InlineVec<Resolved> = InlineVec::new();
    let (mut admitted, mut beyond) = (verb != Verb::Denied, None);
    let taken = takes(parts, entries.len(), verb);
    for (((index, part), prior), (cost, spent)) in
        parts.iter().enumerate().zip(priors(parts, entries.len())).zip(&taken)
    {
        let Some(held) = entries.get_mut(part.entry) else { continue };
        let undoes = matches!(verb, Verb::Undo { .. });
        let (added, prior) = if undoes { (verb.adds(*cost, *spent), 0) } else { (part.cost, prior) };
        let verdict = part.rule.borrow().examine(&mut held.entry, now, verb, added, prior);
        match verdict {
            Ok(verdict) => {
                admitted &= verdict.fits;
                resolved.push(Resolved { verdict, admitted: false, cost: part.cost, prior });
            }
            // A store may be asked only about costs that can fit, so those that cannot are answered first.
            Err(why @ Impossible::Overflows) => beyond = beyond.or(Some((index, why))),
            Err(why) => return Err((index, why)),
        }
    }
    if let Some(beyond) = beyond {
        return Err(beyond);
    }
    let mut answers = Vec::with_capacity(parts.len());
    for (((index, part), check), (cost, spent)) in parts.iter().enumerate().zip(&resolved).zip(taken) {
        let Some(held) = entries.get_mut(part.entry) else { continue };
        let (rule, check) = (part.rule.borrow(), Resolved { admitted, cost, ..*check });
        if rule.commit(&mut held.entry, now, verb.of_charge(part.charged_at), check, spent) {
            held.kept_by = Some(index);
        }
        answers.push(rule.answer(&mut held.entry, now, verb, check));
    }
    Ok(answers)
}

/// The units that earlier checks of a decision take from the same entry, for each check.
pub(crate) fn priors<R>(parts: &[Part<R>], entries: usize) -> InlineVec<u64> {
    let mut sums: InlineVec<u64> = smallvec![0; entries];
    let prior = |part: &Part<R>| {
        let sum = sums.get_mut(part.entry)?;
        let prior = *sum;
        *sum = prior.saturating_add(part.cost);
        Some(prior)
    };
    parts.iter().map(prior).map(Option::unwrap_or_default).collect()
}

/// The units that each check charges or gives back, and those of them that were spent.
///
/// In an undo the first check of an entry stands for all others of it: what they charged at one instant has drained
/// together, and must not be taken off each of them.
pub(crate) fn takes<R>(parts: &[Part<R>], entries: usize, verb: Verb) -> InlineVec<(u64, u64)> {
    if !matches!(verb, Verb::Undo { .. }) {
        return parts.iter().map(|part| (part.cost, 0)).collect();
    }
    let mut sums: InlineVec<(u64, u64)> = smallvec![(0, 0); entries];
    for part in parts {
        if let Some((cost, spent)) = sums.get_mut(part.entry) {
            *cost = cost.saturating_add(part.cost);
            *spent = spent.saturating_add(part.spent);
        }
    }
    parts.iter().map(|part| sums.get_mut(part.entry).map(mem::take).unwrap_or_default()).collect()
}
