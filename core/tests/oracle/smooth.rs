//! Paced permits, with or without a warm-up.

use super::{Model, State, Time};

pub(crate) struct Smooth {
    stable: f64,
    max_permits: f64,
    /// With a warm-up: the threshold, and the slope above it.
    warm: Option<(f64, f64)>,
    cool: f64,
}

impl Smooth {
    /// `max_burst` in milliseconds, `warmup` in microseconds.
    pub(crate) fn new(rate: f64, max_burst: f64, warmup: f64, cold_factor: f64) -> Self {
        let stable = 1e6 / rate;
        if warmup == 0.0 {
            return Self { stable, max_permits: max_burst / 1000.0 * rate, warm: None, cool: stable };
        }
        let cold = stable * cold_factor;
        let threshold = 0.5 * warmup / stable;
        let max_permits = threshold + 2.0 * warmup / (stable + cold);
        let slope = (cold - stable) / (max_permits - threshold);
        Self { stable, max_permits, warm: Some((threshold, slope)), cool: warmup / max_permits }
    }

    /// The cost of taking `k` of `stored` permits.
    fn cost_of(&self, stored: f64, k: f64) -> f64 {
        let Some((threshold, slope)) = self.warm else { return 0.0 };
        let above = stored - threshold;
        if above <= 0.0 {
            return (self.stable * k).floor();
        }
        let k1 = above.min(k);
        let dearest = self.stable + above * slope;
        let cheapest = self.stable + (above - k1) * slope;
        (k1 * (dearest + cheapest) / 2.0).floor() + (self.stable * (k - k1)).floor()
    }
}

impl Model for Smooth {
    fn absent(&self, now: Time) -> State {
        State::Smooth { stored: self.max_permits, free: now, written: now }
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let State::Smooth { stored, free, written } = state else { unreachable!() };
        let ahead = *written - now;
        let is_impossible = ahead > (self.max_permits * self.cool).ceil() as i128;
        is_impossible.then_some(State::Smooth { stored: *stored, free: free - ahead, written: now })
    }

    fn at(&self, state: &mut State, now: Time) {
        let State::Smooth { stored, free, .. } = state else { unreachable!() };
        *stored = stored.min(self.max_permits);
        if now > *free {
            let idle = now - *free;
            let is_full = idle >= ((self.max_permits - *stored) * self.cool).ceil() as i128;
            *stored =
                if is_full { self.max_permits } else { (*stored + idle as f64 / self.cool).min(self.max_permits) };
            *free = now;
        }
    }

    fn fits(&self, state: &State, now: Time, _cost: i128) -> bool {
        let State::Smooth { free, .. } = state else { unreachable!() };
        *free <= now
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let State::Smooth { stored, free, written } = state else { unreachable!() };
        let taken = (cost as f64).min(*stored);
        *free += (self.cost_of(*stored, taken) + ((cost as f64 - taken) * self.stable).floor()) as i128;
        *stored -= taken;
        *written = now;
    }

    fn refund(&self, state: &mut State, now: Time, cost: i128) {
        let State::Smooth { stored, free, written } = state else { unreachable!() };
        let back = (*free - now).max(0).min((cost as f64 * self.stable).floor() as i128);
        *free -= back;
        *stored = (*stored + (cost as f64 - back as f64 / self.stable).max(0.0)).min(self.max_permits);
        *written = now;
    }

    fn until(&self, state: &State, now: Time, _cost: i128) -> Time {
        let State::Smooth { free, .. } = state else { unreachable!() };
        (free - now).max(0)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        let State::Smooth { stored, free, .. } = state else { unreachable!() };
        if *free <= now { stored.floor() as i128 } else { 0 }
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Smooth { stored, free, .. } = state else { unreachable!() };
        (free - now).max(0) + ((self.max_permits - stored) * self.cool).ceil() as i128
    }

    fn is_empty(&self, state: &State, now: Time) -> bool {
        let State::Smooth { stored, free, .. } = state else { unreachable!() };
        *stored >= self.max_permits && *free <= now
    }

    fn most(&self) -> i128 {
        1 << 53
    }

    fn reserves(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "smooth"
    }
}
