//! Acquires in memory; JavaScript does the sleeping.

use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::Step;

use crate::acquire::Turn;
use crate::buffer::CallBuffer;
use crate::calls::{asked, first_key, max_wait, names};
use crate::errors::{Answered, Failure};
use crate::registry;

/// It is over, and the answer is in the call buffer.
const DONE: f64 = -1.0;

/// Begins to wait with the checks in the call buffer, one actor for each; answers with a number. Nothing is asked yet.
#[napi(catch_unwind)]
pub(crate) fn start_turn(mut buffer: Float64Array, actors: Vec<Unknown<'_>>) -> Either<f64, Failure> {
    // SAFETY: JavaScript waits for this call, so nobody else reads or writes the call buffer meanwhile.
    let buffer = CallBuffer(unsafe { buffer.as_mut() });
    let started = names(&buffer, &actors).and_then(|names| start(&buffer, &names));
    started.map_or_else(
        |failure| Either::B(*failure),
        |turn| Either::A(registry::change(|registry| registry.turns.add(turn))),
    )
}

fn start(buffer: &CallBuffer<'_>, actors: &[String]) -> Answered<Turn> {
    registry::with(|registry| {
        let (limiter, checks) = asked(registry, buffer, actors)?;
        let max_wait = max_wait(buffer, first_key(&checks))?;
        Ok(Turn(limiter.start_acquire(&checks, max_wait)))
    })
}

/// Takes the next step; answers with the milliseconds to sleep before the one after it, or -1 when the answer is in
/// the call buffer. After that, and after an error, the number stands for nothing any more.
#[napi(catch_unwind)]
pub(crate) fn step_turn(turn: f64, mut buffer: Float64Array) -> Either<f64, Failure> {
    // SAFETY: as above.
    let mut buffer = CallBuffer(unsafe { buffer.as_mut() });
    match step(turn, &mut buffer) {
        Ok(sleep) if sleep >= 0.0 => Either::A(sleep),
        done => {
            free_turn(turn);
            done.map_or_else(|failure| Either::B(*failure), Either::A)
        }
    }
}

fn step(turn: f64, buffer: &mut CallBuffer<'_>) -> Answered<f64> {
    registry::change(|registry| {
        let turn = registry.turns.get_mut(turn).ok_or_else(|| Failure::internal("nobody waits here"))?;
        match turn.0.step()? {
            Step::Wait(time) => Ok(time.as_secs_f64() * 1000.0),
            Step::Done(info) => {
                buffer.answer(&info)?;
                Ok(DONE)
            }
        }
    })
}

/// Gives up: leaves the line, and gives back what was charged. Twice is as good as once.
#[napi(catch_unwind)]
pub(crate) fn free_turn(turn: f64) {
    drop(registry::change(|registry| registry.turns.remove(turn)));
}
