//! Limiters over the memory store.

use std::sync::Arc;

use napi::bindgen_prelude::{Either, Unknown};
use napi::{JsValue, Result};
use napi_derive::napi;
use tidegate::{Event, LimitError, Limiter, Memory};

use crate::failure::Failure;
use crate::frame::whole;
use crate::stores::events_to;
use crate::tables;
use crate::text::{refused, with_text};
use crate::value::value;

/// Makes a limiter; answers with its number. Its events come to the mailbox for `listener`.
#[napi(catch_unwind)]
pub(crate) fn make_limiter(
    mailbox: f64,
    listener: f64,
    max_entries: Option<f64>,
    namespace: Option<Unknown<'_>>,
) -> Result<Either<f64, Failure>> {
    let Some(mailbox) = tables::with(|tables| tables.mailboxes.get(mailbox).map(Arc::downgrade)) else {
        return Ok(Either::B(*Failure::internal("no such mailbox")));
    };
    let made = new_limiter(events_to(mailbox, listener), max_entries, namespace.as_ref())?;
    Ok(match made {
        Ok(limiter) => Either::A(tables::change(|tables| tables.limiters.add(limiter))),
        Err(failure) => Either::B(*failure),
    })
}

fn new_limiter(
    events: impl Fn(&Event) + Send + Sync + 'static,
    max_entries: Option<f64>,
    namespace: Option<&Unknown<'_>>,
) -> Result<std::result::Result<Limiter, Box<Failure>>> {
    let memory = match max_entries {
        None => Memory::new(),
        Some(bound) => match most_entries(bound) {
            Ok(bound) => Memory::with_max_entries(bound),
            Err(error) => return Ok(Err(error.into())),
        },
    };
    let limiter = Limiter::new(memory.listener(events));
    let Some(namespace) = namespace else { return Ok(Ok(limiter)) };
    let raw = namespace.value();
    // SAFETY: environment and value come from the call that is under way.
    let named = unsafe { with_text(raw.env, raw.value, |namespace| limiter.namespace(namespace)) };
    match named {
        Ok(limiter) => Ok(Ok(limiter)),
        Err(problem) => Ok(Err(refused(problem, "", "namespace", value(namespace)?))),
    }
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
pub(crate) fn free_limiter(limiter: f64) {
    // Outside the tables' borrow: a large store takes a while to drop.
    drop(tables::change(|tables| tables.limiters.remove(limiter)));
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
