//! The calls of a limit.

use std::time::Duration;

use crate::time::Micros;

/// The calls of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Call {
    /// Charges the cost if it fits.
    Limit,
    /// Charges nothing and says what [`Limit`](Self::Limit) would have said.
    Peek,
    /// Charges the cost even where it does not fit, as for use that is paid afterwards.
    Charge,
    /// Gives the cost back, never below empty, whichever call was charged for it.
    Refund,
    /// Gives back what a call of this cost charged at this instant, but for what was [spent](crate::Check::spent) of
    /// it, and less what has drained since. Where more was spent than it cost, the difference is charged.
    ///
    /// Leaves what that call would have left, had it charged only what was spent. However late it comes, it
    /// never frees what a later call charged. A [`Receipt`](crate::Receipt) makes this call, once.
    Undo {
        /// [`LimitInfo::at`](crate::LimitInfo::at) of that call.
        charged_at: Micros,
    },
    /// [`Undo`](Self::Undo) for an answer that was [degraded](crate::LimitInfo::degraded): what this process charged
    /// by itself is not to be had back from the store.
    UndoDegraded {
        /// [`LimitInfo::at`](crate::LimitInfo::at) of that call.
        charged_at: Micros,
    },
    /// Charges the cost if it fits within `max_wait`, and says how long to wait for it.
    Acquire {
        /// The longest wait that is worth it.
        max_wait: Duration,
    },
    /// Removes the entries, whatever their shape: nothing is charged any more. The answer is that of an empty entry.
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
    Acquire {
        max_wait: Micros,
    },
    /// A [`Limit`](Self::Limit) that checks elsewhere have denied already.
    Denied,
    Reset,
}

impl Verb {
    /// The units that a check adds to its entry: of an undo, what was spent beyond the cost.
    #[inline]
    pub(crate) fn adds(self, cost: u64, spent: u64) -> u64 {
        if matches!(self, Self::Undo { .. }) { spent.saturating_sub(cost) } else { cost }
    }

    /// An undo of what was charged at this instant, where there is one.
    #[inline]
    pub(crate) fn of_charge(self, at: Option<Micros>) -> Self {
        match (self, at) {
            (Self::Undo { .. }, Some(charged_at)) => Self::Undo { charged_at },
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
        matches!(self, Self::Limit | Self::Peek | Self::Acquire { .. } | Self::Denied)
    }

    /// Nothing is denied, and what was denied before may fit now.
    pub(crate) fn gives_back(self) -> bool {
        matches!(self, Self::Refund | Self::Undo { .. } | Self::Reset)
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
            Call::Acquire { max_wait } => {
                Self::Acquire { max_wait: Micros::try_from(max_wait.as_micros()).unwrap_or(Micros::MAX) }
            }
            Call::Reset => Self::Reset,
        }
    }
}
