//! Definitions of limits, checked and compiled when they are made.

mod blocking;
mod bucket;
mod calendar_window;
mod concurrency;
mod decay;
mod fixed_window;
mod form;
mod kinds;
mod legacy;
mod number;
mod object;
mod outline;
mod parameters;
mod rules;
mod sliding_counter;
mod sliding_log;
mod sliding_window;
mod smooth;
mod string;
mod text;
mod token_bucket;
mod value;
mod wire;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
#[cfg(feature = "remote")]
use std::sync::OnceLock;
#[cfg(feature = "remote")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use blocking::{Blocking, Blocks};
pub use bucket::FactorScales;
pub use fixed_window::Anchor;
pub use form::Bounds;
use kinds::{Definition, kinds};
pub use legacy::Translation;
pub use outline::{Field, Outline, Takes};
pub(crate) use rules::{EntryKind, Rules};
#[cfg(feature = "cli")]
pub(crate) use text::period;
pub(crate) use text::{LONGEST as LONGEST_TEXT, pattern as text_pattern};
pub use value::Value;

use crate::algorithm::{Rule, Shape};
use crate::error::LimitError;
use crate::fingerprint::Fingerprint;
#[cfg(feature = "remote")]
use crate::tally::Tally;
use crate::time::EXACT;
use form::Form;
use number::{Scope, check_factor};

/// The longest key in bytes, enough for any name.
pub(crate) const LONGEST_KEY: usize = 64 << 10;

/// A limit: a type, its parameters, and a key: the name of the limited action.
///
/// Cheap to clone. Two limits with the same key share their entries, whatever their parameters.
///
/// ```
/// use std::time::Duration;
///
/// use tidegate::Limit;
///
/// // Ten attempts at once, then one more each second.
/// let login = Limit::bucket("login", 10).drip_rate(Duration::from_secs(1)).build()?;
///
/// // The same in the wire form that every language shares.
/// let same = Limit::from_json(r#"{ "key": "login", "type": "bucket", "size": 10, "dripRate": 1000 }"#)?;
/// assert_eq!(login, same);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone)]
pub struct Limit(Arc<Compiled>);

struct Compiled {
    key: String,
    kind: Kind,
    /// Compiled for factor 1, which nearly every call has.
    rules: Rules,
    /// The part of an entry's fingerprint that depends on the key and on the shape of its state.
    fingerprint: Fingerprint,
    /// The same in the table of the first store in shared memory that asked, behind a number that only this table has.
    #[cfg(all(feature = "shm", target_os = "linux"))]
    shared: OnceLock<(u128, Fingerprint)>,
    /// 0 until somebody asks for it. No lock, which a forked child would find taken for ever where another thread of its
    /// parent made the digest just then.
    #[cfg(feature = "remote")]
    digest: AtomicU64,
    #[cfg(feature = "remote")]
    is_simple: bool,
    /// The first meter that counted calls of it, and its counts there.
    #[cfg(feature = "remote")]
    tally: OnceLock<(u64, Arc<Tally>)>,
}

kinds! {
    bucket::Bucket,
    token_bucket::TokenBucket,
    fixed_window::FixedWindow,
    sliding_window::SlidingWindow,
    sliding_counter::SlidingCounter,
    sliding_log::SlidingLog,
    decay::Decay,
    smooth::Smooth,
    calendar_window::CalendarWindow,
    concurrency::Concurrency,
    legacy::Legacy,
}

impl Limit {
    /// Checks a definition and compiles it: the same numbers under another key, for example.
    ///
    /// ```
    /// use tidegate::Limit;
    ///
    /// let free = Limit::parse("free", "100/minute")?;
    /// let trial = Limit::new("trial", free.kind().clone())?;
    /// assert_eq!(trial, Limit::parse("trial", "100/minute")?);
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// Names the key, the field and the value at fault.
    pub fn new(key: impl Into<String>, kind: impl Into<Kind>) -> Result<Self, LimitError> {
        crate::panics::point("limit");
        let (key, kind) = (key.into(), kind.into());
        check_key(&key)?;
        let rules = kind.compile(Scope { key: &key, factor: 1.0 })?;
        let fingerprint = Fingerprint::of_key(&key) ^ Fingerprint::of_shape(rules.shape());
        Ok(Self(Arc::new(Compiled {
            #[cfg(feature = "remote")]
            is_simple: !matches!((&kind, &rules), (Kind::Concurrency(_), _) | (_, Rules::Both(..))),
            key,
            kind,
            rules,
            fingerprint,
            #[cfg(all(feature = "shm", target_os = "linux"))]
            shared: OnceLock::new(),
            #[cfg(feature = "remote")]
            digest: AtomicU64::new(0),
            #[cfg(feature = "remote")]
            tally: OnceLock::new(),
        })))
    }

    /// The name of the limited action.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The type and its parameters.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// True if a call that does not fit yet can reserve its turn by being charged at once.
    pub(crate) fn reserves(&self) -> bool {
        self.0.rules.iter().all(Rule::reserves)
    }

    /// True if its entries can be raised to what an upstream server says of its own limit.
    pub(crate) fn observes(&self) -> bool {
        self.0.rules.iter().all(Rule::observes)
    }

    /// True if its units are held until they are given back, instead of spent.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        matches!(self.0.kind, Kind::Concurrency(_))
    }

    /// The time after which units that are held are free again unless they are renewed; of a limit that holds units.
    pub(crate) fn lease(&self) -> Option<Duration> {
        self.0.rules.iter().find(|rule| rule.holds()).map(|rule| Duration::from_micros(rule.window()))
    }

    /// True if a denied call is charged as well.
    #[must_use]
    pub fn counts_blocked(&self) -> bool {
        self.kind().counts_blocked()
    }

    /// Of the first rule's entry.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// Of the first rule's entry in the table of this number, where it is made of the key and the shape.
    #[inline]
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub(crate) fn shared_fingerprint(&self, table: u128, make: impl Fn(&str, Shape) -> Fingerprint) -> Fingerprint {
        match self.0.shared.get() {
            Some((known, fingerprint)) if *known == table => *fingerprint,
            _ => self.new_shared_fingerprint(table, make),
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg(all(feature = "shm", target_os = "linux"))]
    fn new_shared_fingerprint(&self, table: u128, make: impl Fn(&str, Shape) -> Fingerprint) -> Fingerprint {
        let fingerprint = make(&self.0.key, self.0.rules.shape());
        // The first table's is remembered.
        self.0.shared.get_or_init(|| (table, fingerprint));
        fingerprint
    }

    /// The shape of the first rule's entry.
    pub(crate) fn shape(&self) -> Shape {
        self.0.rules.shape()
    }

    /// A digest by which definitions differ in this process.
    #[inline]
    #[cfg(feature = "remote")]
    pub(crate) fn digest(&self) -> u64 {
        let known = self.0.digest.load(Ordering::Relaxed);
        if known == 0 { self.make_digest() } else { known }
    }

    #[cold]
    #[cfg(feature = "remote")]
    fn make_digest(&self) -> u64 {
        let digest = Fingerprint::digest(&format!("{:?}", self.kind()));
        self.0.digest.store(digest, Ordering::Relaxed);
        digest
    }

    /// The meter that counted calls of it first, and its counts there.
    #[inline]
    #[cfg(feature = "remote")]
    pub(crate) fn tally(&self) -> Option<&(u64, Arc<Tally>)> {
        self.0.tally.get()
    }

    /// The same; this one if there was none. It is made before its place is locked: a forked child waits for ever for
    /// what a thread of its parent was about to make.
    #[cfg(feature = "remote")]
    pub(crate) fn tally_or(&self, this: impl FnOnce() -> (u64, Arc<Tally>)) -> &(u64, Arc<Tally>) {
        self.tally().unwrap_or_else(|| {
            let this = this();
            self.0.tally.get_or_init(|| this)
        })
    }

    /// The fingerprint of every entry that limits of this key can have, with its kind.
    #[cfg(feature = "remote")]
    pub(crate) fn places(&self) -> impl Iterator<Item = (EntryKind, Fingerprint)> + use<> {
        let key = self.0.fingerprint ^ Fingerprint::of_shape(self.0.rules.shape());
        EntryKind::all().map(move |kind| {
            let entry = key ^ Fingerprint::of_shape(kind.shape);
            (kind, if kind.is_block { entry.of_block() } else { entry })
        })
    }

    /// True unless calls of it have several answers, or hold units.
    #[cfg(feature = "remote")]
    pub(crate) fn is_simple(&self) -> bool {
        self.0.is_simple
    }

    /// True if a denial closes it for a time.
    pub(crate) fn blocks(&self) -> bool {
        matches!(self.0.rules, Rules::Blocking(..))
    }

    /// The rules for an actor with this factor; 0 lifts the limit.
    pub(crate) fn rules(&self, factor: f64) -> Result<Rules, LimitError> {
        if let Some(rules) = self.compiled(factor) {
            return Ok(*rules);
        }
        check_factor(self.key(), factor)?;
        if factor == 0.0 {
            return Ok(Rules::Unlimited);
        }
        // As it was written it is sound, so only the factor can be at fault.
        self.0.kind.compile(Scope { key: self.key(), factor }).map_err(|error| error.by_factor(factor))
    }

    /// The largest cost that is admitted at once, for an actor with this factor.
    pub(crate) fn quota(&self, factor: f64) -> Result<u64, LimitError> {
        Ok(self.rules(factor)?.iter().map(Rule::quota).min().unwrap_or(EXACT))
    }

    /// [`rules`](Self::rules) where they have been compiled already.
    #[inline]
    #[expect(clippy::float_cmp, reason = "exactly 1 is what was compiled; anything else is scaled")]
    pub(crate) fn compiled(&self, factor: f64) -> Option<&Rules> {
        (factor == 1.0).then_some(&self.0.rules)
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit").field("key", &self.key()).field("kind", self.kind()).finish()
    }
}

impl PartialEq for Limit {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.key() == other.key() && self.kind() == other.kind()
    }
}

impl Eq for Limit {}

impl Hash for Limit {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.key(), self.kind()).hash(hasher);
    }
}

/// A definition in the making; [`build`](Self::build) checks it.
#[derive(Clone, Debug)]
pub struct Builder<K> {
    key: String,
    kind: K,
}

impl<K: Into<Kind>> Builder<K> {
    /// Checks the definition.
    ///
    /// # Errors
    /// Names the key, the field and the value at fault.
    pub fn build(self) -> Result<Limit, LimitError> {
        Limit::new(self.key, self.kind)
    }
}

/// Checks a key: any text that is neither empty nor too long.
fn check_key(key: &str) -> Result<(), LimitError> {
    if key.is_empty() {
        return Err(LimitError::range(key, "key", "must not be empty", r#""""#));
    }
    if key.len() > LONGEST_KEY {
        let problem = format!("must be at most {LONGEST_KEY} bytes");
        return Err(LimitError::range(key, "key", problem, format_args!("{} bytes", key.len())));
    }
    Ok(())
}
