//! Things that JavaScript knows by number.

use crate::numbers::whole;

/// Things by number. A number holds a place and the generation of the thing in it, so that the number of a thing that
/// was removed never stands for the one that took its place. Generations start at 1, so 0 never stands for anything.
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
