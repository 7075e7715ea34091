//! Decisions as bytes for the script, and its bytes as results, without I/O.

pub(super) mod decode;
pub(super) mod encode;
pub(super) mod keys;
pub(super) mod layout;
pub(super) mod script;
