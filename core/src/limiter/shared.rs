//! Decisions in memory that the processes of a host share.

mod unasked;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;

use self::unasked::Unasked;
use super::checks;
use super::memory::Local;
use super::several::{self, Entries, Unmade, refusal};
use crate::Error;
use crate::algorithm::{Algorithm, Grouped, Rule, Shape, Small, Stored, states, with_small};
use crate::check::Check;
use crate::clock;
use crate::decision::{Call, Part, Verb, answer};
use crate::error::{LimitError, StoreError};
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::fork::Process;
use crate::info::LimitInfo;
use crate::limit::{Limit, Rules};
use crate::store::memory::Memory;
use crate::store::remote::{BreakerState, Health, OnError, Reports, Settings, Statistics, Stats};
use crate::store::shared::{Address, Short, Table, Undecided};
use crate::time::{EXACT, Micros};

const KIND: &str = "shm";

/// A limiter's part of a table that processes share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    table: Arc<Table>,
    #[cfg(feature = "redis")]
    url: Arc<str>,
    settings: Arc<Settings>,
    patience: Micros,
    /// As the table knows it, and as this process's memory does.
    pub(super) namespace: [Fingerprint; 2],
    state: Arc<ArcSwap<State>>,
    /// Calls were decided without the table, and it is not known yet whether that is over.
    troubled: Arc<AtomicBool>,
}

/// All that a forked child must not share with its parent.
struct State {
    process: Process,
    stats: Stats,
    reports: Reports,
    fallback: Arc<Memory>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("fallback", &self.fallback).finish_non_exhaustive()
    }
}

impl State {
    fn new(settings: &Settings, table: &Table) -> Self {
        Self {
            process: Process::current(),
            stats: Stats::default(),
            reports: Reports::new(settings, KIND, table.path().display().to_string()),
            fallback: Arc::new(Memory::with_max_entries(settings.max_entries).telling(settings.events.clone())),
        }
    }
}

impl Shared {
    pub(super) fn open(url: &str, settings: Settings) -> Result<Self, LimitError> {
        let address =
            Address::parse(url).map_err(|problem| LimitError::range("", "url", problem, format!("{url:?}")))?;
        let table =
            address.open().map_err(|error| LimitError::range("", "url", error.to_string(), format!("{url:?}")))?;
        let state = Arc::new(ArcSwap::from_pointee(State::new(&settings, &table)));
        Ok(Self {
            #[cfg(feature = "redis")]
            url: url.split('?').next().unwrap_or(url).into(),
            patience: Micros::try_from(settings.timeout.as_micros()).unwrap_or(Micros::MAX),
            namespace: namespace(&table, settings.name()),
            table,
            settings: Arc::new(settings),
            state,
            troubled: Arc::default(),
        })
    }

    pub(super) fn namespace(&self, name: &str) -> Self {
        Self { namespace: namespace(&self.table, name), ..self.clone() }
    }

    #[cfg(feature = "redis")]
    pub(super) fn url(&self) -> String {
        self.url.to_string()
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    pub(super) fn file(&self) -> &std::path::Path {
        self.table.path()
    }

    #[expect(clippy::inline_always, reason = "as what it calls")]
    #[inline(always)]
    pub(super) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        self.namespace[0] ^ self.table.of_limit(limit) ^ self.table.of_actor(actor)
    }

    pub(super) fn fallback(&self) -> Arc<Memory> {
        self.state().fallback.clone()
    }

    fn state(&self) -> arc_swap::Guard<Arc<State>> {
        let state = self.state.load();
        if state.process.is_current_unless_forked() {
            return state;
        }
        self.state.store(Arc::new(State::new(&self.settings, &self.table)));
        self.state.load()
    }

    #[inline]
    pub(super) fn decide_on(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        match checks {
            [check] if call == Call::Limit && check.is_plain() => {
                self.limit_one(check.limit, check.actor, check.cost, check.factor, now)
            }
            _ => self.decide_any(checks, call, now),
        }
    }

    /// By far the most common call gets a path that knows what it is.
    #[inline]
    pub(super) fn limit_one(
        &self,
        limit: &Limit,
        actor: &str,
        cost: u64,
        factor: f64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let check = Check::new(limit, actor).cost(cost).factor(factor);
        match limit.compiled(factor) {
            _ if !check.is_plain() => self.decide_any(&[check], Call::Limit, now),
            Some(Rules::One(Rule::Level(rule))) if cost <= EXACT && rule.by_groups => {
                self.limit_small(&Grouped(rule), check, now)
            }
            Some(Rules::One(rule)) if cost <= EXACT => self.limit_aside(rule, check, now),
            _ => self.decide_any(&[check], Call::Limit, now),
        }
    }

    /// The less common kinds.
    #[cold]
    #[inline(never)]
    fn limit_aside(&self, rule: &Rule, check: Check<'_>, now: Option<Micros>) -> Result<LimitInfo, Error> {
        with_small!(rule, |rule| self.limit_small(rule, check, now),
            else self.decide_long(&[check], Call::Limit, now))
    }

    /// A state of a few numbers.
    #[expect(
        clippy::inline_always,
        reason = "a call that is known where it is compiled takes a tenth fewer instructions"
    )]
    #[inline(always)]
    fn limit_small<R: Algorithm<State: Small + Stored>>(
        &self,
        algorithm: &R,
        check: Check<'_>,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let entry = self.fingerprint(check.limit, check.actor);
        match self.table.limit_small(algorithm, entry, check.cost, now, self.patience) {
            Ok(charged) => {
                if self.troubled.load(Ordering::Relaxed) {
                    self.perhaps_recovered();
                }
                // Made where it stays: to move an answer can be felt.
                Ok(answer(algorithm, &charged.state, charged.now, Verb::Limit, charged.check))
            }
            Err(why) => self.limit_otherwise(why, check, now),
        }
    }

    /// Decides what the short way could not.
    #[cold]
    #[inline(never)]
    fn limit_otherwise(&self, why: Short, check: Check<'_>, now: Option<Micros>) -> Result<LimitInfo, Error> {
        let call = Call::Limit;
        match why {
            Short::Crowded => self.decide_long(&[check], call, now),
            Short::Undecided(Undecided::Impossible(_, why)) => {
                self.state().stats.failed();
                Err(refusal(&check, call, why))
            }
            Short::Undecided(Undecided::Failed(failure)) => self.without_the_table(&[check], call, now, failure),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn decide_any(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        if matches!(call, Call::UndoDegraded { .. } | Call::RenewDegraded { .. }) {
            return self.local().decide_on(checks, call, now).map(LimitInfo::into_degraded);
        }
        self.decide_long(checks, call, now)
    }

    /// Any number of checks of any rules.
    fn decide_long(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        let answer = self.several(checks, call, now);
        if let Err(Error::Store(error)) = &answer {
            return self.without_the_table(checks, call, now, error.failure());
        }
        if self.troubled.load(Ordering::Relaxed) {
            self.perhaps_recovered();
        }
        self.state().stats.came_to(&answer, Verb::from(call).gives_back());
        answer
    }

    fn several(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        if call == Call::Reset {
            // What was charged here while the table did not decide is gone too.
            let _ = self.local().decide_on(checks, call, now);
            return several::reset(self, checks, now);
        }
        let observing = checks::of_call(checks, call)?;
        several::decide(self, observing.as_deref().unwrap_or(checks), call, now)
    }

    /// The answer to a call that the table did not decide.
    #[cold]
    fn without_the_table(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        failure: Failure,
    ) -> Result<LimitInfo, Error> {
        let state = self.state();
        self.troubled.store(true, Ordering::Relaxed);
        state.reports.degraded(failure, clock::now(), &state.stats);
        let of_each = |words: fn(&Rule) -> LimitInfo| {
            let unasked = Unasked { table: self, words };
            match call {
                Call::Reset => several::reset(&unasked, checks, now),
                _ => several::decide(&unasked, checks, call, now),
            }
        };
        let answer = match self.settings.on_error {
            OnError::Raise => Err(state.reports.error(failure).into()),
            OnError::Allow => of_each(Rule::allowed),
            OnError::Deny => of_each(Rule::denied),
            OnError::Local if matches!(call, Call::Undo { .. }) => {
                // What the table charged is not state here.
                let added = checks.iter().map(|check| check.cost(0).spent(check.spent.saturating_sub(check.cost)));
                self.local().decide_on(&added.collect::<Vec<_>>(), call, now)
            }
            OnError::Local => self.local().decide_on(checks, call, now),
        };
        let answer = answer.map(LimitInfo::into_degraded);
        state.stats.came_to(&answer, Verb::from(call).gives_back());
        answer
    }

    /// A call was decided, after others were not.
    #[cold]
    fn perhaps_recovered(&self) {
        let state = self.state();
        if state.reports.decided(clock::now(), &state.stats) {
            self.troubled.store(false, Ordering::Relaxed);
        }
    }

    fn local(&self) -> Local {
        Local { memory: self.fallback(), namespace: self.namespace[1] }
    }

    pub(super) fn stats(&self) -> Statistics {
        let mut stats = self.state().stats.read(BreakerState::Closed);
        let [admitted, blocked] = self.table.counts();
        stats.decisions += admitted + blocked;
        stats.admitted += admitted;
        stats.blocked += blocked;
        let figures = self.table.figures();
        (stats.entries, stats.evictions, stats.overflowed, stats.processes) =
            (figures.entries, figures.evictions, figures.overflowed, figures.processes);
        stats
    }

    pub(super) fn ping(&self) -> Result<Health, Error> {
        self.table.ping(self.patience).map_err(|(failure, why)| self.error(failure).because(why))?;
        Ok(Health::default())
    }

    pub(super) fn clear(&self) -> Result<u64, Error> {
        let _ = self.fallback().clear();
        Ok(self.table.clear(self.patience).map_err(|failure| self.error(failure))?)
    }

    /// Walks over the whole table, and names what is wrong in it.
    pub(super) fn check(&self) -> Result<Vec<String>, Error> {
        Ok(self.table.check(self.patience).map_err(|failure| self.error(failure))?)
    }

    fn error(&self, failure: Failure) -> StoreError {
        StoreError::new(failure).at(KIND, self.table.path().display())
    }
}

fn namespace(table: &Table, name: &str) -> [Fingerprint; 2] {
    [table.of_namespace(name), Fingerprint::of_namespace(name)]
}

impl Entries for Shared {
    fn of_limit(&self, limit: &Limit) -> Fingerprint {
        self.namespace[0] ^ self.table.of_limit(limit)
    }

    fn of_actor(&self, actor: &str) -> Fingerprint {
        self.table.of_actor(actor)
    }

    fn of_shape(&self, shape: Shape) -> Fingerprint {
        self.table.of_shape(shape)
    }

    fn of_block(&self, entry: Fingerprint) -> Fingerprint {
        self.table.of_block(entry)
    }

    fn now(&self, given: Option<Micros>) -> Micros {
        given.unwrap_or_else(|| self.table.now())
    }

    fn decide(
        &self,
        entries: &[Fingerprint],
        parts: &[Part<&Rule>],
        actor_of: &dyn Fn(usize) -> Fingerprint,
        call: (Verb, Option<Micros>),
    ) -> Result<Vec<LimitInfo>, Unmade> {
        self.table.decide(entries, parts, actor_of, call, self.patience).map_err(|why| match why {
            Undecided::Impossible(part, why) => Unmade::Impossible(part, why),
            Undecided::Failed(failure) => Unmade::Failed(self.error(failure)),
        })
    }

    fn remove(&self, entries: &[Fingerprint], _now: Option<Micros>) -> Result<(), Error> {
        Ok(self.table.remove(entries, self.patience).map_err(|failure| self.error(failure))?)
    }
}
