//! Methods of a limiter that decide nothing.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyAny;

use tidegate::ffi;

use super::state::Limiter;
use crate::args::{self, Arg};
use crate::errors::{closed, limit_error};
use crate::stats;

type Answer<'py> = PyResult<Bound<'py, PyAny>>;

pub(super) fn stats<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    stats::statistics(py, &limiter.opened().as_deref().ok_or_else(closed)?.stats())
}

pub(super) fn metrics<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    stats::metrics(py, limiter.opened().as_deref().ok_or_else(closed)?.metrics())
}

pub(super) fn top<'py>(limiter: &Limiter, py: Python<'py>, count: Arg<'_, 'py>) -> Answer<'py> {
    let count = count.0.map_or(Ok(ffi::TOP), |count| args::number("", "count", &count))?;
    let top = ffi::top(limiter.opened().as_deref().ok_or_else(closed)?, count).map_err(limit_error)?;
    stats::top(py, top)
}

pub(super) fn ping<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    stats::health(py, &limiter.aside(py, tidegate::Limiter::ping_sync)?)
}

pub(super) fn clear<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    limiter.aside(py, tidegate::Limiter::clear_sync)?.into_bound_py_any(py)
}

pub(super) fn entries<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    limiter.opened().as_deref().ok_or_else(closed)?.memory().len().into_bound_py_any(py)
}

pub(super) fn evictions<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    limiter.opened().as_deref().ok_or_else(closed)?.memory().evictions().into_bound_py_any(py)
}

pub(super) fn overflowed<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    limiter.opened().as_deref().ok_or_else(closed)?.memory().overflowed().into_bound_py_any(py)
}

#[expect(clippy::unnecessary_wraps, reason = "as the others")]
pub(super) fn close<'py>(limiter: &Limiter, py: Python<'py>) -> Answer<'py> {
    limiter.end();
    Ok(py.None().into_bound(py))
}
