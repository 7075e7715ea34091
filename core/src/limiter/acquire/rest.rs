//! The time between two steps.

use std::time::Duration;

use super::{Acquire, Ask, Seen, Stage, Step};
use crate::Error;
use crate::clock;
use crate::info::LimitInfo;
use crate::limiter::line::Ticket;
use crate::time::{Micros, millis_up};

/// The shortest wait of a call that fits, but comes after others in the queue that have yet to wake up.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// The time that those ahead, whose turns come when this wait is over, have to wake up and take them.
const GRACE: Micros = 100_000;
/// The longest time without a question of a call that others of its process come before.
const LONGEST_REST: Micros = 1_000_000;

impl Acquire {
    /// [`finish`](Self::finish) on this thread, which is blocked in between.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn finish_sync(mut self) -> Result<LimitInfo, Error> {
        loop {
            match self.step()? {
                Step::Wait(time) => match self.bell() {
                    Some(bell) => drop(bell.wait(time)),
                    None => std::thread::sleep(time),
                },
                Step::Done(info) => return Ok(info),
            }
        }
    }

    #[cfg(feature = "tokio")]
    pub(super) async fn rest(&self, time: Duration) {
        match &self.bell {
            Some(bell) => drop(tokio::time::timeout(time, bell.rings()).await),
            None => tokio::time::sleep(time).await,
        }
    }

    /// True if its turn can come before its wait is over.
    pub(super) fn may_wait(&self, info: &LimitInfo, now: Micros) -> bool {
        let (sure_ms, held_ms) = self.resets(info);
        let waited = self.waited(now);
        let left = self.max_wait.saturating_sub(waited);
        let is_in_time = left > 0 || held_ms == 0 && waited.saturating_sub(self.max_wait) < GRACE;
        self.permit.is_some() && left >= sure_ms.saturating_mul(1000) && is_in_time
    }

    pub(super) fn wait_longer(&mut self, info: LimitInfo, now: Micros) -> Step {
        if self.seen != Seen::Denial && self.may_wait(&info, now) {
            let (sure_ms, held_ms) = self.resets(&info);
            let left = self.max_wait.saturating_sub(self.waited(now));
            self.slept = true;
            let mut time = Duration::from_millis(sure_ms);
            if held_ms > 0 {
                let held = Duration::from_millis(held_ms);
                time = time.max(if self.limiter.is_shared() { held.min(self.pause.next()) } else { held });
                time = time.min(Duration::from_micros(left));
            }
            return Step::Wait(time.max(SHORTEST_WAIT));
        }
        self.leave_queue();
        // Where only those ahead are in the way, the answer is still that this call was denied.
        Step::Done(LimitInfo { blocked: true, ..info })
    }

    /// True if a call that is denied while a limit is closed can ask again in time. A denial for a limit's own reasons says
    /// that it would have to wait for longer.
    pub(super) fn may_open(&self, info: &LimitInfo, now: Micros) -> bool {
        let waited = self.waited(now);
        self.permit.is_some()
            && self.checks.iter().any(|one| one.check.limit.blocks())
            && waited.saturating_add(info.reset_ms.saturating_mul(1000)) <= self.max_wait
    }

    pub(super) fn wait_out(&mut self, info: LimitInfo, over: Micros) -> Step {
        match over.saturating_sub(clock::now()) {
            left if left > 0 && info.wait_ms > 0 => {
                self.stage = Stage::Reserved(info, over);
                Step::Wait(Duration::from_micros(left))
            }
            _ => {
                let wait_ms = info.wait_ms.saturating_add(millis_up(self.slept_for));
                Step::Done(LimitInfo { wait_ms, ..info })
            }
        }
    }

    /// The time for which it has waited.
    pub(super) fn waited(&self, now: Micros) -> Micros {
        if self.slept { now.saturating_sub(self.started) } else { 0 }
    }

    /// True if it cannot wait until its turn, with nobody ahead: a denial that is charged, or closes a limit which has a
    /// block.
    pub(super) fn is_denied_by_itself(&self, ask: &Ask, info: &LimitInfo, now: Micros) -> bool {
        info.blocked && !self.may_wait(info, now) && ask.costs == self.costs() && self.denial_has_effect()
    }

    /// True if a denial is charged, or closes a limit.
    pub(super) fn denial_has_effect(&self) -> bool {
        self.checks.iter().any(|one| one.check.limit.counts_blocked() || one.check.limit.blocks())
    }

    /// Begins again once it is open.
    pub(super) fn ask_anew(&mut self, info: &LimitInfo) -> Step {
        self.stage = Stage::New;
        self.slept = true;
        Step::Wait(Duration::from_millis(info.reset_ms).max(SHORTEST_WAIT))
    }

    /// The milliseconds until all is free that nobody holds, and until the leases of what others hold are over. Units
    /// that others hold may be released before; nothing else comes sooner than it says.
    fn resets(&self, info: &LimitInfo) -> (u64, u64) {
        if self.bell.is_none() {
            return (info.reset_ms, 0);
        }
        let denied = info.checks().iter().filter(|info| info.blocked);
        denied.fold((0, 0), |(sure, held), info| {
            let holds = self.checks.get(info.check_index()).is_some_and(|one| one.check.limit.holds());
            if holds { (sure, held.max(info.reset_ms)) } else { (sure.max(info.reset_ms), held) }
        })
    }

    /// The time to sleep without a question to a shared store, for a call that comes after others of this process: they
    /// ask, and it is woken when it is the first. It looks for itself from time to time, and at the end of its wait.
    pub(super) fn behind_others(&self, ticket: Ticket) -> Option<Duration> {
        let mut held = self.checks.iter().filter(|one| one.check.limit.holds());
        if !self.limiter.is_shared() || held.all(|one| self.limiter.queue().is_first(one.entry, ticket)) {
            return None;
        }
        let now = clock::now();
        let left = self.max_wait.saturating_sub(now.saturating_sub(self.started));
        let time = self.asked.saturating_add(LONGEST_REST).saturating_sub(now).min(left);
        (time > 0).then(|| Duration::from_micros(time).max(SHORTEST_WAIT))
    }
}
