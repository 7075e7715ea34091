//! Every instant.

use super::{Model, State, Time};

pub(crate) struct Log {
    pub(crate) max: i128,
    pub(crate) period: Time,
    pub(crate) min_interval: Time,
    pub(crate) counts_blocked: bool,
}

impl Log {
    fn counts(&self, instant: Time, now: Time) -> bool {
        now - instant < self.period
    }

    fn count(&self, instants: &[Time], now: Time) -> i128 {
        instants.iter().filter(|instant| self.counts(**instant, now)).count() as i128
    }
}

impl Model for Log {
    fn absent(&self, _now: Time) -> State {
        State::Log { instants: Vec::new(), last: None }
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let State::Log { last, .. } = state else { unreachable!() };
        last.is_some_and(|last| last > now + self.period.max(self.min_interval)).then(|| self.absent(now))
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        let State::Log { instants, last } = state else { unreachable!() };
        let rested = self.min_interval == 0 || cost == 0 || last.is_none_or(|last| now - last >= self.min_interval);
        rested && self.count(instants, now) + cost <= self.max
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let State::Log { instants, last } = state else { unreachable!() };
        if cost == 0 {
            return;
        }
        let instant = last.map_or(now, |last| last.max(now));
        instants.retain(|instant| self.counts(*instant, now));
        instants.extend((0..cost).map(|_| instant));
        let forgotten = (instants.len() as i128 - self.max).clamp(0, cost) as usize;
        instants.drain(..forgotten);
        *last = Some(instant);
    }

    fn refund(&self, state: &mut State, now: Time, cost: i128) {
        let State::Log { instants, last } = state else { unreachable!() };
        if cost == 0 {
            return;
        }
        instants.retain(|instant| self.counts(*instant, now));
        instants.truncate((instants.len() as i128 - cost).max(0) as usize);
        *last = instants.last().copied();
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        let State::Log { instants, last } = state else { unreachable!() };
        // It can begin to fit when an instant turns old, and when the interval is over.
        let mut instants: Vec<_> = instants.iter().map(|instant| instant + self.period).collect();
        instants.push(now);
        instants.extend(last.map(|last| last + self.min_interval));
        instants.sort_unstable();
        let fitting = instants.into_iter().find(|instant| *instant >= now && self.fits(state, *instant, cost));
        fitting.map_or(0, |instant| instant - now)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        let State::Log { instants, .. } = state else { unreachable!() };
        (self.max - self.count(instants, now)).max(0)
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Log { instants, last } = state else { unreachable!() };
        let Some(last) = last else { return 0 };
        let counted = if self.count(instants, now) > 0 { last + self.period - now } else { 0 };
        counted.max(last + self.min_interval - now).max(0)
    }

    fn is_empty(&self, state: &State, now: Time) -> bool {
        self.full(state, now) == 0
    }

    fn most(&self) -> i128 {
        self.max
    }

    fn counts_blocked(&self) -> bool {
        self.counts_blocked
    }

    fn name(&self) -> &'static str {
        "log"
    }
}
