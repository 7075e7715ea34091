//! Tests over real servers, in one program; those that look at their own process are programs of their own.
#![cfg(feature = "redis")]
#![allow(missing_docs, reason = "a test")]

mod calls;
mod servers;
mod sharkey;
#[allow(dead_code, reason = "shared with other tests")]
mod strategies;

mod redis_access;
mod redis_acquire;
mod redis_answered;
mod redis_closest;
mod redis_documents;
mod redis_fallback;
mod redis_hold;
mod redis_idle;
mod redis_redirects;
mod redis_scattered;
mod redis_sharkey;
mod redis_topologies;
mod redis_transactions;
mod redis_upkeep;
mod timed;
