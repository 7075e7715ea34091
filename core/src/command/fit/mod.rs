//! `tidegate fit`: the limits that somebody else's API may have, by the answers that it gave.

mod answers;
mod family;
mod probe;

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use self::answers::Answers;
use self::family::{FAMILIES, Fitted};
use super::limits::duration;
use super::output::{Done, Failure, Output};
use super::words::{count, table};
use super::{FAULTS, FINE};
use crate::explain::words::number;

#[derive(Args)]
pub(super) struct Options {
    /// The log: lines of JSON or CSV with an instant and a status, or -; 429 is a refusal, and so is "refused"
    file: String,
    /// The field that holds the instant
    #[arg(long, value_name = "FIELD")]
    time: Option<String>,
    /// The field that holds the status
    #[arg(long, default_value = "status", value_name = "FIELD")]
    status: String,
    /// Periods to try, such as 10s; those of clocks if none is given
    #[arg(long, value_name = "TIME")]
    period: Vec<String>,
    /// Prints what was found as JSON
    #[arg(long)]
    json: bool,
}

/// The periods of most limits.
const PERIODS: [&str; 9] = ["1s", "10s", "30s", "1m", "5m", "10m", "15m", "1h", "1d"];

/// The definitions that were found.
#[derive(Serialize)]
struct Summary {
    accepted: u64,
    refused: u64,
    malformed: u64,
    fitted: Vec<Fitted>,
    probes: Vec<String>,
    safe: Option<String>,
}

pub(super) fn run(options: &Options, output: &mut Output) -> Done {
    for period in &options.period {
        duration("period", period)?;
    }
    let answers = Answers::read(&options.file, options.time.as_deref(), &options.status)?;
    if answers.calls.is_empty() {
        let names = if answers.has_names { "; --time and --status name its fields" } else { "" };
        let problem = format!("has no answers; {} left out{names}", count(answers.malformed, "line"));
        return Err(Failure::of(&options.file, problem));
    }
    let usual = PERIODS.map(str::to_owned);
    let periods = if options.period.is_empty() { &usual[..] } else { &options.period };
    let mut fitted = Vec::new();
    for period in periods {
        for family in FAMILIES {
            fitted.extend(Fitted::of(family, period, &answers)?);
        }
    }
    let limits = fitted.iter().map(Fitted::limit).collect::<Result<Vec<_>, _>>()?;
    let mut probes = Vec::new();
    for pair in limits.windows(2) {
        if let [one, other] = pair {
            probes.extend(probe::sentence([one, other])?);
        }
    }
    let found = Summary {
        accepted: answers.accepted(),
        refused: answers.refused(),
        malformed: answers.malformed,
        safe: safe(periods, &fitted),
        fitted,
        probes,
    };
    if options.json {
        let json = serde_json::to_string(&found).map_err(|error| Failure::of("report", error))?;
        output.print(&json)?;
    } else {
        output.print(&told(&options.file, &found))?;
    }
    Ok(if found.fitted.is_empty() { FAULTS } else { FINE })
}

/// Exact windows that admit no more than any limit that was found, whichever of them it is.
fn safe(periods: &[String], fitted: &[Fitted]) -> Option<String> {
    let mut limits = Vec::new();
    for period in periods {
        let sizes = fitted.iter().filter(|fitted| fitted.period == *period).map(|fitted| match fitted.family {
            // It may count what came early in its last window for longer than a period.
            "sliding-counter" => fitted.from / 2,
            _ => fitted.from,
        });
        match sizes.min() {
            Some(0) => return None,
            Some(size) => limits.push(format!("{size}/{period} sliding-log")),
            None => {}
        }
    }
    (!limits.is_empty()).then(|| limits.join("; "))
}

fn told(file: &str, found: &Summary) -> String {
    let mut text =
        format!("{file}: {} accepted, {} refused", number(found.accepted as f64), number(found.refused as f64));
    if found.malformed > 0 {
        let _ = write!(text, "; {} left out", count(found.malformed, "malformed line"));
    }
    text.push_str(".\n\n");
    if found.fitted.is_empty() {
        text.push_str("No limit that was tried agrees with every answer.\n");
        return text;
    }
    let mut rows = vec![["type", "period", "from", "to"].map(str::to_owned).to_vec()];
    for fitted in &found.fitted {
        let to = fitted.to.map_or_else(|| "any".to_owned(), |to| number(to as f64));
        rows.push(vec![fitted.family.to_owned(), fitted.period.clone(), number(fitted.from as f64), to]);
    }
    table(&mut text, &rows);
    if !found.probes.is_empty() {
        text.push_str("\nCalls that tell two of them apart, after a pause, from 11 s past a quarter to an hour on:\n");
    }
    for probe in &found.probes {
        let _ = writeln!(text, "  {probe}");
    }
    if let Some(safe) = &found.safe {
        let _ = writeln!(text, "\nSafe whichever of them it is: {safe}");
    }
    text
}
