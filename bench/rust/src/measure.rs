//! Timing that a noisy machine cannot fool easily: many short rounds, the contenders in turn within each.

use std::time::Instant;

use serde_json::{Value, json};

/// The least, the middle and the largest of some figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let at = |part: usize| figures.get((figures.len() - 1) * part / 2).copied().unwrap_or(f64::NAN);
        Self { min: at(0), median: at(1), max: at(2) }
    }

    /// The ratio of two figures that were not taken in the same rounds.
    pub(crate) fn ratio(ours: Self, theirs: Self) -> Self {
        Self { min: ours.min / theirs.max, median: ours.median / theirs.median, max: ours.max / theirs.min }
    }

    pub(crate) fn json(self) -> Value {
        let round = |figure: f64| (figure * 1000.0).round() / 1000.0;
        json!({ "min": round(self.min), "median": round(self.median), "max": round(self.max) })
    }
}

/// One row of the table: ours and a peer's figures from the same rounds, and their ratio round by round.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: Spread,
    pub(crate) peer: Option<(&'static str, Spread, Spread)>,
    pub(crate) target: Option<f64>,
}

impl Row {
    pub(crate) fn json(&self) -> Value {
        let peer = self
            .peer
            .map(|(name, figures, ratio)| json!({ "name": name, "figures": figures.json(), "ratio": ratio.json() }));
        json!({ "name": self.name, "unit": self.unit, "tidegate": self.ours.json(), "peer": peer, "target": self.target })
    }
}

/// Nanoseconds per operation of two contenders, taken in turns.
pub(crate) fn duel(
    name: impl Into<String>,
    target: Option<f64>,
    rounds: usize,
    peer: &'static str,
    mut ours: impl FnMut() -> usize,
    mut theirs: impl FnMut() -> usize,
) -> Row {
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (our_time, their_time) = (time(&mut ours), time(&mut theirs));
        // The first round warms the caches and is not counted.
        if round > 0 {
            our_times.push(our_time);
            their_times.push(their_time);
        }
    }
    let ratios = our_times.iter().zip(&their_times).map(|(ours, theirs)| ours / theirs).collect();
    Row {
        name: name.into(),
        unit: "ns",
        ours: Spread::of(our_times),
        peer: Some((peer, Spread::of(their_times), Spread::of(ratios))),
        target,
    }
}

/// Nanoseconds per operation; `work` says how many operations it did.
fn time(work: &mut impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    let operations = work();
    start.elapsed().as_nanos() as f64 / operations as f64
}
