//! The node binding: translates types and errors between JavaScript and the engine, and decides nothing.
//!
//! Every request's call is a bare Node-API function that takes one string, on the [`fast_path`]; all numbers, in and
//! out, cross in typed arrays that both sides share: the [call buffer](buffer), and for the commonest answers the fast
//! buffer of small integers. A handle in these arrays stands for a limiter or a limit of this thread's [`registry`].
//! Everything else goes through napi-rs.
//!
//! The answer of a shared store comes later, as a [`reply`] in the [reply queue](queue) of this thread.

#![deny(clippy::disallowed_methods, clippy::incompatible_msrv)]
#![expect(unsafe_code, reason = "Node-API is a C interface; every block says why it is sound")]
#![expect(clippy::needless_pass_by_value, reason = "napi-rs passes owned values")]
#![warn(clippy::undocumented_unsafe_blocks)]

mod acquire;
mod buffer;
mod calls;
mod command;
mod delivery;
mod documents;
mod errors;
mod fast_path;
mod handles;
mod headers;
mod http;
mod layout;
mod limiters;
mod limits;
mod llm;
mod numbers;
mod outbox;
mod queue;
mod registry;
mod remote;
mod reply;
mod reply_buffer;
mod steps;
mod stores;
mod table;
mod text;
mod threads;
mod units;
mod value;
mod weight;
