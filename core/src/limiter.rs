//! The front door: from checks to an answer.

#![expect(clippy::unused_async, reason = "the public calls are futures for the sake of stores that do I/O")]

use std::sync::Arc;

use crate::Error;
use crate::acquire::Lines;
use crate::check::Check;
use crate::decision::{Call, Part};
use crate::error::LimitError;
use crate::few::Few;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::{Limit, Rule, Rules};
use crate::store::memory::{Memory, Moment, Question};
use crate::time::{EXACT, Micros};

/// Decides calls against limits, and keeps what has to be kept in its store.
///
/// Cheap to clone; clones share the store. Every call comes as a future and as a `_sync` twin: in memory nothing is
/// ever waited for, so both do the same at the same cost.
///
/// ```
/// use tidegate::{Limit, Limiter, Memory};
///
/// let limiter = Limiter::new(Memory::new());
/// let login = Limit::bucket("login", 2).build()?;
///
/// let admitted = (0..3).filter(|_| limiter.limit_sync(&login, "ada").is_ok_and(|info| !info.blocked)).count();
/// assert_eq!(admitted, 2);
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limiter {
    memory: Arc<Memory>,
    /// Who waits for what does not reserve.
    lines: Arc<Lines>,
    namespace: Fingerprint,
}

impl Limiter {
    /// A limiter over this store, in the namespace `tidegate`.
    #[must_use]
    pub fn new(store: Memory) -> Self {
        Self { memory: Arc::new(store), lines: Arc::default(), namespace: Fingerprint::of_namespace("tidegate") }
    }

    /// The same store seen through another namespace: its entries are apart from all others.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        Self { namespace: Fingerprint::of_namespace(namespace), ..self.clone() }
    }

    /// The memory store behind this limiter.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Charges one unit if it fits.
    ///
    /// # Errors
    /// [`LimitError`] for a cost or factor that cannot be; nothing is stored then.
    #[inline]
    pub fn limit_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide_one(&Check::new(limit, actor), Call::Limit, None)
    }

    /// What [`limit_sync`](Self::limit_sync) would say; charges nothing.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub fn peek_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide_one(&Check::new(limit, actor), Call::Peek, None)
    }

    /// Charges one unit even where it does not fit.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync), and when the level would leave the exact range.
    pub fn charge_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide_one(&Check::new(limit, actor), Call::Charge, None)
    }

    /// Gives one unit back.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub fn refund_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide_one(&Check::new(limit, actor), Call::Refund, None)
    }

    /// Forgets what was charged to this actor.
    ///
    /// # Errors
    /// None in memory; a shared store may fail.
    pub fn reset_sync(&self, limit: &Limit, actor: &str) -> Result<(), Error> {
        let entry = self.fingerprint(limit, actor);
        self.memory.remove(entry);
        self.memory.remove(entry.second());
        Ok(())
    }

    /// Decides several checks together, all or nothing.
    ///
    /// # Errors
    /// [`LimitError`] when a check cannot be decided at all; then nothing is charged.
    #[inline]
    pub fn decide_sync(&self, checks: &[Check<'_>], call: Call) -> Result<LimitInfo, Error> {
        self.decide_on(checks, call, None)
    }

    /// [`decide_sync`](Self::decide_sync) at an instant of the caller's choosing: replays, simulations, tests.
    ///
    /// # Errors
    /// As [`decide_sync`](Self::decide_sync).
    pub fn decide_sync_at(&self, checks: &[Check<'_>], call: Call, now: Micros) -> Result<LimitInfo, Error> {
        if now >= EXACT {
            let key = checks.first().map_or("", |check| check.limit.key());
            return Err(LimitError::range(key, "now", format!("must be below {EXACT} microseconds"), now).into());
        }
        self.decide_on(checks, call, Some(now))
    }

    /// [`limit_sync`](Self::limit_sync) as a future.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub async fn limit(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.limit_sync(limit, actor)
    }

    /// [`peek_sync`](Self::peek_sync) as a future.
    ///
    /// # Errors
    /// As [`peek_sync`](Self::peek_sync).
    pub async fn peek(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.peek_sync(limit, actor)
    }

    /// [`charge_sync`](Self::charge_sync) as a future.
    ///
    /// # Errors
    /// As [`charge_sync`](Self::charge_sync).
    pub async fn charge(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.charge_sync(limit, actor)
    }

    /// [`refund_sync`](Self::refund_sync) as a future.
    ///
    /// # Errors
    /// As [`refund_sync`](Self::refund_sync).
    pub async fn refund(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.refund_sync(limit, actor)
    }

    /// [`reset_sync`](Self::reset_sync) as a future.
    ///
    /// # Errors
    /// As [`reset_sync`](Self::reset_sync).
    pub async fn reset(&self, limit: &Limit, actor: &str) -> Result<(), Error> {
        self.reset_sync(limit, actor)
    }

    /// [`decide_sync`](Self::decide_sync) as a future.
    ///
    /// # Errors
    /// As [`decide_sync`](Self::decide_sync).
    pub async fn decide(&self, checks: &[Check<'_>], call: Call) -> Result<LimitInfo, Error> {
        self.decide_sync(checks, call)
    }

    #[inline]
    fn decide_on(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
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

    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    #[inline]
    pub(crate) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        self.namespace ^ limit.fingerprint() ^ Fingerprint::of_actor(actor)
    }
}

/// What a check is decided by, once its own numbers are known to be sound.
fn rules(check: &Check<'_>) -> Result<Rules, LimitError> {
    if check.cost > EXACT {
        let problem = format!("must be at most {EXACT}");
        return Err(LimitError::range(check.limit.key(), "cost", problem, check.cost));
    }
    check.limit.rules(check.factor)
}
