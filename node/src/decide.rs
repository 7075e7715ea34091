//! The calls themselves.

use std::time::Duration;

use napi::bindgen_prelude::{Float64Array, Unknown};
use napi::{JsValue, Result};
use napi_derive::napi;
use tidegate::{Call, Check, Limit, Limiter, State, host};

use crate::failure::{Answered, Failure};
use crate::frame::{self, Frame};
use crate::tables::{self, Tables};
use crate::text::{refused, with_text};
use crate::value::value;

/// Decides the one check that the frame describes.
#[inline]
pub(crate) fn decide_one(frame: &mut Frame<'_>, actor: &str) -> Answered<()> {
    tables::with(|tables| {
        let limiter = tables.limiters.get(frame.limiter()).ok_or_else(Failure::closed)?;
        let check = check(tables, frame, 0, actor)?;
        let Some(call) = call(frame, check.limit.key())? else { return reset(limiter, &[check]) };
        let info = match (call, frame.now()) {
            // Nearly every call: where the verb is known, the engine has a way through that is made for it.
            (Call::Limit, None) => limiter.decide_sync(&[check.check], Call::Limit),
            (call, None) => limiter.decide_sync(&[check.check], call),
            (call, Some(now)) => limiter.decide_sync_at(&[check.check], call, host::instant(check.limit.key(), now)?),
        };
        frame.answer(&info?, |_| 0)
    })
}

/// Decides several checks together: one actor for each, and their numbers and then the answer's in `frame`.
#[napi(catch_unwind)]
pub(crate) fn decide_several(mut frame: Float64Array, actors: Vec<Unknown<'_>>) -> Result<Option<Failure>> {
    // SAFETY: JavaScript waits for this call, so nobody else reads or writes the frame meanwhile.
    let mut frame = Frame(unsafe { frame.as_mut() });
    let mut names = Vec::with_capacity(actors.len());
    for (index, actor) in actors.iter().enumerate() {
        let raw = actor.value();
        // SAFETY: environment and value come from the call that is under way.
        let name = unsafe { with_text(raw.env, raw.value, str::to_owned) };
        match name {
            Ok(name) => names.push(name),
            Err(problem) => {
                return Ok(Some(*refused(problem, &frame.key(index), "actor", value(actor)?)));
            }
        }
    }
    Ok(decide_together(&mut frame, &names).err().map(|failure| *failure))
}

fn decide_together(frame: &mut Frame<'_>, actors: &[String]) -> Answered<()> {
    tables::with(|tables| {
        let limiter = tables.limiters.get(frame.limiter()).ok_or_else(Failure::closed)?;
        let checks: Vec<_> = actors
            .iter()
            .enumerate()
            .map(|(index, actor)| check(tables, frame, index, actor))
            .collect::<Answered<_>>()?;
        let key = checks.first().map_or("", |check| check.limit.key());
        let Some(call) = call(frame, key)? else { return reset(limiter, &checks) };
        let asked: Vec<_> = checks.iter().map(|check| check.check).collect();
        let info = match frame.now() {
            None => limiter.decide_sync(&asked, call),
            Some(now) => limiter.decide_sync_at(&asked, call, host::instant(key, now)?),
        }?;
        let owners = owners(&checks, info.checks().len())?;
        frame.answer(&info, |index| owners.get(index).copied().unwrap_or(0))
    })
}

/// A check with what it was made from.
struct Asked<'a> {
    limit: &'a Limit,
    actor: &'a str,
    factor: f64,
    check: Check<'a>,
}

#[inline]
fn check<'a>(tables: &'a Tables, frame: &Frame<'_>, index: usize, actor: &'a str) -> Answered<Asked<'a>> {
    let frame::Asked { limit, cost, factor } = frame.check(index);
    let limit = tables.limits.get(limit).ok_or_else(|| Failure::internal("no such limit"))?;
    let asked = Check::new(limit, actor).cost(host::cost(limit.key(), cost)?).factor(factor);
    Ok(Asked { limit, actor, factor, check: asked })
}

/// What is asked; none is a reset.
#[inline]
fn call(frame: &Frame<'_>, key: &str) -> Answered<Option<Call>> {
    Ok(Some(match frame::index(frame.call()) {
        0 => Call::Limit,
        1 => Call::Peek,
        2 => Call::Charge,
        3 => Call::Refund,
        4 => return Ok(None),
        5 => {
            let max_wait = frame.max_wait().map_or(Ok(Duration::MAX), |millis| host::max_wait(key, millis))?;
            Call::Acquire { max_wait }
        }
        _ => return Err(Failure::internal("no such call")),
    }))
}

fn reset(limiter: &Limiter, checks: &[Asked<'_>]) -> Answered<()> {
    for check in checks {
        limiter.reset_sync(check.limit, check.actor)?;
    }
    Ok(())
}

/// Which check each answer belongs to. A limit that is made of two rules has two answers, so where the numbers
/// differ, each limit is asked how many answers it gives.
fn owners(checks: &[Asked<'_>], answers: usize) -> Answered<Vec<usize>> {
    if answers == checks.len() {
        return Ok((0..answers).collect());
    }
    let mut owners = Vec::with_capacity(answers);
    for (index, check) in checks.iter().enumerate() {
        let (info, _) = check.limit.decide_with(State::default(), 0, Call::Peek, 0, check.factor)?;
        owners.extend(std::iter::repeat_n(index, info.checks().len()));
    }
    Ok(owners)
}
