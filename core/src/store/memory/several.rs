//! Several checks: all of their entries are locked, and either all are charged or none is.

use std::borrow::Borrow;

use super::table::Place;
use super::{Memory, Moment};
use crate::decision::{Held, Impossible, Part, Verb, together};
use crate::few::Few;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Rule;

impl Memory {
    /// Removes all of these entries at once.
    pub(crate) fn remove(&self, fingerprints: &[Fingerprint], moment: Moment) {
        let shards = self.shards_of(fingerprints);
        let mut tables: Few<_> = shards.iter().map(|shard| self.lock(*shard, moment)).collect();
        for fingerprint in fingerprints {
            let shard = self.shard_of(*fingerprint);
            let number = shards.iter().take_while(|other| **other < shard).count();
            if let Ok(at) = tables[number].find(*fingerprint) {
                self.forget(&mut tables[number], at);
            }
        }
    }

    /// The shards of these entries, in the one order in which they are locked.
    fn shards_of(&self, fingerprints: &[Fingerprint]) -> Few<usize> {
        let mut shards: Few<usize> = fingerprints.iter().map(|fingerprint| self.shard_of(*fingerprint)).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Several checks under all of their locks, taken in one order whatever the caller's.
    pub(crate) fn decide_several<R: Borrow<Rule>>(
        &self,
        fingerprints: &[Fingerprint],
        parts: &[Part<R>],
        moment: Moment,
        verb: Verb,
    ) -> Result<Vec<LimitInfo>, (usize, Impossible)> {
        let shards = self.shards_of(fingerprints);
        let mut tables: Few<_> = shards.iter().map(|shard| self.lock(*shard, moment)).collect();

        // All checks of an entry are of one rule.
        let mut rules: Few<Option<&Rule>> = fingerprints.iter().map(|_| None).collect();
        for part in parts {
            rules[part.entry] = Some(part.rule.borrow());
        }
        let mut entries: Few<Held<(usize, Place)>> = Few::new();
        for (fingerprint, rule) in fingerprints.iter().zip(rules) {
            let shard = self.shard_of(*fingerprint);
            let number = shards.iter().take_while(|other| **other < shard).count();
            let place = tables[number].find(*fingerprint);
            let may_lend = |entry: &_| rule.is_some_and(|rule| rule.may_borrow(entry, moment.now));
            entries.push(Held::new(tables[number].take(place, may_lend), (number, place)));
        }
        let infos = together(parts, &mut entries, moment.now, verb);
        // What comes or goes moves others about.
        let mut moved = false;
        for (fingerprint, Held { entry, kept_by, place: (number, place) }) in fingerprints.iter().zip(entries) {
            let table = &mut tables[number];
            let place = if moved { table.find(*fingerprint) } else { place };
            match kept_by.and_then(|index| parts.get(index)) {
                Some(part) => moved |= self.keep(table, place, *fingerprint, entry, part.rule.borrow(), moment),
                None => table.put_back(place, entry),
            }
        }
        infos
    }
}
