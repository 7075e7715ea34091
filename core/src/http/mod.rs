//! The common part of rate limits in web frameworks: the client's address, headers, refusals, and mistakes in the
//! configuration. No I/O, and no framework.
//!
//! A [`Gate`] is made once for an application. For each request it finds the [client](Gate::client); the limits of
//! all places that have one become [one decision](Plan); and the answers become the [headers](Gate::headers) of the
//! response, or a [refusal](Gate::refusal).
//!
//! For HTTP clients, [`Outgoing`] judges what a server answers: what to observe, and whether to repeat the request.

mod accept;
mod address;
mod builder;
mod client;
mod combine;
mod forwarded;
mod gate;
mod mistakes;
mod options;
mod proxies;
mod refusal;
mod room;

pub use accept::Form;
pub use builder::GateBuilder;
pub use client::{Next, OUTGOING_OPTIONS, Outgoing, Reply};
pub use combine::{Combined, combined};
pub use gate::{Body, Client, Gate, Warning};
pub(crate) use mistakes::page_of;
pub use mistakes::{ConfigurationError, Mistake, forget_mistakes};
pub use options::GATE_OPTIONS;
pub(crate) use options::{ipv6_prefix, style_of};
pub use proxies::TrustedProxies;
pub use refusal::Refusal;
pub use room::{
    APP, Asked, CANDIDATE, Counted, Denials, Names, Paid, Plan, Planned, RequestError, Role, Syntax, Trial,
    TrialCounts, client_of, key_of, key_of_number, route_name, template,
};
