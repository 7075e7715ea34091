//! Waiting for a turn.

mod end;
#[cfg(feature = "remote")]
mod handle;
mod pause;
mod rest;

use std::time::Duration;

#[cfg(feature = "remote")]
pub use self::handle::AcquireHandle;
use self::pause::Pause;
use crate::Error;
use crate::check::{Check, OwnedCheck};
use crate::clock;
use crate::decision::Call;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::limiter::bell::Bell;
use crate::limiter::line::Ticket;
use crate::limiter::queue::Permit;
use crate::time::{Micros, millis_up};

/// An `acquire` under way, for a caller with its own way to sleep: [`step`](Self::step), sleep for the time that it
/// gives, and step again.
///
/// If every limit can reserve (bucket, token bucket, fixed window, smooth), the first step reserves by charging at once.
/// Elsewhere this process keeps a wait queue, in order of arrival, and a call charges when its cost fits with those of all
/// calls ahead.
/// Dropping it before it is done leaves the queue, and gives a reservation back once, as a [`Receipt`](crate::Receipt).
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Check, Limit, Limiter, Memory};
/// use tidegate::acquire::Step;
///
/// let limiter = Limiter::new(Memory::new());
/// let door = Limit::bucket("door", 1).drip_rate(Duration::from_millis(500)).build()?;
/// limiter.limit_sync(&door, "ada")?;
///
/// let mut acquire = limiter.start_acquire(&[Check::new(&door, "ada")], Duration::from_secs(1));
/// let info = loop {
///     match acquire.step()? {
///         Step::Wait(time) => std::thread::sleep(time),
///         Step::Done(info) => break info,
///     }
/// };
/// assert!(!info.blocked && info.wait_ms > 0);
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Debug)]
pub struct Acquire {
    limiter: Limiter,
    checks: Vec<EntryCheck>,
    started: Micros,
    max_wait: Micros,
    /// The instant that the caller gave; the call then does not wait.
    now: Option<Micros>,
    stage: Stage,
    /// Its right to be among the calls that wait.
    permit: Option<Permit>,
    /// It waits for nobody: neither for room nor for those that wait already.
    at_once: bool,
    /// Of a call that waits for units which others hold: it rings when some are released.
    bell: Option<Bell>,
    /// The time until a shared store is asked again for such units.
    pause: Pause,
    /// The instant of the last question.
    asked: Micros,
    /// A step has answered with a wait.
    slept: bool,
    seen: Seen,
    /// The time for which it slept before it reserved.
    slept_for: Micros,
}

/// The outcome of the latest look, which comes before a call that may cost something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    /// This call fitted, with all calls ahead of it.
    Room,
    /// It is denied, and asks once more for that to have its effect.
    Denial,
}

/// The next thing to do about an [`Acquire`].
// Not `non_exhaustive`: who takes the steps has to know each of them.
#[derive(Debug)]
pub enum Step {
    /// Sleep this long, then ask again.
    Wait(Duration),
    /// It is over: admitted, or blocked because the wait would have been too long. `wait_ms` says how long it took.
    Done(LimitInfo),
}

/// A check, and its entry.
#[derive(Debug)]
struct EntryCheck {
    check: OwnedCheck,
    entry: Fingerprint,
}

#[derive(Debug)]
enum Stage {
    New,
    /// Charged, and to be waited out until this instant.
    Reserved(LimitInfo, Micros),
    /// In the wait queue of every entry, with this ticket.
    Queued(Ticket),
    Over,
}

/// The question of a step to the store: the checks at these costs.
struct Ask {
    call: Call,
    costs: Vec<u64>,
    /// The costs are those of all calls ahead and of this one, so that a call which fits takes nothing from them.
    all_at_once: bool,
}

impl Limiter {
    /// Prepares to wait for a turn, for at most `max_wait`. Nothing is charged before the first step.
    #[must_use]
    pub fn start_acquire(&self, checks: &[Check<'_>], max_wait: Duration) -> Acquire {
        crate::panics::point("acquire");
        let with_entry =
            |check: &Check<'_>| EntryCheck { check: check.into(), entry: self.fingerprint(check.limit, check.actor) };
        Acquire {
            limiter: self.clone(),
            checks: checks.iter().map(with_entry).collect(),
            started: clock::now(),
            max_wait: Micros::try_from(max_wait.as_micros()).unwrap_or(Micros::MAX),
            now: None,
            stage: Stage::New,
            permit: None,
            at_once: false,
            bell: checks.iter().any(Check::holds).then(Bell::default),
            pause: Pause::default(),
            asked: 0,
            slept: false,
            seen: Seen::Nothing,
            slept_for: 0,
        }
    }

    /// Waits for a turn, for at most `max_wait`, and blocks this thread meanwhile. If the wait would be longer, the call
    /// is denied immediately; nothing is charged then, unless the limit counts denied calls.
    ///
    /// nginx's `limit_req` with `rate`, `burst` and `delay` is a token bucket of burst `delay + 1`, acquired with a
    /// `max_wait` of `burst - delay` intervals.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub fn acquire_sync(&self, limit: &Limit, actor: &str, max_wait: Duration) -> Result<LimitInfo, Error> {
        self.start_acquire(&[Check::new(limit, actor)], max_wait).finish_sync()
    }

    /// Waits for a turn, for at most `max_wait`, in a task of the tokio runtime; no thread is blocked. If the wait would
    /// be longer, the call is denied immediately; nothing is charged then, unless the limit counts denied calls.
    ///
    /// Dropping the future cancels the call: its charge is given back, once.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    ///
    /// # Panics
    /// If it has to wait outside of a tokio runtime, or on one whose timers are not enabled.
    #[cfg(feature = "tokio")]
    pub async fn acquire(&self, limit: &Limit, actor: &str, max_wait: Duration) -> Result<LimitInfo, Error> {
        self.start_acquire(&[Check::new(limit, actor)], max_wait).finish().await
    }
}

impl Acquire {
    /// Decides at this instant and does not wait: `wait_ms` is the time to wait.
    #[must_use]
    pub fn at(mut self, now: Micros) -> Self {
        self.now = Some(now);
        self
    }

    /// The bell of a call that waits for units which others hold, for limits of type concurrency: when it rings, the next
    /// step need not be slept for any longer.
    #[must_use]
    pub fn bell(&self) -> Option<&Bell> {
        self.bell.as_ref()
    }

    /// Is decided at once, also before those that wait: as [`Call::Limit`], but given back where it is given up.
    #[must_use]
    pub const fn at_once(mut self) -> Self {
        (self.at_once, self.max_wait) = (true, 0);
        self
    }

    /// Takes the next step: the first one reserves or joins the queue, later ones try again.
    ///
    /// # Errors
    /// As [`Limiter::decide_sync`]. After an error, or when it is done, there is no further step.
    pub fn step(&mut self) -> Result<Step, Error> {
        crate::panics::point("step");
        let was_over = matches!(self.stage, Stage::Over);
        let step = self.take_step();
        if !was_over {
            self.count_step(&step);
        }
        step
    }

    fn take_step(&mut self) -> Result<Step, Error> {
        loop {
            let ask = match self.next()? {
                Ok(ask) => ask,
                Err(step) => {
                    if let Step::Done(_) = step {
                        self.exit();
                    }
                    return Ok(step);
                }
            };
            let checks = self.checks(&ask.costs);
            let info = self.limiter.try_here(&checks, ask.call, self.now);
            if let Some(step) = self.on_answer(&ask, info)? {
                if let Step::Done(_) = step {
                    self.exit();
                }
                return Ok(step);
            }
        }
    }

    /// Takes all steps, and sleeps in between.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    #[cfg(feature = "tokio")]
    pub async fn finish(mut self) -> Result<LimitInfo, Error> {
        let answer = self.take_all_steps().await;
        self.count(answer.as_ref());
        answer
    }

    #[cfg(feature = "tokio")]
    async fn take_all_steps(&mut self) -> Result<LimitInfo, Error> {
        loop {
            let ask = match self.next()? {
                Ok(ask) => ask,
                Err(Step::Wait(time)) => {
                    self.rest(time).await;
                    continue;
                }
                Err(Step::Done(info)) => return Ok(info),
            };
            let checks = self.checks(&ask.costs);
            let info = self.limiter.try_later(&checks, ask.call, self.now).await;
            match self.on_answer(&ask, info)? {
                Some(Step::Wait(time)) => self.rest(time).await,
                Some(Step::Done(info)) => return Ok(info),
                None => {}
            }
        }
    }

    /// The next question to the store, or else the step to take without one.
    fn next(&mut self) -> Result<Result<Ask, Step>, Error> {
        if matches!(self.stage, Stage::New) && self.permit.is_none() && self.now.is_none() && self.max_wait > 0 {
            self.permit = self.limiter.enter();
            if self.permit.is_none() {
                self.max_wait = 0;
            }
        }
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::New
                if self.at_once
                    || self.now.is_some()
                    || self.checks.iter().all(|check| check.check.limit.reserves()) =>
            {
                let max_wait = Duration::from_micros(self.max_wait.saturating_sub(self.waited(clock::now())));
                Ok(Ok(Ask { call: Call::Acquire { max_wait }, costs: self.costs(), all_at_once: true }))
            }
            Stage::New => {
                let entries = self.checks.iter().map(|one| (one.entry, one.check.cost));
                let ticket = self.limiter.queue().join(entries, self.bell.clone());
                self.stage = Stage::Queued(ticket);
                self.ask(ticket).map(Ok)
            }
            Stage::Queued(ticket) => {
                self.stage = Stage::Queued(ticket);
                if self.bell.as_ref().is_some_and(Bell::heard) {
                    self.pause = Pause::default();
                } else if let Some(time) = self.behind_others(ticket) {
                    return Ok(Err(Step::Wait(time)));
                }
                self.ask(ticket).map(Ok)
            }
            Stage::Reserved(info, over) => Ok(Err(self.wait_out(info, over))),
            Stage::Over => Ok(Err(Step::Done(LimitInfo::unlimited()))),
        }
    }

    /// The step that an answer leads to; none if there is more to ask at once.
    fn on_answer(&mut self, ask: &Ask, info: Result<LimitInfo, Error>) -> Result<Option<Step>, Error> {
        let info = info.inspect_err(|_| self.leave_queue())?;
        let now = clock::now();
        match (ask.call, &self.stage) {
            (Call::Acquire { .. }, Stage::Queued(_)) if !info.blocked => {
                self.leave_queue();
                Ok(Some(Step::Done(LimitInfo { wait_ms: millis_up(self.waited(now)), ..info })))
            }
            (Call::Peek, Stage::Queued(_)) if !info.blocked && ask.all_at_once => {
                self.seen = Seen::Room;
                Ok(None)
            }
            (Call::Peek, Stage::Queued(_)) if self.is_denied_by_itself(ask, &info, now) => {
                self.seen = Seen::Denial;
                Ok(None)
            }
            (_, Stage::Queued(_)) => Ok(Some(self.wait_longer(info, now))),
            (Call::Acquire { .. }, Stage::Over) if info.blocked && self.may_open(&info, now) => {
                // Nothing is reserved while a limit is closed.
                Ok(Some(self.ask_anew(&info)))
            }
            _ if info.blocked || self.now.is_some() => Ok(Some(Step::Done(info))),
            _ => {
                self.slept_for = self.waited(now);
                let over = now.saturating_add(info.wait_ms * 1000);
                Ok(Some(self.wait_out(info, over)))
            }
        }
    }

    /// Charges if there is room for all calls ahead and for this one, and else gives the time at which there could be.
    fn ask(&mut self, ticket: Ticket) -> Result<Ask, Error> {
        self.asked = clock::now();
        let (costs, all_at_once) = self.with_those_ahead(ticket)?;
        // To be denied may cost something or close a limit, so where it does, a look comes first.
        let at_once = all_at_once && costs == self.costs() && !self.denial_has_effect();
        let seen = self.seen;
        if seen == Seen::Room {
            self.seen = Seen::Nothing;
        }
        if at_once || seen != Seen::Nothing {
            // Not a `Limit`, which would stay charged if its caller were gone.
            let call = Call::Acquire { max_wait: Duration::ZERO };
            return Ok(Ask { call, costs: self.costs(), all_at_once });
        }
        Ok(Ask { call: Call::Peek, costs, all_at_once })
    }

    fn costs(&self) -> Vec<u64> {
        self.checks.iter().map(|check| check.check.cost).collect()
    }

    fn checks(&self, costs: &[u64]) -> Vec<Check<'_>> {
        self.checks.iter().zip(costs).map(|(one, cost)| one.check.check().cost(*cost)).collect()
    }

    /// The costs with those of all calls ahead on top, up to what a limit can ever admit; and whether that is all of
    /// them.
    fn with_those_ahead(&self, ticket: Ticket) -> Result<(Vec<u64>, bool), Error> {
        let (mut costs, mut all_at_once) = (self.costs(), true);
        for (cost, one) in costs.iter_mut().zip(&self.checks) {
            let ahead = self.limiter.queue().ahead(one.entry, ticket);
            if ahead > 0 {
                let quota = one.check.limit.quota(one.check.factor)?;
                let all = cost.saturating_add(ahead);
                all_at_once &= all <= quota;
                *cost = all.min(quota);
            }
        }
        Ok((costs, all_at_once))
    }
}
