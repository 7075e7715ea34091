//! Entries in memory that all processes of a host share.
//!
//! A table is a file that each process maps. Its parts are locked one by one, and what is done under a lock is
//! undone by others if its process ends meanwhile; see `lock.rs`.

mod check;
mod lists;
mod lock;
mod locked;
mod mapping;
mod members;
mod open;
mod plan;
mod seats;
mod shard;
mod shelf;
mod slots;
#[cfg(test)]
mod steps;
mod sync;
#[cfg(test)]
mod tests;
mod waiting;

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use self::lock::{Owner, Words as _};
use self::locked::{Shard, Space};
use self::mapping::Mapping;
use self::members::Members;
pub(crate) use self::open::Address;
use self::plan::{Plan, part};
use self::shard::{Array, low_of, tag_of};
use self::waiting::{Owners, Waiting};
use super::memory::{Drain, Moment, Shelf as _, Shelves, afresh, decide, shards_of};
use crate::algorithm::{Algorithm, Rule, Shape, Small, Stored};
use crate::clock;
use crate::decision::{Change, Impossible, Part, Resolved, Verb, Verdict, commit, examine};
use crate::failure::Failure;
use crate::fingerprint::{Fingerprint, Secrets};
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::Limit;
use crate::time::Micros;

/// A table that processes share.
pub(crate) struct Table {
    /// Kept open: the kernel gives up the claim of this process when it is closed.
    file: File,
    path: PathBuf,
    /// The file system and the number of the file.
    identity: (u64, u64),
    mapping: Mapping,
    members: Members,
    plan: Plan,
    secrets: Secrets,
    /// The same in all processes that map the table, and another in each table.
    canary: u128,
    /// The wall time at which the host's clock showed 0.
    epoch: Micros,
    /// The calls that this process decided in each part, admitted and denied; changed under its lock.
    counts: Box<[[AtomicU64; 2]]>,
    /// The owner that was last waited for in vain, and its turn.
    stuck: [AtomicU64; 2],
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("path", &self.path).field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The reason why a decision was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undecided {
    /// By this part of it.
    Impossible(usize, Impossible),
    Failed(Failure),
}

/// The reason why a check was not decided the short way; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// There may be no room for an entry that is missing.
    Crowded,
    Undecided(Undecided),
}

/// A decision that was made, and is still to be described.
pub(crate) struct Charged<S> {
    pub(crate) state: S,
    pub(crate) check: Resolved,
    pub(crate) now: Micros,
}

impl Owners for Table {
    /// The file's handle may have been closed by a program that closes all of them; then nothing is known of others.
    fn is_alive(&self, number: u64) -> bool {
        !self.is_open() || self.members.is_alive(&self.file, self.words(), number)
    }

    fn is_known_to_be_stuck(&self, owner: Owner) -> bool {
        [owner.number, owner.turn] == [0, 1].map(|at: usize| self.stuck[at].load(Ordering::Relaxed))
    }

    fn note_stuck(&self, owner: Owner) {
        self.stuck[0].store(owner.number, Ordering::Relaxed);
        self.stuck[1].store(owner.turn, Ordering::Relaxed);
    }
}

impl Table {
    /// The part of a fingerprint that a limit is.
    #[inline]
    pub(crate) fn of_limit(&self, limit: &Limit) -> Fingerprint {
        let make = |key: &str, shape| self.secrets.of_key(key) ^ self.secrets.of_shape(shape);
        limit.shared_fingerprint(self.canary, make)
    }

    pub(crate) fn of_shape(&self, shape: Shape) -> Fingerprint {
        self.secrets.of_shape(shape)
    }

    /// The block beside an entry.
    pub(crate) fn of_block(&self, entry: Fingerprint) -> Fingerprint {
        self.secrets.of_block(entry)
    }

    pub(crate) fn of_namespace(&self, namespace: &str) -> Fingerprint {
        self.secrets.of_namespace(namespace)
    }

    #[expect(clippy::inline_always, reason = "as what it calls")]
    #[inline(always)]
    pub(crate) fn of_actor(&self, actor: &str) -> Fingerprint {
        self.secrets.of_actor(actor)
    }

    fn words(&self) -> &[AtomicU64] {
        self.mapping.words()
    }

    /// The clock of the host, which all of its processes read alike.
    #[inline]
    pub(crate) fn now(&self) -> Micros {
        self.epoch + clock::since_boot()
    }

    #[allow(clippy::cast_possible_truncation, reason = "the low bits choose a part")]
    fn shard_of(&self, fingerprint: Fingerprint) -> usize {
        fingerprint.0 as usize & (self.plan.shards - 1)
    }

    #[inline]
    fn me(&self) -> Result<u64, Failure> {
        match self.members.me() {
            Some(number) => Ok(number),
            None => self.join(),
        }
    }

    #[cold]
    fn join(&self) -> Result<u64, Failure> {
        let joined = self.members.join(&self.file, self.words()).map_err(|_| Failure::Unreachable)?;
        self.counts.iter().flatten().for_each(|count| count.store(0, Ordering::Relaxed));
        Ok(joined)
    }

    fn is_open(&self) -> bool {
        self.file.metadata().is_ok_and(|found| open::identity(&found) == self.identity)
    }

    #[inline]
    fn space(&self, shard: usize) -> Space<'_> {
        let (part, later) = (self.plan.part_at(shard), self.plan.later_at(shard));
        let words = self.words();
        Space::new(&words[part..part + self.plan.part_words], &words[later..later + self.plan.later_words()])
    }

    /// Locks a part, for a call that waits at most so long; whoever has locked it makes a [`Shard`] of it at once, which
    /// releases it. A part by value, and a shard that no result wraps: so a call has the part in registers.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call costs a fifth less where the part stays in registers")]
    fn lock(&self, space: Space<'_>, patience: Micros) -> Result<(), Failure> {
        let me = self.me()?;
        space.lock(me, || Waiting::new(self, patience)).map_err(|_| Failure::Timeout)
    }

    /// Makes sure of memory for some of a part's lanes and blocks.
    fn back(&self, shard: usize, from: usize, words: usize) -> bool {
        let at = self.plan.later_at(shard) + from;
        self.is_open() && mapping::reserve(&self.file, at * 8, words * 8).is_ok()
    }

    /// [`Verb::Limit`] of one check of a few numbers.
    #[expect(clippy::inline_always, reason = "as its caller")]
    #[inline(always)]
    pub(crate) fn limit_small<R: Algorithm<State: Small + Stored>>(
        &self,
        algorithm: &R,
        fingerprint: Fingerprint,
        cost: u64,
        given: Option<Micros>,
        patience: Micros,
    ) -> Result<Charged<R::State>, Short> {
        let number = self.shard_of(fingerprint);
        let back = |from, words| self.back(number, from, words);
        let space = self.space(number);
        self.lock(space, patience).map_err(|failure| Short::Undecided(Undecided::Failed(failure)))?;
        let mut shard = Shard { plan: &self.plan, space, back: &back, now: 0 };
        shard.now = self.now();
        let moment = Moment::of(given, shard.now);
        let now = moment.now;
        if given.is_some() {
            shard.note_given();
        }
        shard.sweep_if_due();
        let found = slots::search(space.slots, self.plan.buckets, tag_of(fingerprint), Some(low_of(fingerprint)));
        let place = found.ok_or(0);
        if place.is_err() && shard.is_shared() {
            return Err(Short::Crowded);
        }
        let mut state: R::State = found.and_then(|slot| space.small(slot)).unwrap_or_else(|| algorithm.fresh(now));
        let mut verdict = examine(algorithm, &mut state, now, Verb::Limit, cost, 0);
        if !verdict.is_ok_and(Verdict::is_at_once) && shard.is_over(place, moment) {
            (state, verdict) = afresh(algorithm, now, Verb::Limit, cost);
        }
        let verdict = verdict.map_err(|why| Short::Undecided(Undecided::Impossible(0, why)))?;
        let check = Resolved::alone(verdict, cost);
        match commit(algorithm, &mut state, now, Verb::Limit, check, 0) {
            Change::Nothing => {}
            Change::Mended => {
                if let Some(slot) = found {
                    shard.mend_small(algorithm, slot, &state, moment);
                }
            }
            Change::Written if algorithm.is_empty(&state, now) => {
                if let Some(slot) = found {
                    shard.vacate(Array::Own, slot);
                }
            }
            Change::Written => {
                let slot = found.or_else(|| shard.new_slot(fingerprint)).ok_or(Short::Crowded)?;
                space.write_small(slot, &state, Drain::new(algorithm.drains(&state, now), moment.timeline));
            }
        }
        let count = &self.counts[number][usize::from(!check.admitted)];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // No other call has to wait while the answer is made.
        Ok(Charged { state, check, now })
    }

    /// Decides several checks under all of their locks. `actor_of` answers whom a part is about.
    pub(crate) fn decide(
        &self,
        fingerprints: &[Fingerprint],
        parts: &[Part<&Rule>],
        actor_of: &dyn Fn(usize) -> Fingerprint,
        (verb, given): (Verb, Option<Micros>),
        patience: Micros,
    ) -> Result<Vec<LimitInfo>, Undecided> {
        let shard_of = |fingerprint| self.shard_of(fingerprint);
        self.with_locked(&shards_of(fingerprints, shard_of), given, patience, |shards, moment| {
            let (infos, overflowed) = decide(Shelves(shards), fingerprints, shard_of, parts, actor_of, moment, verb);
            if let Some((_, shard)) = shards.first().filter(|_| overflowed > 0) {
                shard.set(part::OVERFLOWED, shard.get(part::OVERFLOWED) + overflowed);
            }
            infos.map_err(|(part, why)| Undecided::Impossible(part, why))
        })
        .map_err(Undecided::Failed)?
    }

    /// Does something with these parts, which are locked in this order.
    fn with_locked<T>(
        &self,
        numbers: &[usize],
        given: Option<Micros>,
        patience: Micros,
        work: impl FnOnce(&mut [(usize, Shard<'_>)], Moment) -> T,
    ) -> Result<T, Failure> {
        let backs: InlineVec<_> =
            numbers.iter().map(|number| move |from, words| self.back(*number, from, words)).collect();
        let mut shards: InlineVec<(usize, Shard<'_>)> = InlineVec::new();
        for (number, back) in numbers.iter().zip(&backs) {
            let space = self.space(*number);
            self.lock(space, patience)?;
            shards.push((*number, Shard { plan: &self.plan, space, back, now: 0 }));
        }
        // One instant for all of them, once they are locked.
        let now = self.now();
        for (_, shard) in &mut shards {
            shard.now = now;
            if given.is_some() {
                shard.note_given();
            }
            shard.sweep_if_due();
        }
        Ok(work(&mut shards, Moment::of(given, now)))
    }

    /// Removes all of these entries at once.
    pub(crate) fn remove(&self, fingerprints: &[Fingerprint], patience: Micros) -> Result<(), Failure> {
        let numbers = shards_of(fingerprints, |fingerprint| self.shard_of(fingerprint));
        self.with_locked(&numbers, None, patience, |shards, _| {
            for fingerprint in fingerprints {
                let number = self.shard_of(*fingerprint);
                if let Some((_, shard)) = shards.iter_mut().find(|(shard, _)| *shard == number) {
                    shard.release(*fingerprint);
                }
            }
        })
    }

    /// Removes every entry, and returns their number.
    pub(crate) fn clear(&self, patience: Micros) -> Result<u64, Failure> {
        let mut removed = 0;
        for number in 0..self.plan.shards {
            removed += self.with_locked(&[number], None, patience, |shards, _| shards[0].1.clear())?;
        }
        Ok(removed)
    }

    /// Looks over each part, and makes sure that the file is still the one that others open.
    pub(crate) fn ping(&self, patience: Micros) -> Result<(), (Failure, String)> {
        if !open::is_at(&self.path, self.identity) {
            let why = "the file was removed or replaced, so other processes use another one: restart this process";
            return Err((Failure::Disconnected, why.to_owned()));
        }
        let damage = self.check(patience);
        let damage = damage.map_err(|failure| (failure, "a process that holds a lock does not go on".to_owned()))?;
        damage.into_iter().next().map_or(Ok(()), |what| Err((Failure::Other, format!("the table is damaged: {what}"))))
    }

    /// The entries that are kept, those that were dropped early, the calls that were decided by shared entries, and the
    /// processes that use the table.
    pub(crate) fn figures(&self) -> Figures {
        let of = |at: usize| (0..self.plan.shards).map(|shard| self.space(shard).get(at)).sum();
        Figures {
            entries: of(part::LEN),
            evictions: of(part::EVICTIONS),
            overflowed: of(part::OVERFLOWED),
            processes: self.members.count(&self.file, self.words()),
        }
    }

    /// The calls of this process that were decided the short way, admitted and denied.
    pub(crate) fn counts(&self) -> [u64; 2] {
        let of = |kind: usize| self.counts.iter().map(|counts| counts[kind].load(Ordering::Relaxed)).sum();
        [of(0), of(1)]
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }
}

/// Numbers of a table, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) entries: u64,
    pub(crate) evictions: u64,
    pub(crate) overflowed: u64,
    pub(crate) processes: u64,
}
