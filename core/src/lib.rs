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
mod panics;
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
pub use store::redis::{Layout, Redis, Strategy};
#[cfg(feature = "redis")]
pub use store::remote::{BreakerState, Health, Latency, OnError, Statistics};
pub use time::Micros;

/// The interface of stores that are asked over a network: implement [`Backend`](remote::Backend) and
/// [`Servers`](remote::Servers) for a store of your own, and make a limiter of it with [`AnyStore::remote`].
///
/// A [`Backend`](remote::Backend) names the entries and connects. For each runtime that asks, it makes
/// [`Servers`](remote::Servers), which take over a [`Job`](remote::Job): one [`Request`](remote::Request) under way, with
/// a deadline. The store reads the values of the request's entries, [decides](remote::Request::decide) on them in this
/// process, writes what has changed if no other process has changed it in between, and
/// [completes](remote::Job::complete) the job. The limiter does the rest: the deny cache, the fallback policy, events,
/// statistics, and a fresh start in a forked process.
///
/// `core/tests/stores` holds an example, and the suite that every store has to pass.
///
/// This interface is not stable yet: any release may change it.
#[cfg(feature = "redis")]
pub mod remote {
    pub use crate::shape::Shape;
    pub use crate::store::remote::{
        Backend, Decision, EntryName, Job, Key, Request, Servers, Session, Settings, Work, Write,
    };
}
