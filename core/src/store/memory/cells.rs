//! A few cells in one decision, which is what most decisions of several checks are: no lists, and one look at each.

use std::array;
use std::sync::MutexGuard;

use super::slot::Drain;
use super::table::Table;
use super::{Memory, Moment};
use crate::decision::{Entry, Impossible, Outlook, Room, Settled, Verb, answer_from, commit, examine};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Cell;

/// A cell that is asked for a cost.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) cost: u64,
}

/// The locked tables in which entries are.
trait Tables {
    fn of(&mut self, index: usize) -> &mut Table;
}

/// Of one actor, all are in one.
impl Tables for MutexGuard<'_, Table> {
    #[inline]
    fn of(&mut self, _index: usize) -> &mut Table {
        self
    }
}

/// A table for each, unless an earlier entry is in the same.
struct Apart<'a, const N: usize> {
    tables: [Option<MutexGuard<'a, Table>>; N],
    /// Which of the tables is whose.
    homes: [usize; N],
}

impl<const N: usize> Tables for Apart<'_, N> {
    #[inline]
    fn of(&mut self, index: usize) -> &mut Table {
        self.tables[self.homes[index]].as_mut().unwrap_or_else(|| unreachable!("it has been locked"))
    }
}

impl Memory {
    /// [`Verb::Limit`] of cells with an entry each, as [`decide_several`](Self::decide_several) decides it too.
    #[inline]
    pub(crate) fn limit_cells<const N: usize>(
        &self,
        wanted: &[Wanted<'_>; N],
        moment: Moment,
    ) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
        let shards = wanted.map(|wanted| self.shard_of(wanted.fingerprint));
        if shards.iter().all(|shard| *shard == shards[0]) {
            return self.limit_cells_in(wanted, moment, self.lock(shards[0], moment));
        }
        self.limit_cells_in(wanted, moment, self.lock_each(shards, moment))
    }

    #[inline]
    fn limit_cells_in<const N: usize>(
        &self,
        wanted: &[Wanted<'_>; N],
        moment: Moment,
        mut tables: impl Tables,
    ) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
        let now = moment.now;
        let places: [_; N] = array::from_fn(|index| tables.of(index).find(wanted[index].fingerprint));
        let mut levels: [_; N] = array::from_fn(|index| {
            tables.of(index).read(places[index]).unwrap_or_else(|| wanted[index].cell.fresh(now))
        });
        let mut checks = [None; N];
        for (index, Wanted { cell, cost, .. }) in wanted.iter().enumerate() {
            let verdict = examine(*cell, &mut levels[index], now, Verb::Limit, *cost, 0);
            checks[index] = Some(Settled::alone(verdict.map_err(|why| (index, why))?, *cost));
        }
        let admitted = checks.iter().flatten().all(|check| check.admitted);
        let mut answers = Vec::with_capacity(N);
        // What comes or goes moves others about.
        let mut moved = false;
        for (index, (Wanted { cell, fingerprint, .. }, check)) in wanted.iter().zip(checks).enumerate() {
            let (Some(check), level) = (check, &mut levels[index]) else { continue };
            let check = Settled { admitted, ..check };
            let changed = commit(*cell, level, now, Verb::Limit, check, 0);
            let outlook = Outlook::of(*cell, level, now);
            if changed {
                let table = tables.of(index);
                let place = if moved { table.find(*fingerprint) } else { places[index] };
                let drain = Drain { drains: cell.drains(level, now, outlook), timeline: moment.timeline };
                moved |= self.keep_state(table, place, *fingerprint, Entry::Cell(*level), level.level == 0, drain, now);
            }
            answers.push(answer_from(*cell, level, now, Verb::Limit, check, outlook));
        }
        Ok(answers)
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
