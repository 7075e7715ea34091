//! The limiters, limits and acquires of this thread, known to JavaScript by number.
//!
//! A Node environment lives on one thread, so nothing is locked and nothing is shared; a worker's tables go with its
//! thread. JavaScript gives a number back when the object that held it is closed or collected.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tidegate::Limit;

use crate::acquire::{AcquireHandle, AcquireSteps, Rung};
use crate::outbox::Outbox;
use crate::queue::ReplyQueue;
use crate::table::Table;
use crate::weight::Weighed;

/// All tables of one thread.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) limiters: Table<Weighed>,
    pub(crate) limits: Table<Limit>,
    pub(crate) steps: Table<AcquireSteps>,
    pub(crate) handles: Table<AcquireHandle>,
    pub(crate) queues: Table<Arc<ReplyQueue>>,
    pub(crate) outbox: RefCell<Outbox>,
    pub(crate) rung: Rung,
}

impl Registry {
    pub(crate) fn add_steps(&mut self, steps: AcquireSteps) -> f64 {
        let bell = steps.0.bell().cloned();
        let number = self.steps.add(steps);
        if let Some(bell) = bell {
            bell.on_ring(self.rung.waker(number));
        }
        number
    }
}

thread_local! {
    static REGISTRY: Rc<RefCell<Registry>> = Rc::default();
}

/// The registry of this thread, for callers that look things up often.
pub(crate) fn of_this_thread() -> Rc<RefCell<Registry>> {
    REGISTRY.with(Rc::clone)
}

/// Looks things up; `work` must not call back into JavaScript.
pub(crate) fn with<T>(work: impl FnOnce(&Registry) -> T) -> T {
    REGISTRY.with(|registry| work(&registry.borrow()))
}

/// Adds or removes things; `work` must not call back into JavaScript.
pub(crate) fn change<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    REGISTRY.with(|registry| work(&mut registry.borrow_mut()))
}

/// The key of a limit, for errors.
pub(crate) fn key(limit: f64) -> String {
    with(|registry| registry.limits.get(limit).map_or_else(String::new, |limit| limit.key().to_owned()))
}
