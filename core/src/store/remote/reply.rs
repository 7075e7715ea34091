//! The reply of a store to a request.

use smallvec::SmallVec;

use crate::decision::Impossible;
use crate::failure::Failure;
use crate::info::LimitInfo;
use crate::time::Micros;

/// Answers, of which there is nearly always one: more are kept apart, because a reply goes through several hands.
pub(crate) type Infos = SmallVec<[LimitInfo; 1]>;

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Decided {
        now: Micros,
        /// One answer for each check, in order; none for a reset.
        infos: Infos,
        /// The number of checks whose entry had a value that no limit has written.
        corrupt: u32,
        /// An entry was from a future that cannot be, and what has to be kept of that is not kept by a peek.
        repaired: bool,
        /// Of a denied call, until it would be admitted.
        reset: Micros,
    },
    /// This check cannot be decided, and nothing was charged.
    Impossible(usize, Impossible),
    /// The deadline was past, and nothing was charged.
    Late { now: Micros },
}

/// The reply to a request, or the reason for which there is none.
pub(crate) type Answer = Result<Reply, Failure>;
