//! Explanations of answers.

use std::fmt;

use super::words::{number, time};
use crate::Error;
use crate::algorithm::Rule;
use crate::check::Check;
use crate::decision::Call;
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::time::Micros;

/// The answer that a call would get now, and its reasons; [`Display`](fmt::Display) gives them in words.
///
/// ```
/// use tidegate::{Check, Limit, Limiter, Memory, Call};
///
/// let limiter = Limiter::new(Memory::new());
/// let login = Limit::bucket("login", 10).build()?;
/// let checks = [Check::new(&login, "ada").cost(3)];
/// limiter.decide_sync_at(&checks, Call::Limit, 0)?;
///
/// let explanation = limiter.explain_checks_sync(&[Check::new(&login, "ada")], Some(600_000))?;
/// assert_eq!(
///     explanation.to_string(),
///     r#""login" would admit this call: 7 of 10 units are free, the next comes back in 0.4 s, all of them in 2.4 s."#
/// );
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallExplanation {
    /// The answer of a peek at all checks.
    pub info: LimitInfo,
    /// The state of each of the limits, in order; two of an exactly translated legacy limit.
    pub checks: Vec<CheckExplanation>,
}

/// The state of one limit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckExplanation {
    /// The key of the limit.
    pub key: String,
    /// The cost of the call.
    pub cost: u64,
    /// The answer of a peek at this check.
    pub info: LimitInfo,
    rule: Option<Rule>,
}

impl CallExplanation {
    /// The instant from which the call would be admitted; `None` where it would be now.
    #[must_use]
    pub fn blocked_until(&self) -> Option<Micros> {
        self.info.blocked.then(|| self.info.at.saturating_add(self.info.reset_ms.saturating_mul(1000)))
    }
}

impl Limiter {
    /// Says why a call of cost 1 would be answered as it would now; charges nothing.
    ///
    /// # Errors
    /// As [`peek_sync`](Self::peek_sync).
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, Memory};
    ///
    /// let limiter = Limiter::new(Memory::new());
    /// let explanation = limiter.explain_sync(&Limit::bucket("login", 10).build()?, "ada")?;
    /// assert_eq!(explanation.to_string(), r#""login" would admit this call: all 10 units are free."#);
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    pub fn explain_sync(&self, limit: &Limit, actor: &str) -> Result<CallExplanation, Error> {
        self.explain_checks_sync(&[Check::new(limit, actor)], None)
    }

    /// Says why these checks together would be answered as they would, now or at an instant of the caller's choosing.
    ///
    /// # Errors
    /// As [`decide_sync`](Self::decide_sync).
    pub fn explain_checks_sync(&self, checks: &[Check<'_>], now: Option<Micros>) -> Result<CallExplanation, Error> {
        let info = match now {
            Some(now) => self.decide_sync_at(checks, Call::Peek, now)?,
            None => self.decide_sync(checks, Call::Peek)?,
        };
        Ok(CallExplanation::of(checks, info)?)
    }

    /// [`explain_sync`](Self::explain_sync) as a future.
    ///
    /// # Errors
    /// As [`explain_sync`](Self::explain_sync).
    pub async fn explain(&self, limit: &Limit, actor: &str) -> Result<CallExplanation, Error> {
        self.explain_checks(&[Check::new(limit, actor)], None).await
    }

    /// [`explain_checks_sync`](Self::explain_checks_sync) as a future.
    ///
    /// # Errors
    /// As [`explain_checks_sync`](Self::explain_checks_sync).
    pub async fn explain_checks(&self, checks: &[Check<'_>], now: Option<Micros>) -> Result<CallExplanation, Error> {
        let info = match now {
            Some(now) => self.decide_at(checks, Call::Peek, now).await?,
            None => self.decide(checks, Call::Peek).await?,
        };
        Ok(CallExplanation::of(checks, info)?)
    }
}

impl CallExplanation {
    /// Explains what [`Call::Peek`] answered to these checks, for a host that asked in its own way.
    ///
    /// # Errors
    /// When a check's factor is out of bounds.
    pub fn of(checks: &[Check<'_>], info: LimitInfo) -> Result<Self, LimitError> {
        let mut explained = Vec::with_capacity(info.checks().len());
        for (index, check) in checks.iter().enumerate() {
            let rules = check.limit.rules(check.factor)?;
            let mut rules = rules.iter();
            explained.extend(info.checks().iter().filter(|info| info.check_index() == index).map(|info| {
                CheckExplanation {
                    key: check.limit.key().to_owned(),
                    cost: check.cost,
                    info: info.clone(),
                    rule: rules.next().copied(),
                }
            }));
        }
        Ok(Self { info, checks: explained })
    }
}

impl fmt::Display for CallExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.checks[..], self.checks.get(self.info.binding())) {
            ([], _) | (_, None) => f.write_str("Nothing is limited here: the call would be admitted."),
            ([check], _) => check.fmt(f),
            (checks, Some(deciding)) => {
                let fate = if self.info.blocked { "refused" } else { "admitted" };
                write!(f, "The call would be {fate}; {:?} decides.", deciding.key)?;
                checks.iter().try_for_each(|check| write!(f, "\n{check}"))
            }
        }
    }
}

impl fmt::Display for CheckExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = if self.info.blocked { "refuse" } else { "admit" };
        write!(f, "{:?} would {fate} this call", self.key)?;
        if self.cost != 1 {
            write!(f, " of cost {}", number(self.cost as f64))?;
        }
        let info = &self.info;
        match &self.rule {
            None => f.write_str(": it limits nothing.")?,
            Some(_) if info.blocked && info.closed => f.write_str(": it is closed by a block.")?,
            Some(Rule::Smooth(_)) if info.blocked => {
                f.write_str(": the permits of earlier calls have not come back yet.")?;
            }
            Some(Rule::Smooth(_)) => {
                write!(f, ": its turn has come, with {} permits saved up.", number(info.remaining as f64))?;
            }
            Some(Rule::Log(log)) if info.blocked && log.min_interval > 0 && info.remaining >= self.cost => {
                write!(f, ": the last call was less than {} ago.", time(log.min_interval as f64 / 1000.0))?;
            }
            Some(_) => self.units(f)?,
        }
        if info.blocked {
            write!(f, " Retry in {}", time(info.reset_ms as f64))?;
            if info.full_reset_ms > info.reset_ms {
                write!(f, "; empty in {}", time(info.full_reset_ms as f64))?;
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

impl CheckExplanation {
    fn units(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = &self.info;
        let (free, quota) = (number(info.remaining as f64), number(info.quota as f64));
        if info.remaining >= info.quota {
            return write!(f, ": all {quota} units are free.");
        }
        write!(f, ": {free} of {quota} units are free")?;
        if info.blocked {
            return f.write_str(".");
        }
        if info.next_ms < info.full_reset_ms {
            write!(f, ", the next comes back in {}", time(info.next_ms as f64))?;
        }
        write!(f, ", all of them in {}.", time(info.full_reset_ms as f64))
    }
}
