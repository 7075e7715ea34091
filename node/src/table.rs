//! Things that JavaScript knows by number.

/// Things by number. A number holds a place and the generation of the thing in it, so that the number of a thing that
/// was removed never stands for the one that took its place. 0 never stands for anything.
pub(crate) struct Table<T> {
    places: Vec<Slot<T>>,
    free: Vec<usize>,
}

struct Slot<T> {
    generation: u32,
    thing: Option<T>,
}

/// A number is an integer from 2^52 to 2^53: the bits of such a double are those of the integer, so that none has to be
/// converted. Its place is in the low half, and the high half is its generation.
const PLACE_BITS: u32 = 32;
/// The high half of 2^52.
const FIRST_GENERATION: u32 = 0x4330_0000;
/// The high half of the last below 2^53. A place is not used again after this generation.
const LAST_GENERATION: u32 = 0x433f_ffff;

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
            self.places.push(Slot { generation: FIRST_GENERATION, thing: None });
            self.places.len() - 1
        });
        let place = &mut self.places[index];
        place.thing = Some(thing);
        f64::from_bits((u64::from(place.generation) << PLACE_BITS) + index as u64)
    }

    /// Removes a thing. A number that stands for nothing any more removes nothing: an object that was closed may be
    /// collected later.
    pub(crate) fn remove(&mut self, handle: f64) -> Option<T> {
        let place = self.place(handle)?;
        let removed = place.thing.take()?;
        if place.generation < LAST_GENERATION {
            place.generation += 1;
            self.free.push(parts(handle).0);
        }
        Some(removed)
    }

    fn place(&mut self, handle: f64) -> Option<&mut Slot<T>> {
        let (place, generation) = parts(handle);
        self.places.get_mut(place).filter(|place| place.generation == generation)
    }
}

/// The place and the generation in a number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "each half is taken by itself")]
fn parts(handle: f64) -> (usize, u32) {
    let bits = handle.to_bits();
    (bits as u32 as usize, (bits >> PLACE_BITS) as u32)
}
