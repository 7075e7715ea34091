//! The node binding: translates types and errors between JavaScript and the engine, and decides nothing.
//!
//! What is called for every request is a bare Node-API function that takes one string; all numbers, in and out, cross
//! in typed arrays that both sides [share](shared): the [`frame`], and for what is commonest a few small integers. A
//! handle in these arrays stands for a limiter or a limit, which live in [`tables`] of this thread. Everything else goes
//! through napi-rs.
//!
//! What a store that others share has to be asked for is answered later, in a [`letter`] to the [`mailbox`] of this
//! thread.

#![deny(clippy::disallowed_methods, clippy::incompatible_msrv)]
#![expect(unsafe_code, reason = "Node-API is a C interface; every block says why it is sound")]
#![expect(clippy::needless_pass_by_value, reason = "napi-rs passes owned values")]
#![warn(clippy::undocumented_unsafe_blocks)]

mod acquire;
mod ask;
mod decide;
mod documents;
mod failure;
mod frame;
mod headers;
mod letter;
mod limiters;
mod limits;
mod mailbox;
mod shared;
mod stores;
mod tables;
mod text;
mod turn;
mod value;
mod weight;
