//! The state of a store in one process: its connections, and its deny cache.

use std::fmt;
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

use super::backend::{Backend, Servers};
use super::background::{self, Background, Blocking, Hold};
use super::deny_cache::DenyCache;
use super::job::Job;
use super::key::EntryName;
use super::reports::Reports;
use super::request::Request;
use super::session::Session;
use super::settings::Settings;
use super::siblings::Siblings;
use super::stats::{BreakerState, Stats};
use super::task;
use crate::algorithm::Shape;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::fork::Process;
use crate::store::memory::Memory;
use crate::time::Micros;

/// A remote store, as one process sees it.
pub(crate) struct RemoteStore {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) settings: Settings,
    state: ArcSwap<ProcessState>,
}

/// All that a forked child must not share with its parent.
pub(crate) struct ProcessState {
    process: Process,
    pub(crate) stats: Arc<Stats>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) denials: Arc<DenyCache>,
    /// The caches of all limiters over the same store, this one's too.
    siblings: Arc<Siblings>,
    /// Decides while the store cannot.
    pub(crate) fallback: Arc<Memory>,
    reached: Mutex<Vec<RuntimeServers>>,
}

/// The runtime that a job goes over.
pub(crate) enum Over {
    /// The caller's own where there is one, else the process's.
    Callers,
    /// The process's.
    Background,
    /// The process's, which is held already.
    Held(Hold),
}

/// The servers as one runtime reaches them.
struct RuntimeServers {
    servers: Arc<dyn Servers>,
    runtime: runtime::Id,
    /// That runtime is the process's own.
    is_background: bool,
    /// Closed by the end of that runtime.
    open: oneshot::Sender<()>,
}

impl RuntimeServers {
    fn is_dead(&self) -> bool {
        self.open.is_closed() || self.servers.is_dead()
    }
}

impl RemoteStore {
    pub(crate) fn new(backend: impl Backend, settings: Settings) -> Self {
        let state = ArcSwap::from_pointee(ProcessState::new(&backend, &settings));
        Self { backend: Box::new(backend), settings, state }
    }

    /// The state of this process; a child process starts anew.
    #[inline]
    pub(crate) fn state(&self) -> arc_swap::Guard<Arc<ProcessState>> {
        let state = self.state.load();
        if state.process.is_current_unless_forked() { state } else { self.start_over() }
    }

    /// Before a server is talked to, when it is worth asking the system who we are.
    fn state_for_sure(&self) -> arc_swap::Guard<Arc<ProcessState>> {
        let state = self.state.load();
        if state.process.is_current() { state } else { self.start_over() }
    }

    #[cold]
    fn start_over(&self) -> arc_swap::Guard<Arc<ProcessState>> {
        let parents = self.state.load_full();
        if !parents.process.is_current() {
            let own = ProcessState::new(&*self.backend, &self.settings);
            let before = self.state.compare_and_swap(&parents, Arc::new(own));
            // Dropping what a thread of the parent may hold could wait for that thread for ever.
            std::mem::forget((parents, arc_swap::Guard::into_inner(before)));
        }
        self.state.load()
    }

    /// Finds out which process this is, and holds the runtime for a job until it is over. True if the job goes over the
    /// caller's own runtime where there is one, else over the process's.
    pub(crate) fn hold(&self, over: Over) -> (bool, Option<Hold>) {
        // Where no thread can be had, sending will say so.
        let hold = || Some(background::here(self.state_for_sure().process).ok()?.need().into());
        match over {
            Over::Held(hold) => (false, Some(hold)),
            Over::Background => (false, hold()),
            Over::Callers => match Handle::try_current() {
                Ok(runtime) if !background::is(&runtime) => {
                    self.state_for_sure();
                    (true, None)
                }
                _ => (true, hold()),
            },
        }
    }

    /// Sends a [held](Self::hold) job on its way, or says at once why not.
    pub(crate) fn send(&self, job: &Arc<Job>, on_callers_runtime: bool) -> Result<(), Failure> {
        let servers = self.state().servers(self, on_callers_runtime)?;
        let send = || servers.send(job.clone());
        if on_callers_runtime { send() } else { task::send(send) }
    }

    /// Begins a call that this thread waits for, until the result is dropped. It may drive the process's runtime, unless it
    /// is inside of one itself.
    pub(crate) fn block<T>(&self, call: impl FnOnce(Over) -> T) -> (T, Option<Blocking>) {
        let is_outside = Handle::try_current().is_err_and(|error| error.is_missing_context());
        let background = || background::here(self.state_for_sure().process).ok();
        let Some(background) = is_outside.then(background).flatten() else { return (call(Over::Background), None) };
        let (under_way, blocking) = background.blocking().begin(|hold| call(Over::Held(hold)));
        (under_way, Some(blocking))
    }

    /// Begins to connect, over the caller's own runtime where there is one, else over the process's.
    pub(crate) fn begin_to_connect(&self) {
        // Where no thread can be had, the first call will say so.
        let _ = self.state_for_sure().servers(self, true);
    }

    pub(crate) fn breaker(&self) -> BreakerState {
        let state = self.state();
        let reached = state.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if reached.iter().any(|one| one.servers.is_open()) { BreakerState::Open } else { BreakerState::Closed }
    }

    /// The session for an operator's task, and the runtime of the process, which it runs on.
    pub(crate) fn session(&self) -> std::io::Result<(Session, Arc<Background>)> {
        let state = self.state_for_sure();
        let background = background::here(state.process)?;
        Ok((state.session(self, background.handle().clone()), background))
    }

    /// The request that tests whether a server can decide and write.
    pub(crate) fn probe(&self) -> Request {
        let name = EntryName::new(self.settings.name(), "", "probe", Shape::Level);
        Request::reset(iter::once(self.backend.key(name)).collect()).of_resolution(self.backend.resolution())
    }
}

impl Drop for ProcessState {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // To end the parent's tasks from here could wait for a thread that only the parent has.
            std::mem::forget(std::mem::take(&mut self.reached));
        }
    }
}

impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteStore").field(&self.backend.url()).field(&self.settings).finish()
    }
}

impl ProcessState {
    fn new(backend: &dyn Backend, settings: &Settings) -> Self {
        let denials = Arc::new(DenyCache::new(settings.deny_cache));
        let store = format!("{} {}", backend.kind(), backend.identity());
        Self {
            process: Process::current(),
            stats: Arc::default(),
            reports: Arc::new(Reports::new(settings, backend.kind(), backend.servers())),
            siblings: Siblings::join(&store, &denials),
            denials,
            fallback: Arc::new(Memory::with_max_entries(settings.max_entries).telling(settings.events.clone())),
            reached: Mutex::default(),
        }
    }

    /// True if a call would not be sent to any server now.
    pub(crate) fn is_unavailable(&self, on_callers_runtime: bool) -> bool {
        let callers = if on_callers_runtime { Handle::try_current().ok().map(|runtime| runtime.id()) } else { None };
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        // A caller without a runtime is served by the process's own, of which there is one.
        let is_callers = |servers: &&RuntimeServers| match callers {
            Some(runtime) => servers.runtime == runtime,
            None => servers.is_background,
        };
        reached.iter().find(is_callers).is_some_and(|one| one.servers.is_unavailable())
    }

    /// Something may have been given back to this entry.
    pub(crate) fn forget_denials(&self, entry: Fingerprint) {
        self.siblings.forget(entry);
    }

    /// Everything may have been given back.
    pub(crate) fn clear_denials(&self) {
        self.siblings.clear();
    }

    /// The store did not decide a call.
    pub(crate) fn degraded(&self, failure: Failure, now: Micros) {
        self.reports.degraded(failure, now, &self.stats);
    }

    /// The store decided a call, which it was asked at `started`.
    pub(crate) fn decided(&self, started: Micros, now: Micros) {
        self.stats.took(now.saturating_sub(started));
        self.reports.decided(now, &self.stats);
    }

    fn session(&self, store: &RemoteStore, runtime: Handle) -> Session {
        Session {
            stats: self.stats.clone(),
            reports: self.reports.clone(),
            timeout: store.settings.timeout,
            namespace: store.settings.name().to_owned(),
            probe: store.probe(),
            runtime,
        }
    }

    fn servers(&self, store: &RemoteStore, on_callers_runtime: bool) -> Result<Arc<dyn Servers>, Failure> {
        let callers = if on_callers_runtime { Handle::try_current().ok() } else { None };
        let (runtime, background) = if let Some(runtime) = callers.filter(|runtime| !background::is(runtime)) {
            (runtime, None)
        } else {
            let background = background::here(self.process).map_err(|_| Failure::Unreachable)?;
            (background.handle().clone(), Some(background))
        };
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let id = runtime.id();
        if let Some(known) = reached.iter().find(|one| one.runtime == id && !one.is_dead()) {
            return Ok(known.servers.clone());
        }
        reached.retain(|one| !one.is_dead());
        let (open, closed) = oneshot::channel();
        runtime.spawn(closed);
        let _entered = runtime.enter();
        let servers = store.backend.connect(self.session(store, runtime.clone()));
        reached.push(RuntimeServers {
            servers: servers.clone(),
            runtime: id,
            is_background: background.is_some(),
            open,
        });
        if let Some(background) = background {
            background.call_back();
        }
        Ok(servers)
    }
}
