//! Answers on their way from the thread that talks to the store to the thread that JavaScript runs on.
//!
//! They queue up here, and JavaScript is woken only where the queue was empty. In its own time it empties the mailbox:
//! all that is there by then is handed over in one call, as numbers in the [`inbox`](Mailbox). While calls are under
//! way the environment is kept alive, and an answer that nobody can hear any more, because its environment has ended,
//! is taken back where it charged something that somebody waited for.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{Function, ToNapiValue, Unknown, retain_current_module_for_unload_safety};
use napi::{Env, JsValue, Result, check_status, sys};
use napi_derive::napi;

use crate::letter::{Inbox, Letter};
use crate::tables;

/// Where one side of this binding in JavaScript hears of what it asked shared stores.
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    /// Wakes JavaScript; gone with its environment. Whoever calls it holds this lock, so that it cannot go meanwhile.
    wake: Mutex<Option<Wake>>,
    /// The typed array that answers are handed over in. Only JavaScript's thread touches it.
    inbox: Inbox,
    /// How many calls are under way; changed by JavaScript's thread alone.
    under_way: AtomicUsize,
}

#[derive(Default)]
struct Letters {
    waiting: Vec<Letter>,
    closed: bool,
}

struct Wake(sys::napi_threadsafe_function);

// SAFETY: a threadsafe function may be called from any thread for as long as it lives, which the mailbox's lock sees to.
unsafe impl Send for Wake {}

/// How many events may wait for a thread that does not listen; further ones are dropped.
const MOST_WAITING_EVENTS: usize = 100_000;

impl Mailbox {
    /// Hands an answer over; gives it back if there is nobody any more to hear it.
    pub(crate) fn post(&self, letter: Letter) -> std::result::Result<(), Box<Letter>> {
        let mut letters = self.letters();
        if letters.closed {
            return Err(Box::new(letter));
        }
        if letter.is_event() && letters.waiting.len() >= MOST_WAITING_EVENTS {
            return Ok(());
        }
        let asleep = letters.waiting.is_empty();
        letters.waiting.push(letter);
        drop(letters);
        if asleep {
            self.wake();
        }
        Ok(())
    }

    fn wake(&self) {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Wake(function)) = *wake {
            // SAFETY: it lives, because it is taken out of here before it goes. An environment that is closing answers
            // so, and then comes for the letters itself.
            unsafe {
                sys::napi_call_threadsafe_function(
                    function,
                    ptr::null_mut(),
                    sys::ThreadsafeFunctionCallMode::nonblocking,
                );
            }
        }
    }

    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins whose answer will come in a letter: the environment stays alive for it.
    pub(crate) fn began(&self, env: sys::napi_env) {
        if self.under_way.fetch_add(1, Ordering::Relaxed) == 0 {
            self.keep_alive(env, true);
        }
    }

    /// So many of those calls are over.
    pub(crate) fn ended(&self, env: sys::napi_env, calls: usize) {
        if calls > 0 && self.under_way.fetch_sub(calls, Ordering::Relaxed) == calls {
            self.keep_alive(env, false);
        }
    }

    fn keep_alive(&self, env: sys::napi_env, keep: bool) {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Wake(function)) = *wake {
            // SAFETY: as in `wake`, on the thread of this environment.
            unsafe {
                if keep {
                    sys::napi_ref_threadsafe_function(env, function);
                } else {
                    sys::napi_unref_threadsafe_function(env, function);
                }
            }
        }
    }

    /// Hands over all that is there.
    fn deliver(&self, env: sys::napi_env, receiver: sys::napi_value) -> Result<()> {
        let letters = std::mem::take(&mut self.letters().waiting);
        self.ended(env, letters.iter().filter(|letter| !letter.is_event()).count());
        let mut letters = letters.into_iter().peekable();
        while letters.peek().is_some() {
            // SAFETY: this is JavaScript's thread, and JavaScript waits for this call.
            let mut page = unsafe { self.inbox.page(env) };
            while let Some(letter) = letters.peek() {
                if !page.has_room_for(letter) {
                    break;
                }
                letters.next().map_or(Ok(()), |letter| page.write(letter))?;
            }
            let (count, beside) = page.finish()?;
            let (mut this, mut answer) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the environment is that of this call, and all values were made in it.
            unsafe {
                let arguments = [f64::to_napi_value(env, count as f64)?, beside];
                check_status!(sys::napi_get_undefined(env, &raw mut this))?;
                let (length, arguments) = (arguments.len(), arguments.as_ptr());
                check_status!(sys::napi_call_function(env, this, receiver, length, arguments, &raw mut answer))?;
            }
        }
        Ok(())
    }

    /// The environment has ended: nobody hears anything any more.
    fn close(&self) {
        *self.wake.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut letters = self.letters();
        letters.closed = true;
        let unheard = std::mem::take(&mut letters.waiting);
        drop(letters);
        unheard.into_iter().for_each(Letter::take_back);
    }
}

/// A mailbox as JavaScript knows it.
#[napi(object, object_from_js = false)]
pub(crate) struct Opened<'a> {
    /// Its number.
    pub mailbox: f64,
    /// The typed array that answers are handed over in.
    pub inbox: Unknown<'a>,
}

/// Opens a mailbox; `wake` is called when there is something in it. One mailbox is enough for all limiters of an
/// environment.
#[napi(catch_unwind)]
pub(crate) fn open_mailbox<'a>(env: Env, wake: Function<'a, Unknown<'a>, Unknown<'a>>) -> Result<Opened<'a>> {
    // The thread that talks to stores outlives every environment, and with it must this code.
    retain_current_module_for_unload_safety();
    // SAFETY: the environment is that of this call.
    let (inbox, array) = unsafe { Inbox::new(env.raw()) }?;
    let mailbox =
        Arc::new(Mailbox { letters: Mutex::default(), wake: Mutex::new(None), inbox, under_way: AtomicUsize::new(0) });
    let context = Arc::into_raw(mailbox.clone()).cast_mut().cast::<c_void>();
    let mut function = ptr::null_mut();
    // SAFETY: the context is a reference of its own to the mailbox, which `forget` gives up as the last one to use it.
    unsafe {
        let name = <&str>::to_napi_value(env.raw(), "tidegate")?;
        check_status!(sys::napi_create_threadsafe_function(
            env.raw(),
            wake.value().value,
            ptr::null_mut(),
            name,
            0,
            1,
            context,
            Some(forget),
            context,
            Some(woken),
            &raw mut function,
        ))?;
        // Until a call is under way there is nothing to wait for.
        check_status!(sys::napi_unref_threadsafe_function(env.raw(), function))?;
    }
    *mailbox.wake.lock().unwrap_or_else(PoisonError::into_inner) = Some(Wake(function));
    let handle = tables::change(|tables| tables.mailboxes.add(mailbox));
    Ok(Opened { mailbox: handle, inbox: array })
}

/// Runs on JavaScript's thread when it was woken.
unsafe extern "C" fn woken(env: sys::napi_env, wake: sys::napi_value, _: *mut c_void, _: *mut c_void) {
    // An environment that is closing has nobody to tell; `forget` takes care of the letters.
    if env.is_null() || wake.is_null() {
        return;
    }
    let (mut this, mut answer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the environment is that of this call. What JavaScript throws stays pending and is reported by Node.
    unsafe {
        sys::napi_get_undefined(env, &raw mut this);
        sys::napi_call_function(env, this, wake, 0, ptr::null(), &raw mut answer);
    }
}

/// Hands over all that is in a mailbox: `receive` is told how many answers are in the inbox, and what of them is not
/// numbers.
#[napi(catch_unwind)]
pub(crate) fn empty_mailbox<'a>(env: Env, mailbox: f64, receive: Function<'a, Unknown<'a>, Unknown<'a>>) -> Result<()> {
    match tables::with(|tables| tables.mailboxes.get(mailbox).cloned()) {
        Some(mailbox) => mailbox.deliver(env.raw(), receive.value().value),
        None => Ok(()),
    }
}

/// Runs when the environment ends, right before the threadsafe function goes.
unsafe extern "C" fn forget(_: sys::napi_env, context: *mut c_void, _: *mut c_void) {
    // SAFETY: this is the reference that `open_mailbox` left here, and this runs once.
    let mailbox = unsafe { Arc::from_raw(context.cast::<Mailbox>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| mailbox.close()));
}
