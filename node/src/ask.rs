//! The calls themselves, of a store that others share: an answer that is known at once is left in the frame, any other
//! comes in a letter.

use std::cell::RefCell;
use std::sync::Arc;

use napi::bindgen_prelude::{Float64Array, Unknown};
use napi::{Env, sys};
use napi_derive::napi;
use tidegate::{Call, Check, Error, LimitInfo, Limiter, Standing, host};

use crate::decide::{Asked, Spending, Wanted, asked, call, call_of, check, names, owners};
use crate::failure::{Answered, Failure};
use crate::frame::Frame;
use crate::letter::{Content, Letter, Owners};
use crate::mailbox::Mailbox;
use crate::tables::{self, Tables};

type Decided = Result<LimitInfo, Error>;

thread_local! {
    /// Where an answer goes that is there before its call has been sent on its way.
    static AT_ONCE: RefCell<Place> = const { RefCell::new(Place::Closed) };
}

enum Place {
    /// No call is being started on this thread.
    Closed,
    Empty,
    Taken(Decided),
}

/// What a call needs to be asked, beside its checks.
struct Line<'a> {
    env: sys::napi_env,
    limiter: &'a Limiter,
    mailbox: &'a Arc<Mailbox>,
    /// The number of the call.
    to: f64,
    now: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(env: sys::napi_env, tables: &'a Tables, frame: &Frame<'_>) -> Answered<Self> {
        Ok(Self {
            env,
            limiter: tables.limiters.get(frame.limiter()).ok_or_else(Failure::closed)?,
            mailbox: tables.mailboxes.get(frame.mailbox()).ok_or_else(|| Failure::internal("no such mailbox"))?,
            to: frame.id(),
            now: frame.now(),
        })
    }

    /// Asks; either the answer is known at once, or it comes in a letter.
    fn ask(&self, key: &str, checks: &[Check<'_>], call: Call, owners: Owners) -> Answered<Option<Decided>> {
        let now = self.now.map(|now| host::instant(key, now)).transpose()?;
        let (to, letters) = (self.to, self.mailbox.clone());
        AT_ONCE.set(Place::Empty);
        let started = self.limiter.start(checks, call, now, move |answer| {
            // Nobody else starts a call on this thread, so what finds a place there is the answer to this one.
            let answer = AT_ONCE.with_borrow_mut(|place| {
                if matches!(place, Place::Closed) {
                    return Some(answer);
                }
                *place = Place::Taken(answer);
                None
            });
            let Some(answer) = answer else { return Ok(()) };
            letters.post(Letter { to, content: Content::Answer(answer, owners) }).map_err(|letter| letter.answer())
        });
        let known = match (started, AT_ONCE.replace(Place::Closed)) {
            (Some(answer), _) | (None, Place::Taken(answer)) => Some(answer),
            _ => None,
        };
        if known.is_none() {
            self.mailbox.began(self.env);
        }
        Ok(known)
    }
}

/// Leaves in the frame what is known at once, or that it is yet to come.
fn leave(frame: &mut Frame<'_>, known: Option<Decided>, owner: impl Fn(usize) -> usize) -> Answered<()> {
    if let Some(info) = known {
        return frame.answer(&info?, owner);
    }
    frame.pending();
    Ok(())
}

/// Asks for the one check that the frame describes.
pub(crate) fn ask_one(env: sys::napi_env, tables: &Tables, frame: &mut Frame<'_>, actor: &str) -> Answered<()> {
    let line = Line::new(env, tables, frame)?;
    let check = check(tables, frame, 0, actor)?;
    let key = check.limit.key();
    let call = call(frame, key)?;
    let known = line.ask(key, &[check.check], call, Owners(None))?;
    leave(frame, known, |_| 0)
}

/// Asks for several checks together: one actor for each; for a receipt with what was spent.
#[napi(catch_unwind)]
pub(crate) fn ask_several(
    env: Env,
    mut frame: Float64Array,
    actors: Vec<Unknown<'_>>,
    #[napi(ts_arg_type = "number | number[]")] spent: Spending,
) -> Option<Failure> {
    // SAFETY: JavaScript waits for this call, so nobody else reads or writes the frame meanwhile.
    let mut frame = Frame(unsafe { frame.as_mut() });
    let asked = names(&frame, &actors).and_then(|names| ask_together(env.raw(), &mut frame, &names, &spent));
    asked.err().map(|failure| *failure)
}

fn ask_together(env: sys::napi_env, frame: &mut Frame<'_>, actors: &[String], spent: &Spending) -> Answered<()> {
    tables::with(|tables| {
        let line = Line::new(env, tables, frame)?;
        let (_, checks) = asked(tables, frame, actors)?;
        let key = checks.first().map_or("", |check| check.limit.key());
        let owners = owners_of(&checks)?;
        let mut each: Vec<_> = checks.iter().map(|check| check.check).collect();
        let call = call_of(frame, key, &mut each, spent)?;
        let known = line.ask(key, &each, call, owners.clone())?;
        leave(frame, known, |index| owners.of(index))
    })
}

/// Asks why several checks together would be answered as they would.
#[napi(catch_unwind)]
pub(crate) fn ask_why(env: Env, mut frame: Float64Array, actors: Vec<Unknown<'_>>) -> Option<Failure> {
    // SAFETY: as above.
    let mut frame = Frame(unsafe { frame.as_mut() });
    let asked = names(&frame, &actors).and_then(|names| why(env.raw(), &mut frame, &names));
    asked.err().map(|failure| *failure)
}

fn why(env: sys::napi_env, frame: &mut Frame<'_>, actors: &[String]) -> Answered<()> {
    tables::with(|tables| {
        let line = Line::new(env, tables, frame)?;
        let (_, checks) = asked(tables, frame, actors)?;
        let key = checks.first().map_or("", |check| check.limit.key());
        let now = line.now.map(|now| host::instant(key, now)).transpose()?;
        let owners = owners_of(&checks)?;
        let wanted: Vec<Wanted> = checks.iter().map(Asked::wanted).collect();
        let (to, letters) = (line.to, line.mailbox.clone());
        let explain = move |info: Decided| {
            let checks: Vec<_> = wanted.iter().map(Wanted::check).collect();
            let standing = info.and_then(|info| Ok(Standing::of(&checks, info)?));
            // Whoever cannot be told was charged nothing.
            let _ = letters.post(Letter { to, content: Content::Explained(standing, owners) });
        };
        let later = explain.clone();
        let each: Vec<_> = checks.iter().map(|check| check.check).collect();
        let known = line.limiter.start(&each, Call::Peek, now, move |info| {
            later(info);
            Ok(())
        });
        // Asked by people, not for every request: what is known at once comes in a letter like everything else.
        known.map(explain);
        line.mailbox.began(env);
        frame.pending();
        Ok(())
    })
}

/// Which check each answer will belong to; of one check, all do.
pub(crate) fn owners_of(checks: &[Asked<'_>]) -> Answered<Owners> {
    Ok(Owners(if checks.len() > 1 { Some(owners(checks)?.into()) } else { None }))
}
