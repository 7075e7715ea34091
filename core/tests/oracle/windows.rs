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

    /// The slots that still count, as this definition's own.
    fn own(&self, slots: &BTreeMap<Time, i128>, now: Time) -> BTreeMap<Time, i128> {
        let mut own = BTreeMap::new();
        for (slot, count) in slots.iter().filter(|(slot, _)| self.leaves(**slot) > now) {
            *own.entry(self.start(*slot)).or_default() += count;
        }
        own
    }
}

impl Model for Slots {
    fn absent(&self, _now: Time) -> State {
        State::Slots(BTreeMap::new())
    }

    fn at(&self, state: &mut State, now: Time) -> bool {
        let State::Slots(slots) = state else { unreachable!() };
        let mended = slots.keys().any(|slot| self.start(*slot) > now + self.period);
        if mended {
            slots.clear();
        }
        mended
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        let State::Slots(slots) = state else { unreachable!() };
        self.total(slots, now) + cost <= self.max
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let State::Slots(slots) = state else { unreachable!() };
        let slot = self.start(now);
        let newest = slots.keys().next_back().map_or(slot, |newest| self.start(*newest));
        *slots = self.own(slots, now);
        if cost > 0 {
            *slots.entry(newest.max(slot)).or_default() += cost;
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

    fn elapsed(&self, start: Time, now: Time) -> i128 {
        ((now - start).max(0) / self.tick).min(self.ticks())
    }

    fn used(&self, state: &State, now: Time) -> i128 {
        let State::Counter { previous, current, start } = state else { unreachable!() };
        previous * (self.ticks() - self.elapsed(*start, now)) + current * self.ticks()
    }
}

impl Model for Counter {
    fn absent(&self, now: Time) -> State {
        State::Counter { previous: 0, current: 0, start: self.start(now) }
    }

    fn at(&self, state: &mut State, now: Time) -> bool {
        let State::Counter { previous, current, start } = state else { unreachable!() };
        *start = self.start(*start);
        let this = self.start(now);
        match (this - *start) / self.period {
            0 | -1 => false,
            1 => {
                (*previous, *current, *start) = (*current, 0, this);
                false
            }
            passed => {
                (*previous, *current, *start) = (0, 0, this);
                passed < 0
            }
        }
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        self.used(state, now) + cost * self.ticks() <= self.max * self.ticks()
    }

    fn charge(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Counter { current, .. } = state else { unreachable!() };
        *current += cost;
    }

    fn refund(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Counter { previous, current, .. } = state else { unreachable!() };
        let from_current = cost.min(*current);
        *current -= from_current;
        *previous = (*previous - (cost - from_current)).max(0);
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        if self.fits(state, now, cost) {
            return 0;
        }
        let State::Counter { previous, current, start } = state else { unreachable!() };
        let (ticks, room) = (self.ticks(), self.max - cost - current);
        let tick = if room >= 0 {
            ticks - room * ticks / previous
        } else {
            ticks + (ticks - (self.max - cost) * ticks / current).max(0)
        };
        (start + tick * self.tick - now).max(0)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        (self.max * self.ticks() - self.used(state, now)).max(0) / self.ticks()
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Counter { previous, current, start } = state else { unreachable!() };
        let windows = match (previous, current) {
            (0, 0) => return 0,
            (_, 0) => 1,
            _ => 2,
        };
        (start + windows * self.period - now).max(0)
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
