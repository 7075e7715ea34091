#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::incompatible_msrv))]

mod algorithm;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod boot_clock;
mod charge;
mod check;
#[cfg_attr(target_family = "wasm", path = "clock_without_ticks.rs")]
mod clock;
#[cfg(feature = "cli")]
pub mod command;
pub mod config;
mod decision;
mod distinct;
#[cfg(doctest)]
mod doctests;
mod durations;
mod error;
#[cfg(feature = "remote")]
mod events;
pub mod explain;
#[cfg(feature = "remote")]
mod failure;
#[doc(hidden)]
pub mod ffi;
mod fingerprint;
mod fork;
pub mod headers;
pub mod hold;
pub mod http;
mod info;
mod inline_vec;
#[cfg(feature = "remote")]
mod interrupt;
mod limit;
mod limiter;
pub mod llm;
mod log_duration;
mod names;
mod near;
mod panics;
mod receipt;
mod reply_queue;
#[cfg(feature = "remote")]
mod space_saving;
mod store;
#[cfg(feature = "remote")]
mod stripe;
#[cfg(feature = "remote")]
mod tally;
mod time;
#[cfg(feature = "tower")]
pub mod tower;

pub use check::Check;
pub use decision::{Call, State};
#[cfg(feature = "remote")]
pub use error::StoreError;
pub use error::{Error, ErrorKind, LimitError};
pub use fingerprint::EntriesId;
pub use info::LimitInfo;
pub use limit::Limit;
pub use limiter::{AnyStore, Limiter};
pub use receipt::Receipt;
pub use store::memory::Memory;
#[cfg(feature = "redis")]
pub use store::redis::Redis;
pub use time::Micros;

/// The types of limits, and the values of their fields.
pub mod limits {
    pub use crate::algorithm::CalendarUnit;
    pub use crate::limit::types::*;
    pub use crate::limit::{Anchor, Blocking, Blocks, Builder, FactorScales, Kind, Translation, Value};
}

/// Waiting for a turn, for programs with their own way to sleep.
///
/// [`Limiter::acquire`](crate::Limiter::acquire) does all of it on the tokio runtime, and
/// [`Limiter::acquire_sync`](crate::Limiter::acquire_sync) on the calling thread.
pub mod acquire {
    #[cfg(feature = "remote")]
    pub use crate::limiter::AcquireHandle;
    pub use crate::limiter::{Acquire, Bell, Step};
}

/// The numbers of a limiter, for programs that export them, and its top actors, for operators; see
/// [`Limiter::metrics`](crate::Limiter::metrics) and [`Limiter::top`](crate::Limiter::top).
#[cfg(feature = "remote")]
pub mod metrics {
    pub use crate::limiter::{Histogram, Metric, MetricKind, Sample, Top, TopActor};
}

/// Settings of a store on [`Redis`].
#[cfg(feature = "redis")]
pub mod redis {
    pub use crate::store::redis::{Layout, RedisBuilder, Strategy};
}

/// Shared stores: fallback policies, failures, events, health and statistics.
#[cfg(feature = "remote")]
pub mod remote {
    pub use crate::events::{Event, EventKind};
    pub use crate::failure::Failure;
    pub use crate::fork::after_fork;
    pub use crate::store::remote::{BreakerState, Health, Latency, OnError, Statistics};

    pub mod backend {
        //! The interface for a store of your own that is asked over a network: implement [`Backend`] and [`Servers`]
        //! for it, and make a limiter of it with [`AnyStore::remote`](crate::AnyStore::remote).
        //!
        //! A [`Backend`] names the entries and connects. For each runtime that asks, it makes [`Servers`], which take
        //! over a [`Job`]: one [`Request`] under way, with a deadline. The store reads the values of the request's
        //! entries, [decides](Request::decide) on them in this process, writes what has changed if no other process has
        //! changed it in between, and [completes](Job::complete) the job. The limiter does the rest: the deny cache,
        //! the fallback policy, events, statistics, and a fresh start in a forked process.
        //!
        //! `core/tests/stores` holds an example, and the suite that every store has to pass.
        //!
        //! This interface is not stable yet: any release may change it.

        pub use crate::algorithm::Shape;
        pub use crate::store::remote::{
            Backend, Decision, EntryName, Job, Key, NamePart, NameParts, Request, Scan, Servers, Session, Settings,
            Work, Write,
        };
    }
}
