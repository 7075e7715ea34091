//! Tests of the engine, in one program: what is a program of its own is linked by itself.
#![allow(missing_docs, reason = "a test")]

mod oracle;
#[cfg(feature = "redis")]
mod servers;
#[allow(dead_code, reason = "shared with other tests")]
mod strategies;

mod acquire;
mod answers;
mod bad_input;
mod bounds;
mod changing;
mod explain;
mod header_drafts;
mod headers;
mod http;
mod http_vectors;
mod invariants;
mod known_figures;
mod limits;
mod memory;
mod observed;
mod options;
mod overflow;
mod parse_headers;
mod properties;
mod refusals;
mod rollout;
mod schema;
mod secrets;
mod text;
#[cfg(feature = "tower")]
mod tower;
mod traits;
mod undo;
mod vector_files;
mod web_vectors;
mod wire;
