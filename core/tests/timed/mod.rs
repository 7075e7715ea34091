//! Tests that look at a clock, which run while no other suite does.

mod access;
mod contents;
mod failover;
mod faults;
mod latency;
mod replicas;
