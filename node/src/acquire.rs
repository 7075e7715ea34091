//! Calls that wait for their turn; JavaScript does the sleeping.

use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::{Acquire, Step};

use crate::decide::{asked, max_wait, names, owners};
use crate::failure::{Answered, Failure};
use crate::frame::Frame;
use crate::tables;

/// An acquire under way, and which check each of its answers will belong to.
pub(crate) struct Waiting {
    acquire: Acquire,
    owners: Vec<usize>,
}

/// It is over, and the answer is in the frame.
const DONE: f64 = -1.0;

/// Begins to wait with the checks in `frame`, one actor for each; answers with a number. Nothing is asked yet.
#[napi(catch_unwind)]
pub(crate) fn start_acquire(mut frame: Float64Array, actors: Vec<Unknown<'_>>) -> Either<f64, Failure> {
    // SAFETY: JavaScript waits for this call, so nobody else reads or writes the frame meanwhile.
    let frame = Frame(unsafe { frame.as_mut() });
    let started = names(&frame, &actors).and_then(|names| start(&frame, &names));
    started.map_or_else(
        |failure| Either::B(*failure),
        |waiting| Either::A(tables::change(|tables| tables.waiting.add(waiting))),
    )
}

fn start(frame: &Frame<'_>, actors: &[String]) -> Answered<Waiting> {
    tables::with(|tables| {
        let (limiter, checks) = asked(tables, frame, actors)?;
        let max_wait = max_wait(frame, checks.first().map_or("", |check| check.limit.key()))?;
        let owners = owners(&checks)?;
        let checks: Vec<_> = checks.iter().map(|check| check.check).collect();
        Ok(Waiting { acquire: limiter.start_acquire(&checks, max_wait), owners })
    })
}

/// Takes the next step; answers with the milliseconds to sleep before the one after it, or -1 when the answer is in
/// `frame`. After that, and after an error, the number stands for nothing any more.
#[napi(catch_unwind)]
pub(crate) fn step_acquire(waiting: f64, mut frame: Float64Array) -> Either<f64, Failure> {
    // SAFETY: as above.
    let mut frame = Frame(unsafe { frame.as_mut() });
    match step(waiting, &mut frame) {
        Ok(sleep) if sleep >= 0.0 => Either::A(sleep),
        done => {
            free_acquire(waiting);
            done.map_or_else(|failure| Either::B(*failure), Either::A)
        }
    }
}

fn step(waiting: f64, frame: &mut Frame<'_>) -> Answered<f64> {
    tables::change(|tables| {
        let waiting = tables.waiting.get_mut(waiting).ok_or_else(|| Failure::internal("nobody waits here"))?;
        match waiting.acquire.step()? {
            Step::Wait(time) => Ok(time.as_secs_f64() * 1000.0),
            Step::Done(info) => {
                frame.answer(&info, |index| waiting.owners.get(index).copied().unwrap_or(0))?;
                Ok(DONE)
            }
        }
    })
}

/// Gives up: leaves the line, and gives back what was charged. Twice is as good as once.
#[napi(catch_unwind)]
pub(crate) fn free_acquire(waiting: f64) {
    drop(tables::change(|tables| tables.waiting.remove(waiting)));
}
