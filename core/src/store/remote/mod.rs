//! Stores that are asked over a network: everything about them that no particular store is needed for.
//!
//! A [`Backend`] names the entries and connects. For each runtime that asks, it makes [`Servers`], which take over a
//! [`Job`]: one [`Request`] under way, with a deadline. The store either reads the values of the request's entries,
//! [decides](Request::decide) on them in this process and writes what has changed, if nothing has changed in between;
//! or its server decides by the same arithmetic. The engine does the rest: the deny cache, the fallback policy, events,
//! statistics, and a fresh start in a forked process.

#![allow(clippy::disallowed_methods, reason = "deadlines go by the timers of tokio, not by the time that limits see")]
#![cfg_attr(not(feature = "redis"), allow(dead_code, unused_imports, reason = "parts of it that Redis alone uses"))]

mod backend;
pub(crate) mod background;
mod decide;
mod deny_cache;
mod handover;
mod health;
mod job;
mod key;
mod on_error;
mod process;
mod reply;
mod reports;
mod request;
mod scan;
mod session;
mod settings;
mod siblings;
mod stats;
mod sync;
pub(crate) mod task;
mod turn;
mod value;

pub use backend::{Backend, Servers, Work};
pub(crate) use background::{Background, Due, LONGEST_DRIVE, here as background};
pub use decide::{Decision, Write};
pub(crate) use deny_cache::{DenyKey, Since};
pub use health::Health;
pub use job::Job;
pub(crate) use key::name;
pub use key::{EntryName, Key, NamePart, NameParts};
pub use on_error::OnError;
pub(crate) use process::{Over, ProcessState, RemoteStore};
pub(crate) use reply::{Answer, Infos, Reply};
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) use reports::Reports;
pub use request::Request;
pub(crate) use request::{Part, PartList};
pub use scan::Scan;
pub use session::Session;
pub use settings::Settings;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) use stats::Stats;
pub use stats::{BreakerState, Latency, Statistics};
