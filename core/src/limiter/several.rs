//! Several checks in a store that decides on the thread that asks.

use super::checks::{self, Summed, rules};
use crate::Error;
use crate::algorithm::{Rule, Shape};
use crate::check::Check;
use crate::decision::{Call, Impossible, Part, Verb, drop_blocks};
use crate::distinct::Distinct;
#[cfg(all(feature = "shm", target_os = "linux"))]
use crate::error::StoreError;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::{EntryKind, Limit, Rules};
use crate::time::{EXACT, Micros};

/// The entries of a store that decides on the thread that asks.
pub(super) trait Entries {
    /// The part of a fingerprint that a namespace and the first rule of a limit are.
    fn of_limit(&self, limit: &Limit) -> Fingerprint;
    fn of_actor(&self, actor: &str) -> Fingerprint;
    fn of_shape(&self, shape: Shape) -> Fingerprint;
    /// The block beside an entry.
    fn of_block(&self, entry: Fingerprint) -> Fingerprint;
    /// The instant of a decision: the caller's, or else the store's.
    fn now(&self, given: Option<Micros>) -> Micros;
    /// Decides these parts about these entries. `actor_of` answers whom a part is about.
    fn decide(
        &self,
        entries: &[Fingerprint],
        parts: &[Part<&Rule>],
        actor_of: &dyn Fn(usize) -> Fingerprint,
        call: (Verb, Option<Micros>),
    ) -> Result<Vec<LimitInfo>, Unmade>;
    /// Removes all of these entries at once.
    fn remove(&self, entries: &[Fingerprint], now: Option<Micros>) -> Result<(), Error>;
}

/// The reason why a decision was not made.
pub(super) enum Unmade {
    /// By this part of it.
    Impossible(usize, Impossible),
    #[cfg(all(feature = "shm", target_os = "linux"))]
    Failed(StoreError),
}

/// Decides several checks together: from checks to the entries and rules that they are about, and back.
pub(super) fn decide(
    store: &dyn Entries,
    checks: &[Check<'_>],
    call: Call,
    now: Option<Micros>,
) -> Result<LimitInfo, Error> {
    let summed = checks::agree(checks, call.into())?;
    checks::at_least(checks, call.into(), summed.is_some())?;
    if let Some(summed) = summed {
        return decide_summed(store, checks, &summed, call, now);
    }
    let mut scaled: Vec<Rules> = Vec::new();
    for check in checks.iter().filter(|check| compiled(check).is_none()) {
        scaled.push(rules(check)?);
    }
    let mut scaled = scaled.iter();
    let mut parts: InlineVec<Part<&Rule>> = InlineVec::new();
    let mut entries: Distinct<Fingerprint> = Distinct::default();
    // Which check each part belongs to.
    let mut owners: InlineVec<usize> = InlineVec::new();
    // One answer for each check, unless one of them is limited by nothing, or by two rules.
    let (mut one_each, mut blocks) = (true, false);
    let mut last: Option<(&str, Fingerprint)> = None;
    for (index, check) in checks.iter().enumerate() {
        // Several limits of one actor are the most common case.
        let actor = match last {
            Some((actor, fingerprint)) if checks::same(actor, check.actor) => fingerprint,
            _ => store.of_actor(check.actor),
        };
        last = Some((check.actor, actor));
        let fingerprint = store.of_limit(check.limit) ^ actor;
        let Some(rules) = compiled(check).or_else(|| scaled.next()) else { continue };
        one_each &= matches!(rules, Rules::One(_) | Rules::Blocking(..));
        blocks |= matches!(rules, Rules::Blocking(..));
        for (number, (place, rule)) in rules.placed().enumerate() {
            let entry = entries.index_of(&match number {
                0 => fingerprint,
                _ if place.is_block => store.of_block(fingerprint),
                _ => fingerprint ^ store.of_shape(place.shape),
            });
            let Check { cost, at_least, spent, charged_at, .. } = *check;
            parts.push(Part { rule, cost, at_least, spent, charged_at, entry, observed: check.group(index) });
            owners.push(index);
        }
    }
    let actor_of = |part: usize| store.of_actor(checks[owners[part]].actor);
    let decided = store.decide(entries.as_slice(), &parts, &actor_of, (call.into(), now));
    let mut decided = decided.map_err(|why| match why {
        Unmade::Impossible(part, why) => refusal(&checks[owners[part]], call, why),
        #[cfg(all(feature = "shm", target_os = "linux"))]
        Unmade::Failed(error) => error.into(),
    })?;
    // In place, because to move an answer can be felt.
    for (info, owner) in decided.iter_mut().zip(owners) {
        info.belongs_to(owner, checks[owner].observed);
    }
    if blocks {
        drop_blocks(&mut decided, &parts);
    }
    if one_each {
        return Ok(LimitInfo::merged(decided));
    }
    let mut decided = decided.into_iter().peekable();
    let mut infos = Vec::new();
    for (index, check) in checks.iter().enumerate() {
        let answered = infos.len();
        while let Some(info) = decided.next_if(|info| info.check_index() == index) {
            infos.push(info);
        }
        if infos.len() == answered {
            let granted = granted(check, call);
            infos.push(LimitInfo::unlimited().granting(granted).of_check(index, check.observed));
        }
    }
    LimitInfo::grant_together(&mut infos, checks.iter().any(|check| check.at_least > 0));
    Ok(LimitInfo::merged(infos))
}

/// Checks of which some are of one limit and actor: the answer to their sum is that of each.
#[cold]
fn decide_summed(
    store: &dyn Entries,
    checks: &[Check<'_>],
    summed: &Summed<'_>,
    call: Call,
    now: Option<Micros>,
) -> Result<LimitInfo, Error> {
    let info = decide(store, &summed.checks, call, now)?;
    let mut infos = Vec::with_capacity(checks.len());
    for (index, (check, place)) in checks.iter().zip(&summed.places).enumerate() {
        let of_place = info.checks().iter().filter(|info| info.check_index() == *place);
        infos.extend(of_place.map(|info| info.clone().of_check(index, check.observed)));
    }
    Ok(LimitInfo::merged(infos))
}

/// Removes every entry that these checks can have, all at once.
pub(super) fn reset(store: &dyn Entries, checks: &[Check<'_>], now: Option<Micros>) -> Result<LimitInfo, Error> {
    checks::agree(checks, Verb::Reset)?;
    let instant = store.now(now);
    let mut infos = Vec::with_capacity(checks.len());
    let mut entries: InlineVec<Fingerprint> = InlineVec::new();
    for (index, check) in checks.iter().enumerate() {
        let answered = infos.len();
        infos.extend(rules(check)?.iter().map(|rule| rule.emptied(instant).of_check(index, check.observed)));
        if infos.len() == answered {
            infos.push(LimitInfo::unlimited().of_check(index, check.observed));
        }
        let (limit, actor) = (store.of_limit(check.limit), store.of_actor(check.actor));
        let key = limit ^ store.of_shape(check.limit.shape()) ^ actor;
        entries.extend(EntryKind::all().map(|place| {
            let entry = key ^ store.of_shape(place.shape);
            if place.is_block { store.of_block(entry) } else { entry }
        }));
    }
    store.remove(&entries, now)?;
    Ok(LimitInfo::merged(infos))
}

/// The error of a check that cannot be decided.
#[cold]
pub(super) fn refusal(check: &Check<'_>, call: Call, why: Impossible) -> Error {
    let verb = Verb::from(call);
    why.of(verb, check.limit.key(), verb.named_cost(check.cost, check.spent)).into()
}

/// The units that a check is granted where nothing is limited.
pub(super) fn granted(check: &Check<'_>, call: Call) -> u64 {
    Verb::from(call).grants(check.cost)
}

/// The rules of a sound check of factor 1.
pub(super) fn compiled<'a>(check: &Check<'a>) -> Option<&'a Rules> {
    check.limit.compiled(check.factor).filter(|_| check.cost.max(check.spent) <= EXACT)
}
