//! The engine for the playground of the documentation: one request as JSON, one reply as JSON.

mod calls;
mod exports;
