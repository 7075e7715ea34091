//! `tidegate simulate`: limits against a traffic pattern, on a clock of its own.

mod traffic;

use std::fmt::Write as _;
use std::fs;

use clap::{Args, ValueEnum};

use self::traffic::{Outcome, Pattern, Retry, Traffic};
use super::FINE;
use super::limits::{Set, duration, rate};
use super::output::{Done, Failure, Output};
use super::svg::{self, Series};
use super::words::{count, table};
use crate::explain::words::{number, time};

#[derive(Args)]
pub(super) struct Options {
    /// Limits as text ("100/minute; 10/second"), in the wire form, or a file of limits; once for each candidate
    #[arg(long, required = true, value_name = "LIMITS")]
    limits: Vec<String>,
    /// The pattern of the calls
    #[arg(long, value_enum, default_value_t = Pattern::Steady)]
    pattern: Pattern,
    /// The calls of all clients together, such as 90/minute
    #[arg(long, default_value = "120/minute", value_name = "RATE")]
    rate: String,
    /// The number of clients, which are one actor: the calls of a burst, the members of a fleet
    #[arg(long, default_value_t = 20, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    clients: u64,
    /// The length of the simulation, such as 90s or 10 minutes
    #[arg(long = "for", default_value = "5 minutes", value_name = "TIME")]
    length: String,
    /// The next step of a client that was denied
    #[arg(long, value_enum, default_value_t = Retry::Never)]
    retry: Retry,
    /// The time of a call and its answer, before which nobody tries again
    #[arg(long, default_value = "100ms", value_name = "TIME")]
    round_trip: String,
    /// Writes the picture to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// Prints the numbers as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, output: &mut Output) -> Done {
    let sets = options.limits.iter().map(|name| Set::read(name)).collect::<Result<Vec<_>, _>>()?;
    let (calls, period) = rate("rate", &options.rate)?;
    let traffic = Traffic {
        pattern: options.pattern,
        retry: options.retry,
        clients: options.clients,
        calls,
        period,
        length: duration("for", &options.length)?,
        round_trip: duration("round-trip", &options.round_trip)?,
    };
    let outcomes = sets.iter().map(|set| traffic.meets(set)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &options.svg {
        fs::write(path, picture(&traffic, &sets, &outcomes)).map_err(|error| Failure::of(path, error))?;
    }
    if options.json {
        for outcome in &outcomes {
            let json = serde_json::to_string(outcome).map_err(|error| Failure::of("outcome", error))?;
            output.print(&json)?;
        }
        return Ok(FINE);
    }
    output.print(&told(options, &traffic, &sets, &outcomes))?;
    Ok(FINE)
}

fn told(options: &Options, traffic: &Traffic, sets: &[Set], outcomes: &[Outcome]) -> String {
    let name = |value: Option<clap::builder::PossibleValue>| {
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    };
    let mut text = format!(
        "{} of {}, {} for {}; retry: {}\n\n",
        name(traffic.pattern.to_possible_value()),
        count(traffic.clients, "client"),
        options.rate,
        time(traffic.length as f64 / 1000.0),
        name(traffic.retry.to_possible_value()),
    );
    let names = [
        "limits",
        "calls",
        "tries",
        "admitted",
        "denied",
        "given up",
        "open",
        "half wait",
        "19 of 20 wait",
        "longest wait",
    ];
    let mut rows = vec![names.map(str::to_owned).to_vec()];
    for (set, outcome) in sets.iter().zip(outcomes) {
        let numbers = [outcome.calls, outcome.tries, outcome.admitted, outcome.denied, outcome.given_up, outcome.open];
        let mut row = vec![crate::error::shortened(&set.name, 40)];
        row.extend(numbers.map(|value| number(value as f64)));
        row.extend([outcome.half_ms, outcome.most_ms, outcome.longest_ms].map(|wait| time(wait as f64)));
        rows.push(row);
    }
    table(&mut text, &rows);
    let _ = writeln!(
        text,
        "\nOpen: calls that had not been admitted at the end. Waits: of calls that were admitted, at most so long."
    );
    text
}

/// A picture for each candidate, one below the other.
fn picture(traffic: &Traffic, sets: &[Set], outcomes: &[Outcome]) -> String {
    let axis = [0, 1, 2, 3, 4].map(|part| time(traffic.length as f64 / 1000.0 * f64::from(part) / 4.0));
    let of = |values: &[u64]| values.iter().map(|value| *value as f64).collect();
    let pictures = sets.iter().zip(outcomes).map(|(set, outcome)| {
        let tries = Series { name: "tries".to_owned(), values: of(&outcome.tries_over_time) };
        let admitted = Series { name: "admitted".to_owned(), values: of(&outcome.admitted_over_time) };
        let title = format!("{}: calls in {}", svg::short(&set.name, 40), time(outcome.width_ms as f64));
        svg::lines(&title, &axis, true, &[tries, admitted])
    });
    svg::stacked(&pictures.collect::<Vec<_>>())
}
