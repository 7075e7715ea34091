//! The calls themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::time::Duration;

use napi::bindgen_prelude::{Float64Array, FromNapiValue, Object, ToNapiValue, Unknown};
use napi::{Env, JsValue, Result, check_status, sys};
use napi_derive::napi;
use tidegate::{Call, Check, Limit, Limiter, State, host};

use crate::failure::Failure;
use crate::frame::{self, Frame};
use crate::tables::{self, Tables};
use crate::text::{refused, with_text};
use crate::value::value;

/// What comes of a call beside the numbers in the frame.
type Decided<T> = std::result::Result<T, Box<Failure>>;

/// Adds `frame`, the array that is shared, and `decide(actor)`, which decides the one check that it describes.
#[napi(module_exports)]
pub(crate) fn share_frame(mut exports: Object<'_>, env: Env) -> Result<()> {
    let bytes = frame::LENGTH * size_of::<f64>();
    let (mut data, mut buffer, mut array) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let (mut kept, mut function) = (ptr::null_mut(), ptr::null_mut());
    let (env, name) = (env.raw(), "decide");
    // SAFETY: every pointer outlives its call; the reference keeps the buffer, and so `data`, for as long as the
    // environment lives. Nothing outside this package can get at the buffer to detach it.
    unsafe {
        check_status!(sys::napi_create_arraybuffer(env, bytes, &raw mut data, &raw mut buffer))?;
        check_status!(sys::napi_create_reference(env, buffer, 1, &raw mut kept))?;
        let kind = sys::TypedarrayType::float64_array;
        check_status!(sys::napi_create_typedarray(env, kind, frame::LENGTH, buffer, 0, &raw mut array))?;
        let length = name.len().cast_signed();
        let decide = Some(decide_shared as _);
        check_status!(sys::napi_create_function(env, name.as_ptr().cast(), length, decide, data, &raw mut function))?;
        exports.set("frame", Unknown::from_napi_value(env, array)?)?;
        exports.set(name, Unknown::from_napi_value(env, function)?)
    }
}

/// `decide(actor)`: the answer is in the shared frame unless a failure is returned.
unsafe extern "C" fn decide_shared(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let decided = catch_unwind(AssertUnwindSafe(|| {
        let (mut count, mut actor, mut data) = (1, ptr::null_mut(), ptr::null_mut());
        // SAFETY: room for one argument is what is promised.
        unsafe {
            sys::napi_get_cb_info(env, info, &raw mut count, &raw mut actor, ptr::null_mut(), &raw mut data);
        }
        // SAFETY: `data` is the frame of this environment, `LENGTH` long; JavaScript waits for this call.
        let mut frame = Frame(unsafe { std::slice::from_raw_parts_mut(data.cast(), frame::LENGTH) });
        // SAFETY: environment and value are those of this call.
        let decided = unsafe { with_text(env, actor, |actor| decide_one(&mut frame, actor)) };
        decided.unwrap_or_else(|problem| {
            let key = tables::with(|tables| key_of(tables, &frame, 0));
            // SAFETY: as above.
            let given = unsafe { Unknown::from_napi_value(env, actor) }.and_then(|actor| value(&actor));
            given.map_or_else(
                |error| Err(Failure::internal(&error.reason)),
                |given| Err(refused(problem, &key, "actor", given)),
            )
        })
    }));
    let failure = match decided {
        Ok(Ok(())) => return ptr::null_mut(),
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal("the engine panicked"),
    };
    // SAFETY: the environment is that of this call.
    unsafe { Failure::to_napi_value(env, *failure) }.unwrap_or(ptr::null_mut())
}

#[inline]
fn decide_one(frame: &mut Frame<'_>, actor: &str) -> Decided<()> {
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
                let key = tables::with(|tables| key_of(tables, &frame, index));
                return Ok(Some(*refused(problem, &key, "actor", value(actor)?)));
            }
        }
    }
    Ok(decide_together(&mut frame, &names).err().map(|failure| *failure))
}

fn decide_together(frame: &mut Frame<'_>, actors: &[String]) -> Decided<()> {
    tables::with(|tables| {
        let limiter = tables.limiters.get(frame.limiter()).ok_or_else(Failure::closed)?;
        let checks: Vec<_> = actors
            .iter()
            .enumerate()
            .map(|(index, actor)| check(tables, frame, index, actor))
            .collect::<Decided<_>>()?;
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
fn check<'a>(tables: &'a Tables, frame: &Frame<'_>, index: usize, actor: &'a str) -> Decided<Asked<'a>> {
    let frame::Asked { limit, cost, factor } = frame.check(index);
    let limit = tables.limits.get(limit).ok_or_else(|| Failure::internal("no such limit"))?;
    let asked = Check::new(limit, actor).cost(host::cost(limit.key(), cost)?).factor(factor);
    Ok(Asked { limit, actor, factor, check: asked })
}

fn key_of(tables: &Tables, frame: &Frame<'_>, index: usize) -> String {
    tables.limits.get(frame.check(index).limit).map_or_else(String::new, |limit| limit.key().to_owned())
}

/// What is asked; none is a reset.
#[inline]
fn call(frame: &Frame<'_>, key: &str) -> Decided<Option<Call>> {
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

fn reset(limiter: &Limiter, checks: &[Asked<'_>]) -> Decided<()> {
    for check in checks {
        limiter.reset_sync(check.limit, check.actor)?;
    }
    Ok(())
}

/// Which check each answer belongs to. A limit that is made of two rules has two answers, so where the numbers
/// differ, each limit is asked how many answers it gives.
fn owners(checks: &[Asked<'_>], answers: usize) -> Decided<Vec<usize>> {
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
