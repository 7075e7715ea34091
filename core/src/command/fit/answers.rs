//! The answers of an API, line by line.

use crate::command::output::Failure;
use crate::command::replay::line::{Line, Reader};
use crate::command::replay::source::Source;
use crate::time::Micros;

#[derive(Default)]
pub(super) struct Answers {
    /// Each instant, and whether the call was accepted then.
    pub(super) calls: Vec<(Micros, bool)>,
    pub(super) malformed: u64,
    /// Its lines have fields with names.
    pub(super) has_names: bool,
}

impl Answers {
    /// Reads a log that has its instants and its statuses in these fields.
    pub(super) fn read(name: &str, time: Option<&str>, status: &str) -> Result<Self, Failure> {
        let of_log = |error| Failure::of(name, error);
        let mut source = Source::open(name).map_err(of_log)?;
        // The status stands where the log of a server has an actor.
        let mut reader = Reader::new(None, Some(status), time);
        let (mut answers, mut line) = (Self::default(), Vec::new());
        while source.next(&mut line).map_err(of_log)? {
            match reader.read(&line) {
                Line::Nothing => {}
                Line::Request(request) => match accepted(&request.actor) {
                    Some(accepted) => answers.calls.push((request.at, accepted)),
                    None => answers.malformed += 1,
                },
                Line::Malformed => answers.malformed += 1,
            }
        }
        answers.has_names = reader.has_names();
        // Two that come together keep their order.
        answers.calls.sort_by_key(|(at, _)| *at);
        Ok(answers)
    }

    pub(super) fn accepted(&self) -> u64 {
        self.calls.iter().filter(|(_, accepted)| *accepted).count() as u64
    }

    pub(super) fn refused(&self) -> u64 {
        self.calls.len() as u64 - self.accepted()
    }
}

/// A status by its number, of which 429 is the only refusal, or by a word.
fn accepted(status: &str) -> Option<bool> {
    match status.trim() {
        "429" | "refused" | "denied" | "blocked" => Some(false),
        "accepted" | "admitted" | "allowed" | "ok" => Some(true),
        other => other.parse::<u16>().ok().filter(|status| (100..600).contains(status)).map(|_| true),
    }
}
