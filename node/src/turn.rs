//! Calls that wait for their turn with a store that others share; the engine does the sleeping.

use napi::Env;
use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::{AcquireHandle, host};

use crate::ask::owners_of;
use crate::decide::{asked, max_wait, names};
use crate::failure::{Answered, Failure};
use crate::frame::Frame;
use crate::letter::{Content, Letter};
use crate::tables;

/// A turn that the engine waits for. It ends with the thread that waits for it, unless its answer was taken.
pub(crate) struct Running(AcquireHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Begins to wait with the checks in `frame`, one actor for each; answers with a number to give it up by. The answer
/// comes in a letter.
#[napi(catch_unwind)]
pub(crate) fn start_turn(env: Env, mut frame: Float64Array, actors: Vec<Unknown<'_>>) -> Either<f64, Failure> {
    // SAFETY: JavaScript waits for this call, so nobody else reads or writes the frame meanwhile.
    let frame = Frame(unsafe { frame.as_mut() });
    let started = names(&frame, &actors).and_then(|names| start(env, &frame, &names));
    started.map_or_else(
        |failure| Either::B(*failure),
        |running| Either::A(tables::change(|tables| tables.turns.add(running))),
    )
}

fn start(env: Env, frame: &Frame<'_>, actors: &[String]) -> Answered<Running> {
    tables::with(|tables| {
        let (limiter, checks) = asked(tables, frame, actors)?;
        let mailbox = tables.mailboxes.get(frame.mailbox()).ok_or_else(Failure::closed)?;
        let key = checks.first().map_or("", |check| check.limit.key());
        let max_wait = max_wait(frame, key)?;
        let owners = owners_of(&checks)?;
        let checks: Vec<_> = checks.iter().map(|check| check.check).collect();
        let mut acquire = limiter.start_acquire(&checks, max_wait);
        if let Some(now) = frame.now() {
            acquire = acquire.at(host::instant(key, now)?);
        }
        let (to, letters) = (frame.id(), mailbox.clone());
        let handle = acquire.spawn(move |answer, handle| {
            let unheard = letters.post(Letter { to, content: Content::Turn(answer, owners, handle) });
            if let Err(letter) = unheard {
                letter.take_back();
            }
        });
        let handle = handle.map_err(|error| Failure::internal(&format!("cannot start a thread: {error}")))?;
        mailbox.began(env.raw());
        Ok(Running(handle))
    })
}

/// Gives up waiting for a turn, and with it what was charged; true if a letter still comes, which says nothing then.
#[napi(catch_unwind)]
pub(crate) fn give_up_turn(env: Env, mailbox: f64, running: f64) -> bool {
    let Some(running) = tables::change(|tables| tables.turns.remove(running)) else { return false };
    let comes = running.0.cancel();
    if !comes {
        tables::with(|tables| {
            if let Some(mailbox) = tables.mailboxes.get(mailbox) {
                mailbox.ended(env.raw(), 1);
            }
        });
    }
    comes
}

/// Gives the number of a turn back that was answered.
#[napi(catch_unwind)]
pub(crate) fn free_turn(running: f64) {
    drop(tables::change(|tables| tables.turns.remove(running)));
}
