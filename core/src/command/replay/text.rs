//! The report on a replay, for a terminal.

use std::fmt::Write as _;

use super::report::{Report, Trial};
use crate::command::words::{count, percent, table};
use crate::explain::words::{number, time};

/// The sentence on what was read.
pub(super) fn summary(report: &Report) -> String {
    let mut text = format!(
        "{} of {} in {}",
        count(report.requests, "request"),
        count(report.clients, "client"),
        time(report.span_ms as f64)
    );
    if let Some(line) = report.first_malformed {
        let _ = write!(
            text,
            "; {} left out, the first is line {}",
            count(report.malformed, "malformed line"),
            number(line as f64)
        );
    }
    text + "."
}

/// The sentences on smaller and larger limits.
pub(super) fn smallest<'a>(report: &'a Report, trial: &'a Trial) -> impl Iterator<Item = String> + 'a {
    trial.smallest.iter().map(move |smallest| {
        format!(
            "{} would have to have a {} of {} to deny at most {} % of clients.",
            smallest.key,
            smallest.field,
            number(smallest.value as f64),
            number(report.share)
        )
    })
}

pub(super) fn told(report: &Report) -> String {
    let mut text = format!("{}: {}\n\n", report.file, summary(report));
    let mut rows = vec![["limits", "denied", "", "clients", "", "honest"].map(str::to_owned).to_vec()];
    for trial in &report.candidates {
        rows.push(vec![
            crate::error::shortened(&trial.limits, 40),
            number(trial.denied as f64),
            percent(trial.denied, report.requests),
            number(trial.denied_clients as f64),
            percent(trial.denied_clients, report.clients),
            number(trial.denied_honest as f64),
        ]);
    }
    table(&mut text, &rows);
    text.push_str("\nHonest: clients that were denied for less than one in ten of their requests.\n");
    for trial in &report.candidates {
        let _ = writeln!(text, "\n{}", trial.limits);
        for by in trial.by_limit.iter().filter(|_| trial.by_limit.len() > 1) {
            let _ = writeln!(text, "  {} decided {}.", by.key, count(by.denied, "denial"));
        }
        for sentence in smallest(report, trial) {
            let _ = writeln!(text, "  {sentence}");
        }
        if !trial.top.is_empty() {
            let mut rows =
                vec![["  client", "requests", "denied", "first", "last", "limit"].map(str::to_owned).to_vec()];
            for denied in &trial.top {
                rows.push(vec![
                    format!("  {}", denied.client),
                    number(denied.requests as f64),
                    number(denied.denied as f64),
                    denied.first.clone(),
                    denied.last.clone(),
                    denied.limit.clone(),
                ]);
            }
            table(&mut text, &rows);
        }
    }
    text
}
