//! Waiting for a turn.

#[cfg(feature = "remote")]
mod handle;

use std::time::Duration;

#[cfg(feature = "remote")]
pub use self::handle::AcquireHandle;
use crate::Error;
use crate::charge::Charge;
use crate::check::{Check, OwnedCheck};
use crate::clock;
use crate::decision::Call;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::limiter::line::Ticket;
use crate::limiter::queue::Place;
use crate::time::{Micros, millis_up};

/// An `acquire` under way, for a caller with its own way to sleep: [`step`](Self::step), sleep for the time that it
/// gives, and step again.
///
/// If every limit can reserve (bucket, token bucket, fixed window, smooth), the first step reserves by
/// charging at once. Elsewhere this process keeps a wait queue, in order of arrival, and the call at its head charges
/// when its cost fits. Dropping it before it is done leaves the queue, and gives a reservation back once, as
/// its [`Receipt`](crate::Receipt) would.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Check, Limit, Limiter, Memory};
/// use tidegate::acquire::Step;
///
/// let limiter = Limiter::new(Memory::new());
/// let door = Limit::bucket("door", 1).drip_rate(Duration::from_millis(20)).build()?;
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
    /// Its place among the calls that wait.
    place: Option<Place>,
    /// A step has answered with a wait.
    slept: bool,
    /// This call fitted a moment ago, with all calls ahead of it.
    fits: bool,
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

/// The shortest wait of a call that fits, but comes after others in the queue that have yet to wake up.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

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
            place: None,
            slept: false,
            fits: false,
        }
    }

    /// Waits for a turn, for at most `max_wait`, and blocks this thread meanwhile. If the wait would be longer, the call
    /// is denied immediately and nothing is charged.
    ///
    /// nginx's `limit_req` with `rate`, `burst` and `delay` is a token bucket of burst `delay + 1`, acquired with a
    /// `max_wait` of `burst - delay` intervals.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub fn acquire_sync(&self, limit: &Limit, actor: &str, max_wait: Duration) -> Result<LimitInfo, Error> {
        let mut acquire = self.start_acquire(&[Check::new(limit, actor)], max_wait);
        loop {
            match acquire.step()? {
                Step::Wait(time) => std::thread::sleep(time),
                Step::Done(info) => return Ok(info),
            }
        }
    }

    /// Waits for a turn, for at most `max_wait`, in a task of the tokio runtime; no thread is blocked. If the wait would
    /// be longer, the call is denied immediately and nothing is charged.
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

    /// Takes the next step: the first one reserves or joins the queue, later ones try again.
    ///
    /// # Errors
    /// As [`Limiter::decide_sync`]. After an error, or when it is done, there is no further step.
    pub fn step(&mut self) -> Result<Step, Error> {
        crate::panics::point("step");
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
            let info = match self.now {
                None => self.limiter.decide_sync(&checks, ask.call),
                Some(now) => self.limiter.decide_sync_at(&checks, ask.call, now),
            };
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
        loop {
            let ask = match self.next()? {
                Ok(ask) => ask,
                Err(Step::Wait(time)) => {
                    tokio::time::sleep(time).await;
                    continue;
                }
                Err(Step::Done(info)) => return Ok(info),
            };
            let checks = self.checks(&ask.costs);
            let info = match self.now {
                None => self.limiter.decide(&checks, ask.call).await,
                Some(now) => self.limiter.decide_at(&checks, ask.call, now).await,
            };
            match self.on_answer(&ask, info)? {
                Some(Step::Wait(time)) => tokio::time::sleep(time).await,
                Some(Step::Done(info)) => return Ok(info),
                None => {}
            }
        }
    }

    /// The next question to the store, or else the step to take without one.
    fn next(&mut self) -> Result<Result<Ask, Step>, Error> {
        if matches!(self.stage, Stage::New) && self.now.is_none() && self.max_wait > 0 {
            self.place = self.limiter.enter();
            if self.place.is_none() {
                self.max_wait = 0;
            }
        }
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::New if self.now.is_some() || self.checks.iter().all(|check| check.check.limit.reserves()) => {
                let max_wait = Duration::from_micros(self.max_wait);
                Ok(Ok(Ask { call: Call::Acquire { max_wait }, costs: self.costs(), all_at_once: true }))
            }
            Stage::New => {
                let ticket = self.limiter.queue().join(self.checks.iter().map(|one| (one.entry, one.check.cost)));
                self.stage = Stage::Queued(ticket);
                self.ask(ticket).map(Ok)
            }
            Stage::Queued(ticket) => {
                self.stage = Stage::Queued(ticket);
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
                let waited = if self.slept { now.saturating_sub(self.started) } else { 0 };
                Ok(Some(Step::Done(LimitInfo { wait_ms: millis_up(waited), ..info })))
            }
            (Call::Peek, Stage::Queued(_)) if !info.blocked && ask.all_at_once => {
                self.fits = true;
                Ok(None)
            }
            (_, Stage::Queued(_)) => Ok(Some(self.wait_longer(info, now))),
            _ if info.blocked || self.now.is_some() => Ok(Some(Step::Done(info))),
            _ => {
                let over = now.saturating_add(info.wait_ms * 1000);
                Ok(Some(self.wait_out(info, over)))
            }
        }
    }

    fn wait_out(&mut self, info: LimitInfo, over: Micros) -> Step {
        match over.saturating_sub(clock::now()) {
            left if left > 0 && info.wait_ms > 0 => {
                self.stage = Stage::Reserved(info, over);
                Step::Wait(Duration::from_micros(left))
            }
            _ => Step::Done(info),
        }
    }

    fn wait_longer(&mut self, info: LimitInfo, now: Micros) -> Step {
        let waited = if self.slept { now.saturating_sub(self.started) } else { 0 };
        if self.place.is_some() && waited.saturating_add(info.reset_ms * 1000) <= self.max_wait {
            self.slept = true;
            return Step::Wait(Duration::from_millis(info.reset_ms).max(SHORTEST_WAIT));
        }
        self.leave_queue();
        // Where only those ahead are in the way, the answer is still that this call was denied.
        Step::Done(LimitInfo { blocked: true, ..info })
    }

    /// Charges if there is room for all calls ahead and for this one, and else gives the time at which there could be.
    fn ask(&mut self, ticket: Ticket) -> Result<Ask, Error> {
        let (costs, all_at_once) = self.with_those_ahead(ticket)?;
        // To be denied may cost something, so where it does, a look comes first.
        let at_once =
            all_at_once && costs == self.costs() && !self.checks.iter().any(|check| check.check.limit.counts_blocked());
        if std::mem::take(&mut self.fits) || at_once {
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

    /// Makes room for another call that wants to wait.
    fn exit(&mut self) {
        if let Some(place) = self.place.take() {
            self.limiter.queue().exit(place);
        }
    }

    fn leave_queue(&mut self) {
        if let Stage::Queued(ticket) = self.stage {
            self.stage = Stage::Over;
            self.limiter.queue().leave(self.checks.iter().map(|one| one.entry), ticket);
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        self.leave_queue();
        self.exit();
        if let Stage::Reserved(info, _) = &self.stage {
            self.limiter.give_back(self.checks(&self.costs()), &Charge::of_turn(info), None);
        }
    }
}
