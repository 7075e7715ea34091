//! Entries in Redis, shared by many processes.

#![allow(clippy::disallowed_methods, reason = "deadlines go by the timers of tokio, not by the time that limits see")]

mod advice;
mod backend;
mod connection;
mod context;
mod protocol;
mod settings;
mod topology;
mod transactions;
mod upkeep;

#[cfg(test)]
mod tests;

pub use backend::bare_command;
pub use protocol::layout::{Layout, Strategy};
pub(crate) use settings::url::refused;
pub use settings::{Redis, RedisBuilder};
