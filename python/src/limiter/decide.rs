//! How a call is decided: at which instant, and who waits for the answer and how.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::{Call, Check, Micros};

use super::{Limiter, Question};
use crate::args::{self, Arg};
use crate::asked::{Part, checks_of, first_key};
use crate::errors::{call_error, closed, wrong_type};
use crate::green::Hub;
use crate::info::LimitInfo;
use crate::limits::Limit;
use crate::receipt::{Asked, Receipt, Wanted};
use crate::turn::Turn;
use crate::{notes, signals};

impl Limiter {
    /// The instant of a call: the caller's own, or that of the limiter's clock.
    #[inline]
    pub(crate) fn now(&self, py: Python<'_>, key: &str, given: Arg<'_, '_>) -> PyResult<Option<Micros>> {
        match (given.now(key)?, &self.clock) {
            (None, Some(clock)) => args::instant_of(clock.bind(py), key).map(Some),
            (now, _) => Ok(now),
        }
    }

    pub(super) fn turn(&self, parts: &[Part<'_, '_>], max_wait: Duration) -> PyResult<Turn> {
        let checks: Vec<_> = parts.iter().map(Part::check).collect();
        let acquire = self.opened().as_deref().ok_or_else(closed)?.start_acquire(&checks, max_wait);
        Turn::new(acquire, self.owner, self.is_shared(), parts)
    }

    #[inline]
    pub(super) fn decide(&self, call: Call, asked: &Question<'_, '_>, now: Arg<'_, '_>) -> PyResult<LimitInfo> {
        if let Ok(limit) = asked.limit.cast::<Limit>() {
            return self.decide_one(call, limit, asked, now);
        }
        if let Ok(dict) = asked.limit.cast::<PyDict>() {
            return self.decide_one(call, &self.literals.read(dict)?, asked, now);
        }
        self.decide_several(asked.limit.py(), call, &self.parts(asked)?, now)
    }

    /// An answer that is given back knows what was asked.
    pub(crate) fn alone(key: &str, actor: Arg<'_, '_>, cost: Arg<'_, '_>, factor: Arg<'_, '_>) -> PyResult<()> {
        if actor.is_none() && cost.cost(key)? == 1 && factor.factor(key)?.to_bits() == 1.0_f64.to_bits() {
            return Ok(());
        }
        Err(wrong_type(key, "info", "must stand alone: it knows its actor, cost and factor", "more"))
    }

    #[inline]
    fn decide_one(
        &self,
        call: Call,
        limit: &Bound<'_, Limit>,
        asked: &Question<'_, '_>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        let definition = &limit.get().0;
        let key = definition.key();
        let actor = args::actor(key, asked.actor)?;
        let (cost, factor) = (asked.cost.cost(key)?, asked.factor.factor(key)?);
        let check = Check::new(definition, &actor).cost(cost).factor(factor);
        let info = self.ask(limit.py(), call, &[check], self.now(limit.py(), key, now)?)?;
        let asked = Asked::One(Wanted::new(limit, asked.actor, cost, factor)?);
        LimitInfo::of(limit.py(), Receipt::new(self.owner, call, asked), info)
    }

    pub(super) fn decide_checks<'py>(
        &self,
        call: Call,
        checks: &Bound<'py, PyAny>,
        now: Arg<'_, 'py>,
        context: Arg<'_, 'py>,
    ) -> PyResult<LimitInfo> {
        let given = checks_of(checks)?;
        self.decide_several(checks.py(), call, &self.parts_of(&given, context)?, now)
    }

    pub(super) fn decide_several(
        &self,
        py: Python<'_>,
        call: Call,
        parts: &[Part<'_, '_>],
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        let checks: Vec<_> = parts.iter().map(Part::check).collect();
        let info = self.ask(py, call, &checks, self.now(py, first_key(parts), now)?)?;
        LimitInfo::of(py, Receipt::new(self.owner, call, Asked::of(parts)?), info)
    }

    #[inline]
    pub(crate) fn ask(
        &self,
        py: Python<'_>,
        call: Call,
        checks: &[Check<'_>],
        now: Option<Micros>,
    ) -> PyResult<tidegate::LimitInfo> {
        self.decided(py, call, checks, now)?.map_err(call_error)
    }

    /// The engine's answer; on error, this limiter is closed or there is no hub to wait on.
    #[inline]
    pub(crate) fn decided(
        &self,
        py: Python<'_>,
        call: Call,
        checks: &[Check<'_>],
        now: Option<Micros>,
    ) -> PyResult<Result<tidegate::LimitInfo, tidegate::Error>> {
        let decide = |engine: &tidegate::Limiter| match now {
            None => engine.decide_sync(checks, call),
            Some(now) => engine.decide_sync_at(checks, call, now),
        };
        if let Some(engine) = &self.memory {
            return if self.closed.load(Ordering::Relaxed) { Err(closed()) } else { Ok(decide(engine)) };
        }
        let engine = self.opened();
        let engine = engine.as_deref().ok_or_else(closed)?;
        Ok(match Hub::current(py)? {
            Some(hub) => {
                self.attend(py);
                hub.decide(|reply| {
                    engine.start(checks, call, now, |answer| {
                        reply.send(answer);
                        Ok(())
                    })
                })?
            }
            None => self.patiently(py, || decide(engine)),
        })
    }

    /// Has the engine do what nobody asks for often.
    pub(super) fn aside<T, E>(&self, py: Python<'_>, call: fn(&tidegate::Limiter) -> Result<T, E>) -> PyResult<T>
    where
        T: Send + 'static,
        E: Into<tidegate::Error> + Send + 'static,
    {
        let engine = self.engine.load_full().ok_or_else(closed)?;
        let hub = if self.recipe.is_some() { Hub::current(py)? } else { None };
        let done = match hub {
            Some(hub) => {
                self.attend(py);
                hub.aside(move || call(&engine))?
            }
            None => self.patiently(py, || call(&engine)),
        };
        done.map_err(|error| call_error(error.into()))
    }

    /// Does what may have to wait for a shared store. Other threads of Python's run meanwhile.
    fn patiently<T: Send>(&self, py: Python<'_>, call: impl FnOnce() -> T + Send) -> T {
        if self.recipe.is_none() {
            return call();
        }
        self.attend(py);
        signals::detached(py, call)
    }

    /// Makes sure that what happens to the store is logged, in a forked child too. No call fails because it is not.
    pub(crate) fn attend(&self, py: Python<'_>) {
        if self.recipe.is_some()
            && let Err(error) = notes::listen(py)
        {
            error.write_unraisable(py, None);
        }
    }
}
