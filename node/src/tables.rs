//! The limiters and limits of this thread and the calls that wait for their turn, known to JavaScript by number.
//!
//! A Node environment lives on one thread, so nothing is locked and nothing is shared; a worker's tables go with its
//! thread. JavaScript gives a number back when the object that held it is closed or collected.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tidegate::Limit;

use crate::acquire::Waiting;
use crate::frame::whole;
use crate::mailbox::Mailbox;
use crate::turn::Running;
use crate::weight::Weighed;

/// Everything that JavaScript holds a number of.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) limiters: Table<Weighed>,
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
pub(crate) fn key(limit: f64) -> String {
    with(|tables| tables.limits.get(limit).map_or_else(String::new, |limit| limit.key().to_owned()))
}

/// Things by number. A number holds a place and the generation of the thing in it, so that the number of a thing that was
/// removed never stands for the one that took its place. Generations start at 1, so 0 never stands for anything.
pub(crate) struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<usize>,
}

struct Place<T> {
    generation: u32,
    thing: Option<T>,
}

/// A place in the low half of a number, a generation above it: JavaScript holds integers of 53 bits exactly.
const PLACE_BITS: u32 = 32;
/// A place is not used again after this generation.
const LAST_GENERATION: u32 = (1 << (53 - PLACE_BITS)) - 1;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    #[inline]
    pub(crate) fn get(&self, handle: f64) -> Option<&T> {
        let (place, generation) = parts(handle);
        self.places.get(place).filter(|place| place.generation == generation)?.thing.as_ref()
    }

    pub(crate) fn get_mut(&mut self, handle: f64) -> Option<&mut T> {
        self.place(handle)?.thing.as_mut()
    }

    pub(crate) fn add(&mut self, thing: T) -> f64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, thing: None });
            self.places.len() - 1
        });
        let place = &mut self.places[index];
        place.generation += 1;
        place.thing = Some(thing);
        ((u64::from(place.generation) << PLACE_BITS) + index as u64) as f64
    }

    /// Removes a thing. A number that stands for nothing any more removes nothing: an object that was closed may be
    /// collected later.
    pub(crate) fn remove(&mut self, handle: f64) -> Option<T> {
        let place = self.place(handle)?;
        let removed = place.thing.take()?;
        if place.generation < LAST_GENERATION {
            self.free.push(parts(handle).0);
        }
        Some(removed)
    }

    fn place(&mut self, handle: f64) -> Option<&mut Place<T>> {
        let (place, generation) = parts(handle);
        self.places.get_mut(place).filter(|place| place.generation == generation)
    }
}

/// The place and the generation in a number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "each half is taken by itself")]
fn parts(handle: f64) -> (usize, u32) {
    let handle = whole(handle);
    (handle as u32 as usize, (handle >> PLACE_BITS) as u32)
}
