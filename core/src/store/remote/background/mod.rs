//! A runtime for callers that have none: one for all stores of a process, and its thread.

mod agenda;
mod blocking;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;
use std::{fmt, io};

use arc_swap::ArcSwapOption;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Sleep;

use self::agenda::Agenda;
pub(crate) use self::agenda::Due;
pub(crate) use self::blocking::{Blocking, Hold, LONGEST_DRIVE};
use super::handover::Handover;
use crate::fork::Process;
use crate::time::Micros;

/// The process's own runtime. Its thread drives it, or a caller that waits alone; see [`Handover`].
pub(crate) struct Background {
    process: Process,
    runtime: Runtime,
    handover: Handover,
    /// Wakes the thread when it was sent away.
    sent_away: Notify,
    /// Blocking calls in a row that were alone.
    alone: AtomicU32,
    /// The number of them after which the thread is sent away.
    wanted: AtomicU32,
    /// The end of the last one.
    last: AtomicU64,
    /// The timer of the caller that drives, set anew only where it has rung: to set one wakes the runtime.
    relief: Mutex<Option<Pin<Box<Sleep>>>>,
    agenda: Agenda,
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Background")
    }
}

/// Blocking calls that are alone, one soon after the other, before the thread is sent away: more each time that it is
/// called back, because a turn costs several wake-ups, and threads that take turns are alone for a few calls too.
const FEWEST_CALLS: u32 = 8;
const MOST_CALLS: u32 = 8192;
/// The time without a call after which it comes back.
const LINGER: Duration = Duration::from_millis(5);
const LINGER_MICROS: Micros = 5_000;

/// A lock would not do: a child that was forked off while another thread held it could never take it.
static BACKGROUND: ArcSwapOption<Background> = ArcSwapOption::const_empty();

/// The process's own runtime, which is started when it is first asked for and runs until the process ends; which process
/// this is, the caller has just found out.
pub(crate) fn here(current: Process) -> io::Result<Arc<Background>> {
    loop {
        let known = BACKGROUND.load_full();
        match &known {
            Some(background) if background.process == current => return Ok(background.clone()),
            _ => {}
        }
        let started = Background::start(current)?;
        let before = BACKGROUND.compare_and_swap(&known, Some(started.clone()));
        let won = match (&*before, &known) {
            (None, None) => true,
            (Some(before), Some(known)) => Arc::ptr_eq(before, known),
            _ => false,
        };
        if won {
            // The parent's runtime has no thread here; to drop it could wait for one.
            std::mem::forget((known, arc_swap::Guard::into_inner(before)));
            return Ok(started);
        }
    }
}

/// True for that runtime.
pub(crate) fn is(runtime: &Handle) -> bool {
    BACKGROUND.load().as_ref().is_some_and(|background| background.runtime.handle().id() == runtime.id())
}

impl Background {
    /// A runtime and its thread, which lives for as long as the process. The rare one that lost a race idles.
    fn start(process: Process) -> io::Result<Arc<Self>> {
        let background = Arc::new(Self {
            process,
            runtime: Builder::new_current_thread().enable_all().build()?,
            handover: Handover::new(),
            sent_away: Notify::new(),
            alone: AtomicU32::new(0),
            wanted: AtomicU32::new(FEWEST_CALLS),
            last: AtomicU64::new(0),
            relief: Mutex::default(),
            agenda: Agenda::default(),
        });
        let own = background.clone();
        thread::Builder::new().name("tidegate".to_owned()).spawn(move || own.run())?;
        Ok(background)
    }

    fn run(&self) {
        self.handover.belongs_here();
        loop {
            self.runtime.block_on(async {
                while !self.handover.is_away() {
                    self.sent_away.notified().await;
                }
            });
            if self.handover.stay_away(LINGER) {
                self.wanted.store(FEWEST_CALLS, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Has the thread drive the runtime, for work that no call waits for.
    pub(crate) fn call_back(&self) {
        self.handover.call_back();
    }

    /// Has the runtime driven until the result is dropped.
    pub(crate) fn need(self: &Arc<Self>) -> Need {
        if self.handover.need() {
            let wanted = self.wanted.load(Ordering::Relaxed).saturating_mul(4).min(MOST_CALLS);
            self.wanted.store(wanted, Ordering::Relaxed);
        }
        Need(self.clone())
    }

    /// Calls at this instant, and again as its results say, for as long as it is there.
    pub(crate) fn call_at(self: &Arc<Self>, due: Micros, what: Weak<dyn Due>) {
        if self.agenda.add(due, what) {
            drop(self.spawn(Self::make_calls(self.clone())));
        }
    }

    /// One of these calls will soon be gone.
    pub(crate) fn called_off(&self) {
        self.agenda.called_off();
    }

    async fn make_calls(self: Arc<Self>) {
        while let Some(what) = self.agenda.next().await {
            let own = self.clone();
            // Apart from the others, which a server that is slow must not delay.
            drop(self.spawn(async move {
                let again = Arc::downgrade(&what);
                if let Some(due) = what.call().await {
                    own.call_at(due, again);
                }
            }));
        }
    }

    /// Spawns work that the runtime is driven for.
    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let need = self.need();
        self.runtime.spawn(async move {
            let _need = need;
            future.await
        })
    }
}

/// Until this is dropped, the runtime is driven.
pub(crate) struct Need(Arc<Background>);

impl Drop for Need {
    fn drop(&mut self) {
        self.0.handover.end();
    }
}
