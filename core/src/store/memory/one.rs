//! One check, which needs one lock and allocates nothing.

use std::sync::atomic::Ordering;

use spin::MutexGuard;

use super::overflow::BoundedTable;
use super::slot::Drain;
use super::table::Position;
use super::{Memory, Moment};
use crate::algorithm::{Algorithm, Drains, Entry, IntoEntry, Rule, Small, states, with_long, with_small};
use crate::decision::{Change, Impossible, Resolved, Verb, Verdict, answer, commit, examine};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::time::Micros;

/// A call about one entry.
#[derive(Clone, Copy)]
pub(crate) struct EntryCall {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) moment: Moment,
    pub(crate) verb: Verb,
    pub(crate) cost: u64,
    pub(crate) spent: u64,
    /// The limit has a block. The call is undecided where there is one, and where it is denied and so closes one.
    pub(crate) has_block: bool,
}

/// A call whose table is locked, and where its entry is in it.
struct Opened<'a> {
    table: MutexGuard<'a, BoundedTable>,
    place: Position,
    call: EntryCall,
}

/// The reason why one check was not decided; nothing has changed.
#[derive(Clone, Copy)]
pub(crate) enum Undecided {
    /// There may be no room for an entry that is missing, or there is a block beside it.
    Crowded,
    Impossible(Impossible),
}

impl Memory {
    /// Decides one check of any rule. What is left undecided, `otherwise` answers: it is passed in, so that an answer is
    /// made where it stays, because to move one can be felt.
    #[inline(never)]
    pub(crate) fn decide_one<E>(
        &self,
        rule: &Rule,
        call: EntryCall,
        otherwise: &dyn Fn(Undecided) -> Result<LimitInfo, E>,
    ) -> Result<LimitInfo, E> {
        with_small!(rule, |algorithm| self.decide_small(algorithm, call, otherwise), else if call.has_block {
            otherwise(Undecided::Crowded)
        } else {
            self.decide_lent(rule, call, otherwise)
        })
    }

    /// One check whose state of a few numbers is copied out of the table and back. The path of an entry that is there
    /// and counts ends in an answer of its own: were it to join that of the others, a call would take a tenth longer.
    #[expect(clippy::inline_always, reason = "what is constant for a verb stays so")]
    #[inline(always)]
    pub(crate) fn decide_small<R: Algorithm<State: Small>, E>(
        &self,
        algorithm: &R,
        call: EntryCall,
        otherwise: impl FnOnce(Undecided) -> Result<LimitInfo, E>,
    ) -> Result<LimitInfo, E> {
        let EntryCall { fingerprint, moment, verb, cost, spent, has_block } = call;
        let mut table = self.lock(self.shard_of(fingerprint), moment);
        let place = table.find(fingerprint);
        if has_block && table.find(fingerprint.of_block()).is_ok() {
            drop(table);
            return otherwise(Undecided::Crowded);
        }
        if let Some(mut state) = table.read::<R::State>(place)
            && let Ok(verdict) = examine(algorithm, &mut state, moment.now, verb, verb.adds(cost, spent), 0)
            && (verdict.is_at_once() || !has_block && !table.is_over(place, moment))
        {
            let check = Resolved::alone(verdict, cost);
            // It has its room already.
            self.commit_small(algorithm, call, &mut table, place, &mut state, check);
            // No other call has to wait while the answer is made.
            drop(table);
            return Ok(answer(algorithm, &state, moment.now, verb, check));
        }
        self.decide_aside(algorithm, Opened { table, place, call }).or_else(otherwise)
    }

    /// [`decide_small`](Self::decide_small) of an entry that is not there, or may count no more, or closes a block.
    #[cold]
    #[inline(never)]
    fn decide_aside<R: Algorithm<State: Small>>(
        &self,
        algorithm: &R,
        Opened { mut table, place, call }: Opened<'_>,
    ) -> Result<LimitInfo, Undecided> {
        let EntryCall { moment, verb, cost, spent, has_block, .. } = call;
        let now = moment.now;
        if place.is_err() && table.is_shared() {
            return Err(Undecided::Crowded);
        }
        let mut state = table.read(place).unwrap_or_else(|| algorithm.fresh(now));
        let mut verdict = examine(algorithm, &mut state, now, verb, verb.adds(cost, spent), 0);
        if !verdict.is_ok_and(Verdict::is_at_once) && table.is_over(place, moment) {
            (state, verdict) = afresh(algorithm, now, verb, verb.adds(cost, spent));
        }
        let check = Resolved::alone(verdict.map_err(Undecided::Impossible)?, cost);
        if has_block && !check.admitted || !self.commit_small(algorithm, call, &mut table, place, &mut state, check) {
            return Err(Undecided::Crowded);
        }
        drop(table);
        Ok(answer(algorithm, &state, now, verb, check))
    }

    /// Commits a check, and keeps what it leaves of a small state. False if there is no room for it: then nothing has
    /// changed.
    #[expect(clippy::inline_always, reason = "as its callers")]
    #[inline(always)]
    fn commit_small<R: Algorithm<State: Small>>(
        &self,
        algorithm: &R,
        call: EntryCall,
        table: &mut BoundedTable,
        place: Position,
        state: &mut R::State,
        check: Resolved,
    ) -> bool {
        let EntryCall { fingerprint, moment, verb, spent, .. } = call;
        let now = moment.now;
        let change = commit(algorithm, state, now, verb, check, spent);
        if change == Change::Mended {
            self.mend_small(algorithm, table, place, *state, moment);
        } else if change == Change::Written {
            let drain = Drain::new(algorithm.drains(state, now), moment.timeline);
            let is_empty = algorithm.is_empty(state, now);
            if place.is_err() && !is_empty && !self.reserve(1) {
                return false;
            }
            self.keep_state(table, place, fingerprint, *state, is_empty, drain);
        }
        table.count(check.admitted);
        true
    }

    /// [`keep_mended`](Self::keep_mended) of an entry whose rule is known; this is the state as it was brought to now.
    #[cold]
    #[inline(never)]
    pub(super) fn mend_small<R: Algorithm<State: Small>>(
        &self,
        algorithm: &R,
        table: &mut BoundedTable,
        place: Position,
        state: R::State,
        moment: Moment,
    ) -> bool {
        let mended = table.read::<R::State>(place).and_then(|before| algorithm.mended(&before, moment.now));
        let mended = mended.map_or(Entry::Absent, |mended| mended.into_entry(IntoEntry::into_entry));
        let drains = (!algorithm.is_empty(&state, moment.now)).then(|| algorithm.drains(&state, moment.now));
        self.keep_mended(table, place, mended, drains, moment)
    }

    /// A state of any length is lent by the table, and put back.
    #[inline]
    pub(crate) fn decide_lent<E>(
        &self,
        rule: &Rule,
        call: EntryCall,
        otherwise: impl FnOnce(Undecided) -> Result<LimitInfo, E>,
    ) -> Result<LimitInfo, E> {
        let EntryCall { fingerprint, moment, verb, cost, spent, .. } = call;
        let mut table = self.lock(self.shard_of(fingerprint), moment);
        let place = table.find(fingerprint);
        if place.is_err() && table.is_shared() {
            drop(table);
            return otherwise(Undecided::Crowded);
        }
        let mut entry = if table.is_over(place, moment) {
            Entry::Absent
        } else {
            table.take(place, |entry| rule.may_borrow(entry, moment.now))
        };
        let now = moment.now;
        // One look at the rule for all steps: they take less time than a look for each.
        let decided = with_long!(rule, entry, now, |algorithm, state| {
            examine(algorithm, state, now, verb, verb.adds(cost, spent), 0).map_err(Undecided::Impossible).map(|verdict| {
                let check = Resolved::alone(verdict, cost);
                let keeps = commit(algorithm, state, now, verb, check, spent) != Change::Nothing;
                let kept = keeps.then(|| (algorithm.is_empty(state, now), algorithm.drains(state, now)));
                (check, kept, answer(algorithm, state, now, verb, check))
            })
        }, else Err(Undecided::Crowded));
        let (check, kept, info) = match decided {
            Ok(decided) => decided,
            Err(why) => {
                table.put_back(place, entry);
                drop(table);
                return otherwise(why);
            }
        };
        // Long entries that a wrong clock has left in the future are forgotten, and are empty then.
        match kept {
            None => table.put_back(place, entry),
            Some((is_empty, drains)) => {
                if place.is_err() && !is_empty && !self.reserve(1) {
                    drop(table);
                    return otherwise(Undecided::Crowded);
                }
                self.keep_state(&mut table, place, fingerprint, entry, is_empty, Drain::new(drains, moment.timeline));
            }
        }
        table.count(check.admitted);
        Ok(info)
    }

    /// Keeps an entry in its place, or in a new one, for which there has to be room.
    pub(super) fn keep(
        &self,
        table: &mut BoundedTable,
        place: Position,
        fingerprint: Fingerprint,
        mut entry: Entry,
        rule: &Rule,
        moment: Moment,
    ) -> bool {
        let is_empty = rule.is_empty(&mut entry, moment.now);
        let drain = Drain::new(rule.drains(&mut entry, moment.now), moment.timeline);
        self.keep_state(table, place, fingerprint, entry, is_empty, drain)
    }

    /// [`keep`](Self::keep); answers whether that moved other entries about.
    #[expect(clippy::inline_always, reason = "what kind of entry it is, its caller knows")]
    #[inline(always)]
    pub(super) fn keep_state(
        &self,
        table: &mut BoundedTable,
        place: Position,
        fingerprint: Fingerprint,
        entry: impl IntoEntry,
        is_empty: bool,
        drain: Drain,
    ) -> bool {
        match place {
            Ok(at) if is_empty => self.forget(table, at),
            Ok(at) => {
                table.replace(at, entry, drain);
                return false;
            }
            Err(_) if is_empty => return false,
            Err(_) => table.insert(fingerprint, entry.into_entry(), drain),
        }
        true
    }

    /// [`keep`](Self::keep), or [`keep_mended`](Self::keep_mended) where that is all that is to be kept.
    pub(super) fn keep_or_mend(
        &self,
        table: &mut BoundedTable,
        place: Position,
        fingerprint: Fingerprint,
        (mut entry, mended): (Entry, Option<Box<Entry>>),
        rule: &Rule,
        moment: Moment,
    ) -> bool {
        match mended {
            Some(mended) => {
                let drains = rule.drains_unless_empty(&mut entry, moment.now);
                self.keep_mended(table, place, *mended, drains, moment)
            }
            None => self.keep(table, place, fingerprint, entry, rule, moment),
        }
    }

    /// Keeps an entry that a wrong clock had left in the future; `drains` is nothing where the rule that mends it finds it
    /// empty: then it stays for as long as the rule that wrote it has said.
    #[cold]
    pub(super) fn keep_mended(
        &self,
        table: &mut BoundedTable,
        place: Position,
        mended: Entry,
        drains: Option<Drains>,
        moment: Moment,
    ) -> bool {
        let Ok(at) = place else { return false };
        if mended == Entry::Absent {
            self.forget(table, at);
            return true;
        }
        let drain = drains.map_or_else(|| table.drain_at(at), |drains| Drain::new(drains, moment.timeline));
        table.replace(at, mended, drain);
        false
    }

    pub(super) fn forget(&self, table: &mut BoundedTable, at: usize) {
        table.remove(at);
        self.len.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of an absent entry, and what it says of this cost.
#[cold]
#[inline(never)]
pub(in crate::store) fn afresh<R: Algorithm>(
    algorithm: &R,
    now: Micros,
    verb: Verb,
    added: u64,
) -> (R::State, Result<Verdict, Impossible>) {
    let mut state = algorithm.fresh(now);
    let verdict = examine(algorithm, &mut state, now, verb, added, 0);
    (state, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{LevelRule, Log};
    use crate::store::memory::moment::Timeline;
    use crate::store::memory::{LevelCheck, Whole};

    /// An entry that has drained by the rule that wrote it, and that no sweep has come to yet.
    #[test]
    fn an_entry_keeps_nobody_out_for_longer_than_its_writer_says() {
        let (start, verb) = (1_700_000_000_000_000, Verb::Limit);
        let level = |tick| LevelRule::new(1, tick, 1);
        let log = |period| Rule::Log(Log { max: 1, period, min_interval: 0, counts_blocked: false });
        let pairs = [(Rule::Level(level(1000)), Rule::Level(level(3_600_000_000))), (log(1000), log(3_600_000_000))];
        for (short, long) in pairs {
            let memory = Memory::new();
            let blocked = |rule: &Rule, actor: u128, now| {
                let moment = Moment { now, timeline: Timeline::Real };
                let fingerprint = Fingerprint(actor << 64);
                let call = EntryCall { fingerprint, moment, verb, cost: 1, spent: 0, has_block: false };
                memory.decide_one::<()>(rule, call, &|_| panic!("it is decided")).expect("an answer").blocked
            };
            let actors = || (1..50).map(|actor| actor << 57);
            actors().for_each(|actor| assert!(!blocked(&short, actor, start)));
            assert!(blocked(&long, 1 << 57, start + 900));
            actors().for_each(|actor| assert!(!blocked(&long, actor, start + 1200), "{actor}"));
            assert!(blocked(&long, 1 << 57, start + 1200));
        }
        let ([quick, slow], memory) = ([level(1000), level(3_600_000_000)], Memory::new());
        let both = |rule: &LevelRule, actor: u128, now| {
            let check =
                |other: u128| LevelCheck { rule, fingerprint: Fingerprint((actor << 64) + (other << 100)), cost: 1 };
            let moment = Moment { now, timeline: Timeline::Real };
            memory.limit_levels::<_, ()>(&[check(0), check(1)], moment, Whole, |_, _, _| panic!("it is decided"))
        };
        for (rule, now) in [(&quick, start), (&slow, start + 1200)] {
            for actor in (1..50).map(|actor| actor << 57) {
                assert!(!both(rule, actor, now).expect("an answer").blocked);
            }
        }
    }
}
