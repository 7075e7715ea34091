//! The way from the threads of the engine to one event loop.
//!
//! A thread of the engine queues replies, as numbers and no objects. The loop is woken once for all that came together,
//! and completes the futures of their calls.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::AHashMap;
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use tidegate::{Call, Check, Micros, ffi};

use super::registry::{self, Entry};
use crate::log_queue;
use crate::once::{Once, intern};
use crate::queue::{Queue, Waker};
use crate::request::{Reply, Request};
use crate::socket_pair::SocketPair;

/// The use of a reply once it is there.
pub(crate) enum OnReply {
    /// The answer of a call.
    Complete(Box<Request>),
    /// For native code that waits.
    Keep(Arc<Mutex<Option<Reply>>>),
}

impl OnReply {
    fn complete(self, py: Python<'_>, reply: Reply) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Complete(request) => request.complete(py, reply),
            Self::Keep(kept) => {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply);
                Ok(py.None().into_bound(py))
            }
        }
    }

    /// For a reply that is no longer awaited.
    fn note(&self, reply: &Reply) {
        if let Self::Complete(request) = self {
            request.note(reply);
        }
    }
}

/// A reply to the call of a number; `None` where it is no longer awaited.
struct QueuedReply {
    number: u64,
    reply: Option<Reply>,
}

/// The reply queue of one event loop. It lives as long as the loop watches its socket.
#[pyclass(frozen, weakref, name = "_Bridge", module = "tidegate._tidegate")]
pub(crate) struct Bridge {
    queue: Arc<Queue<QueuedReply>>,
    pending: Mutex<AHashMap<u64, PendingFuture>>,
    event_loop: Py<PyWeakrefReference>,
}

struct PendingFuture {
    future: Py<PyAny>,
    on_reply: OnReply,
}

#[pymethods]
impl Bridge {
    /// Complete the futures of the replies that have come.
    fn deliver(this: &Bound<'_, Self>) {
        let py = this.py();
        this.get().queue.drain();
        for QueuedReply { number, reply } in this.get().queue.take() {
            let pending = this.get().pending().remove(&number);
            if let (Some(pending), Some(reply)) = (pending, reply)
                && let Err(error) = pending.resolve(py, reply)
            {
                error.write_unraisable(py, Some(this));
            }
        }
    }
}

impl PendingFuture {
    fn resolve(self, py: Python<'_>, reply: Reply) -> PyResult<()> {
        let future = self.future.bind(py);
        // The task that awaited it was cancelled.
        if future.call_method0(intern!(py, "done"))?.is_truthy()? {
            self.on_reply.note(&reply);
            return Ok(());
        }
        match self.on_reply.complete(py, reply) {
            Ok(answer) => future.call_method1(intern!(py, "set_result"), (answer,))?,
            Err(error) => future.call_method1(intern!(py, "set_exception"), (error.into_value(py),))?,
        };
        Ok(())
    }
}

impl Bridge {
    /// The bridge of the loop that runs in this thread.
    pub(crate) fn running(py: Python<'_>) -> PyResult<Bound<'_, Self>> {
        static GET_RUNNING_LOOP: Once<Py<PyAny>> = Once::new();
        let event_loop = GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0();
        Self::of(&event_loop.map_err(|error| no_loop(py, error))?)
    }

    /// The bridge of this loop.
    pub(crate) fn of<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        match registry::find(event_loop) {
            Some(bridge) => Ok(bridge.cast_into()?),
            None => Self::install(event_loop),
        }
    }

    fn install<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let py = event_loop.py();
        let weakly = PyWeakrefReference::new(event_loop)?;
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let made = |waker| {
            let queue = Arc::new(Queue::new(waker));
            let event_loop = weakly.clone().unbind();
            Bound::new(py, Self { queue, pending: Mutex::default(), event_loop })
        };

        let pair = SocketPair::new()?;
        let descriptor = pair.descriptor();
        let watched = made(Waker::Socket(pair))?;
        let (bridge, held) = match event_loop.call_method1("add_reader", (descriptor, watched.getattr("deliver")?)) {
            Ok(_) => (watched.clone(), PyWeakrefReference::new(&watched)?.into_any()),
            // A loop that watches no sockets, and so does not hold on to its bridge.
            Err(error) if error.is_instance_of::<PyNotImplementedError>(py) => {
                log_queue::ensure_started(py)?;
                let bridge = made(Waker::Function(Box::new(move || log_queue::call(registry::wake, number))))?;
                (bridge.clone(), bridge.into_any())
            }
            Err(error) => return Err(error),
        };
        registry::add(event_loop, Entry { number, event_loop: weakly.unbind(), held: held.unbind() })?;
        Ok(bridge)
    }

    /// The sender of a call that is about to begin.
    pub(crate) fn sender(&self) -> ReplySender {
        static LAST: AtomicU64 = AtomicU64::new(0);
        ReplySender { number: LAST.fetch_add(1, Ordering::Relaxed), queue: self.queue.clone() }
    }

    /// The future of a call that was begun.
    pub(crate) fn future<'py>(
        &self,
        py: Python<'py>,
        sender: &ReplySender,
        on_reply: OnReply,
    ) -> PyResult<Bound<'py, PyAny>> {
        let event_loop = self.event_loop.bind(py).upgrade();
        let event_loop = event_loop.ok_or_else(|| PyRuntimeError::new_err("the loop is gone"))?;
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        self.pending().insert(sender.number, PendingFuture { future: future.clone().unbind(), on_reply });
        Ok(future)
    }

    fn pending(&self) -> MutexGuard<'_, AHashMap<u64, PendingFuture>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error where no loop of asyncio runs; under trio it says what to do instead.
#[cold]
fn no_loop(py: Python<'_>, error: PyErr) -> PyErr {
    match py.import("tidegate._loop").and_then(|module| module.call_method0("refuse_trio")) {
        Ok(_) => error,
        Err(refused) => refused,
    }
}

thread_local! {
    /// The call that this thread is beginning, and its reply if that is here before the call has begun.
    static BEGINNING: Cell<Option<u64>> = const { Cell::new(None) };
    static REPLY: RefCell<Option<Reply>> = const { RefCell::new(None) };
}

/// The end of one call to which its reply is sent.
#[derive(Clone)]
pub(crate) struct ReplySender {
    number: u64,
    queue: Arc<Queue<QueuedReply>>,
}

impl ReplySender {
    /// Sends the reply, from any thread.
    pub(crate) fn send(self, reply: Reply) {
        // Where the circuit breaker is open, the thread that begins the call sends the reply itself.
        if BEGINNING.get() == Some(self.number) {
            REPLY.set(Some(reply));
        } else {
            self.queue.push(QueuedReply { number: self.number, reply: Some(reply) });
        }
    }

    /// Removes the future of the call, which is no longer awaited.
    pub(crate) fn forget(&self) {
        self.queue.push(QueuedReply { number: self.number, reply: None });
    }

    /// Begins the call; returns its reply if that is known at once.
    pub(crate) fn begin(
        &self,
        engine: &tidegate::Limiter,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Option<Reply> {
        let sender = self.clone();
        BEGINNING.set(Some(self.number));
        let known = ffi::start(engine, checks, call, now, |reply| {
            sender.send(reply);
            Ok(())
        });
        BEGINNING.set(None);
        known.or_else(|| REPLY.take())
    }
}
