//! `tidegate check`: files of limits, explained or refused.

mod prove;
mod together;
mod worst;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;

use clap::Args;

use super::output::{Done, Output};
use super::{FAULTS, FINE};
use crate::config::{Format, Limits, LimitsError, Override, Places};

#[derive(Args)]
pub(super) struct Options {
    /// Files of limits: .json, .toml, .yaml or .yml
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Prints the explanations as JSON, one line a limit
    #[arg(long, conflicts_with = "prove")]
    json: bool,
    /// Takes the limits of a file as one decision: which of them never deny, and the worst spans that all of them admit
    #[arg(long)]
    prove: bool,
}

pub(super) fn run(options: &Options, output: &mut Output) -> Done {
    let mut code = FINE;
    for file in &options.files {
        match Limits::load(file) {
            Ok(limits) if options.json => {
                for (_, limit) in limits.iter() {
                    output.print(&limit.explain().to_json())?;
                }
            }
            Ok(limits) => {
                output.print(&explained(file, &limits))?;
                if options.prove {
                    output.print(&together::sentences(&limits)?)?;
                }
            }
            Err(error) => {
                code = FAULTS;
                output.tell(&faults(file, &error));
            }
        }
    }
    Ok(code)
}

/// Every limit in its sentences, under the name of the file.
fn explained(file: &str, limits: &Limits) -> String {
    let mut text = format!("{file}: {} {}\n", limits.len(), if limits.len() == 1 { "limit" } else { "limits" });
    for (name, limit) in limits.iter() {
        let explanation = limit.explain().to_string();
        // A name that is not the key is the one that programs ask for.
        let named = if name == limit.key() { String::new() } else { format!("{name:?} has the key ") };
        let _ = writeln!(text, "\n  {named}{}", explanation.replace('\n', "\n  "));
    }
    if !limits.overrides().is_empty() {
        text.push('\n');
    }
    for one in limits.overrides() {
        let _ = writeln!(text, "  {}", overridden(one));
    }
    text
}

/// Whom an override concerns.
fn subject(one: &Override) -> String {
    match (one.actor(), one.pattern()) {
        (Some(actor), _) => format!("Actor {actor:?}"),
        (None, pattern) => format!("Actors like {:?}", pattern.unwrap_or_default()),
    }
}

/// An override in a sentence.
fn overridden(one: &Override) -> String {
    let who = subject(one);
    let limit = one.limit().map_or("all limits".to_owned(), |name| format!("{name:?}"));
    match (one.definition(), one.factor()) {
        (Some(definition), _) => {
            let explanation = definition.explain().to_string();
            let sentence = explanation.lines().next().unwrap_or_default();
            format!("{who} at {limit}: {sentence}")
        }
        (None, 0.0) => format!("{who} at {limit}: no limit."),
        (None, factor) => format!("{who} at {limit}: the factor is {factor}."),
    }
}

/// In YAML each place is looked for from the beginning of the document, so that all of many faults would take minutes.
const MOST_PLACES_IN_YAML: usize = 1_000;

/// A line for each fault, as compilers write them, so that editors find it.
fn faults(file: &str, error: &LimitsError) -> String {
    let mut text = Vec::new();
    // Read once more: what cannot be read now has no places.
    let format = Format::of(file);
    let places = format.zip(File::open(file).ok()).map(|(format, source)| {
        let read = source.take(crate::config::LARGEST).read_to_end(&mut text);
        let text = read.ok().and_then(|_| std::str::from_utf8(&text).ok()).unwrap_or_default();
        Places::of(text, format)
    });
    let most = if format == Some(Format::Yaml) { MOST_PLACES_IN_YAML } else { usize::MAX };
    let mut lines = String::new();
    for (number, fault) in error.errors().iter().enumerate() {
        let find = |path: &str| places.as_ref().filter(|_| number < most)?.find(path);
        let place = fault.line().zip(fault.column()).or_else(|| {
            // A field that is missing is looked for where it should be.
            let parent = fault.path().rsplit_once('.').map(|(parent, _)| parent);
            find(fault.path()).or_else(|| parent.and_then(find))
        });
        let place = place.map_or(String::new(), |(line, column)| format!("{line}:{column}:"));
        let path = if fault.path().is_empty() { String::new() } else { format!("{}: ", fault.path()) };
        let _ = writeln!(lines, "{file}:{place} {path}{}", fault.message());
    }
    lines
}
