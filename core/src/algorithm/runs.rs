//! Counts of several instants in order of time, of which the oldest and the newest can be taken away.

use std::collections::VecDeque;
use std::mem;

use super::spans::Spans;

/// The units charged at each instant, oldest first; in slots each instant is the latest of its slot.
///
/// Each run knows the sum of all up to itself, so that sums and positions are found by binary search; equal instants
/// share a run, so that a cost of a million takes no more room than a cost of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    kept: VecDeque<Run>,
    /// The sum before the first run that is kept.
    dropped: u64,
    /// No two instants lie in one slot of this length; 0 = of no length in particular.
    gathered: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(super) at: u64,
    pub(super) sum: u64,
}

/// Sums start over before they come near the end of their range.
const LARGEST_SUM: u64 = 1 << 62;

impl FromIterator<Run> for Runs {
    /// Runs with the sum up to each.
    fn from_iter<I: IntoIterator<Item = Run>>(runs: I) -> Self {
        Self { kept: runs.into_iter().collect(), ..Self::default() }
    }
}

impl Runs {
    /// The runs that are kept, each with the sum up to itself.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        self.kept.iter().map(|run| (run.at, run.sum.saturating_sub(self.dropped)))
    }

    pub(super) fn newest(&self) -> Option<u64> {
        self.kept.back().map(|run| run.at)
    }

    /// The units that came at `from` or later.
    pub(super) fn count_from(&self, from: u64) -> u64 {
        self.sum().saturating_sub(self.sum_before(from))
    }

    /// All units.
    pub(super) fn count(&self) -> u64 {
        self.sum().saturating_sub(self.dropped)
    }

    /// The units of this instant.
    pub(super) fn count_at(&self, at: u64) -> u64 {
        self.sum_before(at.saturating_add(1)).saturating_sub(self.sum_before(at))
    }

    /// Makes all that came later units of this instant.
    pub(super) fn bring_back(&mut self, to: u64) {
        let sum = self.sum();
        self.kept.truncate(self.kept.partition_point(|run| run.at < to));
        if sum > self.kept.back().map_or(self.dropped, |run| run.sum) {
            self.kept.push_back(Run { at: to, sum });
        }
    }

    /// The instant of the last of the oldest units that have to leave before these fit beside those at `from` or later;
    /// nothing where they fit, or would not fit into an empty one.
    pub(super) fn last_in_the_way(&self, from: u64, units: u64, max: u64) -> Option<u64> {
        let before = self.sum_before(from);
        let over = self.sum().saturating_sub(before).saturating_add(units).saturating_sub(max);
        if over == 0 {
            return None;
        }
        let sum = before.saturating_add(over);
        let index = self.kept.partition_point(|run| run.sum < sum);
        self.kept.get(index).map(|run| run.at)
    }

    /// Adds to the newest end; `at` is not before the newest. What came at `from` or later becomes of this instant too.
    pub(super) fn push(&mut self, from: u64, at: u64, units: u64) {
        if units == 0 {
            return;
        }
        if self.sum() > LARGEST_SUM {
            self.start_over();
        }
        let sum = self.sum().saturating_add(units);
        match self.kept.back_mut() {
            Some(run) if run.at >= from => *run = Run { at, sum },
            _ => self.kept.push_back(Run { at, sum }),
        }
    }

    /// Takes the newest units away.
    pub(super) fn take_newest(&mut self, units: u64) {
        let sum = self.sum().saturating_sub(units).max(self.dropped);
        while self.kept.len() > 1 && self.kept.get(self.kept.len().saturating_sub(2)).is_some_and(|run| run.sum >= sum)
        {
            self.kept.pop_back();
        }
        match self.kept.back_mut() {
            Some(run) if sum > self.dropped => run.sum = sum,
            _ => self.kept.clear(),
        }
    }

    /// Takes the newest of the units that came at `from` or later and before `to`, as far as there are so many.
    pub(super) fn take_between(&mut self, from: u64, to: u64, units: u64) {
        let (first, before) = (self.kept.partition_point(|run| run.at < from), self.sum_before(from));
        let end = self.kept.partition_point(|run| run.at < to);
        let Some(sum) = end.checked_sub(1).and_then(|last| self.kept.get(last)).map(|run| run.sum) else { return };
        let taken = units.min(sum.saturating_sub(before));
        if end <= first || taken == 0 {
            return;
        }
        for run in self.kept.range_mut(first..end) {
            run.sum = run.sum.min(sum.saturating_sub(taken));
        }
        for run in self.kept.range_mut(end..) {
            run.sum = run.sum.saturating_sub(taken);
        }
        let mut last = before;
        let mut index = first;
        for _ in first..end {
            match self.kept.get(index) {
                Some(run) if run.sum == last => drop(self.kept.remove(index)),
                Some(run) => (last, index) = (run.sum, index.saturating_add(1)),
                None => break,
            }
        }
    }

    /// Makes one of all that lies in one slot, of the latest of its instants.
    pub(super) fn gather(&mut self, slots: Spans) {
        if self.gathered == slots.length() {
            return;
        }
        self.gathered = slots.length();
        let mut gathered: VecDeque<Run> = VecDeque::with_capacity(self.kept.len());
        for run in mem::take(&mut self.kept) {
            match gathered.back_mut() {
                Some(last) if slots.number(last.at) == slots.number(run.at) => *last = run,
                _ => gathered.push_back(run),
            }
        }
        self.kept = gathered;
    }

    /// Forgets all but the newest units.
    pub(super) fn keep_newest(&mut self, units: u64) {
        self.dropped = self.dropped.max(self.sum().saturating_sub(units));
        self.drop_runs(|run, dropped| run.sum <= dropped);
    }

    /// Forgets what came before this.
    pub(super) fn keep_from(&mut self, from: u64) {
        self.dropped = self.sum_before(from);
        self.drop_runs(|run, _| run.at < from);
    }

    fn drop_runs(&mut self, old: impl Fn(&Run, u64) -> bool) {
        while self.kept.front().is_some_and(|run| old(run, self.dropped)) {
            self.kept.pop_front();
        }
    }

    fn sum(&self) -> u64 {
        self.kept.back().map_or(self.dropped, |run| run.sum)
    }

    fn sum_before(&self, from: u64) -> u64 {
        // Nearly always, what is old has been forgotten.
        if self.kept.front().is_none_or(|first| first.at >= from) {
            return self.dropped;
        }
        let index = self.kept.partition_point(|run| run.at < from);
        let before = index.checked_sub(1).and_then(|index| self.kept.get(index));
        before.map_or(self.dropped, |run| run.sum)
    }

    fn start_over(&mut self) {
        for run in &mut self.kept {
            run.sum = run.sum.saturating_sub(self.dropped);
        }
        self.dropped = 0;
    }
}
