//! The end of an `acquire`: it is counted, and leaves the queue.

use super::{Acquire, Stage, Step};
use crate::Error;
use crate::charge::Charge;
use crate::info::LimitInfo;

impl Acquire {
    /// Counts it if this step was the last.
    pub(super) fn count_step(&self, step: &Result<Step, Error>) {
        match step {
            Ok(Step::Wait(_)) => {}
            Ok(Step::Done(info)) => self.count(Ok(info)),
            Err(error) => self.count(Err(error)),
        }
    }

    /// Counts it with this answer.
    #[cfg(feature = "remote")]
    pub(super) fn count(&self, answer: Result<&LimitInfo, &Error>) {
        if let Some(meter) = self.limiter.meter.get() {
            meter.turn(&self.checks(&self.costs()), answer);
        }
    }

    #[cfg(not(feature = "remote"))]
    #[expect(clippy::unused_self, reason = "as where there are metrics to read")]
    pub(super) const fn count(&self, _: Result<&LimitInfo, &Error>) {}

    /// Makes room for another call that wants to wait.
    pub(super) fn exit(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.limiter.queue().exit(permit);
        }
    }

    pub(super) fn leave_queue(&mut self) {
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
