//! Several checks: all of their entries are locked, and either all are charged or none is.

use super::{Memory, Moment};
use crate::decision::{self, Entry, Impossible, Part, Verb};
use crate::few::Few;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Rule;

impl Memory {
    /// Several checks under all of their locks, taken in one order whatever the caller's.
    pub(crate) fn decide_several(
        &self,
        fingerprints: &[Fingerprint],
        parts: &[Part],
        moment: Moment,
        verb: Verb,
    ) -> Result<Few<LimitInfo>, (usize, Impossible)> {
        let mut shards: Few<usize> = fingerprints.iter().map(|fingerprint| self.shard_of(*fingerprint)).collect();
        shards.sort_unstable();
        shards.dedup();
        let mut tables: Few<_> = shards.iter().map(|shard| self.lock(*shard, moment)).collect();
        let table_of = |fingerprint| shards.partition_point(|shard| *shard < self.shard_of(fingerprint));

        let mut entries: Few<Entry> = fingerprints
            .iter()
            .enumerate()
            .map(|(index, fingerprint)| {
                let table = &mut tables[table_of(*fingerprint)];
                let place = table.find(*fingerprint);
                let about_it = parts.iter().filter(|part| part.entry == index);
                table.take(place, |entry| about_it.clone().all(|part| part.rule.may_borrow(entry, moment.now)))
            })
            .collect();
        let decided = decision::together(parts, &mut entries, moment.now, verb);
        // Of several checks of one entry the last says how it is kept.
        let mut rules: Few<Option<&Rule>> = Few::from_elem(None, entries.len());
        for part in decided.iter().flat_map(|decided| &decided.kept).map(|index| &parts[*index]) {
            rules[part.entry] = Some(&part.rule);
        }
        for ((fingerprint, entry), rule) in fingerprints.iter().zip(entries).zip(rules) {
            let table = &mut tables[table_of(*fingerprint)];
            let place = table.find(*fingerprint);
            match rule {
                Some(rule) => self.keep(table, place, *fingerprint, entry, rule, moment),
                None => table.put_back(place, entry),
            }
        }
        decided.map(|decided| decided.infos)
    }
}
