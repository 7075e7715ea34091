//! The typed array in which a call's numbers go in and its answer's numbers come out.
//!
//! `lib/frame.ts` holds the same layout; the two must change together.

use tidegate::LimitInfo;

use crate::failure::{Answered, Failure};
use crate::tables;

/// In: which limiter, which call, then an optional instant and an optional longest wait, each behind a 0 or 1.
const LIMITER: usize = 0;
const CALL: usize = 1;
const NOW: [usize; 2] = [2, 3];
const MAX_WAIT: [usize; 2] = [4, 5];
/// In: for what is undone, when it was charged, in microseconds.
const CHARGED_AT: usize = 6;
/// In, for a store that others share: the mailbox for the answer, and the number of the call.
const MAILBOX: usize = 7;
const ID: usize = 8;
/// In: from here on four numbers for each check: limit, cost, factor, and for what is undone what was spent of it.
const CHECKS: usize = 9;
const CHECK_WIDTH: usize = 4;

/// Out: how many checks the answer has, and which of them decided; less than none where it is yet to come.
const COUNT: usize = 0;
const BINDING: usize = 1;
/// Out: from here on the merged answer, then, when there are several, the answer of each check.
const ANSWERS: usize = 2;
const ANSWER_WIDTH: usize = 10;

/// How much room an answer takes.
pub(crate) fn answer_length(info: &LimitInfo) -> usize {
    let count = info.checks().len();
    ANSWERS + (if count > 1 { 1 + count } else { 1 }) * ANSWER_WIDTH
}

/// What one decision of one check needs: at most two rules, with their answers and the merged one.
pub(crate) const LENGTH: usize = ANSWERS + 3 * ANSWER_WIDTH;

/// The frame of one call.
pub(crate) struct Frame<'a>(pub(crate) &'a mut [f64]);

/// A check as JavaScript wrote it down, still unchecked.
pub(crate) struct Asked {
    pub(crate) limit: f64,
    pub(crate) cost: f64,
    pub(crate) factor: f64,
}

impl Frame<'_> {
    pub(crate) fn limiter(&self) -> f64 {
        self.at(LIMITER)
    }

    pub(crate) fn call(&self) -> f64 {
        self.at(CALL)
    }

    pub(crate) fn now(&self) -> Option<f64> {
        self.optional(NOW)
    }

    pub(crate) fn max_wait(&self) -> Option<f64> {
        self.optional(MAX_WAIT)
    }

    pub(crate) fn charged_at(&self) -> u64 {
        whole(self.at(CHARGED_AT))
    }

    pub(crate) fn mailbox(&self) -> f64 {
        self.at(MAILBOX)
    }

    pub(crate) fn id(&self) -> f64 {
        self.at(ID)
    }

    /// Says that the answer is yet to come.
    pub(crate) fn pending(&mut self) {
        self.0[COUNT] = -1.0;
    }

    pub(crate) fn check(&self, index: usize) -> Asked {
        let start = CHECKS + index * CHECK_WIDTH;
        Asked { limit: self.at(start), cost: self.at(start + 1), factor: self.at(start + 2) }
    }

    /// What was spent of a check that is undone; only a call of several writes it.
    pub(crate) fn spent(&self, index: usize) -> u64 {
        whole(self.at(CHECKS + index * CHECK_WIDTH + 3))
    }

    /// The key of a check's limit, for errors.
    pub(crate) fn key(&self, index: usize) -> String {
        let limit = self.check(index).limit;
        tables::with(|tables| tables.limits.get(limit).map_or_else(String::new, |limit| limit.key().to_owned()))
    }

    /// Writes the answer down; `owner` says for the index of an answer which check it belongs to.
    #[inline]
    pub(crate) fn answer(&mut self, info: &LimitInfo, owner: impl Fn(usize) -> usize) -> Answered<()> {
        let each = info.checks();
        let (count, binding) = (each.len(), info.binding());
        let several = if count > 1 { each } else { &[] };
        if self.0.len() < ANSWERS + (1 + several.len()) * ANSWER_WIDTH {
            return Err(Failure::internal("the frame is too short for the answer"));
        }
        self.0[COUNT] = count as f64;
        self.0[BINDING] = binding as f64;
        self.write(0, info, owner(binding));
        for (index, info) in several.iter().enumerate() {
            self.write(1 + index, info, owner(index));
        }
        Ok(())
    }

    /// Reads an answer back, whatever its checks said.
    pub(crate) fn merged(&self) -> LimitInfo {
        self.read(0)
    }

    /// Reads an answer back: the merged one and those of the checks, and which of them decided.
    pub(crate) fn answers(&self) -> (LimitInfo, Vec<LimitInfo>, usize) {
        let count = index(self.at(COUNT));
        let several = if count > 1 { 1..=count } else { 0..=0 };
        (self.merged(), several.map(|place| self.read(place)).collect(), index(self.at(BINDING)))
    }

    #[inline]
    fn write(&mut self, place: usize, info: &LimitInfo, owner: usize) {
        let start = ANSWERS + place * ANSWER_WIDTH;
        self.0[start..start + ANSWER_WIDTH].copy_from_slice(&[
            f64::from(u8::from(info.blocked) | u8::from(info.degraded) << 1),
            info.remaining as f64,
            info.reset_ms as f64,
            info.full_reset_ms as f64,
            info.wait_ms as f64,
            info.next_ms as f64,
            info.quota as f64,
            info.window_ms as f64,
            info.at as f64,
            owner as f64,
        ]);
    }

    fn read(&self, place: usize) -> LimitInfo {
        let number = |offset: usize| whole(self.at(ANSWERS + place * ANSWER_WIDTH + offset));
        let mut info = LimitInfo::unlimited();
        info.blocked = number(0) & 1 > 0;
        info.remaining = number(1);
        info.reset_ms = number(2);
        info.full_reset_ms = number(3);
        info.wait_ms = number(4);
        info.next_ms = number(5);
        info.quota = number(6);
        info.window_ms = number(7);
        info
    }

    fn optional(&self, [given, value]: [usize; 2]) -> Option<f64> {
        (self.at(given) > 0.0).then(|| self.at(value))
    }

    fn at(&self, index: usize) -> f64 {
        self.0.get(index).copied().unwrap_or(0.0)
    }
}

/// A number that our own JavaScript wrote; anything else becomes the nearest integer that there is.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is what is meant")]
pub(crate) fn whole(number: f64) -> u64 {
    number as u64
}

/// [`whole`], as an index or a handle.
pub(crate) fn index(number: f64) -> usize {
    usize::try_from(whole(number)).unwrap_or(usize::MAX)
}
