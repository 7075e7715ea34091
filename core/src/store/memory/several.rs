//! Several checks: all of their entries are locked, and either all are charged or none is.

use super::crowded;
use super::shelf::{Locked, Shelf, Shelves};
use super::table::Position;
use super::{Memory, Moment};
use crate::algorithm::{Entry, Rule};
use crate::decision::{Impossible, OpenEntry, Part, Verb, together};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;

impl Memory {
    /// Removes all of these entries at once.
    pub(crate) fn remove(&self, fingerprints: &[Fingerprint], moment: Moment) {
        let shards = shards_of(fingerprints, |fingerprint| self.shard_of(fingerprint));
        let mut tables: InlineVec<_> = shards.iter().map(|shard| self.lock(*shard, moment)).collect();
        for fingerprint in fingerprints {
            let shard = self.shard_of(*fingerprint);
            let number = shards.iter().take_while(|other| **other < shard).count();
            if let Ok(at) = tables[number].find(*fingerprint) {
                self.forget(&mut tables[number], at);
            }
        }
    }

    /// Several checks under all of their locks, taken in one order whatever the caller's. `actor_of` answers whom a
    /// part is about.
    pub(crate) fn decide_several(
        &self,
        fingerprints: &[Fingerprint],
        parts: &[Part<&Rule>],
        actor_of: impl Fn(usize) -> Fingerprint,
        moment: Moment,
        verb: Verb,
    ) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
        let shard_of = |fingerprint| self.shard_of(fingerprint);
        let locked = |shard| (shard, Locked { memory: self, table: self.lock(shard, moment) });
        let mut tables: InlineVec<_> = shards_of(fingerprints, shard_of).into_iter().map(locked).collect();
        let (infos, overflowed) = decide(Shelves(&mut tables), fingerprints, shard_of, parts, &actor_of, moment, verb);
        drop(tables);
        self.count_overflowed(overflowed);
        infos
    }
}

/// The shards of these entries, in the one order in which they are locked.
pub(in crate::store) fn shards_of(
    fingerprints: &[Fingerprint],
    shard_of: impl Fn(Fingerprint) -> usize,
) -> InlineVec<usize> {
    let mut shards: InlineVec<usize> = fingerprints.iter().map(|fingerprint| shard_of(*fingerprint)).collect();
    shards.sort_unstable();
    shards.dedup();
    shards
}

/// Decides on entries of which all are in parts that are locked. Answers, too, how many had to be decided by shared
/// entries.
pub(in crate::store) fn decide<T: Shelf>(
    mut shelves: Shelves<'_, T>,
    fingerprints: &[Fingerprint],
    shard_of: impl Fn(Fingerprint) -> usize,
    parts: &[Part<&Rule>],
    actor_of: &dyn Fn(usize) -> Fingerprint,
    moment: Moment,
    verb: Verb,
) -> (Result<Vec<LimitInfo>, (usize, Impossible)>, u64) {
    let mut places: InlineVec<(usize, Position)> = InlineVec::new();
    let mut reserved: InlineVec<bool> = InlineVec::new();
    let mut is_crowded = false;
    for fingerprint in fingerprints {
        let number = shelves.index(shard_of(*fingerprint));
        let table = shelves.get(number);
        let place = table.find(*fingerprint);
        is_crowded |= place.is_err() && table.is_shared();
        places.push((number, place));
    }
    for (fingerprint, (number, place)) in fingerprints.iter().zip(&places) {
        let is_reserved = place.is_err() && !is_crowded && shelves.get(*number).reserve(*fingerprint);
        is_crowded |= place.is_err() && !is_reserved;
        reserved.push(is_reserved);
    }
    if is_crowded {
        for ((fingerprint, (number, _)), _) in
            fingerprints.iter().zip(&places).zip(&reserved).filter(|(_, reserved)| **reserved)
        {
            shelves.get(*number).release(*fingerprint);
        }
        return crowded::decide(shelves, fingerprints, shard_of, parts, actor_of, moment, verb);
    }

    let mut entries: InlineVec<OpenEntry> = places.iter().map(|_| OpenEntry::new(Entry::Absent)).collect();
    for part in parts {
        let (entry, (number, place)) = (&mut entries[part.entry].entry, places[part.entry]);
        let table = shelves.get(number);
        // All checks of an entry are of one rule, and the first one takes it.
        if *entry == Entry::Absent && place.is_ok() && !table.is_over(place, moment) {
            *entry = table.take(place, Some(part.rule), moment, true);
        }
    }
    let infos = together(parts, &mut entries, moment.now, verb);
    // What comes or goes moves others about.
    let mut moved = false;
    for (((fingerprint, reserved), held), (number, place)) in fingerprints.iter().zip(reserved).zip(entries).zip(places)
    {
        let OpenEntry { entry, kept_by, mended, .. } = held;
        let table = shelves.get(number);
        let place = if moved { table.find(*fingerprint) } else { place };
        let mut inserted = false;
        match kept_by.and_then(|index| parts.get(index)) {
            Some(part) => {
                let kept = table.keep(place, *fingerprint, (entry, mended), part.rule, moment);
                (moved, inserted) = (moved | kept.moved, kept.inserted);
            }
            None => table.put_back(place, entry),
        }
        if reserved && !inserted {
            table.release(*fingerprint);
        }
    }
    (infos, 0)
}
