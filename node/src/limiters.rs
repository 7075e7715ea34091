//! Limiters by their numbers.

use napi::Env;
use napi::bindgen_prelude::Either;
use napi_derive::napi;
use tidegate::{Limiter, Memory, ffi};

use crate::errors::Failure;
use crate::registry;
use crate::weight::Weighed;

/// A limiter in its table: its number. One in memory is called by its own thread alone.
pub(crate) fn keep(env: Env, limiter: Limiter) -> f64 {
    let limiter = Weighed::new(if limiter.is_shared() { limiter } else { ffi::in_turn(limiter) });
    limiter.weigh(env.raw());
    registry::change(|registry| registry.limiters.add(limiter))
}

/// Gives a limiter's number back, and with it its store.
#[napi(catch_unwind)]
pub(crate) fn free_limiter(env: Env, limiter: f64) {
    // Outside the tables' borrow: a large store takes a while to drop.
    if let Some(limiter) = registry::change(|registry| registry.limiters.remove(limiter)) {
        limiter.weightless(env.raw());
    }
}

/// The number of entries that a limiter keeps now.
#[napi(catch_unwind)]
pub(crate) fn entries(limiter: f64) -> Either<f64, Failure> {
    count(limiter, |memory| memory.len() as f64)
}

/// The number of drained entries that a limiter has dropped at once because its store was full.
#[napi(catch_unwind)]
pub(crate) fn evictions(limiter: f64) -> Either<f64, Failure> {
    count(limiter, |memory| memory.evictions() as f64)
}

/// The number of calls that a limiter has decided by entries that are shared because its store was full.
#[napi(catch_unwind)]
pub(crate) fn overflowed(limiter: f64) -> Either<f64, Failure> {
    count(limiter, |memory| memory.overflowed() as f64)
}

fn count(limiter: f64, of: fn(&Memory) -> f64) -> Either<f64, Failure> {
    let counted = registry::with(|registry| registry.limiters.get(limiter).map(|limiter| of(&limiter.memory())));
    counted.map_or_else(|| Either::B(*Failure::closed()), Either::A)
}
