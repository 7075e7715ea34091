//! `tidegate simulate`: limits against a traffic pattern, on a clock of its own.

mod calls;
mod level;
mod picture;
mod traffic;

use std::fmt::Write as _;
use std::fs;

use clap::{Args, ValueEnum};

use self::traffic::{Outcome, Pattern, Retry, Traffic};
use super::FINE;
use super::limits::{Set, duration, rate};
use super::output::{Done, Failure, Output};
use super::svg;
use super::words::{count, table};
use crate::explain::words::{number, time};
use crate::time::Micros;

#[derive(Args)]
pub(super) struct Options {
    /// Limits as text ("100/minute; 10/second"), in the wire form, or a file of limits; once for each candidate
    #[arg(long, required = true, value_name = "LIMITS")]
    limits: Vec<String>,
    /// The pattern of the calls
    #[arg(long, value_enum, default_value_t = Pattern::Steady, conflicts_with = "given")]
    pattern: Pattern,
    /// The calls of all clients together, such as 90/minute
    #[arg(long, default_value = "120/minute", value_name = "RATE", conflicts_with = "given")]
    rate: String,
    /// The number of clients, which are one actor: the calls of a burst, the members of a fleet
    #[arg(long, default_value_t = 20, value_name = "NUMBER", conflicts_with = "given",
        value_parser = clap::value_parser!(u64).range(1..=100_000))]
    clients: u64,
    /// The instants of the calls in place of a pattern, such as "8s, 12 at 10050ms each 150ms"
    #[arg(id = "given", long = "calls", value_name = "CALLS")]
    given: Option<String>,
    /// Each call waits for its turn, at most so long; for limits that reserve turns
    #[arg(long, value_name = "TIME")]
    max_wait: Option<String>,
    /// The length of the simulation, such as 90s or 10 minutes
    #[arg(long = "for", default_value = "5 minutes", value_name = "TIME")]
    length: String,
    /// The next step of a client that was denied
    #[arg(long, value_enum, default_value_t = Retry::Never)]
    retry: Retry,
    /// The time of a call and its answer, before which nobody tries again
    #[arg(long, default_value = "100ms", value_name = "TIME")]
    round_trip: String,
    /// Counts the calls that were admitted in any span of this length
    #[arg(long, value_name = "TIME")]
    span: Option<String>,
    /// Writes the picture to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// The title of the picture; once for each candidate
    #[arg(long, value_name = "TEXT", requires = "svg")]
    title: Vec<String>,
    /// Prints the numbers as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, output: &mut Output) -> Done {
    let sets = options.limits.iter().map(|name| Set::read(name)).collect::<Result<Vec<_>, _>>()?;
    if !options.title.is_empty() && options.title.len() != sets.len() {
        return Err(Failure::of("title", "must be given once for each candidate"));
    }
    let (calls, period) = rate("rate", &options.rate)?;
    let time_of = |name, text: &Option<String>| text.as_ref().map(|text| duration(name, text)).transpose();
    let length = duration("for", &options.length)?;
    let traffic = Traffic {
        pattern: options.pattern,
        retry: options.retry,
        clients: options.clients,
        calls,
        period,
        length,
        round_trip: duration("round-trip", &options.round_trip)?,
        given: options.given.as_ref().map(|text| calls::calls(text, length)).transpose()?,
        max_wait: time_of("max-wait", &options.max_wait)?,
        span: time_of("span", &options.span)?,
    };
    let outcomes = sets.iter().map(|set| traffic.meets(set)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &options.svg {
        let candidates = sets.iter().zip(&outcomes).enumerate();
        let pictures = candidates
            .flat_map(|(index, (set, outcome))| picture::pictures(&traffic, set, outcome, options.title.get(index)));
        let svg = svg::stacked(&pictures.collect::<Vec<_>>());
        fs::write(path, svg).map_err(|error| Failure::of(path, error))?;
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
    let calls = match &traffic.given {
        Some(given) => count(given.len() as u64, "call"),
        None => format!(
            "{} of {}, {}",
            name(traffic.pattern.to_possible_value()),
            count(traffic.clients, "client"),
            options.rate
        ),
    };
    let waits = traffic.max_wait.map_or_else(String::new, |wait| format!("; longest wait: {}", shown(wait)));
    let mut text = format!(
        "{calls} for {}{waits}; retry: {}\n\n",
        shown(traffic.length),
        name(traffic.retry.to_possible_value()),
    );
    let most = traffic.span.map(|span| format!("most in {}", shown(span)));
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
    let mut rows = vec![names.map(str::to_owned).into_iter().chain(most).collect()];
    for (set, outcome) in sets.iter().zip(outcomes) {
        let numbers = [outcome.calls, outcome.tries, outcome.admitted, outcome.denied, outcome.given_up, outcome.open];
        let mut row = vec![crate::error::shortened(&set.name, 40)];
        row.extend(numbers.map(|value| number(value as f64)));
        row.extend([outcome.half_ms, outcome.most_ms, outcome.longest_ms].map(|wait| time(wait as f64)));
        row.extend(outcome.most_in_span.map(|most| number(most as f64)));
        rows.push(row);
    }
    table(&mut text, &rows);
    let _ = writeln!(
        text,
        "\nOpen: calls that had not been admitted at the end. Waits: of calls that were admitted, at most so long."
    );
    text
}

fn shown(micros: Micros) -> String {
    time(micros as f64 / 1000.0)
}
