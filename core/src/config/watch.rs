//! The beginning of a watch: its options, and the thread that looks.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::Limits;
use super::error::LimitsError;
use super::file::Source;
use super::watched::{Change, Listener, Shared, Watched};

/// The time from one look at a file to the next.
const EVERY: Duration = Duration::from_secs(2);

impl Limits {
    /// Reads a file now, and again every two seconds: see [`Watched`].
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn watch(path: impl AsRef<Path>) -> Result<Watched, LimitsError> {
        Watch::new(path).start()
    }
}

/// A document that will be watched, with its options.
pub struct Watch {
    source: Source,
    every: Duration,
    listener: Option<Listener>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("source", &self.source.to_string())
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// A file, in the format that its name ends with.
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { source: Source::new(path.as_ref()), every: EVERY, listener: None }
    }

    /// A document that is read in another way, such as from a database: each look calls this function. The name is the one
    /// of errors, and its end says the format, as in the name of a file.
    ///
    /// ```
    /// use tidegate::config::Watch;
    ///
    /// let read = || Ok(br#"{ "api": "100/minute" }"#.to_vec());
    /// let limits = Watch::from_fn("settings.json", read).start()?;
    /// assert_eq!(limits.current().len(), 1);
    ///
    /// let absent = Watch::from_fn("settings.json", || Err("there is none".to_owned())).start();
    /// assert_eq!(absent.unwrap_err().to_string(), "settings.json: cannot be read: there is none");
    /// # Ok::<(), tidegate::config::LimitsError>(())
    /// ```
    #[must_use]
    pub fn from_fn(
        name: impl Into<String>,
        read: impl Fn() -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { source: Source::elsewhere(name.into(), Box::new(read)), every: EVERY, listener: None }
    }

    /// Sets the time from one look to the next; 2 s unless set, and at least 10 ms.
    #[must_use]
    pub fn every(mut self, time: Duration) -> Self {
        self.every = time.max(Duration::from_millis(10));
        self
    }

    /// Sets what is called with each change, in place of a line in the log (of the crate `tracing`, where the feature
    /// `remote` is on).
    #[must_use]
    pub fn on_change(mut self, listener: impl Fn(&Change) + Send + Sync + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Reads the document, and starts a thread that looks at it until the last clone of the result is dropped.
    ///
    /// # Errors
    /// When the document is wrong, or the system has no thread.
    pub fn start(self) -> Result<Watched, LimitsError> {
        let shared = Shared::read(self.source, self.every, self.listener)?;
        let weak = Arc::downgrade(&shared);
        let look = move || {
            while let Some(pause) = weak.upgrade().map(|shared| shared.pause()) {
                thread::park_timeout(pause);
                let Some(shared) = weak.upgrade().filter(|shared| !shared.is_over()) else { return };
                // A panic of the listener is its own, and has been printed.
                let _ = catch_unwind(AssertUnwindSafe(|| shared.look()));
            }
        };
        let started = thread::Builder::new().name("tidegate-watch".to_owned()).spawn(look);
        let started = started.map_err(|error| shared.error(&error.to_string()))?;
        Ok(Watched::new(shared, Some(started.thread().clone())))
    }

    /// Reads the document, and leaves it to the program to [look](Watched::look) again; what the bindings use, because a
    /// timer and a listener are of their language.
    ///
    /// # Errors
    /// When the document is wrong.
    pub fn by_hand(self) -> Result<Watched, LimitsError> {
        Ok(Watched::new(Shared::read(self.source, self.every, self.listener)?, None))
    }
}
