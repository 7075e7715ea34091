//! The calls of a limit.

use std::time::Duration;

use crate::time::Micros;

/// The calls of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Call {
    /// Charges the cost if it fits.
    Limit,
    /// Answers as [`Limit`](Self::Limit) would, and charges nothing.
    Peek,
    /// Charges the cost even if it does not fit, for costs that are known afterwards.
    Charge,
    /// Gives the cost back, never below empty, also units of other calls.
    Refund,
    /// Gives back the charge of a call of this cost at this instant, except the units that were
    /// [spent](crate::Check::spent), and less the units that have drained since. If more was spent than it cost, the
    /// difference is charged.
    ///
    /// The entry is then as if that call had charged only the spent units. It never frees units of a later call. A
    /// [`Receipt`](crate::Receipt) makes this call, once.
    Undo {
        /// [`LimitInfo::at`](crate::LimitInfo::at) of that call.
        charged_at: Micros,
    },
    /// [`Undo`](Self::Undo) for an answer that was [degraded](crate::LimitInfo::degraded): only this process has the
    /// charge, and the store must not give it back.
    UndoDegraded {
        /// [`LimitInfo::at`](crate::LimitInfo::at) of that call.
        charged_at: Micros,
    },
    /// Holds the units of a call of this cost at this instant for another lease, where all of them are held still: of
    /// every check, or of none. The answer is then as that of a charge, and names the instant from which they are held;
    /// else it is blocked, with the time until the cost would fit.
    ///
    /// For limits of type concurrency alone. A [`Receipt`](crate::Receipt) makes this call.
    Renew {
        /// [`LimitInfo::at`](crate::LimitInfo::at) of that call.
        charged_at: Micros,
    },
    /// [`Renew`](Self::Renew) for an answer that was [degraded](crate::LimitInfo::degraded): only this process has the
    /// charge.
    RenewDegraded {
        /// [`LimitInfo::at`](crate::LimitInfo::at) of that call.
        charged_at: Micros,
    },
    /// Charges the cost if it fits within `max_wait`, and answers with the time to wait.
    Acquire {
        /// The longest wait.
        max_wait: Duration,
    },
    /// Takes over what an upstream server said of its own limit: the entry is raised until no more than `remaining` units
    /// are left, and none before `retry_after` is over. It never lowers an entry, so nothing is admitted that would not
    /// have been. The cost of the checks has no meaning.
    ///
    /// For programs that call somebody else's service through a limit of their own. Buckets, token buckets, fixed windows
    /// and smooth limits can be raised; any other type is an error. At least one of both has to be given.
    Observe {
        /// The units that are left there.
        remaining: Option<u64>,
        /// The time to wait.
        retry_after: Option<Duration>,
    },
    /// Closes a limit that has a [block](crate::limits::Blocking) for this time, unless it is closed for longer already.
    /// Zero opens it, and the next block is as short as the first one. The limit's own entry stays as it is. The answer is
    /// that of a peek of cost 1 afterwards; the cost of the checks has no meaning.
    Block {
        /// The time for which every call is denied.
        time: Duration,
    },
    /// Removes the entries, of every shape of state. The answer is that of an empty entry.
    Reset,
}

/// A [`Call`] as the engine passes it about: one number at most, so that it stays in registers, and a verb that is
/// known when it is compiled stays known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Limit,
    Peek,
    Charge,
    Refund,
    Undo {
        charged_at: Micros,
    },
    Renew {
        charged_at: Micros,
    },
    Acquire {
        max_wait: Micros,
    },
    /// A [`Limit`](Self::Limit) that checks elsewhere have denied already.
    Denied,
    /// The units that are left upstream are the cost of each check.
    Observe {
        retry_after: Micros,
    },
    Block {
        time: Micros,
    },
    Reset,
}

impl Verb {
    /// The units that a check adds to its entry: of an undo, what was spent beyond the cost.
    #[inline]
    pub(crate) fn adds(self, cost: u64, spent: u64) -> u64 {
        if matches!(self, Self::Undo { .. }) { spent.saturating_sub(cost) } else { cost }
    }

    /// An undo or a renewal of what was charged at this instant, where there is one.
    #[inline]
    pub(crate) fn of_charge(self, at: Option<Micros>) -> Self {
        match (self, at) {
            (Self::Undo { .. }, Some(charged_at)) => Self::Undo { charged_at },
            (Self::Renew { .. }, Some(charged_at)) => Self::Renew { charged_at },
            _ => self,
        }
    }

    /// The cost that the error of a check names: of an undo, what was spent where that is more.
    pub(crate) fn named_cost(self, cost: u64, spent: u64) -> u64 {
        if matches!(self, Self::Undo { .. }) { cost.max(spent) } else { cost }
    }

    /// Checks that are observed are decided apart from those that are enforced; where nothing is denied, all of them
    /// are treated alike.
    #[inline]
    pub(crate) fn decides_apart(self) -> bool {
        matches!(self, Self::Limit | Self::Peek | Self::Renew { .. } | Self::Acquire { .. } | Self::Denied)
    }

    /// The units that an admitted call of this cost is granted.
    #[inline]
    pub(crate) fn grants(self, cost: u64) -> u64 {
        if self.gives_back() || matches!(self, Self::Observe { .. }) { 0 } else { cost }
    }

    /// Nothing is denied, and what was denied before may fit now.
    pub(crate) fn gives_back(self) -> bool {
        matches!(self, Self::Refund | Self::Undo { .. } | Self::Block { .. } | Self::Reset)
    }
}

impl From<Call> for Verb {
    #[inline]
    fn from(call: Call) -> Self {
        match call {
            Call::Limit => Self::Limit,
            Call::Peek => Self::Peek,
            Call::Charge => Self::Charge,
            Call::Refund => Self::Refund,
            Call::Undo { charged_at } | Call::UndoDegraded { charged_at } => Self::Undo { charged_at },
            Call::Renew { charged_at } | Call::RenewDegraded { charged_at } => Self::Renew { charged_at },
            Call::Acquire { max_wait } => {
                Self::Acquire { max_wait: Micros::try_from(max_wait.as_micros()).unwrap_or(Micros::MAX) }
            }
            Call::Observe { retry_after, .. } => {
                let micros = retry_after.map_or(0, |time| time.as_micros());
                Self::Observe { retry_after: Micros::try_from(micros).unwrap_or(Micros::MAX) }
            }
            Call::Block { time } => Self::Block { time: Micros::try_from(time.as_micros()).unwrap_or(Micros::MAX) },
            Call::Reset => Self::Reset,
        }
    }
}
