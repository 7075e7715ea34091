//! One check, which needs one lock and allocates nothing.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use super::slot::Drain;
use super::table::{Place, Table};
use super::{Memory, Moment};
use crate::decision::{Entry, Impossible, Room, Settled, Verb, answer, commit, examine};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::{Cell, Rule};
use crate::time::Micros;

/// What is asked about an entry.
#[derive(Clone, Copy)]
pub(crate) struct Question {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) moment: Moment,
    pub(crate) verb: Verb,
    pub(crate) cost: u64,
    pub(crate) spent: u64,
}

impl Memory {
    /// Decides one check; an impossible one is put into words by `refuse`, and leaves everything as it is.
    #[expect(clippy::inline_always, reason = "what is constant for a verb stays so")]
    #[inline(always)]
    pub(crate) fn decide_one<E>(
        &self,
        rule: &Rule,
        question: Question,
        refuse: impl FnOnce(Impossible) -> E,
    ) -> Result<LimitInfo, E> {
        let table = self.lock(self.shard_of(question.fingerprint), question.moment);
        let place = table.find(question.fingerprint);
        match rule {
            Rule::Cell(cell) if table.fits_a_cell(place) => self.decide_cell(cell, table, place, question, refuse),
            _ => self.decide_any(rule, table, place, question).map_err(refuse),
        }
    }

    /// The cell's own way: its state is in its slot, and nothing is moved about.
    #[expect(clippy::inline_always, reason = "as its caller")]
    #[inline(always)]
    fn decide_cell<E>(
        &self,
        cell: &Cell,
        mut table: MutexGuard<'_, Table>,
        place: Place,
        question: Question,
        refuse: impl FnOnce(Impossible) -> E,
    ) -> Result<LimitInfo, E> {
        let Question { fingerprint, moment, verb, cost, spent } = question;
        let now = moment.now;
        let mut level = table.cell(place).unwrap_or_else(|| cell.fresh(now));
        let check = match examine(cell, &mut level, now, verb, cost, 0) {
            Ok(verdict) => Settled::alone(verdict, cost),
            Err(why) => return Err(refuse(why)),
        };
        if commit(cell, &mut level, now, verb, check, spent) {
            let drain = Drain {
                since: level.since,
                time: cell.drain_time(level.level),
                window: cell.window_at(level.level),
                timeline: moment.timeline,
            };
            match place {
                Ok(at) if level.level > 0 => table.replace_cell(at, fingerprint, level, drain),
                Ok(at) => self.forget(&mut table, at),
                Err(_) if level.level > 0 => self.insert(&mut table, fingerprint, Entry::Cell(level), drain, now),
                Err(_) => {}
            }
        }
        // Nobody else has to wait while the answer is put into words.
        drop(table);
        Ok(answer(cell, &level, now, verb, check))
    }

    #[inline(never)]
    fn decide_any(
        &self,
        rule: &Rule,
        mut table: MutexGuard<'_, Table>,
        place: Place,
        question: Question,
    ) -> Result<LimitInfo, Impossible> {
        let Question { fingerprint, moment, verb, cost, spent } = question;
        let mut entry = table.take(place, |entry| rule.may_borrow(entry, moment.now));
        let check = match rule.examine(&mut entry, moment.now, verb, cost, 0) {
            Ok(verdict) => Settled::alone(verdict, cost),
            Err(why) => {
                table.put_back(place, entry);
                return Err(why);
            }
        };
        let changed = rule.commit(&mut entry, moment.now, verb, check, spent);
        let info = rule.answer(&mut entry, moment.now, verb, check);
        if changed {
            self.keep(&mut table, place, fingerprint, entry, rule, moment);
        } else {
            table.put_back(place, entry);
        }
        Ok(info)
    }

    pub(super) fn keep(
        &self,
        table: &mut Table,
        place: Place,
        fingerprint: Fingerprint,
        mut entry: Entry,
        rule: &Rule,
        moment: Moment,
    ) {
        if rule.is_empty(&mut entry, moment.now) {
            if let Ok(at) = place {
                self.forget(table, at);
            }
            return;
        }
        let (since, time, window) = rule.drains(&mut entry, moment.now);
        let drain = Drain { since, time, window, timeline: moment.timeline };
        match place {
            Ok(at) => table.replace(at, fingerprint, entry, drain),
            Err(_) => self.insert(table, fingerprint, entry, drain, moment.now),
        }
    }

    pub(super) fn forget(&self, table: &mut Table, at: usize) {
        table.remove(at);
        self.len.fetch_sub(1, Ordering::Relaxed);
    }

    fn insert(&self, table: &mut Table, fingerprint: Fingerprint, entry: Entry, drain: Drain, now: Micros) {
        if self.len.fetch_add(1, Ordering::Relaxed) >= self.max_entries {
            self.len.fetch_sub(1, Ordering::Relaxed);
            self.evictions.fetch_add(1, Ordering::Relaxed);
            if table.len() == 0 || !table.evict_for(&drain, now) {
                return;
            }
        }
        table.insert(fingerprint, entry, drain);
    }
}
