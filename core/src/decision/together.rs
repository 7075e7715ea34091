//! Several checks in one decision: all of them are charged, or none is.

use std::borrow::Borrow;
use std::mem;

use smallvec::smallvec;

use super::block::closes;
use super::{Change, Impossible, Resolved, Verb, Verdict};
use crate::algorithm::{Block, Entry, Rule};
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::time::Micros;

/// One check as a decision sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<R = Rule> {
    pub(crate) rule: R,
    pub(crate) cost: u64,
    /// The least part of the cost that is taken where there is no room for all of it; 0 = all.
    pub(crate) at_least: u64,
    /// The units that an undo leaves charged; more than the cost is charged.
    pub(crate) spent: u64,
    /// The instant at which the check of an undo or a renewal was charged, where that is another instant than the call's.
    pub(crate) charged_at: Option<Micros>,
    /// The index of the entry that this check is about; several may be about the same one.
    pub(crate) entry: usize,
    /// The number of its check among those that are decided apart from all others; `None` for those that are enforced.
    pub(crate) observed: Option<u32>,
}

impl<R> Part<R> {
    /// The units without which its call is denied.
    pub(crate) fn needs(&self) -> u64 {
        if self.at_least > 0 { self.at_least } else { self.cost }
    }

    /// Makes this a check of so many units, no more and no less.
    pub(crate) fn take(&mut self, units: u64) {
        (self.cost, self.at_least) = (units, 0);
    }
}

impl<R: Borrow<Rule>> Part<R> {
    /// The rule of a block, where this is the part of one.
    pub(crate) fn block(&self) -> Option<&Block> {
        if let Rule::Block(block) = self.rule.borrow() { Some(block) } else { None }
    }

    #[cfg(feature = "remote")]
    pub(crate) fn borrowed(&self) -> Part<&Rule> {
        let Self { rule, cost, at_least, spent, charged_at, entry, observed } = self;
        Part {
            rule: rule.borrow(),
            cost: *cost,
            at_least: *at_least,
            spent: *spent,
            charged_at: *charged_at,
            entry: *entry,
            observed: *observed,
        }
    }
}

/// An entry while it is decided about.
#[derive(Debug)]
pub(crate) struct OpenEntry {
    pub(crate) entry: Entry,
    /// The check that has it kept; of several the last one.
    pub(crate) kept_by: Option<usize>,
    /// The entry as it is kept instead, where nothing was written but that a wrong clock had left it in the future.
    pub(crate) mended: Option<Box<Entry>>,
    /// The units that the checks before take from it.
    taken: u64,
}

impl OpenEntry {
    pub(crate) fn new(entry: Entry) -> Self {
        Self { entry, kept_by: None, mended: None, taken: 0 }
    }
}

/// Drops the answers of blocks: what they say is in the answers before them.
pub(crate) fn drop_blocks<R: Borrow<Rule>>(answers: &mut Vec<LimitInfo>, parts: &[Part<R>]) {
    let mut parts = parts.iter();
    answers.retain(|_| parts.next().is_none_or(|part| part.block().is_none()));
}

/// Every check, at one `now`, answered in order; on error, the index of the check that cannot be decided, and nothing
/// is charged.
pub(crate) fn together(
    parts: &[Part<&Rule>],
    entries: &mut [OpenEntry],
    now: Micros,
    verb: Verb,
) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
    if verb.decides_apart() && parts.iter().any(|part| part.observed.is_some()) {
        return apart(parts, entries, now, verb);
    }
    all_or_nothing(parts, entries, now, verb)
}

/// [`together`] where some checks are observed: first those that are enforced, then each of the others on what is left.
#[cold]
fn apart(
    parts: &[Part<&Rule>],
    entries: &mut [OpenEntry],
    now: Micros,
    verb: Verb,
) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
    // What can never be is refused first, so that nothing is charged then.
    for ((index, part), prior) in parts.iter().enumerate().zip(priors(parts, entries.len(), true)) {
        let (rule, total) = (part.rule, part.needs().saturating_add(prior));
        // What is held already may be more than the limit admits by now.
        if total > rule.largest_cost() && !matches!(verb, Verb::Renew { .. }) {
            return Err((index, Impossible::NeverFits { quota: rule.quota(), total }));
        }
    }
    let mut answers: Vec<LimitInfo> = parts.iter().map(|_| LimitInfo::unlimited()).collect();
    for group in groups(parts) {
        let members: InlineVec<Part<&Rule>> = group.iter().filter_map(|index| parts.get(*index)).copied().collect();
        let observed = members.first().is_some_and(|part| part.observed.is_some());
        // What denies the enforced checks does not deny these.
        let verb = if observed && verb == Verb::Denied { Verb::Limit } else { verb };
        for held in &mut *entries {
            held.taken = 0;
        }
        let before: InlineVec<Option<usize>> = entries.iter_mut().map(|held| held.kept_by.take()).collect();
        let decided = match all_or_nothing(&members, entries, now, verb) {
            Err((_, Impossible::Overflows)) if observed => {
                members.iter().map(|part| part.rule.undecided(now)).collect()
            }
            decided => decided.map_err(|(member, why)| (group.get(member).copied().unwrap_or(member), why))?,
        };
        for (held, before) in entries.iter_mut().zip(before) {
            held.kept_by = held.kept_by.and_then(|member| group.get(member).copied()).or(before);
        }
        for (index, info) in group.iter().zip(decided) {
            if let Some(answer) = answers.get_mut(*index) {
                *answer = info;
            }
        }
    }
    Ok(answers)
}

/// The indices of the parts that are decided together: those that are enforced, and those of each observed check.
pub(crate) fn groups<R>(parts: &[Part<R>]) -> Vec<InlineVec<usize>> {
    let mut groups: Vec<(Option<u32>, InlineVec<usize>)> = vec![(None, InlineVec::new())];
    for (index, part) in parts.iter().enumerate() {
        // The parts of one check come one after the other.
        let place = match (part.observed, groups.len().saturating_sub(1)) {
            (None, _) => 0,
            (observed, last) if groups.get(last).is_some_and(|(known, _)| *known == observed) => last,
            (observed, last) => {
                groups.push((observed, InlineVec::new()));
                last.saturating_add(1)
            }
        };
        if let Some((_, members)) = groups.get_mut(place) {
            members.push(index);
        }
    }
    groups.into_iter().map(|(_, members)| members).filter(|members| !members.is_empty()).collect()
}

fn all_or_nothing(
    parts: &[Part<&Rule>],
    entries: &mut [OpenEntry],
    now: Micros,
    verb: Verb,
) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
    if parts.iter().all(|part| part.at_least == 0) {
        return all_of_it(parts, entries, now, verb);
    }
    let mut parts = InlineVec::from(parts);
    grant(&mut parts, entries, now, verb);
    all_of_it(&parts, entries, now, verb)
}

/// Makes of checks that take what there is room for checks of so many units: as many as every one of them has room for,
/// or else as many as they need, which are denied.
#[cold]
fn grant(parts: &mut [Part<&Rule>], entries: &[OpenEntry], now: Micros, verb: Verb) {
    let room = |part: &Part<&Rule>| {
        let held = entries.get(part.entry)?;
        Some(part.rule.room(&held.entry, now, part.at_least).min(part.cost))
    };
    let granted = parts.iter().filter_map(room).min().unwrap_or(0);
    for part in parts {
        // What checks elsewhere have denied is not granted.
        part.take(if verb == Verb::Denied { part.at_least } else { granted.max(part.at_least) });
    }
}

fn all_of_it(
    parts: &[Part<&Rule>],
    entries: &mut [OpenEntry],
    now: Micros,
    verb: Verb,
) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
    let mut resolved: InlineVec<Resolved> = InlineVec::new();
    let (mut admitted, mut beyond) = (verb != Verb::Denied, None);
    let undone = matches!(verb, Verb::Undo { .. }).then(|| takes(parts, entries.len(), verb));
    let take_of = |index: usize, part: &Part<&Rule>| match &undone {
        Some(takes) => takes.get(index).copied().unwrap_or_default(),
        None => (part.cost, 0),
    };
    // Of each block, whether the check before it closes it.
    let mut closing: InlineVec<bool> = InlineVec::new();
    for (index, part) in parts.iter().enumerate() {
        let closed = denies_any(verb) && is_closed(parts.get(index.saturating_add(1)), entries, now);
        if part.block().is_some() {
            closing.push(is_closing(parts, entries, index, now, verb, &resolved));
        }
        let Some(held) = entries.get_mut(part.entry) else { continue };
        if let Some(mended) = part.rule.mended(&held.entry, now) {
            held.mended = Some(Box::new(mended));
        }
        let (added, prior) = if undone.is_some() {
            let (cost, spent) = take_of(index, part);
            (verb.adds(cost, spent), 0)
        } else {
            let taken = held.taken.saturating_add(part.cost);
            (part.cost, mem::replace(&mut held.taken, taken))
        };
        let verb = verb.of_charge(part.charged_at);
        let verdict = match part.rule.examine(&mut held.entry, now, verb, added, prior) {
            // Nothing is charged while it is closed.
            Err(Impossible::Overflows) if closed => Ok(Verdict::shut(held.mended.is_some())),
            verdict => verdict,
        };
        match verdict {
            Ok(verdict) => {
                admitted &= verdict.fits;
                resolved.push(Resolved { verdict, admitted: false, cost: part.cost, prior, closed });
            }
            // A store may be asked only about costs that can fit, so those that cannot are answered first.
            Err(why @ Impossible::Overflows) => beyond = beyond.or(Some((index, why))),
            Err(why) => return Err((index, why)),
        }
    }
    if let Some(beyond) = beyond {
        return Err(beyond);
    }
    let mut closing = closing.into_iter();
    let mut answers: Vec<LimitInfo> = Vec::with_capacity(parts.len());
    for ((index, part), check) in parts.iter().enumerate().zip(&resolved) {
        let Some(held) = entries.get_mut(part.entry) else { continue };
        let (cost, spent) = take_of(index, part);
        let (rule, check) = (part.rule, Resolved { admitted, cost, ..*check });
        let change = match part.block() {
            Some(block) => block.commit(&mut held.entry, now, verb, check, closing.next() == Some(true)),
            None => rule.commit(&mut held.entry, now, verb.of_charge(part.charged_at), check, spent),
        };
        match change {
            Change::Nothing => {}
            Change::Mended => held.kept_by = Some(index),
            Change::Written => (held.kept_by, held.mended) = (Some(index), None),
        }
        let answer = rule.answer(&mut held.entry, now, verb, check);
        if part.block().is_some() {
            beside_block(parts, entries, index, now, verb, (&resolved, admitted), &mut answers);
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// Nothing is charged by a call that a block denies.
fn denies_any(verb: Verb) -> bool {
    matches!(verb, Verb::Limit | Verb::Peek | Verb::Denied | Verb::Acquire { .. })
}

/// True if this part is a block that denies the check before it.
fn is_closed(part: Option<&Part<&Rule>>, entries: &[OpenEntry], now: Micros) -> bool {
    let Some(part) = part.filter(|part| part.block().is_some() && part.cost > 0) else { return false };
    entries.get(part.entry).is_some_and(|held| part.rule.room(&held.entry, now, 0) == 0)
}

/// [`closes`] of the check before this block.
fn is_closing(
    parts: &[Part<&Rule>],
    entries: &mut [OpenEntry],
    index: usize,
    now: Micros,
    verb: Verb,
    resolved: &[Resolved],
) -> bool {
    if parts.get(index).is_none_or(|block| block.cost == 0) {
        return false;
    }
    let before = index.checked_sub(1).and_then(|before| parts.get(before)).zip(resolved.last());
    let held = before.and_then(|(part, check)| Some((part, check, entries.get_mut(part.entry)?)));
    held.is_some_and(|(part, check, held)| closes(verb, part.rule, &mut held.entry, now, *check))
}

/// Makes of the last answer that of its limit with the block of this index.
fn beside_block(
    parts: &[Part<&Rule>],
    entries: &mut [OpenEntry],
    index: usize,
    now: Micros,
    verb: Verb,
    (resolved, admitted): (&[Resolved], bool),
    answers: &mut [LimitInfo],
) {
    let before = index.saturating_sub(1);
    let (Some([limit, block]), Some(info)) = (parts.get(before..=index), answers.last_mut()) else { return };
    let Some(check) = resolved.get(before) else { return };
    if let Ok([entry, blocked]) = entries.get_disjoint_mut([limit.entry, block.entry]) {
        let check = Resolved { admitted, ..*check };
        let limit = (limit.rule, &mut entry.entry);
        info.beside_block(limit, (block.rule, &mut blocked.entry), now, verb, check);
    }
}

/// The units that earlier checks of a decision take from the same entry, for each check; where observed ones are decided
/// `apart`, those of another check are charged before.
pub(crate) fn priors<R>(parts: &[Part<R>], entries: usize, apart: bool) -> InlineVec<u64> {
    if apart && parts.iter().any(|part| part.observed.is_some()) {
        return priors_apart(parts);
    }
    let mut sums: InlineVec<u64> = smallvec![0; entries];
    let prior = |part: &Part<R>| {
        let sum = sums.get_mut(part.entry)?;
        let prior = *sum;
        *sum = prior.saturating_add(part.needs());
        Some(prior)
    };
    parts.iter().map(prior).map(Option::unwrap_or_default).collect()
}

#[cold]
fn priors_apart<R>(parts: &[Part<R>]) -> InlineVec<u64> {
    let prior = |(index, part): (usize, &Part<R>)| {
        let same = |earlier: &&Part<R>| earlier.observed == part.observed && earlier.entry == part.entry;
        parts.iter().take(index).filter(same).fold(0, |sum: u64, earlier| sum.saturating_add(earlier.cost))
    };
    parts.iter().enumerate().map(prior).collect()
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
