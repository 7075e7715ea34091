//! Things in the order in which they came, each once.

use std::collections::HashMap;
use std::hash::Hash;

use ahash::RandomState;

use crate::inline_vec::InlineVec;

/// A list of different things, which knows where each of them is.
#[derive(Debug)]
pub(crate) struct Distinct<T> {
    known: InlineVec<T>,
    /// Made when there are more than a few, which are found faster by looking at each.
    places: Option<HashMap<T, usize, RandomState>>,
}

const FEW: usize = 8;

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { known: InlineVec::new(), places: None }
    }
}

impl<T: Clone + Eq + Hash> Distinct<T> {
    /// The index of this thing; it is added if it is new.
    #[inline]
    pub(crate) fn index_of(&mut self, thing: &T) -> usize {
        let found = match &self.places {
            None => self.known.iter().position(|known| known == thing),
            Some(places) => places.get(thing).copied(),
        };
        found.unwrap_or_else(|| self.add(thing))
    }

    fn add(&mut self, thing: &T) -> usize {
        let place = self.known.len();
        self.known.push(thing.clone());
        if let Some(places) = &mut self.places {
            places.insert(thing.clone(), place);
        } else if place == FEW {
            self.places = Some(self.known.iter().cloned().zip(0..).collect());
        }
        place
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.known
    }

    #[cfg(feature = "remote")]
    pub(crate) fn into_list(self) -> InlineVec<T> {
        self.known
    }
}
