//! Answers on their way from a store to the futures of an event loop.
//!
//! The thread that talks to the store leaves answers in a mailbox, as numbers and no objects; the loop is woken once for
//! all that came together, and hands them to whoever awaits them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyNotImplementedError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyWeakrefReference;

use crate::errors::call_error;
use crate::explain::Standing;
use crate::info::LimitInfo;
use crate::mailbox::{Bell, Line, Mailbox};
use crate::receipt::{Asked, Owner, Receipt};
use crate::settle::reopen;

/// What came of a call.
pub(crate) type Decided = Result<tidegate::LimitInfo, tidegate::Error>;

/// What is to become of an answer.
pub(crate) enum About {
    Answer(Receipt),
    /// That of a receipt that is used, and its own.
    Settled {
        info: Py<LimitInfo>,
        opened: bool,
        next: Receipt,
    },
    /// That of somebody who waited for a turn.
    Turn(Owner, Asked),
    /// What a peek said, to be put into words.
    Standing(Owner, Asked),
    /// Nothing but that it is done.
    Nothing,
    /// For the native code that waits for it.
    Kept(Arc<Mutex<Option<Decided>>>),
}

impl About {
    /// Takes note of an answer, also where nobody awaits it any more.
    pub(crate) fn note(&self, py: Python<'_>, answer: &Decided) {
        if let Self::Settled { info, opened, .. } = self {
            reopen(info.bind(py), *opened, answer);
        }
    }

    pub(crate) fn tell(self, py: Python<'_>, answer: Decided) -> PyResult<Bound<'_, PyAny>> {
        self.note(py, &answer);
        if let Self::Kept(kept) = self {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            return Ok(py.None().into_bound(py));
        }
        let info = answer.map_err(call_error)?;
        match self {
            Self::Answer(receipt) | Self::Settled { next: receipt, .. } => {
                Ok(Bound::new(py, LimitInfo::of(py, receipt, info)?)?.into_any())
            }
            Self::Turn(owner, asked) => {
                let receipt = Receipt::of_turn(owner, asked, &info);
                Ok(Bound::new(py, LimitInfo::of(py, receipt, info)?)?.into_any())
            }
            Self::Standing(owner, asked) => Ok(Bound::new(py, Standing::of(py, owner, asked, info)?)?.into_any()),
            Self::Nothing | Self::Kept(_) => Ok(py.None().into_bound(py)),
        }
    }
}

/// An answer for the call of a number; nothing where nobody waits for it any more.
struct Letter {
    number: u64,
    answer: Option<Decided>,
}

/// The way from the stores' threads to one event loop. It lives as long as the loop watches its socket.
#[pyclass(frozen, weakref, name = "_Bridge", module = "tidegate._tidegate")]
pub(crate) struct Bridge {
    number: u64,
    mailbox: Arc<Mailbox<Letter>>,
    awaited: Mutex<HashMap<u64, Awaited>>,
    event_loop: Py<PyWeakrefReference>,
}

struct Awaited {
    future: Py<PyAny>,
    about: About,
}

/// A call that was begun: its number, and where its answer goes.
#[derive(Clone)]
pub(crate) struct Reply {
    number: u64,
    mailbox: Arc<Mailbox<Letter>>,
}

#[pymethods]
impl Bridge {
    /// Hands over what has come.
    fn deliver(this: &Bound<'_, Self>) {
        let py = this.py();
        this.get().mailbox.hush();
        for Letter { number, answer } in this.get().mailbox.take() {
            let awaited = this.get().awaited().remove(&number);
            if let (Some(awaited), Some(answer)) = (awaited, answer)
                && let Err(error) = awaited.resolve(py, answer)
            {
                error.write_unraisable(py, Some(this));
            }
        }
    }
}

impl Awaited {
    fn resolve(self, py: Python<'_>, answer: Decided) -> PyResult<()> {
        let future = self.future.bind(py);
        // Whoever awaited it was cancelled.
        if future.call_method0(intern!(py, "done"))?.is_truthy()? {
            self.about.note(py, &answer);
            return Ok(());
        }
        match self.about.tell(py, answer) {
            Ok(told) => future.call_method1(intern!(py, "set_result"), (told,))?,
            Err(error) => future.call_method1(intern!(py, "set_exception"), (error.into_value(py),))?,
        };
        Ok(())
    }
}

impl Bridge {
    /// That of the loop that runs in this thread.
    pub(crate) fn here(py: Python<'_>) -> PyResult<Bound<'_, Self>> {
        static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let event_loop = GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0();
        Self::of(&event_loop.map_err(|error| no_loop(py, error))?)
    }

    /// That of this loop.
    pub(crate) fn of<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let py = event_loop.py();
        let known = bridges().get(event_loop.as_ptr().addr()).map(|known| known.clone_ref(py));
        match known.and_then(|known| known.bridge(py, event_loop)) {
            Some(bridge) => Ok(bridge),
            None => Self::install(event_loop),
        }
    }

    fn install<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let py = event_loop.py();
        let weakly = PyWeakrefReference::new(event_loop)?;
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let made = |bell| {
            let mailbox = Arc::new(Mailbox::new(bell));
            let event_loop = weakly.clone().unbind();
            Bound::new(py, Self { number, mailbox, awaited: Mutex::default(), event_loop })
        };

        let line = Line::new()?;
        let descriptor = line.descriptor();
        let watched = made(Bell::Socket(line))?;
        let bridge = match event_loop.call_method1("add_reader", (descriptor, watched.getattr("deliver")?)) {
            Ok(_) => Ok((watched.clone(), PyWeakrefReference::new(&watched)?.into_any())),
            // A loop that watches no sockets; nobody else would hold on to its bridge.
            Err(error) if error.is_instance_of::<PyNotImplementedError>(py) => {
                crate::notes::listen(py)?;
                made(Bell::Note(number)).map(|bridge| (bridge.clone(), bridge.into_any()))
            }
            Err(error) => Err(error),
        };
        let (bridge, held) = bridge?;
        remember(py, event_loop.as_ptr().addr(), Known { event_loop: weakly.unbind(), held: held.unbind() })?;
        Ok(bridge)
    }

    /// A number for a call that is about to begin.
    pub(crate) fn reply(&self) -> Reply {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Reply { number: LAST.fetch_add(1, Ordering::Relaxed), mailbox: self.mailbox.clone() }
    }

    /// The future of a call that was begun.
    pub(crate) fn future<'py>(&self, py: Python<'py>, reply: &Reply, about: About) -> PyResult<Bound<'py, PyAny>> {
        let event_loop = self.event_loop.bind(py).upgrade();
        let event_loop = event_loop.ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("the loop is gone"))?;
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        self.awaited().insert(reply.number, Awaited { future: future.clone().unbind(), about });
        Ok(future)
    }

    fn awaited(&self) -> MutexGuard<'_, HashMap<u64, Awaited>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A loop and its bridge.
struct Known {
    event_loop: Py<PyWeakrefReference>,
    /// The bridge, or a weak reference to it where its loop holds on to it.
    held: Py<PyAny>,
}

impl Known {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { event_loop: self.event_loop.clone_ref(py), held: self.held.clone_ref(py) }
    }

    /// Its bridge, if it is this loop's: another one may have had the same address.
    fn bridge<'py>(&self, py: Python<'py>, event_loop: &Bound<'py, PyAny>) -> Option<Bound<'py, Bridge>> {
        let same = self.event_loop.bind(py).upgrade().is_some_and(|known| known.is(event_loop));
        if same { self.any_bridge(py) } else { None }
    }

    fn any_bridge<'py>(&self, py: Python<'py>) -> Option<Bound<'py, Bridge>> {
        let held = self.held.bind(py);
        match held.cast::<PyWeakrefReference>() {
            Ok(weakly) => weakly.upgrade()?.cast_into().ok(),
            Err(_) => held.cast::<Bridge>().ok().cloned(),
        }
    }

    /// Whether its loop will never run again.
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        match self.event_loop.bind(py).upgrade() {
            Some(event_loop) => event_loop.call_method0("is_closed")?.is_truthy(),
            None => Ok(true),
        }
    }
}

/// The bridges of this process by the addresses of their loops. The lock is only held where no code of Python's runs,
/// so that no other thread can have it when this process forks.
static BRIDGES: Mutex<Option<HashMap<usize, Known>>> = Mutex::new(None);

struct Bridges(MutexGuard<'static, Option<HashMap<usize, Known>>>);

fn bridges() -> Bridges {
    Bridges(BRIDGES.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Bridges {
    fn get(&self, address: usize) -> Option<&Known> {
        self.0.as_ref()?.get(&address)
    }

    fn all(&mut self) -> &mut HashMap<usize, Known> {
        self.0.get_or_insert_default()
    }
}

/// Keeps a bridge, and forgets those of loops that are over.
fn remember(py: Python<'_>, address: usize, known: Known) -> PyResult<()> {
    let others: Vec<_> = bridges().all().iter().map(|(address, known)| (*address, known.clone_ref(py))).collect();
    let mut over = Vec::new();
    for (address, other) in &others {
        if other.is_over(py)? {
            over.push(*address);
        }
    }
    let gone: Vec<_> = over.iter().filter_map(|address| bridges().all().remove(address)).collect();
    let replaced = bridges().all().insert(address, known);
    drop((others, gone, replaced));
    Ok(())
}

/// Has the loop of a bridge look into its mailbox.
pub(crate) fn wake_loop(py: Python<'_>, number: u64) {
    let all: Vec<_> = bridges().all().values().map(|known| known.clone_ref(py)).collect();
    let bridge = all.iter().filter_map(|known| known.any_bridge(py)).find(|bridge| bridge.get().number == number);
    let Some(bridge) = bridge else { return };
    let Some(event_loop) = bridge.get().event_loop.bind(py).upgrade() else { return };
    // A loop that has been closed meanwhile refuses, and nobody waits there.
    drop(bridge.getattr("deliver").and_then(|deliver| event_loop.call_method1("call_soon_threadsafe", (deliver,))));
}

/// The loops of the parent do not run here.
pub(crate) fn after_fork() {
    let gone = bridges().0.take();
    drop(gone);
}

thread_local! {
    /// The call that this thread is beginning, and what it was told of it before that was over.
    static BEGINNING: Cell<Option<u64>> = const { Cell::new(None) };
    static TOLD: RefCell<Option<Decided>> = const { RefCell::new(None) };
}

impl Reply {
    /// Delivers the answer, from any thread.
    pub(crate) fn send(self, answer: Decided) {
        // A store that is not to be asked says so to the very thread that begins.
        if BEGINNING.get() == Some(self.number) {
            TOLD.set(Some(answer));
        } else {
            self.mailbox.put(Letter { number: self.number, answer: Some(answer) });
        }
    }

    /// Nobody waits for it any more.
    pub(crate) fn forget(&self) {
        self.mailbox.put(Letter { number: self.number, answer: None });
    }

    /// Begins the call, and gives its answer if it is known at once.
    pub(crate) fn begin(&self, call: impl FnOnce(Self) -> Option<Decided>) -> Option<Decided> {
        BEGINNING.set(Some(self.number));
        let known = call(self.clone());
        BEGINNING.set(None);
        known.or_else(|| TOLD.take())
    }
}
