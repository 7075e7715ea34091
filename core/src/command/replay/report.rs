//! The report on a replay, as data.

use serde::Serialize;

use super::actors::Actors;
use super::candidate::Candidate;
use super::instant::shown;
use super::log::Replay;
use super::options::Options;
use super::smallest::{Smallest, smallest};
use crate::command::output::Failure;
use crate::error::shortened;

/// As many clients are named.
const NAMED: usize = 10;
/// Longer names are cut.
const LONGEST_NAME: usize = 64;
/// Denied for less than one in so many of its requests, a client was in a hurry; denied for more, it is one to stop.
const HONEST: u64 = 10;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) file: String,
    pub(super) lines: u64,
    pub(super) malformed: u64,
    /// The first malformed line, counted from 1.
    pub(super) first_malformed: Option<u64>,
    pub(super) requests: u64,
    pub(super) clients: u64,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) span_ms: u64,
    pub(super) candidates: Vec<Trial>,
    /// The clients with the most requests.
    pub(super) busiest: Vec<Busy>,
    pub(super) timeline: Spans,
    /// Clients by the number of their requests.
    pub(super) distribution: Vec<Group>,
    /// The percentage of clients that the smallest limits may deny.
    pub(super) share: f64,
}

/// The denials of one candidate.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Trial {
    pub(super) limits: String,
    pub(super) denied: u64,
    pub(super) denied_clients: u64,
    /// Denied for less than one in ten of their requests.
    pub(super) denied_honest: u64,
    pub(super) by_limit: Vec<ByLimit>,
    pub(super) top: Vec<Stopped>,
    pub(super) smallest: Vec<Smallest>,
}

#[derive(Debug, Serialize)]
pub(super) struct ByLimit {
    pub(super) key: String,
    pub(super) denied: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Stopped {
    pub(super) client: String,
    pub(super) requests: u64,
    pub(super) denied: u64,
    pub(super) first: String,
    pub(super) last: String,
    /// The limit that decided most of the denials.
    pub(super) limit: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Busy {
    pub(super) client: String,
    pub(super) requests: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spans {
    pub(super) width_ms: u64,
    pub(super) spans: Vec<Span>,
}

#[derive(Debug, Serialize)]
pub(super) struct Span {
    pub(super) from: String,
    pub(super) requests: u64,
    /// The denials of each candidate.
    pub(super) denied: Vec<u64>,
}

/// Clients with at least `from` requests and at most `to`.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) clients: u64,
}

impl Report {
    pub(super) fn of(options: &Options, replay: Replay) -> Result<Self, Failure> {
        let Replay { candidates, actors, timeline, mut spool, lines, malformed, first_malformed, span } = replay;
        let requests = actors.requests();
        let allowed = requests.len() as f64 * options.share / 100.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the number of clients")]
        let allowed = allowed as usize;
        let mut trials = Vec::new();
        for candidate in candidates {
            let mut trial = trial(&candidate, &actors);
            // Its entries make room for those of the search.
            let limits = candidate.set.limits;
            if let Some(spool) = &mut spool {
                for limit in &limits {
                    trial.smallest.extend(smallest(limit, &actors, spool, allowed)?);
                }
            }
            trials.push(trial);
        }
        let (first, last) = span.unwrap_or_default();
        let (width, spans) = timeline.spans();
        let spans = spans.into_iter().map(|(at, counts)| {
            let (requests, denied) =
                counts.split_first().map_or((0, Vec::new()), |(all, denied)| (*all, denied.to_vec()));
            Span { from: shown(at), requests, denied }
        });
        Ok(Self {
            file: options.file.clone(),
            lines,
            malformed,
            first_malformed,
            requests: requests.iter().map(|count| u64::from(*count)).sum(),
            clients: requests.len() as u64,
            from: if span.is_some() { shown(first) } else { String::new() },
            to: if span.is_some() { shown(last) } else { String::new() },
            span_ms: crate::time::millis_up(last - first),
            candidates: trials,
            busiest: busiest(&actors),
            timeline: Spans { width_ms: width / 1000, spans: spans.collect() },
            distribution: distribution(requests),
            share: options.share,
        })
    }
}

fn name(actors: &Actors, number: u32) -> String {
    shortened(actors.name(number), LONGEST_NAME)
}

fn trial(candidate: &Candidate, actors: &Actors) -> Trial {
    let requests = |number: u32| actors.requests().get(number as usize).copied().unwrap_or(0);
    let honest = |(number, denied): &(&u32, &super::candidate::Denials)| {
        u64::from(denied.count) * HONEST < u64::from(requests(**number))
    };
    let mut top: Vec<_> = candidate.actors.iter().collect();
    // By number where equal, so that a log always has the same report.
    top.sort_unstable_by_key(|(number, denied)| (std::cmp::Reverse(denied.count), **number));
    let key = |index: usize| candidate.set.limits.get(index).map_or_else(String::new, |limit| limit.key().to_owned());
    let top = top.into_iter().take(NAMED).map(|(number, denied)| Stopped {
        client: name(actors, *number),
        requests: requests(*number).into(),
        denied: denied.count.into(),
        first: shown(denied.first),
        last: shown(denied.last),
        limit: key(denied.limit as usize),
    });
    Trial {
        limits: candidate.set.name.clone(),
        denied: candidate.denied,
        denied_clients: candidate.actors.len() as u64,
        denied_honest: candidate.actors.iter().filter(honest).count() as u64,
        by_limit: candidate
            .by
            .iter()
            .enumerate()
            .map(|(index, denied)| ByLimit { key: key(index), denied: *denied })
            .collect(),
        top: top.collect(),
        smallest: Vec::new(),
    }
}

fn busiest(actors: &Actors) -> Vec<Busy> {
    let mut most: Vec<(u32, u32)> = Vec::with_capacity(NAMED + 1);
    for (number, requests) in (0..).zip(actors.requests()) {
        let place = most.partition_point(|(_, others)| others >= requests);
        if place < NAMED {
            most.insert(place, (number, *requests));
            most.truncate(NAMED);
        }
    }
    most.into_iter()
        .map(|(number, requests)| Busy { client: name(actors, number), requests: requests.into() })
        .collect()
}

/// Groups of 1, 2 to 3, 4 to 7 requests, and so on.
fn distribution(requests: &[u32]) -> Vec<Group> {
    let mut groups = Vec::new();
    for count in requests.iter().filter(|count| **count > 0) {
        let group = count.ilog2() as usize;
        while groups.len() <= group {
            let from = 1 << groups.len();
            groups.push(Group { from, to: 2 * from - 1, clients: 0 });
        }
        if let Some(group) = groups.get_mut(group) {
            group.clients += 1;
        }
    }
    groups
}
