//! What an answer was about, for whoever gives it back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tidegate::Call;

use crate::args;
use crate::asked::Part;
use crate::limits::Limit;

/// Which limiter an answer comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// One thing that was asked: Python's own objects, so that to remember them costs next to nothing.
pub(crate) struct Wanted {
    pub(crate) limit: Py<Limit>,
    pub(crate) actor: Py<PyString>,
    pub(crate) cost: u64,
    pub(crate) factor: f64,
}

impl Wanted {
    #[inline]
    pub(crate) fn new(limit: &Bound<'_, Limit>, actor: &Bound<'_, PyAny>, cost: u64, factor: f64) -> PyResult<Self> {
        let actor = match actor.cast_exact::<PyString>() {
            Ok(exact) => exact.clone(),
            // A subclass may hold anything, this answer included.
            Err(_) => PyString::new(actor.py(), &args::actor("", actor)?),
        };
        Ok(Self { limit: limit.clone().unbind(), actor: actor.unbind(), cost, factor })
    }

    pub(crate) fn part<'a, 'py>(&self, py: Python<'py>, actor: &'a Bound<'py, PyAny>) -> PyResult<Part<'a, 'py>> {
        let limit = self.limit.bind(py).clone();
        let text = args::actor(limit.get().0.key(), actor)?;
        Ok(Part { limit, object: actor, actor: text, cost: self.cost, factor: self.factor })
    }

    /// Whether a denied call is charged as well.
    pub(crate) fn counts_blocked(&self, py: Python<'_>) -> PyResult<bool> {
        let wire: &Bound<'_, PyDict> = self.limit.get().wire(py)?;
        wire.get_item("countBlocked")?.map_or(Ok(false), |counted| counted.is_truthy())
    }
}

/// The checks of a call, in order; of the usual one no list is made.
pub(crate) enum Asked {
    One(Wanted),
    Several(Box<[Wanted]>),
}

impl Asked {
    pub(crate) fn of(parts: &[Part<'_, '_>]) -> PyResult<Self> {
        parts.iter().map(Part::wanted).collect::<PyResult<_>>().map(Self::Several)
    }

    pub(crate) fn all(&self) -> &[Wanted] {
        match self {
            Self::One(wanted) => std::slice::from_ref(wanted),
            Self::Several(all) => all,
        }
    }
}

/// What was asked of whom, and whether there is still something to give back of it.
pub(crate) struct Receipt {
    pub(crate) owner: Owner,
    pub(crate) asked: Asked,
    open: AtomicBool,
}

impl Receipt {
    #[inline]
    pub(crate) fn new(owner: Owner, call: Call, asked: Asked) -> Self {
        let charges = !matches!(call, Call::Peek | Call::Refund | Call::Undo { .. } | Call::UndoDegraded { .. });
        Self { owner, asked, open: AtomicBool::new(charges) }
    }

    /// Of one who waited for a turn: whoever was not let wait was turned away before being charged.
    pub(crate) fn of_turn(owner: Owner, asked: Asked, info: &tidegate::LimitInfo) -> Self {
        Self::new(owner, if info.blocked { Call::Peek } else { Call::Limit }, asked)
    }

    /// True once, for whoever comes first.
    pub(crate) fn close(&self) -> bool {
        self.open.swap(false, Ordering::Relaxed)
    }

    /// After a settlement that failed.
    pub(crate) fn reopen(&self) {
        self.open.store(true, Ordering::Relaxed);
    }
}
