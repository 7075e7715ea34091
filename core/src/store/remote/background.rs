//! A runtime for callers that have none: one thread for all stores of a process.

use std::io;
use std::sync::Arc;
use std::thread;

use arc_swap::ArcSwapOption;
use tokio::runtime::{Builder, Handle};

use crate::fork::Process;

struct Background {
    process: Process,
    handle: Handle,
}

/// A lock would not do: a child that was forked off while another thread held it could never take it.
static BACKGROUND: ArcSwapOption<Background> = ArcSwapOption::const_empty();

/// The process's own runtime, which is started when it is first asked for and runs until the process ends; which process
/// this is, the caller has just found out.
pub(crate) fn handle(current: Process) -> io::Result<Handle> {
    loop {
        let known = BACKGROUND.load_full();
        match &known {
            Some(background) if background.process == current => return Ok(background.handle.clone()),
            _ => {}
        }
        let started = Arc::new(Background { process: current, handle: start()? });
        let before = BACKGROUND.compare_and_swap(&known, Some(started.clone()));
        let won = match (&*before, &known) {
            (None, None) => true,
            (Some(before), Some(known)) => Arc::ptr_eq(before, known),
            _ => false,
        };
        if won {
            // The parent's runtime has no thread here; to drop its handle could wait for one.
            std::mem::forget((known, arc_swap::Guard::into_inner(before)));
            return Ok(started.handle.clone());
        }
    }
}

/// True for that runtime.
pub(crate) fn is(runtime: &Handle) -> bool {
    BACKGROUND.load().as_ref().is_some_and(|background| background.handle.id() == runtime.id())
}

/// A thread that drives a runtime for as long as the process lives. The rare one that lost a race idles.
fn start() -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new().name("tidegate".to_owned()).spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(handle)
}
