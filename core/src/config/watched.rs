//! Documents that are watched: their state, and a look at them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::Thread;
use std::time::Duration;

use super::Limits;
use super::document::Format;
use super::error::{Fault, LimitsError};
use super::file::Source;
use crate::check::Check;
use crate::error::LimitError;
use crate::limit::{Limit, Value};

/// The time after which a file that has changed is read again, so that what an editor has half written does not count.
const SETTLE: Duration = Duration::from_millis(100);

/// A change of a document that is watched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The document is another one, and sound: from now on its definitions hold.
    Changed(Arc<Limits>),
    /// The document cannot be read, or is wrong: the definitions before it still hold. It is told once for each mistake.
    Wrong(LimitsError),
}

pub(super) type Listener = Box<dyn Fn(&Change) + Send + Sync>;

/// A document that is watched: it is read again and again, checked as a whole, and swapped as a whole where it is another
/// one and sound. Where it is wrong, the definitions before it stay. Clones share one document.
///
/// What a change of a definition means for entries is the same as for a new deployment: used units stay used.
///
/// A file is read each time, not asked for its age: what counts is its text. A text that is new is read twice, 100 ms apart,
/// before it counts, so that a half-written file does not. A forked child has no thread that looks, and has to watch the
/// document anew.
///
/// ```
/// # #[cfg(feature = "toml")] {
/// use tidegate::config::Limits;
/// use tidegate::{Call, Limiter, Memory};
///
/// let path = std::env::temp_dir().join(format!("watched-{}.toml", std::process::id()));
/// std::fs::write(&path, "api = '100/minute'")?;
/// let limits = Limits::watch(&path)?;
/// let limiter = Limiter::new(Memory::new());
///
/// let current = limits.current();
/// let check = current.check("api", "ada").expect("a limit of this name");
/// assert_eq!(limiter.decide_sync(&[check], Call::Limit)?.remaining, 99);
///
/// std::fs::write(&path, "api = '500/minute'")?;
/// assert!(limits.reload()?);
/// let current = limits.current();
/// let check = current.check("api", "ada").expect("a limit of this name");
/// assert_eq!(limiter.decide_sync(&[check], Call::Limit)?.remaining, 498);
/// # std::fs::remove_file(&path)?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Watched {
    handle: Arc<Handle>,
    /// The limits that were selected; none = all.
    names: Option<Arc<[String]>>,
}

struct Handle {
    shared: Arc<Shared>,
    thread: Option<Thread>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.name()).finish()
    }
}

impl Watched {
    /// The definitions that hold now. One request takes them once, so that all its limits are of one document.
    #[must_use]
    pub fn current(&self) -> Arc<Limits> {
        self.handle.shared.current()
    }

    /// The place of the document as errors name it: the path of a file, or the URL of a key without what is secret.
    #[must_use]
    pub fn name(&self) -> String {
        self.handle.shared.source.to_string()
    }

    /// Reads the document now, without waiting for the next look; true if other definitions hold now. The listener is
    /// told as of every change.
    ///
    /// # Errors
    /// When the document is wrong; the definitions before it still hold.
    pub fn reload(&self) -> Result<bool, LimitsError> {
        self.handle.shared.reload()
    }

    /// Looks at the document once, as the thread does; the change, if there is one.
    #[must_use]
    pub fn look(&self) -> Option<Change> {
        self.handle.shared.look()
    }

    /// The time until the next [look](Self::look).
    #[must_use]
    pub fn pause(&self) -> Duration {
        self.handle.shared.pause()
    }

    /// The same document, of which a layer takes only the limits of these names. It has to have them from now on: one
    /// without them is wrong.
    ///
    /// # Errors
    /// When it has no limit of one of the names now.
    pub fn select<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Self, LimitError> {
        let names: Vec<_> = names.into_iter().map(str::to_owned).collect();
        if let Some(unknown) = names.iter().find(|name| !self.need(name)) {
            let unknown = Value::Text(crate::error::excerpt(unknown));
            return Err(LimitError::range("", "names", "must be names of limits", unknown));
        }
        Ok(Self { handle: Arc::clone(&self.handle), names: Some(names.into()) })
    }

    /// Refuses every document from now on that has no limit of this name, because the program asks for it; false if there is
    /// none now.
    #[doc(hidden)]
    #[must_use]
    pub fn need(&self, name: &str) -> bool {
        let mut seen = self.handle.shared.seen();
        let is_known = self.current().get(name).is_some();
        if is_known {
            seen.needed.insert(name.to_owned());
        }
        is_known
    }

    /// The checks of an actor, of the limits that were [selected](Self::select) or else of all; `limits` are those that
    /// [hold now](Self::current).
    #[must_use]
    pub fn checks<'a>(&self, limits: &'a Limits, actor: &'a str) -> Vec<Check<'a>> {
        match &self.names {
            Some(names) => names.iter().filter_map(|name| limits.check(name, actor)).collect(),
            None => limits.checks(actor).collect(),
        }
    }

    pub(super) fn new(shared: Arc<Shared>, thread: Option<Thread>) -> Self {
        Self { handle: Arc::new(Handle { shared, thread }), names: None }
    }
}

/// The state of a document, for the thread that looks and for those who ask.
pub(super) struct Shared {
    source: Source,
    every: Duration,
    listener: Option<Listener>,
    current: RwLock<Arc<Limits>>,
    seen: Mutex<Seen>,
    /// Held while the document is read, which may take a while, so that a text never counts after a later one.
    reading: Mutex<()>,
    /// Nobody is left who asks for its limits, so that the thread ends.
    is_over: AtomicBool,
}

/// The result of a look: a text in a format, or the reason why there is none.
type Text = Result<(String, Format), Fault>;

struct Seen {
    /// The last one that counted, right or wrong.
    settled: Text,
    /// A later one that has been read once.
    latest: Option<Text>,
    /// Names that every document must have.
    needed: BTreeSet<String>,
}

impl Shared {
    /// Reads the document for the first time.
    pub(super) fn read(source: Source, every: Duration, listener: Option<Listener>) -> Result<Arc<Self>, LimitsError> {
        let read = source.read().map_err(|fault| source.error(vec![fault]))?;
        let limits = Limits::read(&read.0, read.1).map_err(|faults| source.error(faults))?;
        let seen = Seen { settled: Ok(read), latest: None, needed: BTreeSet::new() };
        Ok(Arc::new(Self {
            source,
            every,
            listener,
            current: RwLock::new(Arc::new(limits)),
            seen: Mutex::new(seen),
            reading: Mutex::new(()),
            is_over: AtomicBool::new(false),
        }))
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// An error that names the document.
    pub(super) fn error(&self, problem: &str) -> LimitsError {
        self.source.error(vec![Fault::of_text(problem)])
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alone(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Arc<Limits> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    pub(super) fn pause(&self) -> Duration {
        if self.seen().latest.is_some() { self.every.min(SETTLE) } else { self.every }
    }

    pub(super) fn look(&self) -> Option<Change> {
        let alone = self.alone();
        let found = self.source.read();
        let mut seen = self.seen();
        if found == seen.settled {
            seen.latest = None;
            return None;
        }
        if self.source.may_be_half_written() && seen.latest.as_ref() != Some(&found) {
            seen.latest = Some(found);
            return None;
        }
        let change = self.take(&mut seen, found);
        drop((seen, alone));
        self.tell(&change);
        Some(change)
    }

    fn reload(&self) -> Result<bool, LimitsError> {
        let alone = self.alone();
        let found = self.source.read();
        let mut seen = self.seen();
        let is_new = found != seen.settled;
        if !is_new && found.is_ok() && self.checked(&seen, &found).is_ok() {
            return Ok(false);
        }
        let change = self.take(&mut seen, found);
        drop((seen, alone));
        if is_new {
            self.tell(&change);
        }
        match change {
            Change::Changed(_) => Ok(true),
            Change::Wrong(error) => Err(error),
        }
    }

    /// Lets a text count.
    fn take(&self, seen: &mut Seen, found: Text) -> Change {
        let read = self.checked(seen, &found);
        (seen.settled, seen.latest) = (found, None);
        match read {
            Ok(limits) => {
                let limits = Arc::new(limits);
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&limits);
                Change::Changed(limits)
            }
            Err(error) => Change::Wrong(error),
        }
    }

    fn checked(&self, seen: &Seen, found: &Text) -> Result<Limits, LimitsError> {
        let (text, format) = found.as_ref().map_err(|fault| self.source.error(vec![fault.clone()]))?;
        let limits = Limits::read(text, *format).map_err(|faults| self.source.error(faults))?;
        let absent = seen.needed.iter().filter(|name| limits.get(name).is_none());
        let mut faults: Vec<_> = absent.map(|name| Fault::absent(name)).collect();
        // Units are held or spent by different calls, and a program makes one of them.
        let current = self.current();
        let differs =
            |(name, limit): &(&str, &Limit)| current.get(name).is_some_and(|before| before.holds() != limit.holds());
        faults.extend(limits.iter().filter(differs).map(|(name, limit)| Fault::other_calls(name, limit.holds())));
        if faults.is_empty() { Ok(limits) } else { Err(self.source.error(faults)) }
    }

    fn tell(&self, change: &Change) {
        if let Some(listener) = &self.listener {
            listener(change);
        } else {
            self.log(change);
        }
    }

    #[cfg(not(feature = "remote"))]
    #[expect(clippy::unused_self, reason = "as where there is a log")]
    fn log(&self, _: &Change) {}

    #[cfg(feature = "remote")]
    fn log(&self, change: &Change) {
        match change {
            Change::Changed(_) => tracing::info!(target: "tidegate", "{}: other limits hold now", self.source),
            Change::Wrong(error) => tracing::warn!(target: "tidegate", "the limits before still hold: {error}"),
        }
    }
}
