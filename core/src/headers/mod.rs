//! The HTTP fields that go with an answer.
//!
//! [`x`] gives the fields of the `X-RateLimit` family, which every client reads. [`common`](common()) gives those of most
//! other libraries. [`ietf`](ietf()) gives the fields that the HTTPAPI working group is standardising, in whichever
//! [`Draft`] the clients understand. [`merged`] writes several answers on one response, in any [`Style`]. [`parse`](parse())
//! reads all of them back.

mod common;
mod ietf;
pub(crate) mod parse;
mod structured;
mod style;
mod x;

pub use common::{Reset, common};
pub(crate) use ietf::name_of;
pub use ietf::{Draft, Policy, ietf};
pub use parse::{PolicyFields, RateLimits, parse};
pub use style::{Style, merged};
pub use x::x;

/// A field's name and value.
pub type Header = (&'static str, String);
