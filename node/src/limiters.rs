//! Limiters over the memory store.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::{Event, LimitError, Limiter, Memory};

use crate::failure::{Answered, Failure};
use crate::frame::whole;
use crate::stores::events_to;
use crate::tables;
use crate::text::text;
use crate::weight::Weighed;

/// Makes a limiter; answers with its number. Its events come to the mailbox for `listener`.
#[napi(catch_unwind)]
pub(crate) fn make_limiter(
    env: Env,
    mailbox: f64,
    listener: f64,
    max_entries: Option<f64>,
    namespace: Option<Unknown<'_>>,
) -> Either<f64, Failure> {
    let mailbox = tables::with(|tables| tables.mailboxes.get(mailbox).map(Arc::downgrade));
    let made = mailbox
        .ok_or_else(|| Failure::internal("no such mailbox"))
        .and_then(|mailbox| new_limiter(events_to(mailbox, listener), max_entries, namespace.as_ref()));
    made.map_or_else(|failure| Either::B(*failure), |limiter| Either::A(keep(env, limiter)))
}

fn new_limiter(
    events: impl Fn(&Event) + Send + Sync + 'static,
    max_entries: Option<f64>,
    namespace: Option<&Unknown<'_>>,
) -> Answered<Limiter> {
    let memory = match max_entries {
        None => Memory::new(),
        Some(bound) => Memory::with_max_entries(most_entries(bound)?),
    };
    let limiter = Limiter::new(memory.listener(events));
    Ok(match namespace {
        Some(namespace) => limiter.namespace(&text(namespace, "", "namespace")?),
        None => limiter,
    })
}

/// A limiter in its table: its number.
pub(crate) fn keep(env: Env, limiter: Limiter) -> f64 {
    let limiter = Weighed::new(limiter);
    limiter.weigh(env.raw());
    tables::change(|tables| tables.limiters.add(limiter))
}

/// More than any machine's memory holds, and exact as a double.
const MOST_ENTRIES: f64 = 1e12;

/// How many entries a store keeps at most.
pub(crate) fn most_entries(bound: f64) -> std::result::Result<usize, LimitError> {
    if bound >= 1.0 && bound.fract() == 0.0 && bound <= MOST_ENTRIES {
        return Ok(usize::try_from(whole(bound)).unwrap_or(usize::MAX));
    }
    let problem = format!("must be a whole number from 1 to {MOST_ENTRIES}");
    Err(LimitError::new(tidegate::ErrorKind::Range, "", "maxEntries", problem, bound))
}

/// Gives a limiter's number back, and with it its store.
#[napi(catch_unwind)]
pub(crate) fn free_limiter(env: Env, limiter: f64) {
    // Outside the tables' borrow: a large store takes a while to drop.
    if let Some(limiter) = tables::change(|tables| tables.limiters.remove(limiter)) {
        limiter.weightless(env.raw());
    }
}

/// How many entries a limiter keeps now.
#[napi(catch_unwind)]
pub(crate) fn entries(limiter: f64) -> Either<f64, Failure> {
    count(limiter, |memory| memory.len() as f64)
}

/// How many drained entries a limiter has dropped at once because its store was full.
#[napi(catch_unwind)]
pub(crate) fn evictions(limiter: f64) -> Either<f64, Failure> {
    count(limiter, |memory| memory.evictions() as f64)
}

/// How many calls a limiter has decided by entries that are shared because its store was full.
#[napi(catch_unwind)]
pub(crate) fn overflowed(limiter: f64) -> Either<f64, Failure> {
    count(limiter, |memory| memory.overflowed() as f64)
}

fn count(limiter: f64, of: fn(&Memory) -> f64) -> Either<f64, Failure> {
    let counted = tables::with(|tables| tables.limiters.get(limiter).map(|limiter| of(&limiter.memory())));
    counted.map_or_else(|| Either::B(*Failure::closed()), Either::A)
}
