//! The breaker of one server: the conditions that open it, the interval of probes, and its events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::rest::Rests;
use crate::failure::Failure;

/// Batches that have to miss in a row, over two deadlines at the least.
const MOST_MISSED: u32 = 2;
/// Probes that have to be answered in a row. Twice as many each time that it was closed too soon: a wire that loses
/// packets lets a few pass, and once it is whole many take no time.
const PROBES: u32 = 2;
const MOST_PROBES: u32 = 16;
const SHORTEST_REST: Duration = Duration::from_millis(100);
/// A breaker that opens so soon after it has closed has closed too soon.
const STEADY: Duration = Duration::from_secs(5);
/// Times in a row that it may close too soon before the server is left alone for longer.
const PATIENT: u32 = 3;

/// Batches in a row that were not answered by their deadlines.
#[derive(Default)]
struct Misses {
    count: u32,
    /// The instant at which the first of them was sent.
    since: Option<Instant>,
}

impl Misses {
    fn add(&mut self, sent: Instant) {
        self.count += 1;
        self.since = Some(self.since.map_or(sent, |since| since.min(sent)));
    }

    /// A deadline's eighth is left for the caller's next call to begin.
    fn are_too_many(&self, now: Instant, deadline: Duration) -> bool {
        let long_enough = self.since.is_some_and(|since| now.duration_since(since) + deadline / 8 >= deadline * 2);
        self.count >= MOST_MISSED && long_enough
    }
}

pub(super) struct Breaker {
    /// The server failed and has not been found well since.
    open: Arc<AtomicBool>,
    /// Batches that were not answered, and such as too few replicas acknowledged.
    unanswered: Misses,
    unreplicated: Misses,
    /// The instants at which it was last opened and closed.
    opened: Option<Instant>,
    closed: Option<Instant>,
    /// Times in a row that it was closed too soon.
    flaps: u32,
    /// Probes answered in a row.
    probe_answered: u32,
    rests: Rests,
}

impl Breaker {
    pub(crate) fn new() -> Self {
        Self {
            open: Arc::default(),
            unanswered: Misses::default(),
            unreplicated: Misses::default(),
            opened: None,
            closed: None,
            flaps: 0,
            probe_answered: 0,
            rests: Rests::default(),
        }
    }

    /// For others to see whether it is open.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.open.clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// A batch was not answered by its deadline, or not acknowledged by enough replicas.
    pub(super) fn missed(&mut self, sent: Instant, why: Failure) {
        match why {
            Failure::Unreplicated => self.unreplicated.add(sent),
            _ => self.unanswered.add(sent),
        }
    }

    /// A batch was answered in time.
    pub(crate) fn answered(&mut self) {
        self.unanswered = Misses::default();
    }

    /// Enough replicas have a batch.
    pub(super) fn replicated(&mut self) {
        self.unreplicated = Misses::default();
    }

    /// The reason to open it, if there is one.
    pub(crate) fn verdict(&self, now: Instant, deadline: Duration) -> Option<Failure> {
        if self.unreplicated.are_too_many(now, deadline) {
            Some(Failure::Unreplicated)
        } else {
            self.unanswered.are_too_many(now, deadline).then_some(Failure::Timeout)
        }
    }

    /// Opens it, or finds that it has to stay open; how long to leave the server alone, and true if it was closed before.
    pub(crate) fn open(&mut self, now: Instant) -> (Duration, bool) {
        (self.unanswered, self.unreplicated) = (Misses::default(), Misses::default());
        self.probe_answered = 0;
        let is_new = !self.open.swap(true, Ordering::Relaxed);
        if is_new {
            let too_soon = self.closed.is_some_and(|closed| now.duration_since(closed) < STEADY);
            self.flaps = if too_soon { self.flaps + 1 } else { 0 };
            self.opened = Some(now);
        }
        let failing = self.opened.map_or(Duration::ZERO, |opened| now.duration_since(opened));
        let least = SHORTEST_REST * (1 << self.flaps.saturating_sub(PATIENT).min(6));
        (self.rests.after(failing, least), is_new)
    }

    /// A probe was answered; true where one more has to be.
    pub(super) fn probe_answered(&mut self) -> bool {
        self.probe_answered += 1;
        self.probe_answered < (PROBES << self.flaps.min(8)).min(MOST_PROBES)
    }

    /// Closes it; true if it was open.
    pub(crate) fn close(&mut self, now: Instant) -> bool {
        let was_open = self.open.swap(false, Ordering::Relaxed);
        if was_open {
            self.closed = Some(now);
        }
        was_open
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const DEADLINE: Duration = Duration::from_millis(100);
    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn opens_after_two_batches_that_missed_over_two_deadlines() {
        let start = Instant::now();
        let mut breaker = Breaker::new();
        breaker.missed(start, Failure::Timeout);
        assert_eq!(breaker.verdict(start + DEADLINE, DEADLINE), None, "one may be lost");
        assert_eq!(breaker.verdict(start + DEADLINE * 20, DEADLINE), None, "one may be lost, however long ago");
        for _ in 0..8 {
            breaker.missed(start + MS, Failure::Timeout);
        }
        assert_eq!(breaker.verdict(start + DEADLINE, DEADLINE), None, "however many at the same time");
        assert_eq!(breaker.verdict(start + DEADLINE * 2, DEADLINE), Some(Failure::Timeout));
        breaker.answered();
        assert_eq!(breaker.verdict(start + DEADLINE * 2, DEADLINE), None);
        breaker.missed(start, Failure::Unreplicated);
        breaker.missed(start + DEADLINE, Failure::Unreplicated);
        breaker.answered();
        assert_eq!(breaker.verdict(start + DEADLINE * 2, DEADLINE), Some(Failure::Unreplicated));
    }

    #[test]
    fn rests_longer_the_longer_a_server_fails_and_tells_once() {
        let start = Instant::now();
        let mut breaker = Breaker::new();
        let (rest, reports) = breaker.open(start);
        assert!(reports && rest <= MS * 100 && rest >= MS * 75, "{rest:?}");
        let (rest, reports) = breaker.open(start + Duration::from_secs(3));
        assert!(!reports && rest <= MS * 100, "back after three seconds, it is found at once: {rest:?}");
        let (rest, _) = breaker.open(start + Duration::from_hours(1));
        assert!(rest <= MS * 5000 && rest >= MS * 3750, "{rest:?}");
        assert!(breaker.probe_answered() && !breaker.probe_answered() && breaker.close(start), "it was open");
        assert!(!breaker.close(start));
    }

    #[test]
    fn rests_are_not_all_of_one_length() {
        let start = Instant::now();
        let rests: HashSet<Duration> = (0..50).map(|_| Breaker::new().open(start).0).collect();
        assert!(rests.len() > 10, "{rests:?}");
    }

    #[test]
    fn an_answer_in_between_starts_the_count_anew() {
        let start = Instant::now();
        for (why, well) in
            [(Failure::Timeout, Breaker::answered as fn(&mut Breaker)), (Failure::Unreplicated, Breaker::replicated)]
        {
            let mut breaker = Breaker::new();
            breaker.missed(start, why);
            well(&mut breaker);
            breaker.missed(start + DEADLINE * 3, why);
            breaker.missed(start + DEADLINE * 3, why);
            assert_eq!(breaker.verdict(start + DEADLINE * 4, DEADLINE), None, "{why:?}: one deadline since");
            assert_eq!(breaker.verdict(start + DEADLINE * 5, DEADLINE), Some(why));
            breaker.open(start + DEADLINE * 5);
            assert_eq!(breaker.verdict(start + DEADLINE * 5, DEADLINE), None, "{why:?}: opening it starts over, too");
        }
    }

    #[test]
    fn five_seconds_after_it_was_closed_it_is_trusted_again() {
        for (after, probes) in [(4_999, 4), (5_000, 2)] {
            let (start, mut breaker) = (Instant::now(), Breaker::new());
            breaker.open(start);
            breaker.close(start);
            breaker.open(start + MS * after);
            assert!(
                (1..probes).all(|_| breaker.probe_answered()) && !breaker.probe_answered(),
                "{probes} after {after} ms"
            );
        }
    }

    #[test]
    fn an_opening_takes_back_the_probes_before_it() {
        let start = Instant::now();
        let mut breaker = Breaker::new();
        breaker.open(start);
        assert!(breaker.probe_answered());
        breaker.open(start + DEADLINE);
        assert!(breaker.probe_answered(), "one more has to be answered");
        assert!(!breaker.probe_answered());
    }

    #[test]
    fn a_wire_that_loses_packets_is_probed_more_and_not_less() {
        let (mut now, mut breaker) = (Instant::now(), Breaker::new());
        for probes in [2, 4, 8, 16] {
            let (rest, _) = breaker.open(now);
            assert!(rest <= MS * 100, "{probes} probes after {rest:?}");
            assert!(
                (1..probes).all(|_| breaker.probe_answered()) && !breaker.probe_answered(),
                "{probes} probes in a row"
            );
            now += rest;
            breaker.close(now);
            now += DEADLINE * 2;
        }
    }

    #[test]
    fn one_that_closes_too_soon_rests_longer_each_time() {
        let mut now = Instant::now();
        let mut breaker = Breaker::new();
        let (mut reported, started, mut opened) = (0, now, 0);
        while now.duration_since(started) < Duration::from_secs(59) {
            let (rest, reports) = breaker.open(now);
            now += rest;
            reported += u32::from(reports) + u32::from(breaker.close(now));
            now += DEADLINE * 2;
            opened += 1;
        }
        assert_eq!(reported, opened * 2, "each time that it is open, and that it is closed");
        assert!((12..=24).contains(&opened), "{opened} times in a minute");
        assert!((1..16).all(|_| breaker.probe_answered()) && !breaker.probe_answered(), "16 probes in a row");
        // And is trusted again after a while.
        let (rest, reports) = breaker.open(now + MS * 5000);
        assert!(reports && rest <= MS * 100, "{rest:?}");
    }
}
