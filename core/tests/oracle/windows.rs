//! Counts by window: in slots, and in two weighted windows.

use std::collections::BTreeMap;

use super::{Model, State, Time};

pub(crate) struct Slots {
    pub(crate) max: i128,
    pub(crate) period: Time,
    pub(crate) resolution: Time,
    pub(crate) counts_blocked: bool,
}

impl Slots {
    /// The start of an instant's slot.
    fn start(&self, at: Time) -> Time {
        at / self.resolution * self.resolution
    }

    fn leaves(&self, at: Time) -> Time {
        self.start(at) + self.period
    }

    fn total(&self, slots: &BTreeMap<Time, i128>, now: Time) -> i128 {
        slots.iter().filter(|(slot, _)| self.leaves(**slot) > now).map(|(_, count)| count).sum()
    }

    /// The slots that still count, as this definition's own: of those that meet in one, the latest instant.
    fn own(&self, slots: &BTreeMap<Time, i128>, now: Time) -> BTreeMap<Time, i128> {
        let mut own = BTreeMap::new();
        for (at, count) in slots.iter().filter(|(at, _)| self.leaves(**at) > now) {
            self.add(&mut own, *at, *count);
        }
        own
    }

    /// Adds to the slot of an instant, which is the latest of all.
    fn add(&self, slots: &mut BTreeMap<Time, i128>, at: Time, count: i128) {
        let same = slots.keys().copied().find(|earlier| self.start(*earlier) == self.start(at));
        let there = same.and_then(|same| slots.remove(&same)).unwrap_or(0);
        slots.insert(at, there + count);
    }
}

impl Model for Slots {
    fn absent(&self, _now: Time) -> State {
        State::Slots(BTreeMap::new())
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let State::Slots(slots) = state else { unreachable!() };
        let newest = slots.keys().next_back();
        newest.is_some_and(|at| self.start(*at) > now + self.period).then(|| self.absent(now))
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        let State::Slots(slots) = state else { unreachable!() };
        self.total(slots, now) + cost <= self.max
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let State::Slots(slots) = state else { unreachable!() };
        let instant = slots.keys().next_back().map_or(now, |newest| now.max(*newest));
        *slots = self.own(slots, now);
        if cost > 0 {
            self.add(slots, instant, cost);
        }
    }

    fn refund(&self, state: &mut State, now: Time, cost: i128) {
        let State::Slots(slots) = state else { unreachable!() };
        *slots = self.own(slots, now);
        for _ in 0..cost {
            let Some(mut newest) = slots.last_entry() else { break };
            *newest.get_mut() -= 1;
            if *newest.get() == 0 {
                newest.remove();
            }
        }
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        let State::Slots(slots) = state else { unreachable!() };
        // Nothing but a slot's leaving changes anything, so one of these instants is the first at which it fits.
        let mut instants = vec![now];
        instants.extend(slots.keys().map(|slot| self.leaves(*slot)).filter(|leaves| *leaves > now));
        instants.into_iter().find(|instant| self.fits(state, *instant, cost)).map_or(0, |instant| instant - now)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        let State::Slots(slots) = state else { unreachable!() };
        (self.max - self.total(slots, now)).max(0)
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Slots(slots) = state else { unreachable!() };
        slots.keys().next_back().map_or(0, |slot| (self.leaves(*slot) - now).max(0))
    }

    fn is_empty(&self, state: &State, now: Time) -> bool {
        let State::Slots(slots) = state else { unreachable!() };
        self.total(slots, now) == 0
    }

    fn most(&self) -> i128 {
        self.max
    }

    fn counts_blocked(&self) -> bool {
        self.counts_blocked
    }

    fn name(&self) -> &'static str {
        "slots"
    }
}

pub(crate) struct Counter {
    pub(crate) max: i128,
    pub(crate) period: Time,
    /// The tick that weights are counted in.
    pub(crate) tick: Time,
}

impl Counter {
    fn ticks(&self) -> i128 {
        self.period / self.tick
    }

    /// The start of an instant's window.
    fn start(&self, at: Time) -> Time {
        at / self.period * self.period
    }

    fn elapsed(&self, at: Time, now: Time) -> i128 {
        ((now - self.start(at)).max(0) / self.tick).min(self.ticks())
    }

    fn used(&self, state: &State, now: Time) -> i128 {
        let State::Counter { previous, current, at } = state else { unreachable!() };
        previous * (self.ticks() - self.elapsed(*at, now)) + current * self.ticks()
    }
}

impl Model for Counter {
    fn absent(&self, now: Time) -> State {
        State::Counter { previous: 0, current: 0, at: now }
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let State::Counter { at, .. } = state else { unreachable!() };
        (at / self.period - now / self.period > 1).then(|| self.absent(now))
    }

    fn at(&self, state: &mut State, now: Time) {
        let State::Counter { previous, current, at } = state else { unreachable!() };
        match now / self.period - *at / self.period {
            ..=0 => {}
            1 => (*previous, *current, *at) = (*current, 0, now),
            _ => *state = self.absent(now),
        }
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        self.used(state, now) + cost * self.ticks() <= self.max * self.ticks()
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let State::Counter { current, at, .. } = state else { unreachable!() };
        (*current, *at) = (*current + cost, (*at).max(now));
    }

    fn refund(&self, state: &mut State, now: Time, cost: i128) {
        let State::Counter { previous, current, at } = state else { unreachable!() };
        *at = (*at).max(now);
        let from_current = cost.min(*current);
        *current -= from_current;
        *previous = (*previous - (cost - from_current)).max(0);
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        if self.fits(state, now, cost) {
            return 0;
        }
        let State::Counter { previous, current, at } = state else { unreachable!() };
        let (ticks, room) = (self.ticks(), self.max - cost - current);
        let tick = if room >= 0 {
            ticks - room * ticks / previous
        } else {
            ticks + (ticks - (self.max - cost) * ticks / current).max(0)
        };
        (self.start(*at) + tick * self.tick - now).max(0)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        (self.max * self.ticks() - self.used(state, now)).max(0) / self.ticks()
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Counter { previous, current, at } = state else { unreachable!() };
        let windows = match (previous, current) {
            (0, 0) => return 0,
            (_, 0) => 1,
            _ => 2,
        };
        (self.start(*at) + windows * self.period - now).max(0)
    }

    fn is_empty(&self, state: &State, _now: Time) -> bool {
        matches!(state, State::Counter { previous: 0, current: 0, .. })
    }

    fn most(&self) -> i128 {
        self.max
    }

    fn name(&self) -> &'static str {
        "counter"
    }
}
