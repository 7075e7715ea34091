//! The limiters and limits of this thread and the calls that wait for their turn, known to JavaScript by number.
//!
//! A Node environment lives on one thread, so nothing is locked and nothing is shared; a worker's tables go with its
//! thread. JavaScript gives a number back when the object that held it is collected.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tidegate::{Limit, Limiter};

use crate::acquire::Waiting;
use crate::frame::index;
use crate::mailbox::Mailbox;
use crate::turn::Running;

/// Everything that JavaScript holds a number of.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) limiters: Table<Limiter>,
    pub(crate) limits: Table<Limit>,
    pub(crate) waiting: Table<Waiting>,
    pub(crate) turns: Table<Running>,
    pub(crate) mailboxes: Table<Arc<Mailbox>>,
}

thread_local! {
    static TABLES: Rc<RefCell<Tables>> = Rc::default();
}

/// The tables of this thread, for whoever looks things up so often that asking for the thread's is too much.
pub(crate) fn of_this_thread() -> Rc<RefCell<Tables>> {
    TABLES.with(Rc::clone)
}

/// Looks things up; `work` must not call back into JavaScript.
pub(crate) fn with<T>(work: impl FnOnce(&Tables) -> T) -> T {
    TABLES.with(|tables| work(&tables.borrow()))
}

/// Adds or removes things; `work` must not call back into JavaScript.
pub(crate) fn change<T>(work: impl FnOnce(&mut Tables) -> T) -> T {
    TABLES.with(|tables| work(&mut tables.borrow_mut()))
}

/// The key of a limit, for errors.
pub(crate) fn key(limit: usize) -> String {
    with(|tables| tables.limits.at(limit).map_or_else(String::new, |limit| limit.key().to_owned()))
}

/// Things by number; numbers start at 1, so 0 never stands for anything.
pub(crate) struct Table<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    #[inline]
    pub(crate) fn get(&self, handle: f64) -> Option<&T> {
        self.at(index(handle))
    }

    #[inline]
    pub(crate) fn at(&self, handle: usize) -> Option<&T> {
        self.places.get(handle.wrapping_sub(1))?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, handle: f64) -> Option<&mut T> {
        self.places.get_mut(index(handle).wrapping_sub(1))?.as_mut()
    }

    pub(crate) fn add(&mut self, thing: T) -> f64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(thing);
        (place + 1) as f64
    }

    /// Twice is as good as once: a limiter that was closed is collected as well.
    pub(crate) fn remove(&mut self, handle: f64) -> Option<T> {
        let place = index(handle).wrapping_sub(1);
        let removed = self.places.get_mut(place)?.take();
        if removed.is_some() {
            self.free.push(place);
        }
        removed
    }
}
