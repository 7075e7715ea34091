//! Calls in the order of their instants, each decided by the engine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;
use smallvec::SmallVec;

use super::level::Level;
use crate::check::Check;
use crate::command::limits::Set;
use crate::command::output::Failure;
use crate::decision::Call;
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::time::{Micros, millis_up};

/// Spans of the picture.
const SPANS: u64 = 120;
/// More tries than this are not drawn one by one.
pub(super) const FEW: u64 = 500;
/// More tries than this take longer than anybody waits for a picture.
const MOST_TRIES: u64 = 20_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Pattern {
    /// One call after the other, evenly
    Steady,
    /// As many calls at once as there are clients, then a pause
    Bursts,
    /// Clients that begin together, and make their next call a while after the last one was admitted
    Fleet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Retry {
    /// It gives the call up
    Never,
    /// It tries again as soon as it has the answer
    AtOnce,
    /// It waits as long as Retry-After says
    #[value(name = "retry-after")]
    Later,
}

pub(super) struct Traffic {
    pub(super) pattern: Pattern,
    pub(super) retry: Retry,
    pub(super) clients: u64,
    /// So many calls in a period, of all clients together.
    pub(super) calls: u64,
    pub(super) period: Micros,
    pub(super) length: Micros,
    pub(super) round_trip: Micros,
    /// The instants of the calls in place of a pattern, in order.
    pub(super) given: Option<Vec<Micros>>,
    /// The longest wait of a call that reserves its turn.
    pub(super) max_wait: Option<Micros>,
    /// The span in which admitted calls are counted.
    pub(super) span: Option<Micros>,
}

/// The numbers of one candidate.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    limits: String,
    pub(super) calls: u64,
    pub(super) tries: u64,
    pub(super) admitted: u64,
    /// Tries that were denied.
    pub(super) denied: u64,
    /// Calls that nobody tried again.
    pub(super) given_up: u64,
    /// Calls that were still to be tried again at the end.
    pub(super) open: u64,
    /// Half of the calls that were admitted waited at most so long, 19 of 20 and all.
    pub(super) half_ms: u64,
    pub(super) most_ms: u64,
    pub(super) longest_ms: u64,
    pub(super) width_ms: u64,
    pub(super) tries_over_time: Vec<u64>,
    pub(super) admitted_over_time: Vec<u64>,
    /// The most that were admitted in any span, and the most in those that end in each part of the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) most_in_span: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) in_span_over_time: Vec<u64>,
    /// Of few tries, each: its instant, and where it was admitted the time that it waits for its turn.
    #[serde(skip)]
    pub(super) each: Vec<(Micros, Option<Micros>)>,
    /// Of few tries, the calls that were admitted in the span before, from each instant at which that changes.
    #[serde(skip)]
    pub(super) in_span: Vec<(Micros, u64)>,
    /// The level of a bucket, from each instant at which it was seen to change.
    #[serde(skip)]
    pub(super) levels: Vec<(Micros, u64)>,
}

/// A try: its instant, its number, by which equal instants keep their order, and when its call was first tried.
type Try = Reverse<(Micros, u64, Micros)>;

impl Traffic {
    /// Lets this traffic meet limits, in a store of their own.
    pub(super) fn meets(&self, set: &Set) -> Result<Outcome, Failure> {
        let too_many = || Failure::of(&set.name, format!("more than {MOST_TRIES} tries: shorten the time or the rate"));
        if self.given.is_none() && self.after(MOST_TRIES) < self.length {
            return Err(too_many());
        }
        let call = self.max_wait.map_or(Call::Limit, |wait| Call::Acquire { max_wait: Duration::from_micros(wait) });
        if let Some(limit) = set.limits.iter().find(|limit| self.max_wait.is_some() && !limit.reserves()) {
            let kind = limit.kind().type_name().unwrap_or("legacy");
            return Err(Failure::of(
                &set.name,
                format!("max-wait is for limits that reserve turns, which {kind} cannot"),
            ));
        }
        let limiter = Limiter::new(Memory::with_max_entries(1000));
        let checks: SmallVec<[Check<'_>; 4]> = set.limits.iter().map(|limit| Check::new(limit, "client")).collect();
        let width = self.length.div_ceil(SPANS).max(1);
        let spans = usize::try_from(self.length.div_ceil(width)).unwrap_or(0);
        let mut outcome = Outcome {
            limits: set.name.clone(),
            width_ms: width / 1000,
            tries_over_time: vec![0; spans],
            admitted_over_time: vec![0; spans],
            ..Outcome::default()
        };
        let mut level = Level::of(set, &limiter, &checks, self.length);
        let (mut waits, mut turns) = (Vec::new(), Vec::new());
        let (mut tries, mut made) = (BinaryHeap::<Try>::new(), 0);
        loop {
            let again = tries.peek().map(|Reverse((at, _, _))| *at);
            let (at, since) = match self.call(made).filter(|new| again.is_none_or(|again| *new <= again)) {
                Some(new) => {
                    made += 1;
                    (new, new)
                }
                None => match tries.pop() {
                    Some(Reverse((at, _, since))) => (at, since),
                    None => break,
                },
            };
            outcome.calls += u64::from(at == since);
            outcome.tries += 1;
            if outcome.tries > MOST_TRIES {
                return Err(too_many());
            }
            let drawn = outcome.tries <= FEW;
            if let Some(level) = level.as_mut().filter(|_| drawn) {
                level.look_until(at)?;
            }
            let info = limiter.decide_sync_at(&checks, call, at);
            let info = info.map_err(|error| Failure::Told(error.to_string()))?;
            if drawn {
                outcome.each.push((at, info.allowed().then_some(info.wait_ms * 1000)));
                if let Some(level) = &mut level {
                    level.note(at, &info);
                }
            }
            let turn = at + info.wait_ms * 1000;
            let part = |at: Micros| usize::try_from(at / width).unwrap_or(usize::MAX);
            outcome.tries_over_time.get_mut(part(at)).into_iter().for_each(|count| *count += 1);
            let again = if info.allowed() {
                outcome.admitted += 1;
                outcome.admitted_over_time.get_mut(part(turn)).into_iter().for_each(|count| *count += 1);
                waits.push(millis_up(turn - since));
                turns.extend(self.span.map(|_| turn));
                None
            } else {
                outcome.denied += 1;
                match self.retry {
                    Retry::Never => None,
                    Retry::AtOnce => Some(at + self.round_trip),
                    // The header has whole seconds.
                    Retry::Later => Some(at + self.round_trip + info.reset_sec() * 1_000_000),
                }
            };
            outcome.given_up += u64::from(info.blocked && again.is_none());
            let number = outcome.tries;
            match again {
                Some(again) if again < self.length => tries.push(Reverse((again, number, since))),
                Some(_) => outcome.open += 1,
                None => {
                    let next = turn + self.round_trip + self.pause();
                    if self.pattern == Pattern::Fleet && next < self.length {
                        tries.push(Reverse((next, number, next)));
                    }
                }
            }
        }
        waits.sort_unstable();
        let wait = |part: usize| waits.get((waits.len() * part).div_ceil(20).saturating_sub(1)).copied().unwrap_or(0);
        (outcome.half_ms, outcome.most_ms, outcome.longest_ms) = (wait(10), wait(19), wait(20));
        if let Some(span) = self.span {
            turns.sort_unstable();
            outcome.count(&turns, span, width);
        }
        if let Some(mut level) = level {
            level.look_until(self.length)?;
            outcome.levels = level.seen;
        }
        Ok(outcome)
    }

    /// The instant of a call that does not depend on others, by its number from 0.
    fn call(&self, number: u64) -> Option<Micros> {
        if let Some(given) = &self.given {
            return given.get(usize::try_from(number).ok()?).copied();
        }
        let at = match self.pattern {
            Pattern::Steady => self.after(number),
            Pattern::Bursts => self.after(number - number % self.clients),
            Pattern::Fleet if number < self.clients => 0,
            Pattern::Fleet => return None,
        };
        (at < self.length).then_some(at)
    }

    /// The time in which all clients make so many calls.
    fn after(&self, calls: u64) -> Micros {
        let time = u128::from(calls) * u128::from(self.period) / u128::from(self.calls);
        Micros::try_from(time).unwrap_or(Micros::MAX)
    }

    /// The time from one call of a client to its next.
    fn pause(&self) -> Micros {
        self.after(self.clients)
    }
}

impl Outcome {
    /// Counts the calls admitted in the span before each instant, by their turns in order. A turn counts until its span
    /// is over.
    fn count(&mut self, turns: &[Micros], span: Micros, width: Micros) {
        let (mut most, mut before, mut over, mut come) = (0, 0, 0, 0);
        let parts = self.tries_over_time.len();
        let end = |turn: usize| turns.get(turn).map(|turn| turn.saturating_add(span));
        while let Some(at) = end(over).map(|end| turns.get(come).map_or(end, |turn| end.min(*turn))) {
            while end(over).is_some_and(|end| end <= at) {
                over += 1;
            }
            while turns.get(come) == Some(&at) {
                come += 1;
            }
            let count = (come - over) as u64;
            let part = usize::try_from(at / width).unwrap_or(usize::MAX);
            // A part begins with the count so far, unless that changes right there.
            while self.in_span_over_time.len() <= part.min(parts.saturating_sub(1)) {
                let is_before = (self.in_span_over_time.len() as u64 * width) < at;
                self.in_span_over_time.push(if is_before { before } else { 0 });
            }
            self.in_span_over_time.get_mut(part).into_iter().for_each(|most| *most = count.max(*most));
            if self.tries <= FEW {
                self.in_span.push((at, count));
            }
            (most, before) = (count.max(most), count);
        }
        self.in_span_over_time.resize(parts, 0);
        self.most_in_span = Some(most);
    }
}
