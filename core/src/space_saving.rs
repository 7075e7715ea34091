//! The heaviest names of a stream in bounded memory, each with the most by which its weight may be too high.
//!
//! Space-Saving: A. Metwally, D. Agrawal and A. El Abbadi, *Efficient Computation of Frequent and Top-k Elements in Data
//! Streams*, ICDT 2005. Where all rows are taken, a new name takes the row of least count over, with its count, which is
//! then also its error.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;

/// At most so many names with their weights.
#[derive(Debug)]
pub(crate) struct SpaceSaving {
    most: usize,
    places: HashMap<Arc<str>, usize, RandomState>,
    rows: Vec<Row>,
    /// The least count when it was last looked for, and the place up to which no row has it any more.
    floor: (u64, usize),
}

/// A name; its true weight is at most `count`, and at least `count - error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: Arc<str>,
    pub(crate) count: u64,
    pub(crate) error: u64,
}

impl SpaceSaving {
    /// With at most this many rows, and at least one.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), places: HashMap::default(), rows: Vec::new(), floor: (0, 0) }
    }

    /// Adds to the weight of a name.
    pub(crate) fn add(&mut self, name: &str, weight: u64) {
        if weight == 0 {
            return;
        }
        if let Some(row) = self.places.get(name).and_then(|place| self.rows.get_mut(*place)) {
            row.count = row.count.saturating_add(weight);
            return;
        }
        let place = if self.is_full() { self.lightest() } else { self.rows.len() };
        let error = self.rows.get(place).map_or(0, |row| row.count);
        let row = Row { name: name.into(), count: error.saturating_add(weight), error };
        self.places.insert(row.name.clone(), place);
        match self.rows.get_mut(place) {
            Some(taken) => {
                self.places.remove(&taken.name);
                *taken = row;
            }
            None => self.rows.push(row),
        }
    }

    /// Every name of several streams, with its weight in all of them together, the heaviest first.
    pub(crate) fn merged<'a>(streams: impl Iterator<Item = &'a Self> + Clone) -> Vec<Row> {
        let mut sums: HashMap<&Arc<str>, [u64; 3], RandomState> = HashMap::default();
        let mut unseen = 0_u64;
        for stream in streams {
            // A name without a row may have had one, of no more than this.
            let least = stream.least();
            unseen = unseen.saturating_add(least);
            for row in &stream.rows {
                let [count, error, seen] = sums.entry(&row.name).or_default();
                *count = count.saturating_add(row.count);
                *error = error.saturating_add(row.error);
                *seen = seen.saturating_add(least);
            }
        }
        let rows = sums.into_iter().map(|(name, [count, error, seen])| {
            let elsewhere = unseen.saturating_sub(seen);
            Row { name: name.clone(), count: count.saturating_add(elsewhere), error: error.saturating_add(elsewhere) }
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable_by(|one, other| (other.count, &one.name).cmp(&(one.count, &other.name)));
        rows
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.most
    }

    /// The place of a row of least count. Counts only grow, so each row is looked at about once for each least count.
    fn lightest(&mut self) -> usize {
        let (least, from) = self.floor;
        let still = self.rows.iter().skip(from).position(|row| row.count == least);
        self.floor = if let Some(place) = still {
            (least, from + place)
        } else {
            let least = self.least();
            (least, self.rows.iter().position(|row| row.count == least).unwrap_or(0))
        };
        self.floor.1
    }

    /// The most that a name without a row may weigh.
    fn least(&self) -> u64 {
        if self.is_full() { self.rows.iter().map(|row| row.count).min().unwrap_or(0) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A few names that come often, and many that come seldom.
    fn stream() -> impl Strategy<Value = Vec<(u16, u64)>> {
        let name = prop_oneof![0..4_u16, 0..40_u16, any::<u16>()];
        prop::collection::vec((name, 1..20_u64), 0..400)
    }

    fn counted(most: usize, stream: &[(u16, u64)]) -> SpaceSaving {
        let mut sketch = SpaceSaving::new(most);
        for (name, weight) in stream {
            sketch.add(&name.to_string(), *weight);
        }
        sketch
    }

    proptest! {
        #[test]
        fn the_true_weight_is_within_the_error(most in 1..24_usize, streams in prop::collection::vec(stream(), 0..4)) {
            let sketches: Vec<_> = streams.iter().map(|stream| counted(most, stream)).collect();
            let mut exact = BTreeMap::<String, u64>::new();
            for (name, weight) in streams.iter().flatten() {
                *exact.entry(name.to_string()).or_default() += weight;
            }
            let all: u64 = exact.values().sum();
            let rows = SpaceSaving::merged(sketches.iter());
            for Row { name, count, error } in &rows {
                let weight = exact[&**name];
                prop_assert!((count - error..=*count).contains(&weight), "{name}: {weight}, {count} less {error}");
                prop_assert!(*error <= all / most as u64, "{name}: {error} of {all}");
            }
            for (name, weight) in &exact {
                let is_there = rows.iter().any(|row| *row.name == **name);
                prop_assert!(is_there || *weight <= all / most as u64, "{name}: {weight} of {all}");
            }
            prop_assert!(rows.is_sorted_by(|one, other| one.count >= other.count));
            prop_assert!(rows.len() <= most * sketches.len());
            prop_assert!(sketches.iter().all(|sketch| sketch.places.len() == sketch.rows.len()));
        }
    }

    #[test]
    fn few_names_are_counted_exactly() {
        let mut sketch = SpaceSaving::new(3);
        for name in ["ada", "bob", "ada", "eve", "ada", "bob"] {
            sketch.add(name, 1);
        }
        sketch.add("nobody", 0);
        let rows: Vec<_> = SpaceSaving::merged(std::iter::once(&sketch))
            .into_iter()
            .map(|row| (row.name, row.count, row.error))
            .collect();
        assert_eq!(rows, [("ada".into(), 3, 0), ("bob".into(), 2, 0), ("eve".into(), 1, 0)]);
        sketch.add("joe", 5);
        let rows = SpaceSaving::merged(std::iter::once(&sketch));
        assert_eq!((&*rows[0].name, rows[0].count, rows[0].error), ("joe", 6, 1));
        sketch.add("ada", u64::MAX);
        assert_eq!(SpaceSaving::merged([&sketch, &sketch].into_iter())[0].count, u64::MAX);
    }
}
