//! The numbers of an answer, in the engine's order, to be pickled, compared and made for tests.

pub(crate) type Numbers = [u64; tidegate::LimitInfo::NUMBERS];
