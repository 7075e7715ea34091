#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod acquire;
mod check;
mod clock;
mod decision;
mod error;
mod explain;
mod few;
mod fingerprint;
pub mod headers;
pub mod host;
mod info;
mod limit;
mod limiter;
mod limits;
#[cfg(doctest)]
mod pages;
mod store;
mod time;

pub use acquire::{Acquire, Step};
pub use check::Check;
pub use decision::{Call, State};
pub use error::{Error, ErrorKind, LimitError};
pub use explain::{Allowance, Explanation, Stand, Standing, Translated};
pub use info::LimitInfo;
pub use limit::{
    Anchor, Bucket, Builder, Decay, FactorScales, FixedWindow, Kind, Legacy, Limit, SlidingCounter, SlidingLog,
    SlidingWindow, Smooth, TokenBucket, Translation, Value,
};
pub use limiter::Limiter;
pub use limits::{Fault, Format, Limits, LimitsError};
pub use store::memory::Memory;
pub use time::Micros;
