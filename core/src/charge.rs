//! Charges: what an answer says about them, and the call that gives one back.

use std::time::Duration;

use crate::check::Check;
use crate::decision::Call;
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::time::{EXACT, Micros};

/// No unit was taken at this instant.
const NEVER: Micros = EXACT;

/// The problem of actual costs that do not match their checks.
pub(crate) const ONE_EACH: &str = "must be a list of one cost for each check where the checks cost differently";

/// A call about the units that a receipt holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfHeld {
    /// Gives them back.
    Release,
    /// Holds them for another lease.
    Renew,
}

/// The indices of the checks whose units are held.
fn held(checks: &[Check<'_>]) -> impl Iterator<Item = usize> {
    (0..checks.len()).filter(|index| checks[*index].holds())
}

/// Refuses a hold of these checks if none of them holds units.
///
/// # Errors
/// When no limit is of type concurrency.
pub fn may_hold(checks: &[Check<'_>]) -> Result<(), LimitError> {
    some_held(checks, "limits", "must hold one of type concurrency", "none")
}

/// Refuses a receipt of these checks if none of them holds units.
///
/// # Errors
/// When no limit is of type concurrency.
pub fn holds_some(checks: &[Check<'_>]) -> Result<(), LimitError> {
    some_held(checks, "info", "must be the answer to a call of limits of type concurrency", "another one")
}

fn some_held(checks: &[Check<'_>], field: &str, problem: &str, given: &str) -> Result<(), LimitError> {
    let key = checks.first().map_or("", Check::key);
    held(checks).next().map(drop).ok_or_else(|| LimitError::range(key, field, problem, given))
}

/// The time after which units that these checks hold are free again unless they are renewed: the shortest lease.
#[must_use]
pub fn shortest_lease(checks: &[Check<'_>]) -> Option<Duration> {
    checks.iter().filter_map(|check| check.limit.lease()).min()
}

/// The charge that an answer names.
#[derive(Clone, Debug)]
pub struct Charge {
    /// [`LimitInfo::at`].
    pub at: Micros,
    /// The same of each check, up to the last one that was charged at another instant: a log whose clock was set back
    /// charges at its last one.
    pub each: Vec<Micros>,
    /// [`LimitInfo::blocked`]: only those checks were charged whose limits count denied attempts.
    pub denied: bool,
    /// Of each [observed](Check::observed) check, by its index: [`LimitInfo::blocked`] of itself.
    pub observed: Vec<(usize, bool)>,
    /// [`LimitInfo::degraded`]: it was made by this process alone.
    pub degraded: bool,
    /// [`LimitInfo::granted`]: the cost of each check that [left it open](Check::at_least).
    pub granted: u64,
}

impl From<&LimitInfo> for Charge {
    fn from(info: &LimitInfo) -> Self {
        Self::dated(info, |info| info.at)
    }
}

impl Call {
    /// True if its answer is a receipt: the call charges what it admits.
    #[must_use]
    pub const fn charges(self) -> bool {
        matches!(
            self,
            Self::Limit | Self::Charge | Self::Renew { .. } | Self::RenewDegraded { .. } | Self::Acquire { .. }
        )
    }
}

impl Charge {
    fn dated(info: &LimitInfo, at: impl Fn(&LimitInfo) -> Micros) -> Self {
        let mut charge = Self {
            at: at(info),
            each: Vec::new(),
            denied: info.blocked,
            observed: Vec::new(),
            degraded: info.degraded,
            granted: info.granted,
        };
        charge
            .observe(info.checks().iter().filter(|info| info.observed).map(|info| (info.check_index(), info.blocked)));
        charge.date(info.checks().iter().map(|info| (info.check_index(), at(info))));
        charge
    }

    /// Notes when each check was charged, by its index; the two halves of one were charged at one instant.
    #[doc(hidden)]
    pub fn date(&mut self, instants: impl IntoIterator<Item = (usize, Micros)>) {
        for (check, at) in instants {
            if at != self.at || check < self.each.len() {
                self.each.resize(self.each.len().max(check + 1), self.at);
                self.each[check] = at;
            }
        }
    }

    /// Notes which observed checks were denied, by their indices; of two halves of one, either may have been.
    #[doc(hidden)]
    pub fn observe(&mut self, answers: impl IntoIterator<Item = (usize, bool)>) {
        for (check, blocked) in answers {
            match self.observed.iter_mut().find(|(known, _)| *known == check) {
                Some((_, denied)) => *denied |= blocked,
                None => self.observed.push((check, blocked)),
            }
        }
    }

    /// The charge of an `acquire` that is given up before its turn: all that drains until then was charged before it, so
    /// that its own drains from its turn on. A millisecond sooner, because a wait is rounded up.
    pub(crate) fn of_turn(info: &LimitInfo) -> Self {
        Self::dated(info, |info| info.at.saturating_add(info.wait_ms.saturating_sub(1).saturating_mul(1000)))
    }

    /// The call that makes of this charge what was `spent` of each check, which it sets there; none of an `open`
    /// receipt's charges is left where that is false, and the call only says how things stand.
    ///
    /// The checks are those of the call that was answered, at the same costs.
    pub fn settle(&self, open: bool, checks: &mut [Check<'_>], spent: &[u64]) -> Call {
        for (index, (check, spent)) in checks.iter_mut().zip(spent).enumerate() {
            self.settle_one(open, index, check, *spent);
        }
        let charged_at = self.at;
        // What this process charged alone, it gives back alone.
        if self.degraded { Call::UndoDegraded { charged_at } } else { Call::Undo { charged_at } }
    }

    fn settle_one(&self, open: bool, index: usize, check: &mut Check<'_>, spent: u64) {
        check.charged_at = self.each.get(index).copied();
        let denied = self.is_denied(index);
        (check.cost, check.at_least) = (self.units(denied, check), 0);
        // Whether a denied attempt was charged beside a block, an answer does not say: then nothing is given back.
        let counts_denied = check.limit.counts_blocked() && !check.limit.blocks();
        let charged = open && (!denied || counts_denied);
        (check.cost, check.spent) = if charged { (check.cost, spent) } else { (0, 0) };
    }

    fn is_denied(&self, index: usize) -> bool {
        let observed = self.observed.iter().find(|(known, _)| *known == index);
        observed.map_or(self.denied, |(_, denied)| *denied)
    }

    /// The units that this check of the call asked for in the end: where it left them open, a denial is one of the least.
    fn units(&self, denied: bool, check: &Check<'_>) -> u64 {
        match check.at_least {
            0 => check.cost,
            least if denied => least,
            _ => self.granted,
        }
    }

    /// The call that releases the units which the call held, or renews them, and the number of its checks: those alone
    /// that hold any, which it moves to the front. A receipt that is not `open`, or was denied, holds none.
    pub fn on_held(&self, what: OfHeld, open: bool, checks: &mut [Check<'_>]) -> (usize, Call) {
        let mut count = 0;
        for index in 0..checks.len() {
            let mut check = checks[index];
            if !check.holds() {
                continue;
            }
            let cost = self.units(self.is_denied(index), &check);
            self.settle_one(open, index, &mut check, 0);
            if what == OfHeld::Renew && check.cost == 0 && !check.observed {
                (check.cost, check.charged_at) = (cost, Some(NEVER));
            }
            checks[count] = check;
            count += 1;
        }
        let charged_at = self.at;
        let call = match (what, self.degraded) {
            (OfHeld::Release, false) => Call::Undo { charged_at },
            (OfHeld::Release, true) => Call::UndoDegraded { charged_at },
            (OfHeld::Renew, false) => Call::Renew { charged_at },
            (OfHeld::Renew, true) => Call::RenewDegraded { charged_at },
        };
        (count, call)
    }

    /// This charge after its units that are held were renewed, as the answer says; none where they were not. Where the
    /// store and this process alone decided in turns, nothing was renewed.
    #[must_use]
    pub fn renewed(&self, checks: &[Check<'_>], renewal: &Self) -> Option<Self> {
        if renewal.denied || renewal.degraded != self.degraded {
            return None;
        }
        let mut renewed = self.clone();
        let instant = |place: usize| renewal.each.get(place).copied().unwrap_or(renewal.at);
        renewed.date(held(checks).enumerate().map(|(place, index)| (index, instant(place))));
        Some(renewed)
    }

    /// [`settle`](Self::settle) of nothing spent.
    pub fn refund(&self, open: bool, checks: &mut [Check<'_>]) -> Call {
        let nothing = vec![0; checks.len()];
        self.settle(open, checks, &nothing)
    }
}
