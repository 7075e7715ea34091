//! Entries in Redis, shared by many processes.

#![allow(clippy::disallowed_methods, reason = "deadlines go by the timers of tokio, not by the time that limits see")]

mod address;
mod batch;
mod batch_replies;
mod breaker;
mod cluster;
mod connection;
mod connection_state;
mod context;
mod decode;
mod dial;
mod encode;
mod endpoint;
mod error_action;
mod greeting;
mod group_reply;
mod job;
mod keys;
mod layout;
mod message;
mod process;
mod queue;
mod recovery;
mod replicas;
mod reports;
mod reroute;
mod scattered;
mod script;
mod server_clock;
mod settings;
mod topology;
mod transactions;
mod underway;
mod upkeep;
mod url;

#[cfg(test)]
mod tests;

pub(crate) use decode::Reply;
pub(crate) use encode::{Decision, encode};
pub(crate) use job::{Answer, Job};
pub(crate) use keys::Key;
pub use layout::{Layout, Strategy};
pub(crate) use process::{ProcessState, RemoteStore};
pub use settings::Redis;
pub(crate) use settings::Settings;
pub use upkeep::Health;
pub(crate) use upkeep::Upkeep;
pub(crate) use url::refused;
