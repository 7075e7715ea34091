//! Counts in order of time, of which the oldest and the newest can be taken away.

use super::numbers::{Numbers, Stored};
use super::real;
use super::runs::{Run, Runs};
use super::spans::Spans;

/// The units charged at each instant, oldest first; in slots each instant is the latest of its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    /// Units of one instant, or none at all: to take one unit and to give it back allocates nothing.
    One(Run),
    Many(Box<Runs>),
}

impl Default for Series {
    fn default() -> Self {
        Self::One(Run::default())
    }
}

impl Stored for Series {
    fn write(&self, numbers: &mut impl Extend<f64>) {
        let mut write = |(at, sum)| numbers.extend([real(at), real(sum)]);
        match self {
            Self::One(Run { sum: 0, .. }) => {}
            Self::One(run) => write((run.at, run.sum)),
            Self::Many(runs) => runs.all().for_each(write),
        }
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        let runs = numbers.runs()?;
        let mut runs = runs.into_iter().map(|(at, sum)| Run { at, sum });
        Some(match (runs.next(), runs.next()) {
            (None, _) => Self::default(),
            (Some(first), None) if first.sum > 0 => Self::One(first),
            // Also the last instant of a log that no longer counts, but whose least interval goes on.
            (first, second) => Self::Many(Box::new(first.into_iter().chain(second).chain(runs).collect())),
        })
    }
}

impl Series {
    /// Its runs, where one is not enough.
    fn many(&mut self) -> &mut Runs {
        if let Self::One(run) = *self {
            *self = Self::Many(Box::new((run.sum > 0).then_some(run).into_iter().collect()));
        }
        match self {
            Self::Many(runs) => runs,
            Self::One(_) => unreachable!("it has just been made many"),
        }
    }

    pub(crate) fn newest(&self) -> Option<u64> {
        match self {
            Self::One(run) => (run.sum > 0).then_some(run.at),
            Self::Many(runs) => runs.newest(),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The units that came at `from` or later.
    pub(crate) fn count_from(&self, from: u64) -> u64 {
        match self {
            Self::One(run) if run.at >= from => run.sum,
            Self::One(_) => 0,
            Self::Many(runs) => runs.count_from(from),
        }
    }

    /// All units.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::One(run) => run.sum,
            Self::Many(runs) => runs.count(),
        }
    }

    /// The units of this instant.
    pub(crate) fn count_at(&self, at: u64) -> u64 {
        match self {
            Self::One(run) if run.at == at => run.sum,
            Self::One(_) => 0,
            Self::Many(runs) => runs.count_at(at),
        }
    }

    /// Makes all that came later units of this instant.
    pub(crate) fn bring_back(&mut self, to: u64) {
        match self {
            Self::One(run) => run.at = run.at.min(to),
            Self::Many(runs) => runs.bring_back(to),
        }
    }

    /// The instant of the last of the oldest units that have to leave before these fit beside those at `from` or later;
    /// nothing where they fit, or would not fit into an empty one.
    pub(crate) fn last_in_the_way(&self, from: u64, units: u64, max: u64) -> Option<u64> {
        match self {
            Self::One(run) => {
                let kept = self.count_from(from);
                let over = kept.saturating_add(units).saturating_sub(max);
                (0 < over && over <= kept).then_some(run.at)
            }
            Self::Many(runs) => runs.last_in_the_way(from, units, max),
        }
    }

    /// Adds to the newest end; `at` is not before the newest. What came at `from` or later becomes of this instant too.
    pub(crate) fn push(&mut self, from: u64, at: u64, units: u64) {
        match self {
            _ if units == 0 => {}
            Self::One(run) if run.sum == 0 || run.at >= from => *run = Run { at, sum: run.sum.saturating_add(units) },
            _ => self.many().push(from, at, units),
        }
    }

    /// Takes the newest units away.
    pub(crate) fn take_newest(&mut self, units: u64) {
        match self {
            Self::One(run) => run.sum = run.sum.saturating_sub(units),
            Self::Many(runs) => runs.take_newest(units),
        }
    }

    /// Takes the newest of the units that came at `from` or later and before `to`, as far as there are so many.
    pub(crate) fn take_between(&mut self, from: u64, to: u64, units: u64) {
        match self {
            Self::One(run) if (from..to).contains(&run.at) => run.sum = run.sum.saturating_sub(units),
            Self::One(_) => {}
            Self::Many(runs) => runs.take_between(from, to, units),
        }
    }

    /// Makes one of all that lies in one slot, of the latest of its instants.
    pub(crate) fn gather(&mut self, slots: Spans) {
        if let Self::Many(runs) = self {
            runs.gather(slots);
        }
    }

    /// Forgets all but the newest units.
    pub(crate) fn keep_newest(&mut self, units: u64) {
        match self {
            Self::One(run) => run.sum = run.sum.min(units),
            Self::Many(runs) => runs.keep_newest(units),
        }
    }

    /// Forgets what came before this.
    pub(crate) fn keep_from(&mut self, from: u64) {
        match self {
            Self::One(run) if run.at < from => run.sum = 0,
            Self::One(_) => {}
            Self::Many(runs) => runs.keep_from(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Step = Box<dyn Fn(&mut Series)>;

    /// Numbers below these bounds, which seem to be random.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |bound| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (seed >> 33) % bound
        }
    }

    fn written(series: &Series) -> Vec<f64> {
        let mut numbers = Vec::new();
        series.write(&mut numbers);
        numbers
    }

    #[test]
    fn units_of_one_instant_answer_as_those_of_many_do() {
        let (mut number, mut longest) = (numbers(7), 0);
        for _ in 0..20_000 {
            let (mut short, mut long) = (Series::default(), Series::Many(Box::default()));
            let mut now = 10;
            for _ in 0..8 {
                now += number(3);
                let (units, from, to) = (number(4), now - number(6), now + number(3));
                let step: Step = match number(8) {
                    0 => Box::new(move |series| series.take_newest(units)),
                    1 => Box::new(move |series| series.take_between(from, to, units)),
                    2 => Box::new(move |series| series.bring_back(from)),
                    3 => Box::new(move |series| series.keep_newest(units)),
                    4 => Box::new(move |series| series.keep_from(from)),
                    _ => Box::new(move |series| {
                        let at = series.newest().map_or(now, |last| last.max(now));
                        series.push(from.min(at), at, units);
                    }),
                };
                step(&mut short);
                step(&mut long);
                let answers = |series: &Series| {
                    let in_the_way = series.last_in_the_way(from, units, 3);
                    let counts = [series.count(), series.count_from(from), series.count_at(now), series.count_at(from)];
                    (written(series), series.newest(), counts, in_the_way)
                };
                assert_eq!(answers(&short), answers(&long));
                longest = longest.max(written(&short).len());
            }
        }
        assert!(longest > 4, "some of them were of many instants");
    }
}
