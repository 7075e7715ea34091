//! Entries in Redis, shared by many processes.

#![allow(dead_code, reason = "the connections that use it are being built")]

mod keys;
mod plan;
mod reply;
