//! A level of which units leave at the end of a group of ticks alone: the arithmetic of [`LevelRule`] where that is
//! known when it is compiled, as nearly all limits are such. It takes 1 ns of 24 off a decision.

use super::{Algorithm, Drains, Level, LevelRule, Mended};
use crate::time::Micros;

/// A rule that drains [by groups](LevelRule::by_groups).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouped<'a>(pub(crate) &'a LevelRule);

impl Algorithm for Grouped<'_> {
    type State = Level;

    const RESERVES: bool = LevelRule::RESERVES;

    fn fresh(&self, now: Micros) -> Level {
        self.0.fresh(now)
    }

    #[inline(always)]
    fn advance(&self, state: &mut Level, now: Micros) -> bool {
        self.0.advance(state, now)
    }

    fn mended(&self, state: &Level, now: Micros) -> Option<Mended<Level>> {
        self.0.mended(state, now)
    }

    fn is_empty(&self, state: &Level, now: Micros) -> bool {
        self.0.is_empty(state, now)
    }

    fn charge(&self, state: &mut Level, now: Micros, cost: u64) {
        self.0.charge(state, now, cost);
    }

    fn give_back(&self, state: &mut Level, now: Micros, cost: u64) {
        self.0.give_back(state, now, cost);
    }

    fn undo(&self, state: &mut Level, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        self.0.undo(state, now, cost, spent, charged_at);
    }

    #[inline]
    fn until(&self, state: &Level, now: Micros, cost: u64) -> Micros {
        self.0.until(state, now, cost)
    }

    #[inline(always)]
    fn fits(&self, state: &Level, _now: Micros, cost: u64) -> bool {
        state.level.wrapping_add(cost) <= self.0.quota
    }

    fn bears(&self, state: &Level, now: Micros, cost: u64) -> bool {
        self.0.bears(state, now, cost)
    }

    #[inline(always)]
    fn remaining(&self, state: &Level, _now: Micros) -> u64 {
        self.0.quota.saturating_sub(state.level)
    }

    #[inline]
    fn full(&self, state: &Level, now: Micros) -> Micros {
        self.0.full(state, now)
    }

    #[inline(always)]
    fn next(&self, state: &Level, now: Micros, remaining: u64) -> Micros {
        self.0.next_of(true, state, now, remaining)
    }

    #[inline(always)]
    fn drains(&self, state: &Level, now: Micros) -> Drains {
        self.0.drains(state, now)
    }

    fn quota(&self) -> u64 {
        self.0.quota
    }

    fn window(&self) -> Micros {
        self.0.window
    }

    fn window_ms(&self) -> u64 {
        self.0.window_ms
    }
}
