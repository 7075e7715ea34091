//! The store in memory that processes share.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidegate::remote::backend::Settings;
use tidegate::{AnyStore, Limiter};

use crate::Subject;

/// Tables that no other test uses; their files are gone once they are mapped.
pub(crate) struct InSharedMemory;

pub(crate) fn fresh_url(entries: usize) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("shm://test-{}-{number}?entries={entries}", std::process::id())
}

pub(crate) fn open(url: &str) -> Limiter {
    Limiter::new(AnyStore::shm(url, Settings::default().timeout(Duration::from_secs(20))).expect("a table"))
}

impl Subject for InSharedMemory {
    fn limiters(&self) -> [Limiter; 2] {
        let url = fresh_url(10_000);
        let limiters = [open(&url), open(&url)];
        std::fs::remove_file(limiters[0].shared_file().expect("a file")).expect("it is gone");
        limiters
    }
}

crate::conforms!(InSharedMemory, vectors suite);
