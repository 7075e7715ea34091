//! Paced permits: a call goes at once, and the next one waits for what it cost.

use super::{Drains, Room};
use crate::limit::{Pacing, floor, real, whole, whole_up};
use crate::span::Span;
use crate::time::{EXACT, Micros};

/// The permits in store, and the instant from which the next call may go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Paced {
    pub(crate) stored: f64,
    pub(crate) free: Micros,
}

/// The largest double below 1; times another, the largest below that.
const JUST_BELOW_1: f64 = 1.0 - f64::EPSILON / 2.0;

impl Pacing {
    /// What taking `taken` of the stored permits costs: cold ones, above the threshold, are dearer.
    fn cost_of_stored(&self, stored: f64, taken: f64) -> f64 {
        if !self.warms_up {
            return 0.0;
        }
        let above = stored - self.threshold;
        let cold = if above > 0.0 { above.min(taken) } else { 0.0 };
        let cost_of_cold = if cold > 0.0 {
            let first = self.stable + above * self.slope;
            let last = self.stable + (above - cold) * self.slope;
            floor(cold * (first + last) / 2.0)
        } else {
            0.0
        };
        cost_of_cold + floor(self.stable * (taken - cold))
    }

    /// The time that a charge takes, and the stored permits that it leaves.
    #[inline(always)]
    fn price(&self, stored: f64, cost: u64) -> (f64, f64) {
        if real(cost) <= stored && !self.warms_up {
            return (0.0, stored - real(cost));
        }
        self.price_in_full(stored, real(cost))
    }

    #[inline(never)]
    fn price_in_full(&self, stored: f64, cost: f64) -> (f64, f64) {
        let taken = cost.min(stored);
        let time = self.cost_of_stored(stored, taken) + floor((cost - taken) * self.stable);
        (time, stored - taken)
    }
}

impl Room for Pacing {
    type State = Paced;

    const RESERVES: bool = true;
    const PAYS_LATER: bool = true;

    fn fresh(&self, now: Micros) -> Paced {
        Paced { stored: self.max_permits, free: now }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Paced, now: Micros) -> bool {
        if now > state.free {
            let gained = real(now.saturating_sub(state.free)) / self.cool;
            *state = Paced { stored: (state.stored + gained).min(self.max_permits), free: now };
        }
        false
    }

    fn is_empty(&self, state: &Paced, now: Micros) -> bool {
        // Whoever gave back all that can be stored owes nothing any more; where nothing can be stored, only time tells.
        state.stored >= self.max_permits && (self.max_permits > 0.0 || state.free <= now)
    }

    #[inline(always)]
    fn charge(&self, state: &mut Paced, _now: Micros, cost: u64) {
        let (time, stored) = self.price(state.stored, cost);
        *state = Paced { stored, free: state.free.saturating_add(whole(time)) };
    }

    fn give_back(&self, state: &mut Paced, _now: Micros, cost: u64) {
        state.stored = (state.stored + real(cost)).min(self.max_permits);
    }

    fn undo(&self, state: &mut Paced, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        let regained = real(now.saturating_sub(charged_at)) / self.cool;
        let unspent = real(cost.saturating_sub(spent)).min((real(cost) - regained).max(0.0));
        // Full, it would owe nothing any more, and what a later call still owes would be forgotten.
        let most = if state.free > now { self.max_permits * JUST_BELOW_1 } else { self.max_permits };
        state.stored = (state.stored + unspent).min(most).max(state.stored);
    }

    fn until(&self, state: &Paced, now: Micros, _cost: u64) -> Micros {
        state.free.saturating_sub(now)
    }

    fn fits(&self, state: &Paced, now: Micros, _cost: u64) -> bool {
        state.free <= now
    }

    #[inline(always)]
    fn bears(&self, state: &Paced, cost: u64) -> bool {
        // Nearly always far from the end, whatever the price.
        let half = real(EXACT / 2);
        if real(cost) * self.dearest < half && real(state.free) < half {
            return true;
        }
        let (time, _) = self.price(state.stored, cost);
        real(state.free) + time < real(EXACT)
    }

    #[inline(always)]
    fn remaining(&self, state: &Paced, now: Micros) -> u64 {
        if state.free <= now { whole(state.stored) } else { 0 }
    }

    #[inline(always)]
    fn full(&self, state: &Paced, now: Micros) -> Micros {
        state.free.saturating_sub(now).saturating_add(whole_up((self.max_permits - state.stored) * self.cool))
    }

    fn quota(&self) -> u64 {
        whole(self.max_permits).max(1)
    }

    /// Any cost is admitted at once, and the next call pays for it.
    fn largest_cost(&self) -> u64 {
        EXACT
    }

    #[inline(always)]
    fn drains(&self, state: &Paced, now: Micros) -> Drains {
        let time = real(state.free.saturating_sub(now)) + (self.max_permits - state.stored) * self.cool;
        Drains { since: now, time: Span::of_real(time), window: Span::of(self.window) }
    }

    fn window(&self) -> Micros {
        self.window
    }
}
