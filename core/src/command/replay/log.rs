//! A log that is read and decided, line by line.

use super::actors::Actors;
use super::candidate::Candidate;
use super::line::{Line, Reader, Request};
use super::options::Options;
use super::source::Source;
use super::spool::Spool;
use super::timeline::Timeline;
use crate::command::limits::Set;
use crate::command::output::Failure;
use crate::command::words::count;
use crate::time::Micros;

/// A log as far as it has been read.
pub(super) struct Replay {
    pub(super) candidates: Vec<Candidate>,
    pub(super) actors: Actors,
    pub(super) timeline: Timeline,
    pub(super) spool: Option<Spool>,
    pub(super) lines: u64,
    pub(super) malformed: u64,
    pub(super) first_malformed: Option<u64>,
    /// The first and the last instant.
    pub(super) span: Option<(Micros, Micros)>,
}

impl Replay {
    pub(super) fn new(sets: Vec<Set>, spool: Option<Spool>) -> Self {
        Self {
            timeline: Timeline::new(sets.len()),
            candidates: sets.into_iter().map(Candidate::new).collect(),
            actors: Actors::default(),
            spool,
            lines: 0,
            malformed: 0,
            first_malformed: None,
            span: None,
        }
    }

    pub(super) fn read(&mut self, options: &Options) -> Result<(), Failure> {
        let of_log = |error| Failure::of(&options.file, error);
        let mut source = Source::open(&options.file).map_err(of_log)?;
        let mut reader = Reader::new(options.format, options.actor.as_deref(), options.time.as_deref());
        let mut line = Vec::new();
        while source.next(&mut line).map_err(of_log)? {
            self.lines += 1;
            match reader.read(&line) {
                Line::Request(request) => self.request(&request)?,
                Line::Nothing => {}
                Line::Malformed => {
                    self.malformed += 1;
                    self.first_malformed.get_or_insert(self.lines);
                }
            }
        }
        match self.first_malformed {
            Some(first) if self.span.is_none() => {
                let lines = count(self.malformed, "malformed line");
                let names = if reader.has_names() { "; --actor and --time name its fields" } else { "" };
                let problem = format!("has no request that can be read; {lines}, the first is line {first}{names}");
                Err(Failure::of(&options.file, problem))
            }
            _ => Ok(()),
        }
    }

    fn request(&mut self, Request { at, actor }: &Request<'_>) -> Result<(), Failure> {
        let at = *at;
        let number =
            self.actors.count(actor).ok_or_else(|| Failure::of("log", "has more clients than fit in memory"))?;
        let mut denied = smallvec::SmallVec::<[usize; 8]>::new();
        for (index, candidate) in self.candidates.iter_mut().enumerate() {
            if candidate.decide(number, actor, at)? {
                denied.push(index);
            }
        }
        self.timeline.count(at, denied.into_iter());
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        Ok(self.spool.as_mut().map_or(Ok(()), |spool| spool.push(number, at))?)
    }
}
