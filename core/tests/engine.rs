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
mod blocks;
mod bounds;
mod changing;
mod client_vectors;
mod explain;
mod header_drafts;
mod headers;
#[cfg(feature = "remote")]
mod hold;
mod http;
mod http_vectors;
mod invariants;
mod known_figures;
mod limits;
mod llm;
mod memory;
#[cfg(feature = "remote")]
mod metrics;
mod observed;
mod options;
mod overflow;
mod overrides;
mod parse_headers;
mod properties;
mod refusals;
mod rollout;
mod schema;
mod secrets;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod shared;
mod text;
#[cfg(feature = "remote")]
mod top;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tower")]
mod tower_held;
#[cfg(feature = "tower")]
mod tower_layers;
mod traits;
mod undo;
mod vector_files;
mod watching;
mod web_vectors;
mod wire;
