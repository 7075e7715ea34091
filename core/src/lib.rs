#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::incompatible_msrv))]

mod charge;
mod check;
mod clock;
mod decision;
mod distinct;
#[cfg(doctest)]
mod doctests;
mod error;
#[cfg(feature = "redis")]
mod events;
mod explain;
#[cfg(feature = "redis")]
mod failure;
#[doc(hidden)]
pub mod ffi;
mod fingerprint;
#[cfg(feature = "redis")]
mod fork;
pub mod headers;
pub mod http;
mod info;
mod inline_vec;
#[cfg(feature = "redis")]
mod interrupt;
mod limit;
mod limiter;
mod limits;
mod log_duration;
mod receipt;
mod shape;
mod store;
mod time;

pub use charge::Charge;
pub use check::Check;
pub use decision::{Call, State};
#[cfg(feature = "redis")]
pub use error::StoreError;
pub use error::{Error, ErrorKind, LimitError};
#[cfg(feature = "redis")]
pub use events::{Event, EventKind};
pub use explain::{Allowance, CallExplanation, CheckExplanation, Explanation, LegacyTranslation};
#[cfg(feature = "redis")]
pub use failure::Failure;
#[cfg(feature = "redis")]
pub use fork::after_fork;
pub use info::LimitInfo;
pub use limit::types::*;
pub use limit::{Anchor, Builder, FactorScales, Kind, Limit, Translation, Value};
#[cfg(feature = "redis")]
pub use limiter::AcquireHandle;
pub use limiter::{Acquire, Step};
pub use limiter::{AnyStore, Limiter};
pub use limits::{Fault, Format, Limits, LimitsError};
pub use receipt::Receipt;
pub use store::memory::Memory;
#[cfg(feature = "redis")]
pub use store::redis::{Health, Layout, Redis, Strategy};
#[cfg(feature = "redis")]
pub use store::remote::OnError;
#[cfg(feature = "redis")]
pub use store::remote::{BreakerState, Latency, Statistics};
pub use time::Micros;
