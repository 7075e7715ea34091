//! Decisions in memory about a limit with a block.

use super::memory::Local;
use crate::Error;
use crate::algorithm::{Grouped, Rule};
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::store::memory::EntryCall;
use crate::time::Micros;

impl Local {
    /// A limit with a block, of which most calls find none and close none.
    #[cold]
    #[inline(never)]
    pub(super) fn limit_open(
        &self,
        rule: &Rule,
        limit: &Limit,
        actor: &str,
        cost: u64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let call = EntryCall { has_block: true, ..self.entry_call(limit, actor, cost, now) };
        let otherwise = |why| self.limit_otherwise(why, limit, actor, cost, now);
        match rule {
            Rule::Level(rule) if rule.by_groups => self.memory.decide_small(&Grouped(rule), call, otherwise),
            rule => self.memory.decide_one(rule, call, &otherwise),
        }
    }
}
