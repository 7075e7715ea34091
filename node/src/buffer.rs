//! The typed arrays in which a call's numbers go in and its answer's numbers come out, laid out by [`layout`].

use std::array;

use tidegate::LimitInfo;
use tidegate::ffi::Charge;

use crate::errors::{Answered, Failure};
use crate::layout::{
    ANSWER_AT, ANSWER_WIDTH, CHECK_WIDTH, FAST_WIDTH, MOST_CHECKS, check,
    input::{
        CALL, CHARGED_AT, CHECK_COUNT, CHECKS, HAS_MAX_WAIT, HAS_NOW, ID, LIMITER, MAX_WAIT, NOW, QUEUE, RECEIPT,
        REMAINING,
    },
    output::{ANSWERS, BINDING, COUNT},
};
use crate::numbers::{index, whole};

/// The length of an answer.
pub(crate) fn answer_length(info: &LimitInfo) -> usize {
    ANSWERS + (1 + several(info.checks()).len()) * ANSWER_WIDTH
}

/// The answers that are written behind the merged one; the only one is the same, unless it is not enforced.
fn several(each: &[LimitInfo]) -> &[LimitInfo] {
    match each {
        [one] if !one.is_observed() => &[],
        each => each,
    }
}

/// The index of the answer that decides where no check is enforced.
const NONE: f64 = -1.0;

/// The length of the shared call buffer: at most two rules for each check, with their answers and the merged one.
pub(crate) const LENGTH: usize = ANSWERS + (1 + 2 * MOST_CHECKS) * ANSWER_WIDTH;

/// The length of the fast buffer: the merged answer, and that of each check.
pub(crate) const FAST_LENGTH: usize = (1 + MOST_CHECKS) * FAST_WIDTH;

/// The fast buffer: nearly every answer, in integers of 32 bits. JavaScript checks every double for being an integer,
/// which for the numbers of an answer takes as long as a decision.
pub(crate) struct FastBuffer<'a>(pub(crate) &'a mut [i32]);

impl FastBuffer<'_> {
    /// Writes an answer; false if a number is too large.
    #[inline]
    fn write(&mut self, place: usize, info: &LimitInfo) -> bool {
        let [numbers @ .., _, _] = info.numbers();
        let all = numbers.iter().fold(0, |all, number| all | number);
        let start = place * FAST_WIDTH;
        let Some(room) = self.0.get_mut(start..start + FAST_WIDTH).filter(|_| i32::try_from(all).is_ok()) else {
            return false;
        };
        #[expect(clippy::cast_possible_truncation, reason = "as was just asked")]
        for (room, number) in room.iter_mut().zip(numbers) {
            *room = number as i32;
        }
        true
    }
}

/// The call buffer of one call.
pub(crate) struct CallBuffer<'a>(pub(crate) &'a mut [f64]);

/// A check as JavaScript wrote it, still unchecked.
pub(crate) struct CheckNumbers {
    pub(crate) limit: f64,
    pub(crate) cost: f64,
    pub(crate) factor: f64,
}

impl CallBuffer<'_> {
    pub(crate) fn limiter(&self) -> f64 {
        self.at(LIMITER)
    }

    pub(crate) fn call(&self) -> f64 {
        self.at(CALL)
    }

    pub(crate) fn now(&self) -> Option<f64> {
        self.optional(HAS_NOW, NOW)
    }

    pub(crate) fn max_wait(&self) -> Option<f64> {
        self.optional(HAS_MAX_WAIT, MAX_WAIT)
    }

    /// The units that are left upstream.
    pub(crate) fn remaining(&self) -> Option<f64> {
        Some(self.at(REMAINING)).filter(|units| *units >= 0.0)
    }

    /// The charge that a receipt of so many checks names, and whether it is still open.
    pub(crate) fn receipt(&self, checks: usize) -> (Charge, bool) {
        let flags = whole(self.at(RECEIPT));
        let (at, each, observed) = (whole(self.at(CHARGED_AT)), Vec::new(), Vec::new());
        let mut charge = Charge { at, each, denied: flags & 1 > 0, observed, degraded: flags & 2 > 0, granted: 0 };
        let observed = (0..checks).filter(|index| self.is_observed(*index));
        charge.observe(observed.map(|index| (index, self.observed(index) & 2 > 0)));
        (charge, flags & 4 > 0)
    }

    /// True of a check that is not enforced.
    pub(crate) fn is_observed(&self, index: usize) -> bool {
        self.observed(index) & 1 > 0
    }

    fn observed(&self, index: usize) -> u64 {
        whole(self.at(CHECKS + index * CHECK_WIDTH + check::OBSERVED))
    }

    /// The instant at which this check of a receipt was charged.
    pub(crate) fn charged_at(&self, index: usize) -> u64 {
        whole(self.at(CHECKS + index * CHECK_WIDTH + check::CHARGED_AT))
    }

    pub(crate) fn queue(&self) -> f64 {
        self.at(QUEUE)
    }

    pub(crate) fn id(&self) -> f64 {
        self.at(ID)
    }

    /// Marks the answer as still to come.
    pub(crate) fn pending(&mut self) {
        self.0[COUNT] = -1.0;
    }

    /// The number of checks of a call in the shared call buffer.
    pub(crate) fn check_count(&self) -> usize {
        index(self.at(CHECK_COUNT)).min(MOST_CHECKS)
    }

    pub(crate) fn check(&self, index: usize) -> CheckNumbers {
        let start = CHECKS + index * CHECK_WIDTH;
        let at = |number| self.at(start + number);
        CheckNumbers { limit: at(check::LIMIT), cost: at(check::COST), factor: at(check::FACTOR) }
    }

    /// The limit of the first check.
    pub(crate) fn limit(&self) -> f64 {
        self.check(0).limit
    }

    /// Writes the answer.
    #[inline]
    pub(crate) fn answer(&mut self, info: &LimitInfo) -> Answered<()> {
        let each = info.checks();
        let binding = if each.iter().all(LimitInfo::is_observed) { NONE } else { info.binding() as f64 };
        self.answer_each(info, each, binding)
    }

    /// Writes an answer and those of its checks, of which the one with this index decided, or [`NONE`].
    fn answer_each(&mut self, info: &LimitInfo, each: &[LimitInfo], binding: f64) -> Answered<()> {
        let several = several(each);
        if self.0.len() < ANSWERS + (1 + several.len()) * ANSWER_WIDTH {
            return Err(Failure::internal("the buffer is too short for the answer"));
        }
        self.0[COUNT] = each.len() as f64;
        self.0[BINDING] = binding;
        self.write(0, info);
        for (index, info) in several.iter().enumerate() {
            self.write(1 + index, info);
        }
        Ok(())
    }

    /// Writes the answer to one check, in the fast buffer if it fits.
    #[inline]
    pub(crate) fn answer_one(&mut self, fast: &mut FastBuffer<'_>, info: &LimitInfo) -> Answered<()> {
        if info.checks().len() > 1 || !fast.write(0, info) {
            return self.answer(info);
        }
        self.answered_fast(info);
        Ok(())
    }

    /// Writes the answer to a few checks, and that of each; in the fast buffer if they fit.
    #[inline]
    pub(crate) fn answer_few(
        &mut self,
        fast: &mut FastBuffer<'_>,
        checks: usize,
        info: &LimitInfo,
        each: &[LimitInfo],
    ) -> Answered<()> {
        let fits = each.len() == checks
            && fast.write(0, info)
            && each.iter().all(|check| check.at == info.at)
            && each.iter().enumerate().all(|(index, info)| fast.write(1 + index, info));
        if !fits {
            return self.answer_each(info, each, LimitInfo::binding_among(each) as f64);
        }
        self.answered_fast(info);
        self.0[BINDING] = LimitInfo::binding_among(each) as f64;
        Ok(())
    }

    fn answered_fast(&mut self, info: &LimitInfo) {
        self.0[COUNT] = 0.0;
        self.0[ANSWERS + ANSWER_AT] = double(info.at);
    }

    /// Reads an answer back: the merged one, those of the checks, and the index of the one that decided.
    pub(crate) fn answers(&self) -> (LimitInfo, Vec<LimitInfo>, usize) {
        let count = index(self.at(COUNT));
        let several = if count > 1 { 1..=count } else { 0..=0 };
        (self.read(0), several.map(|place| self.read(place)).collect(), index(self.at(BINDING)))
    }

    #[inline]
    fn write(&mut self, place: usize, info: &LimitInfo) {
        let start = ANSWERS + place * ANSWER_WIDTH;
        self.0[start..start + ANSWER_WIDTH].copy_from_slice(&info.numbers().map(double));
    }

    fn read(&self, place: usize) -> LimitInfo {
        let start = ANSWERS + place * ANSWER_WIDTH;
        LimitInfo::from_numbers(array::from_fn(|offset| whole(self.at(start + offset))))
    }

    fn optional(&self, given: usize, value: usize) -> Option<f64> {
        (self.at(given) > 0.0).then(|| self.at(value))
    }

    fn at(&self, index: usize) -> f64 {
        self.0.get(index).copied().unwrap_or(0.0)
    }
}

/// A number of the engine's. It is at most 2^53, so the processor may take it for a signed one, which it converts in
/// one step.
fn double(number: u64) -> f64 {
    number.cast_signed() as f64
}
