//! A level of which units leave within a group of ticks too: the arithmetic of [`LevelRule`] where the units that have
//! left in this group are counted once for all questions of a decision.

use super::{Algorithm, Drains, Entry, IntoEntry, Level, LevelRule, Mended, Small};
use crate::log_duration::LogDuration;
use crate::time::Micros;

/// Any rule; one that drains [by groups](LevelRule::by_groups) takes less time as [`Grouped`](super::Grouped).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uneven<'a>(pub(crate) &'a LevelRule);

/// A level that has been brought to an instant, and the units that have left in the group of ticks that is not over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Within {
    level: Level,
    gone: u64,
}

impl Small for Within {
    #[inline]
    fn of(entry: &Entry) -> Option<Self> {
        Level::of(entry).map(|level| Self { level, gone: 0 })
    }
}

impl IntoEntry for Within {
    #[inline]
    fn into_entry(self) -> Entry {
        self.level.into_entry()
    }
}

impl Within {
    #[inline(always)]
    fn left(&self) -> u64 {
        self.level.level.saturating_sub(self.gone)
    }
}

impl Uneven<'_> {
    #[inline(always)]
    fn until_left(self, state: &Within, now: Micros, units: u64) -> Micros {
        if units == 0 {
            return 0;
        }
        state.level.since.wrapping_add(self.0.time_in_ticks(units)).saturating_sub(now)
    }

    /// [`advance`](Algorithm::advance) of a state that may be a group behind, or from the future.
    #[cold]
    fn advance_aside(self, state: Level, now: Micros) -> (Level, bool) {
        let mut state = state;
        let repaired = self.0.advance(&mut state, now);
        (state, repaired)
    }
}

impl Algorithm for Uneven<'_> {
    type State = Within;

    const RESERVES: bool = LevelRule::RESERVES;

    fn fresh(&self, now: Micros) -> Within {
        Within { level: self.0.fresh(now), gone: 0 }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Within, now: Micros) -> bool {
        let mut repaired = false;
        let elapsed = now.wrapping_sub(state.level.since);
        // The difference is huge where the state is from the future.
        if elapsed >= self.0.group.get() || state.level.level > self.0.most {
            (state.level, repaired) = self.advance_aside(state.level, now);
        }
        state.gone = self.0.drained_in_group(self.0.ticks(state.level.since, now));
        if state.gone >= state.level.level {
            *state = self.fresh(now);
        }
        repaired
    }

    fn mended(&self, state: &Within, now: Micros) -> Option<Mended<Within>> {
        match self.0.mended(&state.level, now)? {
            Mended::To(level) => Some(Mended::To(Within { level, gone: 0 })),
            Mended::Absent => Some(Mended::Absent),
        }
    }

    #[inline(always)]
    fn is_empty(&self, state: &Within, _now: Micros) -> bool {
        state.level.level == 0
    }

    #[inline(always)]
    fn charge(&self, state: &mut Within, now: Micros, cost: u64) {
        self.0.charge(&mut state.level, now, cost);
    }

    fn give_back(&self, state: &mut Within, now: Micros, cost: u64) {
        self.0.give_back(&mut state.level, now, cost);
    }

    fn undo(&self, state: &mut Within, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        self.0.undo(&mut state.level, now, cost, spent, charged_at);
    }

    #[inline(always)]
    fn until(&self, state: &Within, now: Micros, cost: u64) -> Micros {
        self.until_left(state, now, state.level.level.wrapping_add(cost).saturating_sub(self.0.quota))
    }

    #[inline(always)]
    fn fits(&self, state: &Within, _now: Micros, cost: u64) -> bool {
        state.left().wrapping_add(cost) <= self.0.quota
    }

    fn bears(&self, state: &Within, now: Micros, cost: u64) -> bool {
        self.0.bears(&state.level, now, cost)
    }

    #[inline(always)]
    fn remaining(&self, state: &Within, _now: Micros) -> u64 {
        self.0.quota.saturating_sub(state.left())
    }

    #[inline(always)]
    fn full(&self, state: &Within, now: Micros) -> Micros {
        self.until_left(state, now, state.level.level)
    }

    #[inline(always)]
    fn drains(&self, state: &Within, _now: Micros) -> Drains {
        Drains { since: state.level.since, time: LogDuration::of(self.0.time_in_ticks(state.level.level)) }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Grouped;
    use super::*;
    use crate::decision::{Change, Resolved, Verb, answer, commit, examine};
    use crate::info::LimitInfo;

    /// One call of a level that is kept in between, and whether it was kept now.
    fn call<R: Algorithm<State: Small>>(
        algorithm: &R,
        kept: &mut Entry,
        now: Micros,
        verb: Verb,
        cost: u64,
    ) -> Option<(LimitInfo, Drains, bool)> {
        let mut state = R::State::of(kept).unwrap_or_else(|| algorithm.fresh(now));
        let check = Resolved::alone(examine(algorithm, &mut state, now, verb, cost, 0).ok()?, cost);
        let keeps = commit(algorithm, &mut state, now, verb, check, cost / 2);
        let keeps = keeps != Change::Nothing;
        if keeps {
            *kept = if algorithm.is_empty(&state, now) { Entry::Absent } else { state.into_entry() };
        }
        Some((answer(algorithm, &state, now, verb, check), algorithm.drains(&state, now), keeps))
    }

    fn verb() -> impl Strategy<Value = Verb> {
        let after = |max_wait| Verb::Acquire { max_wait };
        prop_oneof![
            4 => Just(Verb::Limit),
            1 => Just(Verb::Peek),
            1 => Just(Verb::Charge),
            1 => Just(Verb::Refund),
            1 => (10_000_u64..10_500).prop_map(|charged_at| Verb::Undo { charged_at }),
            1 => (0_u64..500).prop_map(after),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Agreement of the paths for what is known when it is compiled with the one for all rules.
        #[test]
        fn known_rules_are_decided_as_any(
            (quota, tick, drain, ticks) in (1_u64..60, 1_u64..4, 1_u64..9, 1_u64..12),
            aligned in any::<bool>(),
            level in 0_u64..120,
            calls in prop::collection::vec((verb(), 0_u64..20, 0_u64..40, prop::bool::weighted(0.05)), 1..24),
        ) {
            let rule = LevelRule { aligned, ..LevelRule::evenly(quota, tick, drain, ticks) };
            let first = Level { level: level.max(1), since: 10_000 };
            let [mut any, mut uneven, mut grouped] = [Entry::Level(first), Entry::Level(first), Entry::Level(first)];
            let mut now: Micros = 10_000;
            for (verb, cost, passed, back) in calls {
                now = if back { now.saturating_sub(passed.saturating_mul(10)) } else { now.saturating_add(passed) };
                let expected = call(&rule, &mut any, now, verb, cost);
                let found = call(&Uneven(&rule), &mut uneven, now, verb, cost);
                prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
                prop_assert_eq!(&uneven, &any);
                if rule.by_groups {
                    let found = call(&Grouped(&rule), &mut grouped, now, verb, cost);
                    prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
                    prop_assert_eq!(&grouped, &any);
                }
            }
        }
    }
}
