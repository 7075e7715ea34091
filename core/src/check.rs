//! One thing to decide: a limit, an actor, and the cost of the call.

use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::time::Micros;

/// The longest actor, in bytes.
pub const LONGEST_ACTOR: usize = 65_536;

/// The error for an actor that is too long; `key` is the limit's.
#[must_use]
pub fn long_actor(key: &str, bytes: usize) -> LimitError {
    let problem = format!("must be at most {LONGEST_ACTOR} bytes long");
    LimitError::range(key, "actor", problem, format!("{bytes} bytes"))
}

/// One thing to decide: a limit, the actor that is limited, and the cost of the call.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Call, Check, Limit, Limiter, Memory};
///
/// let per_address = Limit::bucket("login", 10).build()?;
/// let per_user = Limit::token_bucket("api", 100, Duration::from_secs(60)).build()?;
///
/// let limiter = Limiter::new(Memory::new());
/// let checks = [Check::new(&per_address, "203.0.113.9"), Check::new(&per_user, "ada").cost(5)];
/// let info = limiter.decide_sync(&checks, Call::Limit)?;
/// assert_eq!(info.checks()[1].remaining, 95);
/// assert_eq!(info.remaining, 9);
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    pub(crate) limit: &'a Limit,
    pub(crate) actor: &'a str,
    pub(crate) cost: u64,
    /// The least part of the cost that is of use; 0 = all of it.
    pub(crate) at_least: u64,
    pub(crate) spent: u64,
    /// The instant at which the check of an undo or a renewal was charged, where that is another instant than the call's.
    pub(crate) charged_at: Option<Micros>,
    pub(crate) factor: f64,
    pub(crate) observed: bool,
}

impl<'a> Check<'a> {
    /// A check of cost 1 and factor 1.
    #[must_use]
    pub const fn new(limit: &'a Limit, actor: &'a str) -> Self {
        Self { limit, actor, cost: 1, at_least: 0, spent: 0, charged_at: None, factor: 1.0, observed: false }
    }

    /// The number under which its parts are decided apart from all others, if they are; `index` is that of the check.
    pub(crate) fn group(&self, index: usize) -> Option<u32> {
        self.observed.then(|| u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// It is enforced, takes all of its cost or nothing, and is of an actor that is not too long.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        !self.observed && self.at_least == 0 && self.actor.len() <= LONGEST_ACTOR
    }

    /// Its units are held until they are released or their lease is over: its limit is of type concurrency.
    #[must_use]
    #[inline]
    pub fn holds(&self) -> bool {
        self.limit.holds()
    }

    /// The key of its limit, which an error names.
    #[must_use]
    pub fn key(&self) -> &'a str {
        self.limit.key()
    }

    /// The actor that is limited.
    #[must_use]
    pub const fn actor(&self) -> &'a str {
        self.actor
    }

    /// The units that the call costs; 0 asks without charging.
    #[must_use]
    pub const fn cost(mut self, units: u64) -> Self {
        self.cost = units;
        self
    }

    /// The [cost](Self::cost) of the call.
    #[must_use]
    pub const fn units(&self) -> u64 {
        self.cost
    }

    /// Takes as much of the cost as there is room for, and no less than this: [`LimitInfo::granted`] says how much. A call
    /// that has no room for it is denied as one of this cost.
    ///
    /// For [`Call::Limit`](crate::Call::Limit) and [`Call::Peek`](crate::Call::Peek). All checks of a call have the same
    /// cost and the same least part of it, and each gets the same units. The cost may be above what the limit ever admits.
    ///
    /// ```
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let (limiter, tokens) = (Limiter::new(Memory::new()), Limit::bucket("tokens", 300).build()?);
    /// let check = [Check::new(&tokens, "ada").cost(500).at_least(50)];
    /// assert_eq!(limiter.decide_sync(&check, Call::Limit)?.granted, 300);
    /// let denied = limiter.decide_sync(&check, Call::Limit)?;
    /// assert_eq!((denied.blocked, denied.granted), (true, 0));
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub const fn at_least(mut self, units: u64) -> Self {
        self.at_least = units;
        self
    }

    /// The units that stay charged when the cost is undone, 0 by default; where they are more than the cost, the
    /// difference is charged. No other call looks at it.
    #[must_use]
    pub const fn spent(mut self, units: u64) -> Self {
        self.spent = units;
        self
    }

    /// The instant of the charge that is undone or renewed, where that is not the instant of the call: one of several checks may
    /// have been charged at another one. No other call looks at it.
    #[must_use]
    pub const fn charged_at(mut self, at: Micros) -> Self {
        self.charged_at = Some(at);
        self
    }

    /// Scales the limit for this actor: 0.5 = twice the allowance, 2 = half of it, 0 = no limit.
    #[must_use]
    pub const fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Decides this check beside the others, and never enforces it: for limits that are tried before they hold.
    ///
    /// It is decided as a call of its own would be that came right after the call of the others, at the same instant:
    /// it is charged if it fits, whether the others are admitted or not. Its answer is among those
    /// [of the checks](LimitInfo::checks), [observed](LimitInfo::is_observed); the answer of the call is that of the
    /// other checks alone, and of a call without others that of no limit. A call that gives back gives back what it
    /// charged. An [`acquire`](crate::Limiter::acquire) decides it at every try. Where its numbers would leave the
    /// exact range, it counts as denied; where those of the others would, the call is an error and charges neither.
    ///
    /// ```
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let (live, candidate) = (Limit::bucket("api", 2).build()?, Limit::bucket("api candidate", 1).build()?);
    /// let limiter = Limiter::new(Memory::new());
    /// let checks = [Check::new(&live, "ada"), Check::new(&candidate, "ada").observed()];
    /// limiter.decide_sync(&checks, Call::Limit)?;
    /// let info = limiter.decide_sync(&checks, Call::Limit)?;
    /// assert!(!info.blocked && info.checks()[1].blocked);
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub const fn observed(mut self) -> Self {
        self.observed = true;
        self
    }
}

impl LimitInfo {
    /// The key of the limit that decided; `checks` are those of the call.
    ///
    /// ```
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let (login, api) = (Limit::bucket("login", 10).build()?, Limit::bucket("api", 5).build()?);
    /// let checks = [Check::new(&login, "203.0.113.9"), Check::new(&api, "ada")];
    /// let info = Limiter::new(Memory::new()).decide_sync(&checks, Call::Limit)?;
    /// assert_eq!((info.key(&checks), info.quota, info.binding()), ("api", 5, 1));
    /// assert_eq!(info.checks()[0].key(&checks), "login");
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub fn key<'a>(&self, checks: &[Check<'a>]) -> &'a str {
        checks.get(self.check_index()).map_or("", Check::key)
    }

    /// The actor of the check that decided; `checks` are those of the call. A result holds no copy of it, so that a call
    /// allocates nothing for it.
    ///
    /// ```
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let (login, api) = (Limit::bucket("login", 10).build()?, Limit::bucket("api", 5).build()?);
    /// let checks = [Check::new(&login, "203.0.113.9"), Check::new(&api, "ada")];
    /// let info = Limiter::new(Memory::new()).decide_sync(&checks, Call::Limit)?;
    /// assert_eq!(info.actor(&checks), "ada");
    /// assert_eq!(info.checks()[0].actor(&checks), "203.0.113.9");
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub fn actor<'a>(&self, checks: &[Check<'a>]) -> &'a str {
        checks.get(self.check_index()).map_or("", Check::actor)
    }
}

/// A [`Check`] that outlives the call that named its limit and its actor.
#[derive(Clone, Debug)]
pub(crate) struct OwnedCheck {
    pub(crate) limit: Limit,
    actor: Box<str>,
    pub(crate) cost: u64,
    at_least: u64,
    spent: u64,
    pub(crate) factor: f64,
    observed: bool,
}

impl From<&Check<'_>> for OwnedCheck {
    fn from(check: &Check<'_>) -> Self {
        let Check { limit, actor, cost, at_least, spent, factor, observed, .. } = *check;
        Self { limit: limit.clone(), actor: actor.into(), cost, at_least, spent, factor, observed }
    }
}

impl OwnedCheck {
    pub(crate) fn check(&self) -> Check<'_> {
        let Self { limit, actor, cost, at_least, spent, factor, observed } = self;
        let (cost, at_least, spent) = (*cost, *at_least, *spent);
        Check { limit, actor, cost, at_least, spent, charged_at: None, factor: *factor, observed: *observed }
    }
}
