//! The calls that are answered at once.

use std::time::Duration;

use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::ffi::{self, OfHeld, Spent};
use tidegate::{Call, Check, Limiter};

use crate::buffer::{CallBuffer, CheckNumbers, FastBuffer};
use crate::errors::{Answered, Failure};
use crate::layout::call;
use crate::numbers::index;
use crate::registry::{self, Registry};
use crate::text::actor_text;

/// Charges one unit at the clock's instant: nearly every call, for which the engine has a path of its own.
#[inline]
pub(crate) fn limit_one(
    registry: &Registry,
    buffer: &mut CallBuffer<'_>,
    fast: &mut FastBuffer<'_>,
    actor: &str,
) -> Answered<()> {
    let limiter = registry.limiters.get(buffer.limiter()).ok_or_else(Failure::closed)?;
    let limit = registry.limits.get(buffer.limit()).ok_or_else(no_limit)?;
    ffi::limit_one_sync(limiter, limit, actor, |info| buffer.answer_one(fast, info))?
}

/// Decides the one check that the call buffer describes.
#[inline]
pub(crate) fn decide_one(
    registry: &Registry,
    buffer: &mut CallBuffer<'_>,
    fast: &mut FastBuffer<'_>,
    actor: &str,
) -> Answered<()> {
    let limiter = registry.limiters.get(buffer.limiter()).ok_or_else(Failure::closed)?;
    let mut check = [check(registry, buffer, 0, actor)?];
    let key = check[0].key();
    let call = if index(buffer.call()) == call::UNDO { undo(buffer, &mut check) } else { call(buffer, key)? };
    let info = match buffer.now() {
        None => limiter.decide_sync(&check, call),
        Some(now) => limiter.decide_sync_at(&check, call, ffi::instant(key, now)?),
    };
    buffer.answer_one(fast, &info?)
}

/// The call that gives back what the check of a receipt was charged.
fn undo(buffer: &CallBuffer<'_>, check: &mut [Check<'_>; 1]) -> Call {
    let (charge, open) = buffer.receipt(1);
    let call = charge.settle(open, check, &[0]);
    check[0] = check[0].charged_at(buffer.charged_at(0));
    call
}

/// Decides the few checks that the call buffer describes, for these actors. The last actor is reused for later checks.
#[inline]
pub(crate) fn decide_few(
    registry: &Registry,
    buffer: &mut CallBuffer<'_>,
    fast: &mut FastBuffer<'_>,
    actors: &[&str],
) -> Answered<()> {
    let limiter = registry.limiters.get(buffer.limiter()).ok_or_else(Failure::closed)?;
    let count = buffer.check_count();
    let last = actors.last().copied().unwrap_or_default();
    let one = |index: usize| check(registry, buffer, index, actors.get(index).copied().unwrap_or(last));
    let first = one(0)?;
    let key = first.key();
    let call = call(buffer, key)?;
    let now = buffer.now().map(|now| ffi::instant(key, now)).transpose()?;
    let decide = |checks: &[Check<'_>]| match now {
        None => limiter.decide_sync(checks, call),
        Some(now) => limiter.decide_sync_at(checks, call, now),
    };
    let info = match count {
        2 if call == Call::Limit && now.is_none() => {
            let checks = [first, one(1)?];
            return ffi::limit_two_sync(limiter, &checks, |info, each| buffer.answer_few(fast, count, info, each))?;
        }
        2 => decide(&[first, one(1)?]),
        3 => decide(&[first, one(1)?, one(2)?]),
        _ => decide(&(0..count).map(one).collect::<Answered<Vec<_>>>()?),
    }?;
    buffer.answer_few(fast, count, &info, info.checks())
}

#[cold]
#[inline(never)]
fn no_call() -> Box<Failure> {
    Failure::internal("no such call")
}

#[cold]
#[inline(never)]
fn no_limit() -> Box<Failure> {
    Failure::internal("no such limit")
}

/// The actual cost of a receipt's checks: one for all of them, or one for each.
pub(crate) type Spending = Option<Either<f64, Vec<f64>>>;

/// Decides several checks together: one actor for each, and their numbers and then the answer's in the call buffer; for
/// a receipt with the actual costs.
#[napi(catch_unwind)]
pub(crate) fn decide_several(
    mut buffer: Float64Array,
    actors: Vec<Unknown<'_>>,
    #[napi(ts_arg_type = "number | number[]")] spent: Spending,
) -> Option<Failure> {
    // SAFETY: JavaScript waits for this call, so nothing else reads or writes the call buffer meanwhile.
    let mut buffer = CallBuffer(unsafe { buffer.as_mut() });
    let decided = names(&buffer, &actors).and_then(|names| decide_together(&mut buffer, &names, &spent));
    decided.err().map(|failure| *failure)
}

/// Explains the answer that several checks together would get; the answer itself is left in the call buffer.
#[napi(catch_unwind)]
pub(crate) fn explain_several(mut buffer: Float64Array, actors: Vec<Unknown<'_>>) -> Either<String, Failure> {
    // SAFETY: as above.
    let mut buffer = CallBuffer(unsafe { buffer.as_mut() });
    let explained = names(&buffer, &actors).and_then(|names| explain_together(&mut buffer, &names));
    explained.map_or_else(|failure| Either::B(*failure), Either::A)
}

/// The actors of the checks in the call buffer.
pub(crate) fn names(buffer: &CallBuffer<'_>, actors: &[Unknown<'_>]) -> Answered<Vec<String>> {
    actors
        .iter()
        .enumerate()
        .map(|(index, actor)| actor_text(actor, || registry::key(buffer.check(index).limit)))
        .collect()
}

fn decide_together(buffer: &mut CallBuffer<'_>, actors: &[String], spent: &Spending) -> Answered<()> {
    registry::with(|registry| {
        let (limiter, mut checks) = asked(registry, buffer, actors)?;
        let key = first_key(&checks);
        let call = call_of(buffer, key, &mut checks, spent)?;
        let info = match buffer.now() {
            None => limiter.decide_sync(&checks, call),
            Some(now) => limiter.decide_sync_at(&checks, call, ffi::instant(key, now)?),
        }?;
        buffer.answer(&info)
    })
}

fn explain_together(buffer: &mut CallBuffer<'_>, actors: &[String]) -> Answered<String> {
    registry::with(|registry| {
        let (limiter, checks) = asked(registry, buffer, actors)?;
        let key = first_key(&checks);
        let now = buffer.now().map(|now| ffi::instant(key, now)).transpose()?;
        let explanation = limiter.explain_checks_sync(&checks, now)?;
        buffer.answer(&explanation.info)?;
        Ok(explanation.to_string())
    })
}

/// The limiter and the checks that the call buffer describes.
pub(crate) fn asked<'a>(
    registry: &'a Registry,
    buffer: &CallBuffer<'_>,
    actors: &'a [String],
) -> Answered<(&'a Limiter, Vec<Check<'a>>)> {
    let limiter = registry.limiters.get(buffer.limiter()).ok_or_else(Failure::closed)?;
    let may_take_less = matches!(index(buffer.call()), call::LIMIT | call::PEEK);
    let at_least = buffer.max_wait().filter(|_| may_take_less);
    let one = |(index, actor): (usize, &'a String)| {
        let mut check = check(registry, buffer, index, actor)?;
        if let Some(units) = at_least {
            check = check.at_least(ffi::at_least(check.key(), units)?);
        }
        Ok(if buffer.is_observed(index) { check.observed() } else { check })
    };
    Ok((limiter, actors.iter().enumerate().map(one).collect::<Answered<_>>()?))
}

/// The key that an error about the call itself names.
pub(crate) fn first_key<'a>(checks: &[Check<'a>]) -> &'a str {
    checks.first().map_or("", Check::key)
}

const ONE: u64 = 1_f64.to_bits();

#[inline]
pub(crate) fn check<'a>(
    registry: &'a Registry,
    buffer: &CallBuffer<'_>,
    index: usize,
    actor: &'a str,
) -> Answered<Check<'a>> {
    let CheckNumbers { limit, cost, factor } = buffer.check(index);
    let limit = registry.limits.get(limit).ok_or_else(no_limit)?;
    // Nearly every call costs 1, which needs no check.
    let units = if cost.to_bits() == ONE { 1 } else { ffi::cost(limit.key(), cost)? };
    Ok(Check::new(limit, actor).cost(units).factor(factor))
}

/// The call that the buffer asks for.
#[inline]
pub(crate) fn call(buffer: &CallBuffer<'_>, key: &str) -> Answered<Call> {
    Ok(match index(buffer.call()) {
        call::LIMIT => Call::Limit,
        call::PEEK => Call::Peek,
        call::CHARGE => Call::Charge,
        call::REFUND => Call::Refund,
        call::RESET => Call::Reset,
        call::OBSERVE => {
            let remaining = buffer.remaining().map(|units| ffi::remaining(key, units)).transpose()?;
            let retry_after = buffer.max_wait().map(|millis| ffi::retry_after(key, millis)).transpose()?;
            Call::Observe { remaining, retry_after }
        }
        call::BLOCK => {
            let time = buffer.max_wait().map(|millis| ffi::block_time(key, millis)).transpose()?;
            Call::Block { time: time.unwrap_or_default() }
        }
        call::ACQUIRE => {
            let max_wait = max_wait(buffer, key)?;
            Call::Acquire { max_wait }
        }
        _ => return Err(no_call()),
    })
}

/// [`call`], or that of a receipt, whose checks are changed to what it asks for.
pub(crate) fn call_of(
    buffer: &CallBuffer<'_>,
    key: &str,
    checks: &mut [Check<'_>],
    spent: &Spending,
) -> Answered<Call> {
    let Some(spent) = spent else { return call(buffer, key) };
    let spent = ffi::spent(
        checks,
        match spent {
            Either::A(all) => Spent::All(*all),
            Either::B(each) => Spent::Each(each),
        },
    )?;
    let (mut charge, open) = buffer.receipt(checks.len());
    if index(buffer.call()) == call::RENEW {
        charge.date((0..checks.len()).map(|index| (index, buffer.charged_at(index))));
        // JavaScript asks for those alone that hold units.
        return Ok(charge.on_held(OfHeld::Renew, open, checks).1);
    }
    let call = charge.settle(open, checks, &spent);
    for (index, check) in checks.iter_mut().enumerate() {
        *check = check.charged_at(buffer.charged_at(index));
    }
    Ok(call)
}

/// The longest wait, or none.
pub(crate) fn max_wait(buffer: &CallBuffer<'_>, key: &str) -> Answered<Duration> {
    Ok(buffer.max_wait().map_or(Ok(Duration::MAX), |millis| ffi::max_wait(key, millis))?)
}
