//! The typed array in which a call's numbers go in and its answer's numbers come out.
//!
//! `lib/buffer.ts` holds the same layout; the two must change together.

use std::array;

use tidegate::{Charge, LimitInfo};

use crate::errors::{Answered, Failure};
use crate::numbers::{index, whole};

/// In: which limiter, which call, then an optional instant and an optional longest wait, each behind a 0 or 1.
const LIMITER: usize = 0;
const CALL: usize = 1;
const NOW: [usize; 2] = [2, 3];
const MAX_WAIT: [usize; 2] = [4, 5];
/// In, for a receipt: when it was charged, in microseconds.
const CHARGED_AT: usize = 6;
/// In, for a store that others share: the reply queue for the answer, and the number of the call.
const MAILBOX: usize = 7;
const ID: usize = 8;
/// In, for a receipt: 1 if its call was denied, 2 more if its answer was degraded, 4 more if it is still open.
const RECEIPT: usize = 9;
/// In, for a few checks at once: how many there are.
const CHECK_COUNT: usize = 10;
/// In: from here on four numbers for each check: limit, cost, factor, and for a receipt when it was charged.
const CHECKS: usize = 11;
const CHECK_WIDTH: usize = 4;

/// Out: how many checks the answer has, and which of them decided; less than none where it is yet to come, and none
/// where the answer is in [small numbers](FastBuffer).
const COUNT: usize = 0;
const BINDING: usize = 1;
/// Out: from here on the merged answer, then, when there are several, the answer of each check.
const ANSWERS: usize = 2;
const ANSWER_WIDTH: usize = LimitInfo::NUMBERS;
/// The place of its instant in an answer.
const AT: usize = ANSWER_WIDTH - 2;

/// The room that an answer takes.
pub(crate) fn answer_length(info: &LimitInfo) -> usize {
    let count = info.checks().len();
    ANSWERS + (if count > 1 { 1 + count } else { 1 }) * ANSWER_WIDTH
}

/// The most checks of a call that crosses in the shared call buffer.
pub(crate) const FEW: usize = 8;

/// The length for one decision of a few checks: at most two rules each, with their answers and the merged one.
pub(crate) const LENGTH: usize = ANSWERS + (1 + 2 * FEW) * ANSWER_WIDTH;

/// An answer's numbers but the last two.
const FAST_WIDTH: usize = ANSWER_WIDTH - 2;
/// Out: the merged answer, and that of each check.
pub(crate) const FAST_LENGTH: usize = (1 + FEW) * FAST_WIDTH;

/// Nearly every answer in integers of 32 bits, in an array of their own: JavaScript looks closely at every double to
/// see whether it is an integer, which for the numbers of an answer takes as long as to decide.
pub(crate) struct FastBuffer<'a>(pub(crate) &'a mut [i32]);

impl FastBuffer<'_> {
    /// Writes an answer down; false if a number is too large.
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

/// A check as JavaScript wrote it down, still unchecked.
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
        self.optional(NOW)
    }

    pub(crate) fn max_wait(&self) -> Option<f64> {
        self.optional(MAX_WAIT)
    }

    /// The charge that a receipt names, and whether it is still open.
    pub(crate) fn receipt(&self) -> (Charge, bool) {
        let flags = whole(self.at(RECEIPT));
        let (at, each) = (whole(self.at(CHARGED_AT)), Vec::new());
        let charge = Charge { at, each, denied: flags & 1 > 0, degraded: flags & 2 > 0 };
        (charge, flags & 4 > 0)
    }

    /// When this check of a receipt was charged.
    pub(crate) fn charged_at(&self, check: usize) -> u64 {
        whole(self.at(CHECKS + check * CHECK_WIDTH + 3))
    }

    pub(crate) fn queue(&self) -> f64 {
        self.at(MAILBOX)
    }

    pub(crate) fn id(&self) -> f64 {
        self.at(ID)
    }

    /// Says that the answer is yet to come.
    pub(crate) fn pending(&mut self) {
        self.0[COUNT] = -1.0;
    }

    /// The number of checks of a call of a few.
    pub(crate) fn few(&self) -> usize {
        index(self.at(CHECK_COUNT)).min(FEW)
    }

    pub(crate) fn check(&self, index: usize) -> CheckNumbers {
        let start = CHECKS + index * CHECK_WIDTH;
        CheckNumbers { limit: self.at(start), cost: self.at(start + 1), factor: self.at(start + 2) }
    }

    /// The limit of the first check.
    pub(crate) fn limit(&self) -> f64 {
        self.check(0).limit
    }

    /// Writes the answer down.
    #[inline]
    pub(crate) fn answer(&mut self, info: &LimitInfo) -> Answered<()> {
        let each = info.checks();
        let (count, binding) = (each.len(), info.binding());
        let several = if count > 1 { each } else { &[] };
        if self.0.len() < ANSWERS + (1 + several.len()) * ANSWER_WIDTH {
            return Err(Failure::internal("the buffer is too short for the answer"));
        }
        self.0[COUNT] = count as f64;
        self.0[BINDING] = binding as f64;
        self.write(0, info);
        for (index, info) in several.iter().enumerate() {
            self.write(1 + index, info);
        }
        Ok(())
    }

    /// Writes the answer to one check down, in small numbers if it can.
    #[inline]
    pub(crate) fn answer_one(&mut self, fast: &mut FastBuffer<'_>, info: &LimitInfo) -> Answered<()> {
        if info.checks().len() > 1 || !fast.write(0, info) {
            return self.answer(info);
        }
        self.answered_fast(info);
        Ok(())
    }

    /// Writes the answers to so many checks down, in small numbers; false if it cannot.
    #[inline]
    pub(crate) fn answer_few(&mut self, fast: &mut FastBuffer<'_>, info: &LimitInfo, checks: usize) -> bool {
        let each = info.checks();
        let fits = each.len() == checks
            && fast.write(0, info)
            && each.iter().all(|check| check.at == info.at)
            && each.iter().enumerate().all(|(index, info)| fast.write(1 + index, info));
        if fits {
            self.answered_fast(info);
            self.0[BINDING] = info.binding() as f64;
        }
        fits
    }

    fn answered_fast(&mut self, info: &LimitInfo) {
        self.0[COUNT] = 0.0;
        self.0[ANSWERS + AT] = double(info.at);
    }

    /// Reads an answer back: the merged one and those of the checks, and which of them decided.
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

    fn optional(&self, [given, value]: [usize; 2]) -> Option<f64> {
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
