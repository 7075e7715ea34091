//! The connection to one server, its task, and what travels over it.

mod batch;
mod breaker;
pub(super) mod dial;
pub(super) mod error_action;
pub(super) mod group_reply;
pub(super) mod handshake;
pub(super) mod message;
mod queue;
mod recovery;
mod replies;
pub(super) mod rest;
pub(super) mod server_clock;
pub(super) mod state;
mod task;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
pub(super) mod tls;
pub(super) mod underway;

pub(super) use task::Connection;
