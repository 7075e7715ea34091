//! Waiting for a turn at a shared store, without a thread of one's own.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use tidegate::{Call, Check, Spawned};

use crate::asked::Part;
use crate::bridge::{About, Bridge, Decided, Reply};
use crate::errors::closed;
use crate::limiter::Limiter;
use crate::receipt::Asked;

/// An ``acquire`` that the engine's own thread goes on with.
#[pyclass(frozen, name = "_Waiting", module = "tidegate._tidegate")]
pub(crate) struct Waiting {
    /// What to await.
    #[pyo3(get)]
    pub(crate) future: Py<PyAny>,
    spawned: Spawned,
    turn: Arc<Turn>,
    reply: Reply,
    process: u32,
}

/// What both sides know of it.
struct Turn {
    stage: Mutex<Stage>,
    limiter: tidegate::Limiter,
    wanted: Vec<Wanted>,
}

enum Stage {
    Waiting,
    /// The answer is on its way to whoever waits, who was charged if it names a charge.
    Answered(Option<Charge>),
    /// Nobody wants the answer any more.
    GivenUp,
}

#[derive(Clone, Copy)]
struct Charge {
    at: tidegate::Micros,
    /// By this process alone.
    degraded: bool,
}

/// A check that needs nothing of Python's.
struct Wanted {
    limit: tidegate::Limit,
    actor: String,
    cost: u64,
    factor: f64,
}

#[pymethods]
impl Waiting {
    /// Leaves the line, or gives back what was charged, once.
    pub(crate) fn give_up(&self) {
        // A forked child has inherited this wait, but it is its parent's.
        if self.process != std::process::id() {
            return;
        }
        let before = mem::replace(&mut *self.turn.stage(), Stage::GivenUp);
        match before {
            Stage::Waiting => self.spawned.cancel(),
            Stage::Answered(charge) => self.turn.give_back(charge),
            Stage::GivenUp => {}
        }
        self.reply.forget();
    }
}

impl Waiting {
    pub(crate) fn begin(
        py: Python<'_>,
        limiter: &Limiter,
        parts: &[Part<'_, '_>],
        max_wait: Duration,
        bridge: &Bound<'_, Bridge>,
    ) -> PyResult<Self> {
        let engine = limiter.opened();
        let engine = engine.as_deref().ok_or_else(closed)?;
        let wanted = |part: &Part<'_, '_>| Wanted {
            limit: part.limit.get().0.clone(),
            actor: part.actor.clone().into_owned(),
            cost: part.cost,
            factor: part.factor,
        };
        let wanted = parts.iter().map(wanted).collect();
        let stage = Mutex::new(Stage::Waiting);
        let turn = Arc::new(Turn { stage, limiter: engine.clone(), wanted });
        limiter.attend(py);
        let reply = bridge.get().reply();
        let future = bridge.get().future(py, &reply, About::Turn(limiter.owner, Asked::of(parts)?))?;
        let acquire = engine.start_acquire(&turn.checks(), max_wait);
        let (told, answered) = (turn.clone(), reply.clone());
        let spawned = acquire.spawn(move |answer| told.hear(answer, answered)).inspect_err(|_| reply.forget())?;
        Ok(Self { future: future.unbind(), spawned, turn, reply, process: std::process::id() })
    }
}

impl Turn {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On the engine's thread.
    fn hear(&self, answer: Decided, reply: Reply) {
        let charge = match &answer {
            Ok(info) if !info.blocked => Some(Charge { at: info.at, degraded: info.degraded }),
            _ => None,
        };
        let mut stage = self.stage();
        if matches!(*stage, Stage::GivenUp) {
            drop(stage);
            self.give_back(charge);
        } else {
            *stage = Stage::Answered(charge);
            drop(stage);
            reply.send(answer);
        }
    }

    fn give_back(&self, charge: Option<Charge>) {
        let Some(Charge { at, degraded }) = charge else { return };
        let call = if degraded { Call::UndoDegraded { charged_at: at } } else { Call::Refund };
        // There is nobody to tell if this fails.
        drop(self.limiter.start(&self.checks(), call, None, |_| Ok(())));
    }

    fn checks(&self) -> Vec<Check<'_>> {
        self.wanted.iter().map(|one| Check::new(&one.limit, &one.actor).cost(one.cost).factor(one.factor)).collect()
    }
}
