//! Counts by actor of the last minutes.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::fate::of_each;
use crate::check::Check;
use crate::clock;
use crate::fingerprint::Fingerprint;
use crate::fork::Process;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::space_saving::SpaceSaving;
use crate::tally::Fate;
use crate::time::Micros;

/// The actors that are counted apart in each minute.
const MOST_ACTORS: usize = 256;
/// The whole minutes that are kept, beside the one under way.
const MINUTES: u64 = 5;
const MINUTE: Micros = 60_000_000;
/// The longest name that is kept as it is, in bytes.
const LONGEST_NAME: usize = 200;

/// The actors that a limiter denied and charged most; see [`Limiter::top`](crate::Limiter::top).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Top {
    /// By calls that were denied. A call that several limits of an actor denied counts once.
    pub denied: Vec<TopActor>,
    /// By the units of admitted calls, in all limits together. What was given back later is not subtracted.
    pub charged: Vec<TopActor>,
}

/// An actor among the [`Top`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopActor {
    /// The actor. Of one longer than 200 bytes the beginning and a hash.
    pub actor: String,
    /// Its calls or units, or more.
    pub count: u64,
    /// The most by which `count` is too high; 0 where it is exact.
    pub error: u64,
}

/// Counts by actor of one process.
#[derive(Debug)]
pub(super) struct Actors {
    pub(super) process: Process,
    denied: Mutex<Minutes>,
    charged: Mutex<Minutes>,
}

/// Counts of the last minutes, each minute by itself: its number since the epoch, and its counts.
#[derive(Debug, Default)]
struct Minutes(VecDeque<(u64, SpaceSaving)>);

impl Actors {
    pub(super) fn new() -> Self {
        Self { process: Process::current(), denied: Mutex::default(), charged: Mutex::default() }
    }

    /// Counts a call that was decided.
    pub(super) fn decided(&self, checks: &[Check<'_>], info: &LimitInfo) {
        let enforced = || of_each(checks, info).filter(|outcome| !outcome.check.observed);
        if !info.blocked {
            return self.charged(enforced().map(|outcome| (outcome.check.actor, outcome.granted(info))));
        }
        let denied = enforced().filter(|outcome| outcome.fate == Fate::Denied);
        let mut denied: InlineVec<&str> = denied.map(|outcome| outcome.check.actor).collect();
        denied.sort_unstable();
        denied.dedup();
        add(&self.denied, denied.into_iter().map(|actor| (actor, 1)));
    }

    /// Counts units that actors were charged.
    pub(super) fn charged<'a>(&self, units: impl Iterator<Item = (&'a str, u64)>) {
        add(&self.charged, units);
    }

    pub(super) fn read(&self, count: usize) -> Top {
        let read = |minutes: &Mutex<Minutes>| {
            let mut minutes = minutes.lock().unwrap_or_else(PoisonError::into_inner);
            minutes.read(clock::now(), count)
        };
        Top { denied: read(&self.denied), charged: read(&self.charged) }
    }
}

fn add<'a>(minutes: &Mutex<Minutes>, counts: impl Iterator<Item = (&'a str, u64)>) {
    let now = clock::now();
    let mut minutes = minutes.lock().unwrap_or_else(PoisonError::into_inner);
    for (actor, number) in counts {
        minutes.add(now, &name(actor), number);
    }
}

/// The name under which an actor is counted.
fn name(actor: &str) -> Cow<'_, str> {
    if actor.len() <= LONGEST_NAME {
        return actor.into();
    }
    let end = (0..=LONGEST_NAME).rev().find(|end| actor.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… #{:016x}", &actor[..end], Fingerprint::digest(actor)).into()
}

impl Minutes {
    fn add(&mut self, now: Micros, name: &str, number: u64) {
        let minute = now / MINUTE;
        // Threads may read the clock in another order than they come here.
        if self.0.back().is_none_or(|(latest, _)| *latest < minute) {
            self.forget(minute);
            self.0.push_back((minute, SpaceSaving::new(MOST_ACTORS)));
        }
        if let Some((_, counts)) = self.0.back_mut() {
            counts.add(name, number);
        }
    }

    fn read(&mut self, now: Micros, count: usize) -> Vec<TopActor> {
        self.forget(now / MINUTE);
        let rows = SpaceSaving::merged(self.0.iter().map(|(_, counts)| counts)).into_iter().take(count);
        rows.map(|row| TopActor { actor: String::from(&*row.name), count: row.count, error: row.error }).collect()
    }

    /// Removes the minutes that are too long ago.
    fn forget(&mut self, minute: u64) {
        while self.0.front().is_some_and(|(first, _)| first.saturating_add(MINUTES) < minute) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn rows(minutes: &mut Minutes, now: Micros) -> Vec<(String, u64, u64)> {
        minutes.read(now, 10).into_iter().map(|row| (row.actor, row.count, row.error)).collect()
    }

    #[test]
    fn a_minute_counts_until_five_more_are_over() {
        let mut minutes = Minutes::default();
        minutes.add(0, "ada", 2);
        minutes.add(MINUTE - 1, "ada", 1);
        minutes.add(MINUTE, "bob", 4);
        // A clock that was read before another thread's.
        minutes.add(MINUTE - 1, "bob", 1);
        let (ada, bob) = (("ada".to_owned(), 3, 0), ("bob".to_owned(), 5, 0));
        assert_eq!(rows(&mut minutes, 6 * MINUTE - 1), [bob.clone(), ada]);
        assert_eq!(rows(&mut minutes, 6 * MINUTE), [bob]);
        assert_eq!(rows(&mut minutes, 7 * MINUTE), []);
        minutes.add(100 * MINUTE, "eve", 1);
        assert_eq!(minutes.0.len(), 1);
        assert_eq!(minutes.read(100 * MINUTE, 0), []);
    }

    #[test]
    fn long_names_are_cut_off_and_stay_apart() {
        let (one, other) = ("é".repeat(500), format!("{}a", "é".repeat(499)));
        assert!(name(&one).starts_with(&"é".repeat(100)));
        assert_ne!(name(&one), name(&other));
        assert_eq!(name(&one), name(&one));
        assert!(name(&"a".repeat(65_536)).len() <= LONGEST_NAME + 21);
        assert_eq!(name(&"a".repeat(200)), "a".repeat(200));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn memory_is_bounded_and_no_heavy_actor_is_missed(
            calls in prop::collection::vec((0..90_u64, prop_oneof![0..3_u32, any::<u32>()]), 0..2500),
        ) {
            let (mut minutes, mut exact, mut now) = (Minutes::default(), BTreeMap::<String, u64>::new(), 0);
            for (seconds, actor) in &calls {
                // As many actors in a minute as it takes to run out of rows.
                now += if *seconds == 0 { 30_000_000 } else { *seconds };
                minutes.add(now, &actor.to_string(), 1);
            }
            let mut at = 0;
            for (seconds, actor) in &calls {
                at += if *seconds == 0 { 30_000_000 } else { *seconds };
                if at / MINUTE + MINUTES >= now / MINUTE {
                    *exact.entry(actor.to_string()).or_default() += 1;
                }
            }
            let all: u64 = exact.values().sum();
            let rows = minutes.read(now, usize::MAX);
            prop_assert!(minutes.0.len() <= 6 && rows.len() <= 6 * MOST_ACTORS);
            for TopActor { actor, count, error } in &rows {
                prop_assert!((count - error..=*count).contains(&exact[actor]));
                prop_assert!(*error <= all / MOST_ACTORS as u64);
            }
            for (actor, _) in exact.iter().filter(|(_, calls)| **calls > all / MOST_ACTORS as u64) {
                prop_assert!(rows.iter().any(|row| row.actor == *actor));
            }
        }
    }
}
