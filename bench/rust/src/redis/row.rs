//! Rows of the table, whose targets may be ratios or the figures themselves.

use serde_json::{Value, json};

use crate::measure::{Row, Spread};

/// The target of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    None,
    AtMost(f64),
    AtLeast(f64),
}

/// A figure beside nobody's.
pub(crate) fn alone(name: &str, unit: &str, figures: Spread, bound: Bound, note: &str) -> Value {
    let row = json!({ "name": name, "unit": unit, "tidegate": figures.json(), "peer": null, "target": null });
    bounded(row, bound, note)
}

/// A duel's row, in microseconds where it was taken in nanoseconds.
pub(crate) fn in_micros(row: Row) -> Value {
    let micros = |Spread { min, median, max }| Spread { min: min / 1e3, median: median / 1e3, max: max / 1e3 };
    let peer = row.peer.map(|(name, figures, ratio)| (name, micros(figures), ratio));
    Row { unit: "us", ours: micros(row.ours), peer, ..row }.json()
}

/// The same row with a bound of the figure, and a note.
pub(crate) fn bounded(mut row: Value, bound: Bound, note: &str) -> Value {
    match bound {
        Bound::None => {}
        Bound::AtMost(most) => row["at_most"] = most.into(),
        Bound::AtLeast(least) => row["at_least"] = least.into(),
    }
    if !note.is_empty() {
        row["note"] = note.into();
    }
    row
}
