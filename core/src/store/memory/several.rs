//! Several checks: all of their entries are locked, and either all are charged or none is.

use std::borrow::Borrow;

use super::table::Place;
use super::{Memory, Moment};
use crate::algorithm::{Entry, Rule};
use crate::decision::{Held, Impossible, Part, Verb, together};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;

impl Memory {
    /// Removes all of these entries at once.
    pub(crate) fn remove(&self, fingerprints: &[Fingerprint], moment: Moment) {
        let shards = self.shards_of(fingerprints);
        let mut tables: InlineVec<_> = shards.iter().map(|shard| self.lock(*shard, moment)).collect();
        for fingerprint in fingerprints {
            let shard = self.shard_of(*fingerprint);
            let number = shards.iter().take_while(|other| **other < shard).count();
            if let Ok(at) = tables[number].find(*fingerprint) {
                self.forget(&mut tables[number], at);
            }
        }
    }

    /// The shards of these entries, in the one order in which they are locked.
    fn shards_of(&self, fingerprints: &[Fingerprint]) -> InlineVec<usize> {
        let mut shards: InlineVec<usize> = fingerprints.iter().map(|fingerprint| self.shard_of(*fingerprint)).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Several checks under all of their locks, taken in one order whatever the caller's. `actor_of` answers whom a
    /// part is about.
    pub(crate) fn decide_several<R: Borrow<Rule>>(
        &self,
        fingerprints: &[Fingerprint],
        parts: &[Part<R>],
        actor_of: impl Fn(usize) -> Fingerprint,
        moment: Moment,
        verb: Verb,
    ) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
        let shards = self.shards_of(fingerprints);
        let mut tables: InlineVec<_> = shards.iter().map(|shard| self.lock(*shard, moment)).collect();

        let (mut missing, mut may_share) = (0, false);
        let mut entries: InlineVec<Held<(usize, Place)>> = InlineVec::new();
        for fingerprint in fingerprints {
            let shard = self.shard_of(*fingerprint);
            let number = shards.iter().take_while(|other| **other < shard).count();
            let place = tables[number].find(*fingerprint);
            if place.is_err() {
                missing += 1;
                may_share |= tables[number].is_shared();
            }
            entries.push(Held::new(Entry::Absent, (number, place)));
        }
        if may_share || (missing > 0 && !self.reserve(missing)) {
            drop(tables);
            return self.decide_crowded(fingerprints, parts, &actor_of, moment, verb);
        }

        for part in parts {
            let Held { entry, place: (number, place), .. } = &mut entries[part.entry];
            // All checks of an entry are of one rule, and the first one takes it.
            if *entry == Entry::Absent && !tables[*number].is_over(*place, moment.timeline, moment.now) {
                let may_lend = |entry: &_| part.rule.borrow().may_borrow(entry, moment.now);
                *entry = tables[*number].take(*place, may_lend);
            }
        }
        let infos = together(parts, &mut entries, moment.now, verb);
        // What comes or goes moves others about.
        let mut moved = false;
        for (fingerprint, Held { entry, kept_by, mended, place: (number, place), .. }) in
            fingerprints.iter().zip(entries)
        {
            let table = &mut tables[number];
            let place = if moved { table.find(*fingerprint) } else { place };
            match kept_by.and_then(|index| parts.get(index)) {
                Some(part) => {
                    let (before, rule) = (table.len(), part.rule.borrow());
                    moved |= self.keep_or_mend(table, place, *fingerprint, (entry, mended), rule, moment);
                    missing -= usize::from(table.len() > before);
                }
                None => table.put_back(place, entry),
            }
        }
        if missing > 0 {
            self.release(missing);
        }
        infos
    }
}
