//! Decisions in this process's memory.

use std::sync::Arc;

use super::rules;
use crate::Error;
use crate::check::Check;
use crate::decision::{Call, Part};
use crate::few::Few;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::{Limit, Rule, Rules};
use crate::store::memory::{Memory, Moment, Question};
use crate::time::{EXACT, Micros};

/// A limiter's part of a store in this process's memory.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) memory: Arc<Memory>,
    pub(super) namespace: Fingerprint,
}

impl Local {
    #[expect(clippy::inline_always, reason = "as its caller")]
    #[inline(always)]
    pub(super) fn decide_on(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        match checks {
            // By far the most common call gets the path that knows what it is.
            [check] if call == Call::Limit => self.decide_one(check, Call::Limit, now),
            [check] => self.decide_one(check, call, now),
            _ => self.decide_several(checks, call, now),
        }
    }

    #[expect(clippy::inline_always, reason = "each verb gets a path of its own, without the branches of the others")]
    #[inline(always)]
    fn decide_one(&self, check: &Check<'_>, call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        match check.limit.compiled(check.factor) {
            Some(Rules::One(rule)) if check.cost <= EXACT => self.decide_by(rule, check, call, now),
            _ => self.decide_scaled(check, call, now),
        }
    }

    /// The way for what is not compiled yet, or not one rule.
    #[inline(never)]
    fn decide_scaled(&self, check: &Check<'_>, call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        match rules(check)? {
            Rules::One(rule) => self.decide_by(&rule, check, call, now),
            Rules::Unlimited => Ok(LimitInfo::unlimited()),
            Rules::Both(..) => self.decide_several(std::slice::from_ref(check), call, now),
        }
    }

    #[expect(clippy::inline_always, reason = "as its caller")]
    #[inline(always)]
    fn decide_by(&self, rule: &Rule, check: &Check<'_>, call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        let fingerprint = self.fingerprint(check.limit, check.actor);
        let question =
            Question { fingerprint, moment: Moment::new(now), verb: call.into(), cost: check.cost, spent: check.spent };
        self.memory.decide_one(rule, question, |why| why.of(check.limit.key(), check.cost).into())
    }

    fn decide_several(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        let mut parts: Few<Part> = Few::new();
        let mut entries: Few<Fingerprint> = Few::new();
        // In the order of the answer: what is limited by which check, and what is not limited at all.
        let mut answers: Few<Option<&Check<'_>>> = Few::new();
        let mut last: Option<(&str, Fingerprint)> = None;
        for check in checks {
            // Several limits of one actor are the most common case.
            let actor = match last {
                Some((actor, fingerprint)) if actor == check.actor => fingerprint,
                _ => Fingerprint::of_actor(check.actor),
            };
            last = Some((check.actor, actor));
            let fingerprint = self.namespace ^ check.limit.fingerprint() ^ actor;
            let rules = rules(check)?;
            for (rule, fingerprint) in rules.iter().zip([fingerprint, fingerprint.second()]) {
                let entry = entries.iter().position(|known| *known == fingerprint).unwrap_or_else(|| {
                    entries.push(fingerprint);
                    entries.len() - 1
                });
                parts.push(Part { rule: *rule, cost: check.cost, spent: check.spent, entry });
                answers.push(Some(check));
            }
            if matches!(rules, Rules::Unlimited) {
                answers.push(None);
            }
        }
        let decided = self.memory.decide_several(&entries, &parts, Moment::new(now), call.into());
        let decided = decided.map_err(|(part, why)| match answers.iter().flatten().nth(part) {
            Some(check) => why.of(check.limit.key(), check.cost),
            None => unreachable!("every part is some check's"),
        })?;
        let mut decided = decided.into_iter();
        let infos = answers.iter().map(|check| check.and_then(|_| decided.next()).unwrap_or_else(LimitInfo::unlimited));
        Ok(LimitInfo::merged(infos.collect()))
    }

    pub(super) fn reset(&self, limit: &Limit, actor: &str) {
        let entry = self.fingerprint(limit, actor);
        self.memory.remove(entry);
        self.memory.remove(entry.second());
    }

    #[inline]
    pub(super) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        self.namespace ^ limit.fingerprint() ^ Fingerprint::of_actor(actor)
    }
}
