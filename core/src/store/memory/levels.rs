//! A few levels in one decision, which is what most decisions of several checks are: no lists, and one look at each.

use std::array;
use std::sync::MutexGuard;

use super::one::afresh;
use super::overflow::BoundedTable;
use super::slot::Drain;
use super::table::Position;
use super::{Memory, Moment, Undecided};
use crate::algorithm::{Algorithm, Level, LevelRule};
use crate::decision::{Change, Resolved, Verb, Verdict, answer, commit, examine};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;

/// A level that is asked for a cost.
#[derive(Clone, Copy)]
pub(crate) struct LevelCheck<'a> {
    pub(crate) rule: &'a LevelRule,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) cost: u64,
}

/// The entry, as far as it is known.
#[derive(Clone, Copy)]
struct KnownEntry {
    place: Position,
    level: Level,
    verdict: Verdict,
}

impl Default for KnownEntry {
    fn default() -> Self {
        Self { place: Err(0), level: Level::default(), verdict: Verdict::default() }
    }
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
struct Apart<'a, const N: usize> {
    tables: [Option<MutexGuard<'a, BoundedTable>>; N],
    /// The table of each check.
    homes: [usize; N],
}

impl<const N: usize> Tables for Apart<'_, N> {
    #[inline]
    fn of(&mut self, index: usize) -> &mut BoundedTable {
        self.tables[self.homes[index]].as_mut().unwrap_or_else(|| unreachable!("it has been locked"))
    }
}

/// The use of an answer to several checks.
pub(crate) trait Merge<const N: usize> {
    type Merged;

    /// Of the answers that `answered` makes, one for each check.
    fn merge(&mut self, answered: impl Fn(usize) -> LimitInfo) -> Self::Merged;

    /// Of an answer that was made otherwise.
    fn whole(&mut self, info: LimitInfo) -> Self::Merged;
}

/// Keeps the answers of all checks.
pub(crate) struct Whole;

impl<const N: usize> Merge<N> for Whole {
    type Merged = LimitInfo;

    #[inline]
    fn merge(&mut self, answered: impl Fn(usize) -> LimitInfo) -> LimitInfo {
        LimitInfo::merged_of((0..N).map(answered).collect())
    }

    #[inline]
    fn whole(&mut self, info: LimitInfo) -> LimitInfo {
        info
    }
}

/// Calls a function with the answer to all checks and with that of each, and keeps none: nothing is allocated.
pub(crate) struct Shown<F>(pub(crate) F);

impl<const N: usize, T, F: FnMut(&LimitInfo, &[LimitInfo]) -> T> Merge<N> for Shown<F> {
    type Merged = T;

    #[inline]
    fn merge(&mut self, answered: impl Fn(usize) -> LimitInfo) -> T {
        let each: [LimitInfo; N] = array::from_fn(answered);
        self.0(&LimitInfo::summary(&each), &each)
    }

    #[inline]
    fn whole(&mut self, info: LimitInfo) -> T {
        self.0(&info, info.checks())
    }
}

impl Memory {
    /// [`Verb::Limit`] of levels with an entry each, as [`decide_several`](Self::decide_several) decides it too. What is
    /// left undecided, `otherwise` answers, and gets the index of that check.
    #[inline]
    pub(crate) fn limit_levels<const N: usize, M: Merge<N>, E>(
        &self,
        checks: &[LevelCheck<'_>; N],
        moment: Moment,
        mut answer_to: M,
        otherwise: impl FnOnce(M, usize, Undecided) -> Result<M::Merged, E>,
    ) -> Result<M::Merged, E> {
        let shard = self.shard_of(checks[0].fingerprint);
        let mut held = [KnownEntry::default(); N];
        let charged = if checks.iter().all(|check| self.shard_of(check.fingerprint) == shard) {
            self.charge_levels(checks, &mut held, moment, self.lock(shard, moment))
        } else {
            let shards = checks.map(|check| self.shard_of(check.fingerprint));
            self.charge_levels(checks, &mut held, moment, self.lock_each(shards, moment))
        };
        match charged {
            Ok(admitted) => Ok(answer_to.merge(|index| {
                let (LevelCheck { rule, cost, .. }, KnownEntry { level, verdict, .. }) = (&checks[index], &held[index]);
                let check = Resolved { admitted, ..Resolved::alone(*verdict, *cost) };
                answer(*rule, level, moment.now, Verb::Limit, check).of_check(index, false)
            })),
            Err((index, why)) => otherwise(answer_to, index, why),
        }
    }

    /// Answers whether all checks are admitted, and leaves in `held` what they leave.
    #[inline]
    fn charge_levels<const N: usize>(
        &self,
        checks: &[LevelCheck<'_>; N],
        held: &mut [KnownEntry; N],
        moment: Moment,
        mut tables: impl Tables,
    ) -> Result<bool, (usize, Undecided)> {
        let now = moment.now;
        let (mut admitted, mut missing) = (true, 0);
        for (index, (LevelCheck { rule, fingerprint, cost }, held)) in checks.iter().zip(&mut *held).enumerate() {
            let table = tables.of(index);
            let place = table.find(*fingerprint);
            if place.is_err() {
                missing += 1;
                if table.is_shared() {
                    return Err((index, Undecided::Crowded));
                }
            }
            let mut level = table.read(place).unwrap_or_else(|| rule.fresh(now));
            let mut verdict = examine(*rule, &mut level, now, Verb::Limit, *cost, 0);
            if !verdict.is_ok_and(Verdict::is_at_once) && table.is_over(place, moment) {
                (level, verdict) = afresh(*rule, now, Verb::Limit, *cost);
            }
            let verdict = verdict.map_err(|why| (index, Undecided::Impossible(why)))?;
            admitted &= verdict.fits;
            *held = KnownEntry { place, level, verdict };
        }
        if missing > 0 && !self.reserve(missing) {
            return Err((0, Undecided::Crowded));
        }
        // What comes or goes moves others about.
        let mut moved = false;
        for (index, (LevelCheck { rule, fingerprint, cost }, held)) in checks.iter().zip(&mut *held).enumerate() {
            let KnownEntry { place, level, verdict } = held;
            let check = Resolved { admitted, ..Resolved::alone(*verdict, *cost) };
            let change = commit(*rule, level, now, Verb::Limit, check, 0);
            if change != Change::Nothing {
                let table = tables.of(index);
                let place = if moved { table.find(*fingerprint) } else { *place };
                if change == Change::Mended {
                    moved |= self.mend_small(*rule, table, place, *level, moment);
                    continue;
                }
                let drain = Drain::new(rule.drains(level, now), moment.timeline);
                let before = table.len();
                moved |= self.keep_state(table, place, *fingerprint, *level, level.level == 0, drain);
                missing -= usize::from(table.len() > before);
            }
        }
        if missing > 0 {
            self.release(missing);
        }
        tables.of(0).count(admitted);
        // The tables are unlocked here: no other call has to wait while the answers are made.
        Ok(admitted)
    }

    /// The tables of all, locked in one order whatever the caller's.
    #[inline(never)]
    fn lock_each<const N: usize>(&self, shards: [usize; N], moment: Moment) -> Apart<'_, N> {
        let mut order: [_; N] = array::from_fn(|index| index);
        order.sort_unstable_by_key(|index| shards[*index]);
        let (mut tables, mut homes) = ([const { None }; N], [0; N]);
        let mut home = order[0];
        for index in order {
            if index == home || shards[index] != shards[home] {
                home = index;
                tables[index] = Some(self.lock(shards[index], moment));
            }
            homes[index] = home;
        }
        Apart { tables, homes }
    }
}
