//! Calls over a shared store, for an event loop: begun here, awaited there.
//!
//! What is known at once is the answer itself, anything else a future of the running loop's.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate::{Call, Check, Micros};

use crate::args::Arg;
use crate::asked::{Part, checks_of, first_key};
use crate::bridge::{About, Bridge};
use crate::errors::closed;
use crate::info::LimitInfo;
use crate::limiter::{Limiter, Question};
use crate::receipt::{Asked, Receipt};
use crate::waiting::Waiting;

/// Begins ``limit``, ``peek``, ``charge`` or ``refund``.
#[pyfunction]
#[pyo3(name = "_begin", signature = (limiter, call, limit, actor, cost, factor, now, context, /))]
#[expect(clippy::too_many_arguments, reason = "as many as Python's")]
pub(crate) fn begin<'py>(
    limiter: &Bound<'py, Limiter>,
    call: &str,
    limit: &Bound<'py, PyAny>,
    actor: &Bound<'py, PyAny>,
    cost: Arg<'_, 'py>,
    factor: Arg<'_, 'py>,
    now: Arg<'_, 'py>,
    context: Arg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, limiter) = (limiter.py(), limiter.get());
    let parts = limiter.parts(&Question { limit, actor, cost, factor, context })?;
    let call = match call {
        "limit" => Call::Limit,
        "peek" => Call::Peek,
        "charge" => Call::Charge,
        "refund" => Call::Refund,
        _ => return Err(PyValueError::new_err("no such call")),
    };
    begin_parts(py, limiter, call, &parts, now)
}

/// Begins ``limit_all`` or ``peek_all``.
#[pyfunction]
#[pyo3(name = "_begin_all", signature = (limiter, call, checks, now, context, /))]
pub(crate) fn begin_all<'py>(
    limiter: &Bound<'py, Limiter>,
    call: &str,
    checks: &Bound<'py, PyAny>,
    now: Arg<'_, 'py>,
    context: Arg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = checks_of(checks)?;
    let parts = limiter.get().parts_of(&given, context)?;
    let call = if call == "peek" { Call::Peek } else { Call::Limit };
    begin_parts(limiter.py(), limiter.get(), call, &parts, now)
}

fn begin_parts<'py>(
    py: Python<'py>,
    limiter: &Limiter,
    call: Call,
    parts: &[Part<'_, 'py>],
    now: Arg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let checks: Vec<_> = parts.iter().map(Part::check).collect();
    let now = limiter.now(py, first_key(parts), now)?;
    begin_checks(py, limiter, call, &checks, now, About::Answer(Receipt::new(limiter.owner, call, Asked::of(parts)?)))
}

/// Begins ``explain``.
#[pyfunction]
#[pyo3(name = "_begin_explain", signature = (limiter, limit, actor, cost, factor, now, context, /))]
pub(crate) fn begin_explain<'py>(
    limiter: &Bound<'py, Limiter>,
    limit: &Bound<'py, PyAny>,
    actor: &Bound<'py, PyAny>,
    cost: Arg<'_, 'py>,
    factor: Arg<'_, 'py>,
    now: Arg<'_, 'py>,
    context: Arg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, limiter) = (limiter.py(), limiter.get());
    let parts = limiter.parts(&Question { limit, actor, cost, factor, context })?;
    let checks: Vec<_> = parts.iter().map(Part::check).collect();
    let now = limiter.now(py, first_key(&parts), now)?;
    begin_checks(py, limiter, Call::Peek, &checks, now, About::Standing(limiter.owner, Asked::of(&parts)?))
}

/// Begins ``settle``.
#[pyfunction]
#[pyo3(name = "_begin_settle", signature = (limiter, info, cost, now, /))]
pub(crate) fn begin_settle<'py>(
    limiter: &Bound<'py, Limiter>,
    info: &Bound<'py, PyAny>,
    cost: &Bound<'py, PyAny>,
    now: Arg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    limiter.get().begin_settle(info, Some(cost), now)
}

/// Begins the ``refund`` of an answer.
#[pyfunction]
#[pyo3(name = "_begin_refund", signature = (limiter, info, actor, cost, factor, now, /))]
pub(crate) fn begin_refund<'py>(
    limiter: &Bound<'py, Limiter>,
    info: &Bound<'py, LimitInfo>,
    actor: Arg<'_, 'py>,
    cost: Arg<'_, 'py>,
    factor: Arg<'_, 'py>,
    now: Arg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    Limiter::alone(info.get().key(), actor, cost, factor)?;
    limiter.get().begin_settle(info, None, now)
}

/// Begins a call of whose answer this is to become.
pub(crate) fn begin_checks<'py>(
    py: Python<'py>,
    limiter: &Limiter,
    call: Call,
    checks: &[Check<'_>],
    now: Option<Micros>,
    about: About,
) -> PyResult<Bound<'py, PyAny>> {
    let engine = limiter.opened();
    let engine = engine.as_deref().ok_or_else(closed)?;
    limiter.attend(py);
    let bridge = Bridge::here(py)?;
    let reply = bridge.get().reply();
    let known = reply.begin(|reply| {
        engine.start(checks, call, now, |answer| {
            reply.send(answer);
            Ok(())
        })
    });
    match known {
        Some(answer) => about.tell(py, answer),
        None => bridge.get().future(py, &reply, about),
    }
}

/// Begins ``reset``: all of the limits together.
#[pyfunction]
#[pyo3(name = "_begin_reset", signature = (limiter, limit, actor, context, /))]
pub(crate) fn begin_reset<'py>(
    limiter: &Bound<'py, Limiter>,
    limit: &Bound<'py, PyAny>,
    actor: &Bound<'py, PyAny>,
    context: Arg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, limiter) = (limiter.py(), limiter.get());
    let parts = limiter.parts(&Question { limit, actor, cost: Arg(None), factor: Arg(None), context })?;
    let checks: Vec<_> = parts.iter().map(Part::check).collect();
    begin_checks(py, limiter, Call::Reset, &checks, None, About::Nothing)
}

/// Begins to wait for a turn; with a ``now``, to ask for one.
#[pyfunction]
#[pyo3(name = "_begin_acquire", signature = (limiter, limit, actor, cost, factor, now, max_wait, context, /))]
#[expect(clippy::too_many_arguments, reason = "as many as Python's")]
pub(crate) fn begin_acquire<'py>(
    limiter: &Bound<'py, Limiter>,
    limit: &Bound<'py, PyAny>,
    actor: &Bound<'py, PyAny>,
    cost: Arg<'_, 'py>,
    factor: Arg<'_, 'py>,
    now: Arg<'_, 'py>,
    max_wait: Arg<'_, 'py>,
    context: Arg<'_, 'py>,
) -> PyResult<Waiting> {
    let (py, limiter) = (limiter.py(), limiter.get());
    let parts = limiter.parts(&Question { limit, actor, cost, factor, context })?;
    let max_wait = max_wait.max_wait(first_key(&parts))?;
    let now = limiter.now(py, first_key(&parts), now)?;
    let checks: Vec<_> = parts.iter().map(Part::check).collect();
    let engine = limiter.opened();
    let engine = engine.as_deref().ok_or_else(closed)?;
    let (acquire, asked) = (engine.start_acquire(&checks, max_wait), Asked::of(&parts)?);
    let bridge = Bridge::here(py)?;
    match now {
        None => Waiting::begin(py, limiter, acquire, About::Turn(limiter.owner, asked), &bridge),
        Some(now) => {
            let receipt = Receipt::new(limiter.owner, Call::Acquire { max_wait }, asked);
            Waiting::begin(py, limiter, acquire.at(now), About::Answer(receipt), &bridge)
        }
    }
}
