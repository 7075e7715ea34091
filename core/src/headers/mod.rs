//! The HTTP fields that go with an answer.
//!
//! [`x`] gives the fields of the `X-RateLimit` family, which every client reads. [`ietf`](ietf()) gives the fields that
//! the HTTPAPI working group is standardising, in whichever [`Draft`] the clients understand.

mod ietf;
mod x;

pub use ietf::{Draft, Policy, ietf};
pub use x::x;

/// A field's name and value.
pub type Header = (&'static str, String);
