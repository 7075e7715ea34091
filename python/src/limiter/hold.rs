//! Holds: units of limits of type concurrency, taken for a block, renewed meanwhile and released at its end.

#![expect(
    clippy::inline_always,
    reason = "an answer that is moved from one function to the next takes longer than a lock"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use tidegate::ffi::{self, Term};
use tidegate::{Call, Micros};

use super::caller::{Answer, Given, Taking};
use super::decide::take_here;
use super::receipts::{Release, end_hold};
use super::state::Limiter;
use super::taken::{End, Taken, forks, not_begun};
use crate::args::Arg;
use crate::errors::BlockedError;
use crate::info::{LazyInfo, LimitInfo};
use crate::once::intern;
use crate::renewals::Renewals;

/// The part of a hold that threads and event loops share.
#[pyclass(frozen, subclass, weakref, name = "_Hold", module = "tidegate._tidegate")]
pub(crate) struct Hold {
    pub(super) limiter: Py<Limiter>,
    /// The calls for an event loop; a thread makes the calls of the limiter itself.
    calls: Option<Py<PyAny>>,
    /// Of the call that takes the units, unless that was made before.
    arguments: Option<Arguments>,
    has_begun: AtomicBool,
    state: Mutex<State>,
}

/// The arguments of the call that takes the units, in the order of `Limiter.hold`.
pub(super) type Arguments = [Option<Py<PyAny>>; 7];

#[derive(Default)]
pub(super) struct State {
    pub(super) taken: Option<Taken>,
    /// The start of the latest call that takes or renews the units.
    pub(super) began: Micros,
    /// The actual cost of each check, if that was noted.
    spent: Option<Vec<u64>>,
    pub(super) is_over: bool,
    pub(super) is_lost: bool,
    /// An event costs more than all else here, and few ask for it.
    pub(super) lost_event: Option<Py<PyAny>>,
    /// A lock of Python's that is free once the renewal which is under way has ended.
    pub(super) renewing: Option<Py<PyAny>>,
}

#[pymethods]
impl Hold {
    #[new]
    #[pyo3(signature = (limiter, calls, *arguments))]
    fn new(limiter: Py<Limiter>, calls: Py<PyAny>, arguments: Vec<Py<PyAny>>) -> Self {
        let arguments = <[_; 7]>::try_from(arguments).ok().map(|all| all.map(Some));
        Self::of(limiter, Some(calls), arguments)
    }

    /// The answer of the call that took the units.
    #[getter]
    pub(super) fn info(&self, py: Python<'_>) -> PyResult<Py<LimitInfo>> {
        self.state().taken.as_mut().ok_or_else(not_begun)?.info.object(py)
    }

    /// The answer that has the receipt now.
    #[getter]
    fn _receipt(&self, py: Python<'_>) -> PyResult<Py<LimitInfo>> {
        self.state().taken.as_mut().ok_or_else(not_begun)?.receipt(py)
    }

    /// True when the units could not be renewed in time: stop the work, others may have them.
    #[getter]
    fn lost(&self) -> bool {
        self.state().is_lost
    }

    /// Note the actual costs of what is charged beside the units, for the end of the hold, once.
    ///
    /// ``costs`` is the cost of the only limit that holds no units, a list of one cost for each check, or a dictionary
    /// of costs by the keys of limits or the positions of checks; the others stay as they were charged.
    fn settle(&self, py: Python<'_>, costs: &Bound<'_, PyAny>) -> PyResult<()> {
        let spent = self.info(py)?.get().spent_of_hold(py, costs)?;
        self.state().spent = Some(spent);
        Ok(())
    }

    /// Take the units; returns what is to be awaited, if the answer is not known at once.
    fn _enter<'py>(this: &Bound<'py, Self>, renewals: &Bound<'py, Renewals>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::enter(this, renewals)
    }

    /// Hold what the call of this answer took.
    fn _start(this: &Bound<'_, Self>, info: Py<LimitInfo>, renewals: &Bound<'_, Renewals>) -> PyResult<()> {
        Self::start(this, LazyInfo::Made(info), renewals, None)
    }

    /// Renew; returns what is to be awaited, if the answer is not known at once.
    fn _renew<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::renew(this)
    }

    /// Note the answer of a renewal, if it has one.
    fn _renewed(this: &Bound<'_, Self>, info: Option<&Bound<'_, LimitInfo>>) -> PyResult<()> {
        Self::renewed(this, info)
    }

    /// Begin to release the units, unless that has begun before; returns what is to be awaited.
    fn _leave<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.leave(py)
    }

    /// The same; returns the answer, if it is known at once.
    fn _release<'py>(&self, py: Python<'py>) -> Answer<'py> {
        self.release(py)
    }

    /// The event that is set when the units are lost, made by this function where there is none.
    fn _lost_event<'py>(&self, make: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.lost_event(make)
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let state = this.get().state();
        let word = match &state.taken {
            _ if state.is_over => "over",
            _ if state.is_lost => "lost",
            Some(_) => "held",
            None => "new",
        };
        drop(state);
        Ok(format!("<{} {word}>", this.get_type().name()?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.limiter)?;
        visit.call(&self.calls)?;
        self.arguments.iter().flatten().try_for_each(|given| visit.call(given))?;
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        visit.call(&state.lost_event)?;
        state.taken.as_ref().map_or(Ok(()), |taken| visit.call(&taken.renewals))
    }
}

impl Hold {
    pub(super) fn of(limiter: Py<Limiter>, calls: Option<Py<PyAny>>, arguments: Option<Arguments>) -> Self {
        Self { limiter, calls, arguments, has_begun: AtomicBool::new(false), state: Mutex::default() }
    }

    /// The calls, where an answer may have to be awaited.
    pub(super) fn awaited(&self) -> Option<&Py<PyAny>> {
        self.calls.as_ref().filter(|_| self.limiter.get().is_shared())
    }

    pub(super) fn enter<'py>(
        this: &Bound<'py, Self>,
        renewals: &Bound<'py, Renewals>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let hold = this.get();
        let arguments = hold.arguments.as_ref().filter(|_| !hold.has_begun.swap(true, Ordering::Relaxed));
        let Some(arguments) = arguments else {
            return Err(PyRuntimeError::new_err("this hold has begun before: make one for each block"));
        };
        // One that was denied may be tried again.
        Self::take(this, arguments, renewals).inspect_err(|_| hold.has_begun.store(false, Ordering::Relaxed))
    }

    /// Makes the call that takes the units; returns what is to be awaited.
    #[inline(always)]
    fn take<'py>(
        this: &Bound<'py, Self>,
        arguments: &Arguments,
        renewals: &Bound<'py, Renewals>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, hold) = (this.py(), this.get());
        let arguments = arguments.each_ref().map(|given| Arg(given.as_ref().map(|given| given.bind_borrowed(py))));
        let [limit, actor, cost, costs, factor, max_wait, context] = arguments;
        let limiter = hold.limiter.get();
        let answer = match &hold.calls {
            Some(calls) if limiter.is_shared() || !max_wait.is_none() => {
                let [limit, actor, cost, costs, factor, max_wait, context] = arguments.map(|given| given.object(py));
                let given = (limit, actor, cost, costs, factor, max_wait, context);
                hold.state().began = ffi::now();
                calls.bind(py).call_method1(intern!(py, "_enter"), given)
            }
            _ => {
                let given = Given { limit, actor, cost, costs, factor, max_wait, context, ..Given::default() };
                let taking = Taking::of(limiter, py, &given)?;
                match limiter.in_memory()? {
                    Some(engine) if taking.call == Call::Limit => {
                        let is_now = taking.now.is_none();
                        let info = take_here(py, limiter, engine, taking)?;
                        let began = is_now.then_some(info.info.at);
                        return Self::start(this, LazyInfo::Kept(info), renewals, began).map(|()| None);
                    }
                    _ => {
                        hold.state().began = ffi::now();
                        taking.wait(limiter, py)
                    }
                }
            }
        };
        match answer?.cast_into::<LimitInfo>() {
            Ok(info) => Self::start(this, LazyInfo::Made(info.unbind()), renewals, None).map(|()| None),
            Err(other) => Ok(Some(other.into_inner())),
        }
    }

    /// Holds what this answer took, since that instant or the one that was noted.
    #[inline(always)]
    pub(super) fn start(
        this: &Bound<'_, Self>,
        mut info: LazyInfo,
        renewals: &Bound<'_, Renewals>,
        began: Option<Micros>,
    ) -> PyResult<()> {
        let py = this.py();
        if info.get().info.blocked {
            return Err(BlockedError::new_err((info.object(py)?,)));
        }
        let lease = info.get().lease().ok_or_else(|| PyValueError::new_err("the answer holds no units"))?;
        let mut state = this.get().state();
        // A wait counts from its end, and so does what was taken by another call.
        if let Some(began) = began {
            state.began = began;
        } else if info.get().info.wait_ms > 0 || state.began == 0 {
            state.began = ffi::now();
        }
        let term = Term::new(lease, state.began);
        let (place, is_first) = renewals.get().insert(term.first(), this.clone().into_any().unbind());
        state.taken = Some(Taken::new(info, term, renewals, place));
        drop(state);
        if is_first { renewals.get().wake(py, term.first()) } else { Ok(()) }
    }

    /// Renews no more. What `end` makes of it, once; nothing in a forked child, whose parent has the units.
    fn close<T>(&self, py: Python<'_>, end: impl FnOnce(&mut Taken, Option<Vec<u64>>) -> T) -> PyResult<Option<T>> {
        loop {
            let mut state = self.state();
            let State { taken, is_over, renewing, spent, .. } = &mut *state;
            let taken = taken.as_mut().ok_or_else(not_begun)?;
            if *is_over || taken.forks != forks() {
                return Ok(None);
            }
            let Some(renewing) = renewing else {
                *is_over = true;
                let gone = taken.place.take().and_then(|place| taken.renewals.get().remove(place));
                let end = end(taken, spent.take());
                drop(state);
                drop(gone);
                return Ok(Some(end));
            };
            // Not while they are renewed: the units would be others by then.
            let renewing = renewing.clone_ref(py);
            drop(state);
            renewing.call_method0(py, intern!(py, "acquire"))?;
            renewing.call_method0(py, intern!(py, "release"))?;
        }
    }

    /// The answer of the call that ends it, or what is to be awaited.
    fn end<'py>(&self, receipt: Bound<'py, LimitInfo>, spent: Option<Vec<u64>>) -> Answer<'py> {
        let py = receipt.py();
        match (self.awaited(), spent) {
            (None, spent) => end_hold(self.limiter.get(), &receipt, spent),
            (Some(calls), None) => calls.bind(py).call_method1(intern!(py, "release"), (receipt,)),
            (Some(calls), Some(spent)) => calls.bind(py).call_method1(intern!(py, "settle"), (receipt, spent)),
        }
    }

    /// Ends it, unless that has happened before: then the answer is the one that it began with.
    pub(super) fn release<'py>(&self, py: Python<'py>) -> Answer<'py> {
        match self.close(py, |taken, spent| Ok((taken.receipt(py)?, spent)))? {
            Some(ended) => ended.and_then(|(receipt, spent)| self.end(receipt.into_bound(py), spent)),
            None => Ok(self.info(py)?.into_bound(py).into_any()),
        }
    }

    /// Makes the call that ends it, whose answer nobody asks for; returns what is to be awaited.
    pub(super) fn leave<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let limiter = self.limiter.get();
        let engine = limiter.in_memory();
        let ended = self.close(py, |taken, spent| -> PyResult<_> {
            if spent.is_none()
                && let Some(engine) = engine?
                && limiter.clock.is_none()
                && let Some(receipt) = &taken.answer().receipt
            {
                return Ok(End::Here(engine, Release::begin(py, taken.answer(), receipt)));
            }
            Ok(End::There(taken.receipt(py)?, spent))
        })?;
        match ended.transpose()? {
            None => Ok(None),
            Some(End::Here(engine, release)) => {
                let released = release.make(py, engine);
                if release.is_first && released.is_err() {
                    self.reopen();
                }
                released.map(|()| None)
            }
            Some(End::There(receipt, spent)) => {
                let answer = self.end(receipt.into_bound(py), spent)?;
                Ok(if answer.is_instance_of::<LimitInfo>() { None } else { Some(answer) })
            }
        }
    }

    pub(super) fn lost_event<'py>(&self, make: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = make.py();
        let known = self.state().lost_event.as_ref().map(|event| event.clone_ref(py));
        let fresh = known.map_or_else(|| make.call0().map(Bound::unbind), Ok)?;
        let mut state = self.state();
        let event = state.lost_event.get_or_insert_with(|| fresh.clone_ref(py)).clone_ref(py).into_bound(py);
        let is_lost = state.is_lost;
        drop(state);
        if is_lost {
            event.call_method0(intern!(py, "set"))?;
        }
        Ok(event)
    }

    /// Opens the receipt again after an end that certainly did not happen.
    #[cold]
    fn reopen(&self) {
        if let Some(receipt) = self.state().taken.as_ref().and_then(|taken| taken.answer().receipt.as_ref()) {
            receipt.reopen();
        }
    }

    /// No code of Python's runs under this lock: see [`Renewals`].
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
