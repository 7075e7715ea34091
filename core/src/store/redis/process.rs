//! The state of a store in one process: its connections, and its deny cache.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::runtime::Handle;

use super::context::Context;
use super::job::Job;
use super::reports::Reports;
use super::scattered;
use super::settings::Settings;
use super::topology::Topology;
use super::upkeep::Upkeep;
use crate::failure::Failure;
use crate::fork::Process;
use crate::store::memory::Memory;
use crate::store::remote::DenyCache;
use crate::store::remote::background;
use crate::store::remote::{BreakerState, Stats};

/// A store of a fleet, as one process sees it.
pub(crate) struct RemoteStore {
    pub(crate) settings: Settings,
    here: ArcSwap<ProcessState>,
}

/// All that a forked child must not share with its parent.
pub(crate) struct ProcessState {
    process: Process,
    pub(crate) stats: Arc<Stats>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) denials: DenyCache,
    /// Decides while the store cannot.
    pub(crate) fallback: Arc<Memory>,
    topologies: Mutex<Vec<Arc<Topology>>>,
}

impl RemoteStore {
    pub(crate) fn new(settings: Settings) -> Self {
        let here = ArcSwap::from_pointee(ProcessState::new(&settings));
        Self { settings, here }
    }

    /// The state of this process; a child process starts anew.
    pub(crate) fn here(&self) -> arc_swap::Guard<Arc<ProcessState>> {
        let here = self.here.load();
        if here.process.is_current_as_told() { here } else { self.start_over() }
    }

    /// Before a server is talked to, when it is worth asking the system who we are.
    pub(crate) fn here_for_sure(&self) -> arc_swap::Guard<Arc<ProcessState>> {
        let here = self.here.load();
        if here.process.is_current() { here } else { self.start_over() }
    }

    fn start_over(&self) -> arc_swap::Guard<Arc<ProcessState>> {
        let parents = self.here.load_full();
        if !parents.process.is_current() {
            let before = self.here.compare_and_swap(&parents, Arc::new(ProcessState::new(&self.settings)));
            // Dropping what a thread of the parent may hold could wait for that thread for ever.
            std::mem::forget((parents, arc_swap::Guard::into_inner(before)));
        }
        self.here.load()
    }

    /// Sends a job on its way, or says at once why not. It goes over the caller's own runtime where there is one and
    /// that is wanted, else over the process's.
    pub(crate) fn send(&self, job: &Arc<Job>, on_callers_runtime: bool) -> Result<(), Failure> {
        let (topology, runtime) = self.here_for_sure().topology(&self.settings, on_callers_runtime)?;
        if topology.is_sharded() && job.decision().is_scattered() {
            runtime.spawn(scattered::decide(topology, job.clone()));
            return Ok(());
        }
        topology.send(job.clone())
    }

    /// Begins to connect, over the caller's own runtime where there is one, else over the process's.
    pub(crate) fn begin_to_connect(&self) {
        // Where no thread can be had, the first call will say so.
        let _ = self.here_for_sure().topology(&self.settings, true);
    }

    /// True if a call would not be sent to any server now.
    pub(crate) fn is_open(&self, on_callers_runtime: bool) -> bool {
        let here = self.here();
        let callers = if on_callers_runtime { Handle::try_current().ok().map(|runtime| runtime.id()) } else { None };
        let topologies = here.topologies.lock().unwrap_or_else(PoisonError::into_inner);
        // A caller without a runtime is served by the process's own, of which there is one.
        let is_callers = |topology: &&Arc<Topology>| match callers {
            Some(runtime) => topology.runtime() == runtime,
            None => topology.is_background(),
        };
        topologies.iter().find(is_callers).is_some_and(|topology| !topology.is_sharded() && topology.is_open())
    }

    pub(crate) fn breaker(&self) -> BreakerState {
        let here = self.here();
        let topologies = here.topologies.lock().unwrap_or_else(PoisonError::into_inner);
        if topologies.iter().any(|topology| topology.is_open()) { BreakerState::Open } else { BreakerState::Closed }
    }
}

impl Drop for ProcessState {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // To end the parent's tasks from here could wait for a thread that only the parent has.
            std::mem::forget(std::mem::take(&mut self.topologies));
        }
    }
}

impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteStore").field(&self.settings).finish()
    }
}

impl ProcessState {
    fn new(settings: &Settings) -> Self {
        Self {
            process: Process::current(),
            stats: Arc::default(),
            reports: Arc::new(Reports::new(settings)),
            denials: DenyCache::new(settings.deny_cache),
            fallback: Arc::new(Memory::with_max_entries(settings.max_entries).telling(settings.events.clone())),
            topologies: Mutex::default(),
        }
    }

    /// The operations for operators, on the runtime of the process.
    pub(crate) fn upkeep(&self, settings: &Settings) -> std::io::Result<(Upkeep, Handle)> {
        let runtime = background::handle(self.process)?;
        let context = Context::new(settings, self.stats.clone(), self.reports.clone(), runtime.clone());
        Ok((Upkeep::new(settings, context), runtime))
    }

    /// The store did not decide a call.
    pub(crate) fn degraded(&self, failure: Failure) {
        self.stats.degraded(failure);
        self.reports.degraded(failure, &self.stats);
    }

    fn topology(&self, settings: &Settings, on_callers_runtime: bool) -> Result<(Arc<Topology>, Handle), Failure> {
        let callers = if on_callers_runtime { Handle::try_current().ok() } else { None };
        let is_background = callers.as_ref().is_none_or(background::is);
        let runtime = callers.map_or_else(|| background::handle(self.process), Ok).map_err(|_| Failure::Unreachable)?;
        let mut topologies = self.topologies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = topologies.iter().find(|topology| topology.is_driven_by(&runtime)) {
            return Ok((known.clone(), runtime));
        }
        topologies.retain(|topology| !topology.is_dead());
        let context = Context::new(settings, self.stats.clone(), self.reports.clone(), runtime.clone());
        let topology = Arc::new(Topology::start(&settings.address, &Arc::new(context), &runtime, is_background));
        topologies.push(topology.clone());
        Ok((topology, runtime))
    }
}
