//! Renewals of what is held.

use pyo3::prelude::*;
use tidegate::ffi::{self, OfHeld, Renewal};

use super::hold::{Hold, State};
use super::receipts::of_held;
use super::taken::forks;
use crate::args::Arg;
use crate::errors::TidegateError;
use crate::info::LimitInfo;
use crate::once::intern;

impl Hold {
    pub(super) fn renew<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, hold) = (this.py(), this.get());
        let Some(receipt) = hold.begin_renewal(py)? else { return Ok(None) };
        let answer = match hold.awaited() {
            Some(calls) => calls.bind(py).call_method1(intern!(py, "renew"), (receipt,)),
            None => of_held(hold.limiter.get(), &receipt, OfHeld::Renew, Arg(None)),
        };
        match answer.map(Bound::cast_into::<LimitInfo>) {
            Ok(Ok(info)) => Self::renewed(this, Some(&info)).map(|()| None),
            Ok(Err(other)) => Ok(Some(other.into_inner())),
            Err(error) => {
                Self::renewed(this, None)?;
                if error.is_instance_of::<TidegateError>(py) { Ok(None) } else { Err(error) }
            }
        }
    }

    /// Renews, while this lock is not free.
    pub(super) fn renew_under(this: &Bound<'_, Self>, lock: &Bound<'_, PyAny>) -> PyResult<()> {
        let before = this.get().state().renewing.replace(lock.clone().unbind());
        let renewed = Self::renew(this);
        let lock = this.get().state().renewing.take();
        drop((before, lock));
        renewed.map(drop)
    }

    /// The answer that has the receipt, where it is to be renewed.
    fn begin_renewal<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, LimitInfo>>> {
        let mut state = self.state();
        state.began = ffi::now();
        let is_over = state.is_over;
        let Some(taken) = state.taken.as_mut().filter(|taken| taken.forks == forks()) else { return Ok(None) };
        taken.place = None;
        if is_over { Ok(None) } else { Ok(Some(taken.receipt(py)?.into_bound(py))) }
    }

    pub(super) fn renewed(this: &Bound<'_, Self>, info: Option<&Bound<'_, LimitInfo>>) -> PyResult<()> {
        let py = this.py();
        let mut state = this.get().state();
        let State { taken: Some(taken), began, is_over, is_lost, lost_event, .. } = &mut *state else { return Ok(()) };
        let degraded = taken.answer().info.degraded;
        let renewal = taken.term.renew(info.map(|info| &info.get().info), degraded, *began);
        let mut before = None;
        if let (Renewal::Done(_), Some(info)) = (renewal, info) {
            before = taken.renewed.replace(info.clone().unbind());
        }
        let (mut event, mut renewals) = (None, None);
        match renewal {
            _ if *is_over => {}
            Renewal::Done(next) | Renewal::Failed(next) => {
                let (place, is_first) = taken.renewals.get().insert(next, this.clone().into_any().unbind());
                taken.place = Some(place);
                renewals = is_first.then(|| (taken.renewals.clone_ref(py), next));
            }
            Renewal::Lost => {
                *is_lost = true;
                event = lost_event.as_ref().map(|event| event.clone_ref(py));
            }
        }
        drop(state);
        drop(before);
        if let Some((renewals, next)) = renewals {
            renewals.get().wake(py, next)?;
        }
        event.map_or(Ok(()), |event| event.call_method0(py, intern!(py, "set")).map(drop))
    }
}
