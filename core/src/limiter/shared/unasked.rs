//! The answers to checks that a table did not decide.

use super::super::several::{Entries, Unmade};
use crate::Error;
use crate::algorithm::{Rule, Shape};
use crate::decision::{Part, Verb};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::time::Micros;

/// In place of a table that does not decide: the same answer for each check.
pub(super) struct Unasked<'a> {
    pub(super) table: &'a dyn Entries,
    pub(super) words: fn(&Rule) -> LimitInfo,
}

impl Entries for Unasked<'_> {
    fn of_limit(&self, limit: &Limit) -> Fingerprint {
        self.table.of_limit(limit)
    }

    fn of_actor(&self, actor: &str) -> Fingerprint {
        self.table.of_actor(actor)
    }

    fn of_shape(&self, shape: Shape) -> Fingerprint {
        self.table.of_shape(shape)
    }

    fn of_block(&self, entry: Fingerprint) -> Fingerprint {
        self.table.of_block(entry)
    }

    fn now(&self, given: Option<Micros>) -> Micros {
        self.table.now(given)
    }

    fn decide(
        &self,
        _entries: &[Fingerprint],
        parts: &[Part<&Rule>],
        _actor_of: &dyn Fn(usize) -> Fingerprint,
        (verb, _): (Verb, Option<Micros>),
    ) -> Result<Vec<LimitInfo>, Unmade> {
        Ok(parts.iter().map(|part| (self.words)(part.rule).granting(verb.grants(part.cost))).collect())
    }

    fn remove(&self, _entries: &[Fingerprint], _now: Option<Micros>) -> Result<(), Error> {
        Ok(())
    }
}
