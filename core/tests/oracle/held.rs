//! Every unit that is held.

use super::{Model, State, Time};

pub(crate) struct Held {
    pub(crate) max: i128,
    pub(crate) lease: Time,
}

fn taken(state: &State) -> &Vec<Time> {
    let State::Held(taken) = state else { unreachable!() };
    taken
}

fn taken_mut(state: &mut State) -> &mut Vec<Time> {
    let State::Held(taken) = state else { unreachable!() };
    taken
}

impl Held {
    fn count(&self, state: &State, now: Time) -> i128 {
        taken(state).iter().filter(|instant| now - **instant < self.lease).count() as i128
    }
}

impl Model for Held {
    fn absent(&self, _now: Time) -> State {
        State::Held(Vec::new())
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let latest = taken(state).last().is_some_and(|last| *last > now + self.lease);
        latest.then(|| State::Held(taken(state).iter().map(|instant| *instant.min(&now)).collect()))
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        self.count(state, now) + cost <= self.max
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let taken = taken_mut(state);
        let instant = taken.last().map_or(now, |last| now.max(*last));
        taken.retain(|instant| now - instant < self.lease);
        taken.extend((0..cost).map(|_| instant));
    }

    fn refund(&self, state: &mut State, now: Time, cost: i128) {
        let taken = taken_mut(state);
        taken.retain(|instant| now - instant < self.lease);
        taken.truncate((taken.len() as i128 - cost).max(0) as usize);
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        // It can begin to fit whenever a lease is over.
        let ends = taken(state).iter().map(|instant| (instant + self.lease - now).max(0));
        [0].into_iter().chain(ends).filter(|time| self.fits(state, now + time, cost)).min().unwrap_or(0)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        (self.max - self.count(state, now)).max(0)
    }

    fn full(&self, state: &State, now: Time) -> Time {
        taken(state).last().map_or(0, |last| (last + self.lease - now).max(0))
    }

    fn is_empty(&self, state: &State, now: Time) -> bool {
        self.count(state, now) == 0
    }

    fn most(&self) -> i128 {
        self.max
    }

    fn holds(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "held"
    }
}
