//! Counts over time, in at most a few hundred spans of equal length.

use std::collections::BTreeMap;

use crate::time::Micros;

/// More spans than this become half as many, twice as long.
const MOST: usize = 240;
const SHORTEST: Micros = 1_000_000;

/// The requests of each span, and beside them the denials of each candidate.
pub(super) struct Timeline {
    width: Micros,
    candidates: usize,
    spans: BTreeMap<Micros, Vec<u64>>,
}

impl Timeline {
    pub(super) fn new(candidates: usize) -> Self {
        Self { width: SHORTEST, candidates, spans: BTreeMap::new() }
    }

    /// Counts a request, and the candidates that denied it, by their indices.
    pub(super) fn count(&mut self, at: Micros, denied: impl Iterator<Item = usize>) {
        let candidates = self.candidates;
        let counts = self.spans.entry(at / self.width).or_insert_with(|| vec![0; candidates + 1]);
        for index in std::iter::once(0).chain(denied.map(|index| index + 1)) {
            if let Some(count) = counts.get_mut(index) {
                *count += 1;
            }
        }
        while self.extent() > MOST as u64 {
            self.width *= 2;
            for (span, counts) in std::mem::take(&mut self.spans) {
                match self.spans.entry(span / 2) {
                    std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(counts)),
                    std::collections::btree_map::Entry::Occupied(mut both) => {
                        both.get_mut().iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                    }
                }
            }
        }
    }

    /// The number of spans between the first and the last.
    fn extent(&self) -> u64 {
        let ends = self.spans.first_key_value().zip(self.spans.last_key_value());
        ends.map_or(0, |((first, _), (last, _))| last - first + 1)
    }

    /// The length of a span, and all spans from the first to the last, with the instant at which each begins.
    pub(super) fn spans(&self) -> (Micros, Vec<(Micros, Vec<u64>)>) {
        let first = self.spans.keys().next().copied().unwrap_or(0);
        let none = || vec![0; self.candidates + 1];
        let spans = (first..first + self.extent())
            .map(|span| (span * self.width, self.spans.get(&span).cloned().unwrap_or_else(none)));
        (self.width, spans.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Timeline;

    #[test]
    fn spans_grow_with_what_they_cover_and_lose_no_count() {
        let mut timeline = Timeline::new(1);
        for second in (0..100_000).step_by(7) {
            timeline.count((1_000_000 + second) * 1_000_000, (second % 2 == 0).then_some(0).into_iter());
        }
        let (width, spans) = timeline.spans();
        assert_eq!((width, spans.len()), (512_000_000, 196));
        let sums = [0, 1].map(|index| spans.iter().map(|(_, counts)| counts[index]).sum::<u64>());
        assert_eq!(sums, [14_286, 7_143]);
        // A line far from the others, before all of them.
        timeline.count(0, std::iter::empty());
        assert!(timeline.spans().1.len() <= 240);
    }
}
