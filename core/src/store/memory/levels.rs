//! A few levels in one decision, which is what most decisions of several checks are: no lists, and one look at each.

use std::array;

use spin::MutexGuard;

use super::one::afresh;
use super::overflow::BoundedTable;
use super::slot::Drain;
use super::{Memory, Moment, Undecided};
use crate::algorithm::{Algorithm, Grouped, LevelRule, Small, Uneven};
use crate::decision::{Change, Resolved, Verb, Verdict, answer, commit, examine};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;

/// The most levels that are a few.
pub(crate) const FEW: usize = 4;

/// A level that is asked for a cost.
#[derive(Clone, Copy)]
pub(crate) struct LevelCheck<'a> {
    pub(crate) rule: &'a LevelRule,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) cost: u64,
}

/// An entry, first as it is and then as the call leaves it.
#[derive(Clone, Copy, Default)]
struct HeldEntry<S> {
    at: usize,
    state: S,
    fits: bool,
}

/// The locked tables in which entries are.
trait Tables {
    fn of(&mut self, index: usize) -> &mut BoundedTable;
}

/// Of one actor, all are in one.
impl Tables for MutexGuard<'_, BoundedTable> {
    #[inline]
    fn of(&mut self, _index: usize) -> &mut BoundedTable {
        self
    }
}

/// A table for each, unless an earlier entry is in the same.
struct Apart<'a> {
    tables: [Option<MutexGuard<'a, BoundedTable>>; FEW],
    /// The table of each check.
    homes: [usize; FEW],
}

impl Tables for Apart<'_> {
    #[inline]
    fn of(&mut self, index: usize) -> &mut BoundedTable {
        self.tables[self.homes[index]].as_mut().unwrap_or_else(|| unreachable!("it has been locked"))
    }
}

/// The use of the answers to several checks.
pub(crate) trait Merge {
    type Merged;

    fn merge(self, answers: impl Iterator<Item = LimitInfo>) -> Self::Merged;

    /// Of an answer that was made otherwise.
    fn whole(self, info: LimitInfo) -> Self::Merged;
}

/// Keeps the answers of all checks.
pub(crate) struct Whole;

impl Merge for Whole {
    type Merged = LimitInfo;

    #[inline]
    fn merge(self, answers: impl Iterator<Item = LimitInfo>) -> LimitInfo {
        LimitInfo::merged_of(answers.collect())
    }

    #[inline]
    fn whole(self, info: LimitInfo) -> LimitInfo {
        info
    }
}

/// Calls a function with the answer to two checks and with that of each, and keeps none: nothing is allocated.
pub(crate) struct ShownTwo<F>(pub(crate) F);

impl<T, F: FnOnce(&LimitInfo, &[LimitInfo]) -> T> Merge for ShownTwo<F> {
    type Merged = T;

    #[inline]
    fn merge(self, mut answers: impl Iterator<Item = LimitInfo>) -> T {
        let each = [(); 2].map(|()| answers.next().unwrap_or_default());
        (self.0)(&LimitInfo::summary(&each), &each)
    }

    #[inline]
    fn whole(self, info: LimitInfo) -> T {
        (self.0)(&info, info.checks())
    }
}

impl Memory {
    /// [`Verb::Limit`] of [`FEW`] levels at most with an entry each, as [`decide_several`](Self::decide_several) decides it
    /// too. What is left undecided, `otherwise` answers, and gets the index of that check.
    #[inline]
    pub(crate) fn limit_levels<M: Merge, E>(
        &self,
        checks: &[LevelCheck<'_>],
        moment: Moment,
        answer_to: M,
        otherwise: impl FnOnce(M, usize, Undecided) -> Result<M::Merged, E>,
    ) -> Result<M::Merged, E> {
        if checks.iter().all(|check| check.rule.by_groups) {
            self.limit_by(|check| Grouped(check.rule), checks, moment, answer_to, otherwise)
        } else {
            self.limit_uneven(checks, moment, answer_to, otherwise)
        }
    }

    /// Levels of which one drains within groups of ticks too; the arithmetic for it is right for all of them.
    #[inline(never)]
    fn limit_uneven<M: Merge, E>(
        &self,
        checks: &[LevelCheck<'_>],
        moment: Moment,
        answer_to: M,
        otherwise: impl FnOnce(M, usize, Undecided) -> Result<M::Merged, E>,
    ) -> Result<M::Merged, E> {
        self.limit_by(|check| Uneven(check.rule), checks, moment, answer_to, otherwise)
    }

    /// [`limit_levels`](Self::limit_levels) by these rules.
    #[expect(clippy::inline_always, reason = "how the levels drain stays known")]
    #[inline(always)]
    fn limit_by<'a, R: Algorithm<State: Small + Default>, M: Merge, E>(
        &self,
        rule_of: impl Fn(&'a LevelCheck<'a>) -> R,
        checks: &'a [LevelCheck<'a>],
        moment: Moment,
        answer_to: M,
        otherwise: impl FnOnce(M, usize, Undecided) -> Result<M::Merged, E>,
    ) -> Result<M::Merged, E> {
        let mut held = [HeldEntry::default(); FEW];
        let shard = self.shard_of(checks[0].fingerprint);
        let charged = if checks.iter().all(|check| self.shard_of(check.fingerprint) == shard) {
            self.charge_levels(&rule_of, checks, &mut held, moment, self.lock(shard, moment))
        } else {
            self.charge_levels(&rule_of, checks, &mut held, moment, self.lock_each(checks, moment))
        };
        match charged {
            Ok(admitted) => Ok(answer_to.merge(checks.iter().zip(&held).enumerate().map(|(index, (check, held))| {
                let resolved = Resolved { admitted, ..Resolved::alone(Verdict::of(held.fits, 0), check.cost) };
                answer(&rule_of(check), &held.state, moment.now, Verb::Limit, resolved).of_check(index, false)
            }))),
            Err((index, why)) => otherwise(answer_to, index, why),
        }
    }

    /// Answers whether all checks are admitted, and leaves in `held` what they leave. Entries that are all there and count
    /// are charged by a path of their own, on which three checks take a tenth less.
    #[expect(clippy::inline_always, reason = "as its caller")]
    #[inline(always)]
    fn charge_levels<'a, R: Algorithm<State: Small>>(
        &self,
        rule_of: &impl Fn(&'a LevelCheck<'a>) -> R,
        checks: &'a [LevelCheck<'a>],
        held: &mut [HeldEntry<R::State>; FEW],
        moment: Moment,
        mut tables: impl Tables,
    ) -> Result<bool, (usize, Undecided)> {
        match charge_known(rule_of, checks, held, moment, &mut tables) {
            Some(admitted) => Ok(admitted),
            None => self.charge_any(rule_of, checks, held, moment, tables),
        }
        // The tables are unlocked here: no other call has to wait while the answers are made.
    }

    /// [`charge_levels`](Self::charge_levels) of any entries.
    #[cold]
    #[inline(never)]
    fn charge_any<'a, R: Algorithm<State: Small>>(
        &self,
        rule_of: &impl Fn(&'a LevelCheck<'a>) -> R,
        checks: &'a [LevelCheck<'a>],
        held: &mut [HeldEntry<R::State>; FEW],
        moment: Moment,
        mut tables: impl Tables,
    ) -> Result<bool, (usize, Undecided)> {
        let now = moment.now;
        let mut found = [(Err(0), Verdict::default()); FEW];
        let (mut admitted, mut missing) = (true, 0);
        for (index, ((check, held), found)) in checks.iter().zip(&mut *held).zip(&mut found).enumerate() {
            let (table, rule) = (tables.of(index), rule_of(check));
            let place = table.find(check.fingerprint);
            if place.is_err() {
                missing += 1;
                if table.is_shared() {
                    return Err((index, Undecided::Crowded));
                }
            }
            let mut state = table.read(place).unwrap_or_else(|| rule.fresh(now));
            let mut verdict = examine(&rule, &mut state, now, Verb::Limit, check.cost, 0);
            if !verdict.is_ok_and(Verdict::is_at_once) && table.is_over(place, moment) {
                (state, verdict) = afresh(&rule, now, Verb::Limit, check.cost);
            }
            let verdict = verdict.map_err(|why| (index, Undecided::Impossible(why)))?;
            admitted &= verdict.fits;
            (held.state, held.fits) = (state, verdict.fits);
            *found = (place, verdict);
        }
        if missing > 0 && !self.reserve(missing) {
            return Err((0, Undecided::Crowded));
        }
        // What comes or goes moves others about.
        let mut moved = false;
        for (index, ((check, held), (place, verdict))) in checks.iter().zip(held).zip(found).enumerate() {
            let (rule, state) = (rule_of(check), &mut held.state);
            let resolved = Resolved { admitted, ..Resolved::alone(verdict, check.cost) };
            let change = commit(&rule, state, now, Verb::Limit, resolved, 0);
            if change != Change::Nothing {
                let table = tables.of(index);
                let place = if moved { table.find(check.fingerprint) } else { place };
                if change == Change::Mended {
                    moved |= self.mend_small(&rule, table, place, *state, moment);
                    continue;
                }
                let drain = Drain::new(rule.drains(state, now), moment.timeline);
                let before = table.len();
                let is_empty = rule.is_empty(state, now);
                moved |= self.keep_state(table, place, check.fingerprint, *state, is_empty, drain);
                missing -= usize::from(table.len() > before);
            }
        }
        if missing > 0 {
            self.release(missing);
        }
        tables.of(0).count(admitted);
        Ok(admitted)
    }

    /// The tables of all, locked in one order whatever the caller's.
    #[inline(never)]
    fn lock_each(&self, checks: &[LevelCheck<'_>], moment: Moment) -> Apart<'_> {
        let mut shards = [0; FEW];
        for (shard, check) in shards.iter_mut().zip(checks) {
            *shard = self.shard_of(check.fingerprint);
        }
        let mut order: [_; FEW] = array::from_fn(|index| index);
        let order = &mut order[..checks.len()];
        order.sort_unstable_by_key(|index| shards[*index]);
        let (mut tables, mut homes) = ([const { None }; FEW], [0; FEW]);
        let mut home = order[0];
        for &mut index in order {
            if index == home || shards[index] != shards[home] {
                home = index;
                tables[index] = Some(self.lock(shards[index], moment));
            }
            homes[index] = home;
        }
        Apart { tables, homes }
    }
}

/// Charges entries that are all there and count. Nothing where one is not such: then nothing has changed.
#[expect(clippy::inline_always, reason = "as its caller")]
#[inline(always)]
fn charge_known<'a, R: Algorithm<State: Small>>(
    rule_of: &impl Fn(&'a LevelCheck<'a>) -> R,
    checks: &'a [LevelCheck<'a>],
    held: &mut [HeldEntry<R::State>; FEW],
    moment: Moment,
    tables: &mut impl Tables,
) -> Option<bool> {
    let now = moment.now;
    let mut admitted = true;
    for (index, (check, held)) in checks.iter().zip(&mut *held).enumerate() {
        let table = tables.of(index);
        let place = table.find(check.fingerprint);
        let (at, mut state) = (place.ok()?, table.read(place)?);
        let Verdict { fits, repaired, .. } =
            examine(&rule_of(check), &mut state, now, Verb::Limit, check.cost, 0).ok()?;
        if repaired || !fits && table.is_over(place, moment) {
            return None;
        }
        admitted &= fits;
        *held = HeldEntry { at, state, fits };
    }
    if admitted {
        for (index, (check, HeldEntry { at, state, .. })) in checks.iter().zip(held).enumerate() {
            let (rule, resolved) = (rule_of(check), Resolved::alone(Verdict::of(true, 0), check.cost));
            if commit(&rule, state, now, Verb::Limit, resolved, 0) == Change::Written {
                tables.of(index).replace(*at, *state, Drain::new(rule.drains(state, now), moment.timeline));
            }
        }
    }
    tables.of(0).count(admitted);
    Some(admitted)
}
