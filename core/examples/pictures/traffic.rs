//! The same bursty traffic for every limit, and what became of it.

use tidegate::{Call, Check, Error, Limit, Limiter, Memory, Micros};

/// The span that every limit here speaks of, in milliseconds.
pub(crate) const PERIOD: u64 = 10_000;
/// The time that a picture shows, in milliseconds.
pub(crate) const SHOWN: u64 = 50_000;

/// A multiple of every window, so that windows fall on the grid.
const START: Micros = 1_700_000_000_000_000;

/// Requests with their milliseconds since the start, and whether each was admitted.
pub(crate) struct Outcome(pub(crate) Vec<(u64, bool)>);

/// The time between two looks at a level, in milliseconds: no request comes at such an instant.
const LOOK: usize = 100;

/// The units in use, with the milliseconds since the start from which on they are.
pub(crate) fn levels(limit: &Limit) -> Result<Vec<(u64, u64)>, Error> {
    let limiter = Limiter::new(Memory::new());
    let decide = |call, at: u64| limiter.decide_sync_at(&[Check::new(limit, "ada")], call, START + at * 1000);
    let mut left = requests().peekable();
    let mut levels = vec![(0, 0)];
    for at in (0..=SHOWN).step_by(LOOK) {
        while let Some(request) = left.next_if(|request| *request < at) {
            decide(Call::Limit, request)?;
        }
        let info = decide(Call::Peek, at)?;
        let level = info.quota - info.remaining;
        if levels.last().is_some_and(|(_, before)| *before != level) {
            levels.push((at, level));
        }
    }
    Ok(levels)
}

/// A burst on each side of a window's edge, then twice the rate that is allowed, then silence, then one more burst.
fn requests() -> impl Iterator<Item = u64> {
    let every = |from: u64, gap: u64, count: u64| (0..count).map(move |index| from + index * gap);
    every(8_050, 150, 12).chain(every(10_050, 150, 12)).chain(every(16_250, 500, 24)).chain(every(42_050, 150, 14))
}

pub(crate) fn decided_by(limit: &Limit) -> Result<Outcome, Error> {
    let limiter = Limiter::new(Memory::new());
    let decide = |at: u64| {
        let info = limiter.decide_sync_at(&[Check::new(limit, "ada")], Call::Limit, START + at * 1000)?;
        Ok((at, !info.blocked))
    };
    Ok(Outcome(requests().map(decide).collect::<Result<_, Error>>()?))
}

impl Outcome {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn admitted(&self) -> usize {
        self.0.iter().filter(|(_, admitted)| *admitted).count()
    }

    /// The number admitted in the period that ends at this instant, and includes it.
    pub(crate) fn within_period(&self, end: u64) -> usize {
        let counts = |at: u64| at <= end && at + PERIOD > end;
        self.0.iter().filter(|(at, admitted)| *admitted && counts(*at)).count()
    }

    /// The most that were admitted in any period.
    pub(crate) fn most(&self) -> usize {
        self.0.iter().map(|(at, _)| self.within_period(*at)).max().unwrap_or(0)
    }

    /// Every instant at which [`within_period`](Self::within_period) changes.
    pub(crate) fn changes(&self) -> Vec<u64> {
        let admitted = self.0.iter().filter(|(_, admitted)| *admitted);
        let mut changes: Vec<u64> = admitted.flat_map(|(at, _)| [*at, at + PERIOD]).collect();
        changes.sort_unstable();
        changes.dedup();
        changes
    }
}
