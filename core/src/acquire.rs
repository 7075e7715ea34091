//! Waiting for one's turn.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Error;
use crate::check::Check;
use crate::clock;
use crate::decision::Call;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::time::{Micros, millis_up};

/// An `acquire` under way, for whoever brings a way to sleep: [`step`](Self::step), sleep as told, and step again.
///
/// Where every limit can reserve (bucket, token bucket, fixed window, smooth), the first step takes the place in the
/// line by charging at once. Elsewhere the line is kept in this process, in order of arrival, and whoever is at its
/// head charges when there is room. Dropping it before it is done leaves the line, and gives a reservation back, once.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Check, Limit, Limiter, Memory, Step};
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
    checks: Vec<Wanted>,
    started: Micros,
    max_wait: Micros,
    stage: Stage,
}

/// What to do next about an [`Acquire`].
#[derive(Debug)]
pub enum Step {
    /// Sleep this long, then ask again.
    Wait(Duration),
    /// It is over: admitted, or blocked because the wait would have been too long. `wait_ms` says how long it took.
    Done(LimitInfo),
}

/// A check that outlives the call that named it.
#[derive(Debug)]
struct Wanted {
    limit: Limit,
    actor: String,
    cost: u64,
    factor: f64,
    entry: Fingerprint,
}

#[derive(Debug)]
enum Stage {
    New,
    /// Charged, and to be waited out.
    Reserved(LimitInfo),
    /// In the line of every entry, under this number.
    Queued(u64),
    Over,
}

/// Who waits for which entry, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Lines(Mutex<LinesByEntry>);

#[derive(Debug, Default)]
struct LinesByEntry {
    waiting: HashMap<u128, VecDeque<Place>>,
    next: u64,
    /// Whose they are: a process that was forked off inherits lines in which nobody waits.
    process: u32,
}

#[derive(Debug)]
struct Place {
    number: u64,
    cost: u64,
}

/// How long somebody waits whose turn could be now, but for those ahead who have yet to wake up.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

impl Lines {
    fn lock(&self) -> MutexGuard<'_, LinesByEntry> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if lines.process != process {
            lines.process = process;
            lines.waiting.clear();
        }
        lines
    }

    fn join(&self, checks: &[Wanted]) -> u64 {
        let mut lines = self.lock();
        let number = lines.next;
        lines.next += 1;
        for check in checks {
            lines.waiting.entry(check.entry.0).or_default().push_back(Place { number, cost: check.cost });
        }
        number
    }

    fn leave(&self, checks: &[Wanted], number: u64) {
        let mut lines = self.lock();
        for check in checks {
            if let Some(line) = lines.waiting.get_mut(&check.entry.0) {
                line.retain(|place| place.number != number);
                if line.is_empty() {
                    lines.waiting.remove(&check.entry.0);
                }
            }
        }
    }

    /// What those ahead will take from this entry.
    fn ahead(&self, entry: Fingerprint, number: u64) -> u64 {
        let lines = self.lock();
        let line = lines.waiting.get(&entry.0).into_iter().flatten();
        line.take_while(|place| place.number < number).fold(0, |sum: u64, place| sum.saturating_add(place.cost))
    }
}

impl Limiter {
    /// Begins to wait for a turn, for at most `max_wait`; nothing happens before the first step.
    #[must_use]
    pub fn start_acquire(&self, checks: &[Check<'_>], max_wait: Duration) -> Acquire {
        let wanted = |check: &Check<'_>| Wanted {
            limit: check.limit.clone(),
            actor: check.actor.to_owned(),
            cost: check.cost,
            factor: check.factor,
            entry: self.fingerprint(check.limit, check.actor),
        };
        Acquire {
            limiter: self.clone(),
            checks: checks.iter().map(wanted).collect(),
            started: clock::now(),
            max_wait: Micros::try_from(max_wait.as_micros()).unwrap_or(Micros::MAX),
            stage: Stage::New,
        }
    }

    /// Waits for a turn, for at most `max_wait`, and blocks the thread meanwhile.
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

    /// Waits for a turn, for at most `max_wait`, without a thread; for a task of the tokio runtime.
    ///
    /// Dropping the future gives up: the charge is given back, exactly once.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    #[cfg(feature = "tokio")]
    pub async fn acquire(&self, limit: &Limit, actor: &str, max_wait: Duration) -> Result<LimitInfo, Error> {
        let mut acquire = self.start_acquire(&[Check::new(limit, actor)], max_wait);
        loop {
            match acquire.step()? {
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Done(info) => return Ok(info),
            }
        }
    }
}

impl Acquire {
    /// Takes the next step: at first asks for a place, then whether its time has come.
    ///
    /// # Errors
    /// As [`Limiter::limit_sync`]. After an error, or when it is done, there is nothing left to ask.
    pub fn step(&mut self) -> Result<Step, Error> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::New if self.checks.iter().all(|check| check.limit.reserves()) => self.reserve(),
            Stage::New => {
                let number = self.limiter.lines().join(&self.checks);
                self.stage = Stage::Queued(number);
                self.ask(number, 0)
            }
            Stage::Reserved(info) => Ok(self.wait_out(info)),
            Stage::Queued(number) => {
                self.stage = Stage::Queued(number);
                self.ask(number, clock::now().saturating_sub(self.started))
            }
            Stage::Over => Ok(Step::Done(LimitInfo::unlimited())),
        }
    }

    fn reserve(&mut self) -> Result<Step, Error> {
        let max_wait = Duration::from_micros(self.max_wait);
        let info = self.limiter.decide_sync(&self.checks(), Call::Acquire { max_wait })?;
        Ok(if info.blocked { Step::Done(info) } else { self.wait_out(info) })
    }

    fn wait_out(&mut self, info: LimitInfo) -> Step {
        let over = info.at.saturating_add(info.wait_ms * 1000);
        match over.saturating_sub(clock::now()) {
            left if left > 0 && info.wait_ms > 0 => {
                self.stage = Stage::Reserved(info);
                Step::Wait(Duration::from_micros(left))
            }
            _ => Step::Done(info),
        }
    }

    /// Charges if there is room for everybody ahead and for this one, and else says when there could be.
    fn ask(&mut self, number: u64, waited: Micros) -> Result<Step, Error> {
        let (checks, all_at_once) = self.with_those_ahead(number)?;
        let mut info = self.limiter.decide_sync(&checks, Call::Peek)?;
        if !info.blocked && all_at_once {
            info = self.limiter.decide_sync(&self.checks(), Call::Limit)?;
            if !info.blocked {
                info.wait_ms = millis_up(waited);
                self.leave_line();
                return Ok(Step::Done(info));
            }
        }
        if waited.saturating_add(info.reset_ms * 1000) <= self.max_wait {
            return Ok(Step::Wait(Duration::from_millis(info.reset_ms).max(SHORTEST_WAIT)));
        }
        self.leave_line();
        // Where only those ahead are in the way, the answer is still that this call was denied.
        Ok(Step::Done(LimitInfo { blocked: true, ..info }))
    }

    fn checks(&self) -> Vec<Check<'_>> {
        self.checks.iter().map(Wanted::check).collect()
    }

    /// The checks with the costs of those ahead on top, up to what a limit can ever admit; and whether that is all of
    /// them, so that whoever fits then takes nothing from those ahead.
    fn with_those_ahead(&self, number: u64) -> Result<(Vec<Check<'_>>, bool), Error> {
        let (mut checks, mut all_at_once) = (self.checks(), true);
        for (check, wanted) in checks.iter_mut().zip(&self.checks) {
            let ahead = self.limiter.lines().ahead(wanted.entry, number);
            if ahead > 0 {
                let quota = self.limiter.decide_sync(&[*check], Call::Peek)?.quota;
                let all = check.cost.saturating_add(ahead);
                all_at_once &= all <= quota;
                check.cost = all.min(quota);
            }
        }
        Ok((checks, all_at_once))
    }

    fn leave_line(&mut self) {
        if let Stage::Queued(number) = self.stage {
            self.stage = Stage::Over;
            self.limiter.lines().leave(&self.checks, number);
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        self.leave_line();
        if let Stage::Reserved(_) = self.stage {
            // Until its turn comes, all that drains was charged before it: what it charged is still there, whole.
            // There is nobody to tell if this fails, and an entry that is gone owes nothing.
            let _ = self.limiter.decide_sync(&self.checks(), Call::Refund);
        }
    }
}

impl Wanted {
    fn check(&self) -> Check<'_> {
        Check::new(&self.limit, &self.actor).cost(self.cost).factor(self.factor)
    }
}
