//! Decisions in this process's memory.

use std::sync::Arc;

use super::checks::{self, rules};
use super::several::{self, Entries, Unmade, compiled, granted, refusal};
use crate::Error;
use crate::algorithm::{Algorithm, Grouped, LevelRule, Rule, Shape, Small, Uneven, states, with_small};
use crate::check::{Check, LONGEST_ACTOR};
use crate::decision::{Call, Part, Verb};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::{Limit, Rules};
use crate::store::memory::{EntryCall, FEW, LevelCheck, Memory, Merge, Moment, ShownTwo, Undecided, Whole};
use crate::time::{EXACT, Micros};

/// A limiter's part of a store in this process's memory.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) memory: Arc<Memory>,
    pub(super) namespace: Fingerprint,
}

impl Local {
    /// Any call, compiled once for all that are not in a hurry.
    #[inline(never)]
    pub(super) fn decide_on(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        match checks {
            [check] if call == Call::Limit && check.is_plain() => {
                self.limit_one(check.limit, check.actor, check.cost, check.factor, now)
            }
            _ => self.decide_rest(checks, call, now),
        }
    }

    /// Any call; one of a plain check, which [`limit_one`](Self::limit_one) knows, takes longer here.
    #[inline]
    pub(super) fn decide_rest(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match checks {
            [_, _, ..] if call == Call::Limit && checks.len() <= FEW => self.limit_few(checks, now, Whole),
            _ => self.decide_any(checks, call, now),
        }
    }

    /// [`Call::Limit`] of two checks, whose answers `answered` is called with.
    #[inline]
    pub(super) fn limit_two<T>(
        &self,
        checks: &[Check<'_>; 2],
        answered: impl FnOnce(&LimitInfo, &[LimitInfo]) -> T,
    ) -> Result<T, Error> {
        self.limit_few(checks, None, ShownTwo(answered))
    }

    /// The most common call, by a path of its own. The parts of its check are passed one by one, and stay in registers.
    /// Every branch off the path is marked as cold: otherwise the compiler takes the path itself for a rare one, does not
    /// inline it, and a call takes a quarter longer.
    #[expect(clippy::inline_always, reason = "as its caller")]
    #[inline(always)]
    pub(super) fn limit_one(
        &self,
        limit: &Limit,
        actor: &str,
        cost: u64,
        factor: f64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match limit.compiled(factor) {
            Some(Rules::One(rule)) if cost <= EXACT && actor.len() <= LONGEST_ACTOR => match rule {
                Rule::Level(rule) if rule.by_groups => self.limit_small(&Grouped(rule), limit, actor, cost, now),
                rule => self.limit_aside(rule, limit, actor, cost, now),
            },
            Some(Rules::Blocking(rule, _)) if cost <= EXACT && actor.len() <= LONGEST_ACTOR => {
                self.limit_open(rule, limit, actor, cost, now)
            }
            _ => self.decide_any(&[Check::new(limit, actor).cost(cost).factor(factor)], Call::Limit, now),
        }
    }

    /// A level that drains more than one unit in more than one tick: 28 ns, and 41 by the arithmetic of all levels.
    #[inline(never)]
    fn limit_uneven(
        &self,
        rule: &LevelRule,
        limit: &Limit,
        actor: &str,
        cost: u64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        self.limit_small(&Uneven(rule), limit, actor, cost, now)
    }

    /// Decides the less common kinds. Not inlined, to keep the path of levels small. Each kind has a function of its own,
    /// so that the parts of a check stay in registers.
    #[cold]
    #[inline(never)]
    fn limit_aside(
        &self,
        rule: &Rule,
        limit: &Limit,
        actor: &str,
        cost: u64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        if let Rule::Level(rule) = rule {
            return self.limit_uneven(rule, limit, actor, cost, now);
        }
        with_small!(rule, |rule| self.limit_copied(rule, limit, actor, cost, now),
            else self.limit_lent(rule, limit, actor, cost, now))
    }

    /// A state of a few numbers.
    #[inline(never)]
    fn limit_copied<R: Algorithm<State: Small>>(
        &self,
        rule: &R,
        limit: &Limit,
        actor: &str,
        cost: u64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        self.limit_small(rule, limit, actor, cost, now)
    }

    /// A state of any length.
    #[inline(never)]
    fn limit_lent(
        &self,
        rule: &Rule,
        limit: &Limit,
        actor: &str,
        cost: u64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let call = self.entry_call(limit, actor, cost, now);
        self.memory.decide_lent(rule, call, |why| self.limit_otherwise(why, limit, actor, cost, now))
    }

    /// Of factor 1.
    #[expect(clippy::inline_always, reason = "as its callers")]
    #[inline(always)]
    fn limit_small<R: Algorithm<State: Small>>(
        &self,
        rule: &R,
        limit: &Limit,
        actor: &str,
        cost: u64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let call = self.entry_call(limit, actor, cost, now);
        self.memory.decide_small(rule, call, |why| self.limit_otherwise(why, limit, actor, cost, now))
    }

    /// The clock comes first: its instruction takes as long as the hash of the actor, and both at once take 20 ns where
    /// one after the other takes 22; three checks take 65 in place of 67.
    #[expect(clippy::inline_always, reason = "as its callers")]
    #[inline(always)]
    pub(super) fn entry_call(&self, limit: &Limit, actor: &str, cost: u64, now: Option<Micros>) -> EntryCall {
        let moment = Moment::new(now);
        let fingerprint = self.fingerprint(limit, actor);
        EntryCall { fingerprint, moment, verb: Verb::Limit, cost, spent: 0, has_block: false }
    }

    /// Decides what the fast path could not.
    #[cold]
    #[inline(never)]
    pub(super) fn limit_otherwise(
        &self,
        why: Undecided,
        limit: &Limit,
        actor: &str,
        cost: u64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match why {
            Undecided::Crowded => self.decide_several(&[Check::new(limit, actor).cost(cost)], Call::Limit, now),
            Undecided::Impossible(why) => self.failed(why.of(Verb::Limit, limit.key(), cost)),
        }
    }

    /// The error of a call, which counts.
    #[cold]
    fn failed(&self, error: impl Into<Error>) -> Result<LimitInfo, Error> {
        let failed = Err(error.into());
        self.memory.count(&failed, false);
        failed
    }

    #[cold]
    #[inline(never)]
    fn decide_any(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        if call == Call::Reset {
            let answer = several::reset(self, checks, now);
            self.memory.count(&answer, true);
            return answer;
        }
        match checks::of_call(checks, call) {
            Ok(None) => {}
            Ok(Some(observing)) => return self.decide_several(&observing, call, now),
            Err(error) => return self.failed(error),
        }
        let check = match checks {
            [check] if check.is_plain() => check,
            _ => return self.decide_several(checks, call, now),
        };
        let scaled;
        let rule = match compiled(check) {
            Some(Rules::One(rule)) => rule,
            _ => match rules(check) {
                Ok(Rules::One(rule)) => {
                    scaled = rule;
                    &scaled
                }
                Ok(Rules::Unlimited) => {
                    let answer = Ok(LimitInfo::unlimited().granting(granted(check, call)));
                    self.memory.count(&answer, false);
                    return answer;
                }
                _ => return self.decide_several(checks, call, now),
            },
        };
        let fingerprint = self.fingerprint(check.limit, check.actor);
        let verb = Verb::from(call).of_charge(check.charged_at);
        let (moment, Check { cost, spent, .. }) = (Moment::new(now), *check);
        let entry_call = EntryCall { fingerprint, moment, verb, cost, spent, has_block: false };
        self.memory.decide_one(rule, entry_call, &|why| match why {
            Undecided::Crowded => self.decide_several(checks, call, now),
            Undecided::Impossible(why) => self.failed(refusal(check, call, why)),
        })
    }

    /// At most [`FEW`] checks, the short way where they are levels with an entry each: three take a fifth of the time.
    #[inline(never)]
    fn limit_few<M: Merge>(&self, checks: &[Check<'_>], now: Option<Micros>, answer_to: M) -> Result<M::Merged, Error> {
        let many = |answer_to: M| self.decide_several(checks, Call::Limit, now).map(|info| answer_to.whole(info));
        let Some(Rules::One(Rule::Level(rule))) = checks[0].limit.compiled(checks[0].factor) else {
            return many(answer_to);
        };
        let moment = Moment::new(now);
        let mut actor = (checks[0].actor, Fingerprint::of_actor(checks[0].actor));
        let mut levels = [LevelCheck { rule, fingerprint: actor.1, cost: 0 }; FEW];
        for (index, check) in checks.iter().enumerate() {
            // Several limits of one actor are the most common case.
            if !checks::same(check.actor, actor.0) {
                actor = (check.actor, Fingerprint::of_actor(check.actor));
            }
            let fingerprint = self.namespace ^ check.limit.fingerprint() ^ actor.1;
            let is_known = levels[..index].iter().any(|level| level.fingerprint == fingerprint);
            match check.limit.compiled(check.factor) {
                Some(Rules::One(Rule::Level(rule))) if check.cost <= EXACT && !is_known && check.is_plain() => {
                    levels[index] = LevelCheck { rule, fingerprint, cost: check.cost };
                }
                _ => return many(answer_to),
            }
        }
        let levels = &levels[..checks.len()];
        self.memory.limit_levels(levels, moment, answer_to, |answer_to, index, why| match why {
            Undecided::Crowded => many(answer_to),
            Undecided::Impossible(why) => {
                self.failed(refusal(&checks[index], Call::Limit, why)).map(|info| answer_to.whole(info))
            }
        })
    }

    fn decide_several(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        let answer = several::decide(self, checks, call, now);
        self.memory.count(&answer, Verb::from(call).gives_back());
        answer
    }

    #[inline]
    pub(super) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        self.namespace ^ limit.fingerprint() ^ Fingerprint::of_actor(actor)
    }
}

impl Entries for Local {
    fn of_limit(&self, limit: &Limit) -> Fingerprint {
        self.namespace ^ limit.fingerprint()
    }

    fn of_actor(&self, actor: &str) -> Fingerprint {
        Fingerprint::of_actor(actor)
    }

    fn of_shape(&self, shape: Shape) -> Fingerprint {
        Fingerprint::of_shape(shape)
    }

    fn of_block(&self, entry: Fingerprint) -> Fingerprint {
        entry.of_block()
    }

    fn now(&self, given: Option<Micros>) -> Micros {
        Moment::new(given).now
    }

    fn decide(
        &self,
        entries: &[Fingerprint],
        parts: &[Part<&Rule>],
        actor_of: &dyn Fn(usize) -> Fingerprint,
        (verb, now): (Verb, Option<Micros>),
    ) -> Result<Vec<LimitInfo>, Unmade> {
        let decided = self.memory.decide_several(entries, parts, actor_of, Moment::new(now), verb);
        decided.map_err(|(part, why)| Unmade::Impossible(part, why))
    }

    fn remove(&self, entries: &[Fingerprint], now: Option<Micros>) -> Result<(), Error> {
        self.memory.remove(entries, Moment::new(now));
        Ok(())
    }
}
