//! Calls that have no meaning for some types of limits.

use super::Call;
use crate::error::LimitError;
use crate::limit::Limit;
use crate::time::{EXACT, LONGEST, wire_millis};

/// More units than any limit has; the sum of as many as there may be checks is still a cost.
const EVERYTHING: u64 = EXACT / 1000;

impl Call {
    /// The units that this call is about at this limit: the cost, or where it takes over what an upstream server said,
    /// the units that are left there. An error where the call has no meaning for a limit of this type.
    pub(crate) fn cost_at(self, limit: &Limit, cost: u64, spent: u64) -> Result<u64, LimitError> {
        let refused = |problem: &str| {
            Err(LimitError::range(limit.key(), "type", problem, limit.kind().type_name().unwrap_or("legacy")))
        };
        match self {
            Self::Observe { remaining: None, retry_after: None } => {
                let problem = "must be given, or the time after which to ask again";
                Err(LimitError::wrong_type(limit.key(), "remaining", problem, "none"))
            }
            Self::Observe { remaining, .. } if limit.observes() => Ok(remaining.unwrap_or(EVERYTHING)),
            Self::Observe { .. } => {
                refused("must be one that observe can raise: a bucket, a token bucket, a fixed window or smooth")
            }
            Self::Block { .. } if !limit.blocks() => Err(LimitError::range(
                limit.key(),
                "blockFor",
                "must be above 0 where a limit is blocked",
                limit.kind().blocking().map_or(0.0, |blocking| wire_millis(blocking.length())),
            )),
            Self::Block { time } if time.as_micros() > u128::from(LONGEST) => {
                let problem = "must be at most 100 years";
                Err(LimitError::range(limit.key(), "time", problem, wire_millis(time)))
            }
            Self::Charge if limit.holds() => {
                refused("must not be concurrency where units are charged: they are held, not spent")
            }
            Self::Undo { .. } | Self::UndoDegraded { .. } if limit.holds() && spent > cost => {
                refused("must not be concurrency where more is settled than was taken: units are held, not spent")
            }
            Self::Renew { .. } | Self::RenewDegraded { .. } if !limit.holds() => {
                refused("must be concurrency where units are renewed")
            }
            _ => Ok(cost),
        }
    }
}
