//! Paced permits: a call goes at once, and the next one waits for what it cost.

use super::numbers::{Numbers, Stored, Twin};
use super::{Algorithm, Drains, Figures, Mended, floor, real, whole, whole_up};
use crate::log_duration::LogDuration;
use crate::time::{EXACT, Micros, millis_up};

/// Permits that are stored while idle and paid for when taken; times in microseconds, as doubles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pacing {
    /// Between two permits at the full rate.
    pub(crate) stable: f64,
    pub(crate) max_permits: f64,
    /// Stored permits above this are cold: each costs more than `stable`, the more the colder.
    pub(crate) threshold: f64,
    pub(crate) slope: f64,
    /// The time that it takes to store one more permit.
    pub(crate) cool: f64,
    pub(crate) warms_up: bool,
    /// The most that a permit costs.
    pub(crate) dearest: f64,
    /// The most permits that are stored, whole ones, and one at the least.
    pub(crate) quota: u64,
    /// The time that it takes to store all that can be stored.
    pub(crate) window: Micros,
    /// The same, as every answer says it.
    pub(crate) window_ms: u64,
}

impl Pacing {
    /// `max_burst` in milliseconds, `warmup` in microseconds.
    pub(crate) fn new(rate: f64, max_burst: f64, warmup: f64, cold_factor: f64) -> Self {
        let stable = 1_000_000.0 / rate;
        if warmup == 0.0 {
            let max_permits = max_burst / 1000.0 * rate;
            return Self {
                stable,
                max_permits,
                threshold: max_permits,
                slope: 0.0,
                cool: stable,
                warms_up: false,
                dearest: stable,
                quota: 0,
                window: 0,
                window_ms: 0,
            }
            .with_sums();
        }
        let cold = stable * cold_factor;
        let threshold = 0.5 * warmup / stable;
        let max_permits = threshold + 2.0 * warmup / (stable + cold);
        let slope = (cold - stable) / (max_permits - threshold);
        let (cool, dearest) = (warmup / max_permits, cold.max(stable));
        let (quota, window, window_ms) = (0, 0, 0);
        Self { stable, max_permits, threshold, slope, cool, warms_up: true, dearest, quota, window, window_ms }
            .with_sums()
    }

    /// The numbers that follow from the others.
    fn with_sums(self) -> Self {
        let window = whole_up(self.max_permits * self.cool);
        Self { quota: whole(self.max_permits).max(1), window, window_ms: millis_up(window), ..self }
    }
}

/// The permits in store, the instant from which the next call may go, and that of the last write.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Paced {
    pub(crate) stored: f64,
    pub(crate) free: Micros,
    pub(crate) written: Micros,
}

impl Pacing {
    /// The cost of taking `taken` of the stored permits: cold ones, above the threshold, are dearer.
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
    fn price(&self, stored: f64, cost: u64) -> (Micros, f64) {
        if real(cost) <= stored && !self.warms_up {
            return (0, stored - real(cost));
        }
        self.price_in_full(stored, real(cost))
    }

    #[inline(never)]
    fn price_in_full(&self, stored: f64, cost: f64) -> (Micros, f64) {
        let taken = cost.min(stored);
        let time = self.cost_of_stored(stored, taken) + floor((cost - taken) * self.stable);
        (whole(time), stored - taken)
    }
}

impl Pacing {
    /// The permits stored after this time without a debt.
    #[inline(always)]
    fn after_idling(&self, stored: f64, time: Micros) -> f64 {
        // Compared with the announced time first: rounding must not delay the last permit. The time is whole, so it
        // need not be rounded up here.
        if real(time) >= (self.max_permits - stored) * self.cool {
            return self.max_permits;
        }
        self.at_most(stored + real(time) / self.cool)
    }

    /// The smaller number. Neither is NaN, for which `f64::min` would need more instructions.
    #[inline(always)]
    fn at_most(&self, permits: f64) -> f64 {
        if permits < self.max_permits { permits } else { self.max_permits }
    }

    /// The shortest time between two calls of cost 1 while no permits are stored. Each part of a cost is rounded down to
    /// a microsecond: there is one part, or up to three during a warm-up.
    fn apart(&self) -> f64 {
        self.stable - if self.warms_up { 3.0 } else { 1.0 }
    }

    /// Gives permits back. They first shorten the debt in time that later calls wait for; the rest is stored.
    fn take_back(&self, state: &mut Paced, now: Micros, permits: f64) {
        let back = real(state.free.saturating_sub(now)).min(floor(permits * self.stable));
        state.free = state.free.saturating_sub(whole(back));
        // The quotient of a part of a permit may be larger by its last digit.
        state.stored = self.at_most(state.stored + (permits - back / self.stable).max(0.0));
        state.written = now;
    }
}

impl Twin for Pacing {
    const KIND: u8 = 4;

    fn numbers(&self) -> [f64; 6] {
        let warms_up = if self.warms_up { 1.0 } else { 0.0 };
        [self.stable, self.max_permits, self.threshold, self.slope, self.cool, warms_up]
    }
}

impl Stored for Paced {
    fn write(&self, numbers: &mut impl Extend<f64>) {
        // The debt, because the instant of the next call may lie beyond the integers that a double holds exactly.
        numbers.extend([self.stored, real(self.free.saturating_sub(self.written)), real(self.written)]);
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        let (stored, debt, written) = (numbers.amount()?, numbers.integer()?, numbers.integer()?);
        Some(Self { stored, free: written.saturating_add(debt), written })
    }
}

impl Algorithm for Pacing {
    type State = Paced;

    const RESERVES: bool = true;
    const PAYS_LATER: bool = true;
    const OBSERVES: bool = true;

    fn fresh(&self, now: Micros) -> Paced {
        Paced { stored: self.max_permits, free: now, written: now }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Paced, now: Micros) -> bool {
        let mut repaired = false;
        if state.written > now
            && let Some(Mended::To(mended)) = self.mended(state, now)
        {
            (*state, repaired) = (mended, true);
        }
        // More may have been stored under another definition.
        state.stored = self.at_most(state.stored);
        if now > state.free {
            state.stored = self.after_idling(state.stored, now.saturating_sub(state.free));
            state.free = now;
        }
        repaired
    }

    #[cold]
    fn mended(&self, state: &Paced, now: Micros) -> Option<Mended<Paced>> {
        let ahead = state.written.saturating_sub(now);
        let mended = Paced { free: state.free.saturating_sub(ahead), written: now, ..*state };
        (ahead > self.window).then_some(Mended::To(mended))
    }

    fn is_empty(&self, state: &Paced, now: Micros) -> bool {
        state.stored >= self.max_permits && state.free <= now
    }

    #[inline(always)]
    fn charge(&self, state: &mut Paced, now: Micros, cost: u64) {
        let (time, stored) = self.price(state.stored, cost);
        *state = Paced { stored, free: state.free.saturating_add(time), written: now };
    }

    fn give_back(&self, state: &mut Paced, now: Micros, cost: u64) {
        self.take_back(state, now, real(cost));
    }

    fn undo(&self, state: &mut Paced, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        // The time that others wait for passes at the full rate, and permits are stored at their own.
        let regained = real(now.saturating_sub(charged_at)) / self.cool.min(self.stable);
        let unspent = real(cost.saturating_sub(spent)).min((real(cost) - regained).max(0.0));
        self.take_back(state, now, unspent);
    }

    fn until(&self, state: &Paced, now: Micros, _cost: u64) -> Micros {
        state.free.saturating_sub(now)
    }

    fn fits(&self, state: &Paced, now: Micros, _cost: u64) -> bool {
        state.free <= now
    }

    #[inline(always)]
    fn bears(&self, state: &Paced, now: Micros, cost: u64) -> bool {
        let debt = real(state.free.saturating_sub(now));
        // Nearly always far from the end, whatever the price: a full store takes a third of the time at most.
        if debt + real(cost) * self.dearest < real(EXACT / 2) {
            return true;
        }
        let (time, stored) = self.price(state.stored, cost);
        debt + real(time) + real(whole_up((self.max_permits - stored) * self.cool)) <= real(EXACT)
    }

    /// So that no debt is taken on for units that nobody needs.
    fn room(&self, state: &Paced, now: Micros, at_least: u64) -> u64 {
        if state.free <= now { self.remaining(state, now).max(at_least) } else { 0 }
    }

    fn observe(&self, state: &Paced, now: Micros, remaining: u64, retry_after: Micros) -> Option<Paced> {
        let stored = state.stored.min(real(remaining));
        let free = state.free.max(now.saturating_add(retry_after));
        (stored < state.stored || free > state.free).then_some(Paced { stored, free, written: now })
    }

    #[inline(always)]
    fn remaining(&self, state: &Paced, now: Micros) -> u64 {
        if state.free <= now { whole(state.stored) } else { 0 }
    }

    #[inline(always)]
    fn full(&self, state: &Paced, now: Micros) -> Micros {
        state.free.saturating_sub(now).saturating_add(whole_up((self.max_permits - state.stored) * self.cool))
    }

    /// Permits that warm up are cheaper the more others take.
    fn can_be_shared(&self) -> bool {
        !self.warms_up
    }

    fn quota(&self) -> u64 {
        self.quota
    }

    /// Any cost is admitted at once, and the next call pays for it.
    fn largest_cost(&self) -> u64 {
        EXACT
    }

    #[inline(always)]
    fn drains(&self, state: &Paced, now: Micros) -> Drains {
        let time = real(state.free.saturating_sub(now)) + (self.max_permits - state.stored) * self.cool;
        Drains { since: now, time: LogDuration::of_real(time) }
    }

    fn window(&self) -> Micros {
        self.window
    }

    fn window_ms(&self) -> u64 {
        self.window_ms
    }
}

impl Pacing {
    /// True if a call that takes the last part of a permit pays less than a microsecond for the rest of it.
    fn rest_is_free(&self) -> bool {
        let part = self.max_permits - floor(self.max_permits);
        part > 0.0 && floor((1.0 - part) * self.stable) == 0.0
    }
}

impl Figures for Pacing {
    fn burst(&self) -> Option<u64> {
        match () {
            () if self.apart() <= 0.0 => None,
            () if self.warms_up => Some(1),
            () => {
                let saved_up = whole(self.max_permits).saturating_add(u64::from(self.rest_is_free()));
                Some(saved_up.saturating_add(1))
            }
        }
    }

    fn pace(&self) -> (f64, f64) {
        (1.0, floor(self.stable))
    }

    /// The permits saved up, the call that runs into debt, and what comes back meanwhile; with a warm-up nothing that
    /// is saved up is free.
    fn most_in(&self, span: Micros) -> Option<u128> {
        let (apart, span) = (self.apart(), real(span));
        let most =
            if self.warms_up { 1.0 + span / apart } else { ((self.max_permits + 1.0) * self.stable + span) / apart };
        (apart > 0.0).then(|| whole(most).into())
    }

    fn note(&self) -> Option<&'static str> {
        Some("A call of any cost goes when its turn has come, and the next one waits for what it took.")
    }
}
