//! Acquires in memory; JavaScript does the sleeping.

use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::acquire::Step;

use crate::acquire::AcquireSteps;
use crate::buffer::CallBuffer;
use crate::calls::{asked, first_key, max_wait, names};
use crate::errors::{Answered, Failure};
use crate::registry;

/// It is over, and the answer is in the call buffer.
const DONE: f64 = -1.0;

/// Begins to wait with the checks in the call buffer, one actor for each; returns a number. Nothing is decided yet.
#[napi(catch_unwind)]
pub(crate) fn start_steps(mut buffer: Float64Array, actors: Vec<Unknown<'_>>) -> Either<f64, Failure> {
    // SAFETY: JavaScript waits for this call, so nothing else reads or writes the call buffer meanwhile.
    let buffer = CallBuffer(unsafe { buffer.as_mut() });
    let started = names(&buffer, &actors).and_then(|names| start(&buffer, &names));
    started.map_or_else(
        |failure| Either::B(*failure),
        |steps| Either::A(registry::change(|registry| registry.add_steps(steps))),
    )
}

fn start(buffer: &CallBuffer<'_>, actors: &[String]) -> Answered<AcquireSteps> {
    registry::with(|registry| {
        let (limiter, checks) = asked(registry, buffer, actors)?;
        let max_wait = max_wait(buffer, first_key(&checks))?;
        Ok(AcquireSteps(limiter.start_acquire(&checks, max_wait)))
    })
}

/// Takes the next step; returns the milliseconds to sleep before the one after it, or -1 when the answer is in the call
/// buffer. After that, and after an error, the number is free.
#[napi(catch_unwind)]
pub(crate) fn next_step(steps: f64, mut buffer: Float64Array) -> Either<f64, Failure> {
    // SAFETY: as above.
    let mut buffer = CallBuffer(unsafe { buffer.as_mut() });
    match step(steps, &mut buffer) {
        Ok(sleep) if sleep >= 0.0 => Either::A(sleep),
        done => {
            free_steps(steps);
            done.map_or_else(|failure| Either::B(*failure), Either::A)
        }
    }
}

fn step(steps: f64, buffer: &mut CallBuffer<'_>) -> Answered<f64> {
    registry::change(|registry| {
        let acquire = registry.steps.get_mut(steps).ok_or_else(|| Failure::internal("no such acquire"))?;
        match acquire.0.step()? {
            Step::Wait(time) => Ok(time.as_secs_f64() * 1000.0),
            Step::Done(info) => {
                buffer.answer(&info)?;
                Ok(DONE)
            }
        }
    })
}

/// The numbers of those that need not sleep any longer, because units were released for which they wait.
#[napi(catch_unwind)]
pub(crate) fn rung_steps() -> Vec<f64> {
    registry::with(|registry| registry.rung.take())
}

/// Cancels: leaves the wait queue, and gives the charge back, once.
#[napi(catch_unwind)]
pub(crate) fn free_steps(steps: f64) {
    drop(registry::change(|registry| registry.steps.remove(steps)));
}
