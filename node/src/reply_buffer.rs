//! The typed array in which replies are handed over to JavaScript.
//!
//! It holds one record after another, each with the number of its call, its kind and its numbers. Everything that is not
//! a number comes beside it, in an array of its own, in the same order.

use std::ptr;

use napi::bindgen_prelude::{Float64Array, FromNapiValue, ToNapiValue, Unknown};
use napi::{Result, check_status, sys};
use napi_derive::napi;
use tidegate::LimitInfo;
use tidegate::remote::{Event, Health};

use crate::buffer::{CallBuffer, answer_length};
use crate::errors::Failure;
use crate::layout::{RECORD_HEAD, record};
use crate::reply::{Content, Reply, Upkeep};

/// Room for some hundred answers, and still in the nearest cache.
const LENGTH: usize = 3072;

/// The typed array that a reply queue shares with JavaScript.
pub(crate) struct ReplyBuffer(*mut f64);

// SAFETY: its one user, `page`, is called on JavaScript's thread.
unsafe impl Send for ReplyBuffer {}
// SAFETY: as above.
unsafe impl Sync for ReplyBuffer {}

impl ReplyBuffer {
    /// A reply buffer, and the array that it is in JavaScript.
    ///
    /// # Safety
    /// `env` must be that of a call that is under way.
    pub(crate) unsafe fn new<'a>(env: sys::napi_env) -> Result<(Self, Unknown<'a>)> {
        let bytes = LENGTH * size_of::<f64>();
        let (mut data, mut memory, mut array, mut kept) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: every pointer outlives its call; the reference keeps the memory, and so `data`, for as long as the
        // environment lives. Nothing outside this package can get at the memory to detach it.
        unsafe {
            check_status!(sys::napi_create_arraybuffer(env, bytes, &raw mut data, &raw mut memory))?;
            check_status!(sys::napi_create_reference(env, memory, 1, &raw mut kept))?;
            let kind = sys::TypedarrayType::float64_array;
            check_status!(sys::napi_create_typedarray(env, kind, LENGTH, memory, 0, &raw mut array))?;
            Ok((Self(data.cast()), Unknown::from_napi_value(env, array)?))
        }
    }

    /// The reply buffer, empty.
    ///
    /// # Safety
    /// Only on the thread of `env`, the environment that it was made in, while nothing else has it.
    pub(crate) unsafe fn page(&self, env: sys::napi_env) -> Page<'_> {
        // SAFETY: the array is `LENGTH` long and lives as long as its environment; the caller vouches for the rest.
        let numbers = unsafe { std::slice::from_raw_parts_mut(self.0, LENGTH) };
        Page { env, numbers, used: 0, count: 0, beside: Vec::new() }
    }
}

/// A reply buffer that is being filled.
pub(crate) struct Page<'a> {
    env: sys::napi_env,
    numbers: &'a mut [f64],
    used: usize,
    count: usize,
    beside: Vec<sys::napi_value>,
}

impl Page<'_> {
    pub(crate) fn has_room_for(&self, reply: &Reply) -> bool {
        self.used == 0 || self.used + RECORD_HEAD + reply.length() <= self.numbers.len()
    }

    pub(crate) fn write(&mut self, reply: Reply) -> Result<()> {
        self.count += 1;
        let to = reply.to;
        match reply.content {
            Content::Acquired(_, handle) if !handle.take() => {
                self.head(to, record::DONE);
                Ok(())
            }
            Content::Answer(Ok(info)) | Content::Acquired(Ok(info), _) => self.answer(to, record::ANSWER, &info),
            Content::Explained(Ok(explanation)) => {
                let text = explanation.to_string();
                self.answer(to, record::EXPLAINED, &explanation.info)?;
                self.beside(text)
            }
            Content::Upkeep(Ok(found)) => {
                self.head(to, record::VALUE);
                match found {
                    Upkeep::Health(health) => self.beside(HealthFound::new(health)),
                    Upkeep::Removed(count) => self.beside(count as f64),
                }
            }
            Content::Answer(Err(error))
            | Content::Acquired(Err(error), _)
            | Content::Explained(Err(error))
            | Content::Upkeep(Err(error)) => {
                self.head(to, record::FAILURE);
                self.beside(*Box::<Failure>::from(error))
            }
            Content::Event(event) => {
                self.head(to, record::EVENT);
                self.beside(Happened::new(&event))
            }
        }
    }

    /// The number of records, and the array beside them.
    pub(crate) fn finish(self) -> Result<(usize, sys::napi_value)> {
        let mut array = ptr::null_mut();
        // SAFETY: the environment is that of the call under way, in which these values were made.
        unsafe {
            if self.beside.is_empty() {
                check_status!(sys::napi_get_undefined(self.env, &raw mut array))?;
            } else {
                check_status!(sys::napi_create_array_with_length(self.env, self.beside.len(), &raw mut array))?;
                for (index, value) in (0..).zip(&self.beside) {
                    check_status!(sys::napi_set_element(self.env, array, index, *value))?;
                }
            }
        }
        Ok((self.count, array))
    }

    fn head(&mut self, to: f64, kind: f64) {
        self.numbers[self.used] = to;
        self.numbers[self.used + 1] = kind;
        self.used += RECORD_HEAD;
    }

    fn beside(&mut self, value: impl ToNapiValue) -> Result<()> {
        // SAFETY: the environment is that of the call under way.
        self.beside.push(unsafe { ToNapiValue::to_napi_value(self.env, value) }?);
        Ok(())
    }

    fn answer(&mut self, to: f64, kind: f64, info: &LimitInfo) -> Result<()> {
        let length = answer_length(info);
        if RECORD_HEAD + length <= self.numbers.len() - self.used {
            self.head(to, kind);
            // There is room, so it does not fail.
            let _ = CallBuffer(&mut self.numbers[self.used..]).answer(info);
            self.used += length;
            return Ok(());
        }
        let mut numbers = vec![0.0; length];
        let _ = CallBuffer(&mut numbers).answer(info);
        self.head(to, record::LARGE);
        self.beside(Float64Array::new(numbers))
    }
}

/// An event, as JavaScript gets it.
#[napi(object, object_from_js = false)]
pub(crate) struct Happened {
    /// The name of the event in JavaScript.
    pub name: &'static str,
    /// The server that it happened to.
    pub server: String,
    /// The name of the failure, but where all is well again.
    pub failure: Option<&'static str>,
    /// The whole of it in words.
    pub message: String,
}

impl Happened {
    fn new(event: &Event) -> Self {
        let failure = event.kind.failure().map(tidegate::remote::Failure::name);
        Self { name: event.kind.name(), server: event.server.clone(), failure, message: event.to_string() }
    }
}

/// The health of a store, as JavaScript gets it.
#[napi(object, object_from_js = false)]
pub(crate) struct HealthFound {
    /// The servers that were asked.
    pub servers: Vec<String>,
    /// The time that the slowest of them took to decide.
    pub round_trip_ms: f64,
    /// The time by which the clock of one is ahead.
    pub clock_ahead_ms: f64,
    /// Its policy when it is full.
    pub memory_policy: Option<String>,
    /// Problems that do not keep it from deciding.
    pub warnings: Vec<String>,
}

impl HealthFound {
    fn new(health: Health) -> Self {
        Self {
            servers: health.servers,
            round_trip_ms: health.round_trip.as_secs_f64() * 1000.0,
            clock_ahead_ms: health.clock_ahead * 1000.0,
            memory_policy: health.memory_policy,
            warnings: health.warnings,
        }
    }
}
