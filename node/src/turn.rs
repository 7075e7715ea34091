//! Calls that wait for their turn with a store that others share; the engine does the sleeping.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use napi::Env;
use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Spawned};

use crate::ask::owners_of;
use crate::decide::{asked, max_wait, names};
use crate::failure::{Answered, Failure};
use crate::frame::Frame;
use crate::letter::{Content, Letter};
use crate::tables;

/// Somebody's turn: whoever answers it and whoever gives it up find out here who was first.
pub(crate) struct Turn {
    limiter: Limiter,
    checks: Vec<Wanted>,
    stage: AtomicU8,
}

/// A check that outlives the call that named it.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) limit: Limit,
    pub(crate) actor: String,
    pub(crate) cost: f64,
    pub(crate) factor: f64,
}

/// It is waited for; its answer is on its way; nobody wants it any more.
const WAITING: u8 = 0;
const ANSWERED: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Turn {
    pub(crate) fn was_given_up(&self) -> bool {
        self.stage.load(Ordering::Acquire) == GIVEN_UP
    }

    /// Gives back what this answer charged. There is nobody to tell if that fails.
    pub(crate) fn give_back(&self, info: &LimitInfo) {
        if info.blocked {
            return;
        }
        let charged_at = info.at;
        let call = if info.degraded { Call::UndoDegraded { charged_at } } else { Call::Undo { charged_at } };
        let checks: Vec<_> = self.checks.iter().map(Wanted::check).collect();
        drop(self.limiter.start(&checks, call, None, |_| Ok(())));
    }
}

impl Wanted {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cost that was checked")]
    pub(crate) fn check(&self) -> Check<'_> {
        Check::new(&self.limit, &self.actor).cost(self.cost as u64).factor(self.factor)
    }
}

/// A turn that the engine waits for.
pub(crate) struct Running {
    turn: Arc<Turn>,
    spawned: Spawned,
}

impl Running {
    /// Gives it up; true if its answer is on its way already, and will be given back when it comes.
    fn give_up(&self) -> bool {
        let before = self.turn.stage.compare_exchange(WAITING, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire);
        match before {
            Ok(_) => {
                self.spawned.cancel();
                false
            }
            Err(ANSWERED) => {
                self.turn.stage.store(GIVEN_UP, Ordering::Release);
                true
            }
            Err(_) => false,
        }
    }
}

/// With the thread that waited for it, a turn ends as well; one that was answered has gone to whoever waited.
impl Drop for Running {
    fn drop(&mut self) {
        if self.turn.stage.load(Ordering::Acquire) == WAITING {
            self.give_up();
        }
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
        let max_wait = max_wait(frame, checks.first().map_or("", |check| check.limit.key()))?;
        let owners = owners_of(&checks)?;
        let wanted = checks.iter().map(crate::decide::Asked::wanted).collect();
        let checks: Vec<_> = checks.iter().map(|check| check.check).collect();
        let turn = Arc::new(Turn { limiter: limiter.clone(), checks: wanted, stage: AtomicU8::new(WAITING) });
        let (to, waiting, letters) = (frame.id(), turn.clone(), mailbox.clone());
        let spawned = limiter.start_acquire(&checks, max_wait).spawn(move |answer| {
            let first = waiting.stage.compare_exchange(WAITING, ANSWERED, Ordering::AcqRel, Ordering::Acquire).is_ok();
            let letter = Letter { to, content: Content::Turn(answer, owners, waiting) };
            // Nobody waits any more, or nobody can be told.
            let unheard = if first { letters.post(letter).err() } else { Some(Box::new(letter)) };
            if let Some(letter) = unheard {
                letter.take_back();
            }
        });
        let spawned = spawned.map_err(|error| Failure::internal(&format!("cannot start a thread: {error}")))?;
        mailbox.began(env.raw());
        Ok(Running { turn, spawned })
    })
}

/// Gives up waiting for a turn, and with it what was charged; true if a letter still comes, which says nothing then.
#[napi(catch_unwind)]
pub(crate) fn give_up_turn(env: Env, mailbox: f64, running: f64) -> bool {
    let Some(running) = tables::change(|tables| tables.turns.remove(running)) else { return false };
    let comes = running.give_up();
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
