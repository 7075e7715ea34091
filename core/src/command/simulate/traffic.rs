//! Calls in the order of their instants, each decided by the engine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clap::ValueEnum;
use serde::Serialize;
use smallvec::SmallVec;

use crate::check::Check;
use crate::command::limits::Set;
use crate::command::output::Failure;
use crate::decision::Call;
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::time::{Micros, millis_up};

/// Spans of the picture.
const SPANS: u64 = 120;
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
}

/// A try: its instant, its number, by which equal instants keep their order, and when its call was first tried.
type Try = Reverse<(Micros, u64, Micros)>;

impl Traffic {
    /// Lets this traffic meet limits, in a store of their own.
    pub(super) fn meets(&self, set: &Set) -> Result<Outcome, Failure> {
        let too_many = || Failure::of(&set.name, format!("more than {MOST_TRIES} tries: shorten the time or the rate"));
        if self.after(MOST_TRIES) < self.length {
            return Err(too_many());
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
        let (mut waits, mut tries, mut made) = (Vec::new(), BinaryHeap::<Try>::new(), 0);
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
            let info = limiter.decide_sync_at(&checks, Call::Limit, at);
            let info = info.map_err(|error| Failure::Told(error.to_string()))?;
            let span = usize::try_from(at / width).unwrap_or(usize::MAX);
            outcome.tries_over_time.get_mut(span).into_iter().for_each(|count| *count += 1);
            let again = if info.allowed() {
                outcome.admitted += 1;
                outcome.admitted_over_time.get_mut(span).into_iter().for_each(|count| *count += 1);
                waits.push(millis_up(at - since));
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
                    let next = at + self.round_trip + self.pause();
                    if self.pattern == Pattern::Fleet && next < self.length {
                        tries.push(Reverse((next, number, next)));
                    }
                }
            }
        }
        waits.sort_unstable();
        let wait = |part: usize| waits.get((waits.len() * part).div_ceil(20).saturating_sub(1)).copied().unwrap_or(0);
        (outcome.half_ms, outcome.most_ms, outcome.longest_ms) = (wait(10), wait(19), wait(20));
        Ok(outcome)
    }

    /// The instant of a call that does not depend on others, by its number from 0.
    fn call(&self, number: u64) -> Option<Micros> {
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
