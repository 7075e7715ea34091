//! Entries in Redis, shared by many processes.

#![allow(clippy::disallowed_methods, reason = "deadlines go by the timers of tokio, not by the time that limits see")]

mod address;
mod advice;
mod backend;
mod batch;
mod batch_replies;
mod breaker;
mod cluster;
mod cluster_map;
mod connection;
mod connection_state;
mod context;
mod decode;
mod dial;
mod encode;
mod endpoint;
mod error_action;
mod group_reply;
mod handshake;
mod keys;
mod layout;
mod message;
mod options;
mod queue;
mod recovery;
mod replicas;
mod reroute;
mod scattered;
mod script;
mod server_clock;
mod settings;
mod share;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod topology;
mod transactions;
mod underway;
mod upkeep;
mod url;

#[cfg(test)]
mod tests;

pub use backend::bare_command;
pub use layout::{Layout, Strategy};
pub use settings::{Redis, RedisBuilder};
pub(crate) use url::refused;
