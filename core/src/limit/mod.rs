//! Definitions: what is limited, checked when it is made and compiled once.

mod bucket;
mod decay;
mod fixed_window;
mod form;
mod legacy;
mod number;
mod rule;
mod schema;
mod sliding_counter;
mod sliding_log;
mod sliding_window;
mod smooth;
mod text;
mod token_bucket;
mod wire;

use std::fmt;
use std::sync::Arc;
#[cfg(feature = "redis")]
use std::sync::OnceLock;
use std::time::Duration;

pub use bucket::{Bucket, FactorScales};
pub use decay::Decay;
pub use fixed_window::{Anchor, FixedWindow};
pub use legacy::{Legacy, Translation};
pub(crate) use rule::{
    Counter, Decay as Decaying, LevelRule, Log, Rule, Rules, Shape, Slots, Smooth as Pacing, floor, real, whole, whole_up,
};
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use sliding_window::SlidingWindow;
pub use smooth::Smooth;
pub use token_bucket::TokenBucket;
pub use wire::Value;

use crate::error::LimitError;
use crate::fingerprint::Fingerprint;
use crate::time::EXACT;
use number::{Scope, check_factor};

/// The longest key; a key goes into headers.
const LONGEST_KEY: usize = 256;

/// A limit: a type, its parameters, and a key that names the resource being limited.
///
/// Cheap to clone. Two limits with the same key share their entries, whatever their parameters.
///
/// ```
/// use std::time::Duration;
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
pub struct Limit(Arc<Definition>);

struct Definition {
    key: String,
    kind: Kind,
    /// Compiled for factor 1, which nearly every call has.
    rules: Rules,
    /// The part of an entry's fingerprint that the key and the shape of what is kept decide.
    fingerprint: Fingerprint,
    #[cfg(feature = "redis")]
    digest: OnceLock<u64>,
}

/// A limit's type with its parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// See [`Limit::bucket`].
    Bucket(Bucket),
    /// See [`Limit::token_bucket`].
    TokenBucket(TokenBucket),
    /// See [`Limit::fixed_window`].
    FixedWindow(FixedWindow),
    /// See [`Limit::sliding_window`].
    SlidingWindow(SlidingWindow),
    /// See [`Limit::sliding_counter`].
    SlidingCounter(SlidingCounter),
    /// See [`Limit::sliding_log`].
    SlidingLog(SlidingLog),
    /// See [`Limit::decay`].
    Decay(Decay),
    /// See [`Limit::smooth`].
    Smooth(Smooth),
    /// See [`Limit::legacy`].
    Legacy(Legacy),
}

impl Kind {
    fn compile(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        match self {
            Self::Bucket(bucket) => bucket.compile(scope).map(Rules::One),
            Self::TokenBucket(bucket) => bucket.compile(scope).map(Rules::One),
            Self::FixedWindow(window) => window.compile(scope).map(Rules::One),
            Self::SlidingWindow(definition) => definition.compile(scope).map(Rules::One),
            Self::SlidingCounter(definition) => definition.compile(scope).map(Rules::One),
            Self::SlidingLog(definition) => definition.compile(scope).map(Rules::One),
            Self::Decay(definition) => definition.compile(scope).map(Rules::One),
            Self::Smooth(definition) => definition.compile(scope).map(Rules::One),
            Self::Legacy(legacy) => legacy.compile(scope),
        }
    }
}

impl Limit {
    /// Checks a definition and compiles it.
    ///
    /// # Errors
    /// Names the key, the field and the value at fault.
    pub fn new(key: impl Into<String>, kind: impl Into<Kind>) -> Result<Self, LimitError> {
        let (key, kind) = (key.into(), kind.into());
        check_key(&key)?;
        let rules = kind.compile(Scope { key: &key, factor: 1.0 })?;
        let fingerprint = Fingerprint::of_key(&key) ^ Fingerprint::of_shape(rules.shape());
        Ok(Self(Arc::new(Definition {
            key,
            kind,
            rules,
            fingerprint,
            #[cfg(feature = "redis")]
            digest: OnceLock::new(),
        })))
    }

    /// A leaky bucket as a meter: up to `size` at once, and `drip_size` more every `drip_rate`.
    ///
    /// Source: the meter of <https://en.wikipedia.org/wiki/Leaky_bucket>, with drips instead of a continuous leak.
    pub fn bucket(key: impl Into<String>, size: u64) -> Builder<Bucket> {
        Builder { key: key.into(), kind: Bucket::new(size as f64) }
    }

    /// A token bucket, decided as GCRA does: `count` per `period` at an even pace.
    ///
    /// Source: the generic cell rate algorithm, ITU-T I.371; no rate is rounded, because levels are kept as exact
    /// fractions of a token.
    pub fn token_bucket(key: impl Into<String>, count: u64, period: Duration) -> Builder<TokenBucket> {
        Builder { key: key.into(), kind: TokenBucket::new(count, period) }
    }

    /// At most `max` in each window of a `period`.
    ///
    /// Two windows may meet in a burst of twice `max`; the other types exist for those who mind.
    pub fn fixed_window(key: impl Into<String>, max: u64, period: Duration) -> Builder<FixedWindow> {
        Builder { key: key.into(), kind: FixedWindow::new(max, period) }
    }

    /// At most `max` in a `period`, counted in slots of `resolution`: a slot counts until all of it is older.
    ///
    /// No span of `period - resolution` ever holds more than `max`. Keeps a count per slot in use.
    pub fn sliding_window(
        key: impl Into<String>,
        max: u64,
        period: Duration,
        resolution: Duration,
    ) -> Builder<SlidingWindow> {
        Builder { key: key.into(), kind: SlidingWindow::new(max, period, resolution) }
    }

    /// About `max` in a `period`: this window's count, and the last one's weighted by what is left of it.
    ///
    /// Two counts whatever `max` is, but an approximation: it supposes that the last window's calls were spread evenly.
    /// Source: <https://blog.cloudflare.com/counting-things-a-lot-of-different-things/>.
    pub fn sliding_counter(key: impl Into<String>, max: u64, period: Duration) -> Builder<SlidingCounter> {
        Builder { key: key.into(), kind: SlidingCounter::new(max, period) }
    }

    /// At most `max` in any span of a `period`, exactly, because the instants themselves are kept: up to `max` of them.
    pub fn sliding_log(key: impl Into<String>, max: u64, period: Duration) -> Builder<SlidingLog> {
        Builder { key: key.into(), kind: SlidingLog::new(max, period) }
    }

    /// A count of at most `max` that is divided by `decay_factor` every `resolution`: an AR(1) process, as an
    /// exponentially weighted sum of what went before.
    pub fn decay(key: impl Into<String>, max: u64, decay_factor: f64, resolution: Duration) -> Builder<Decay> {
        Builder { key: key.into(), kind: Decay::new(max, decay_factor, resolution) }
    }

    /// `rate` permits per second at an even pace; a call is admitted at once and the next one waits for what it cost.
    ///
    /// Source: the arithmetic of Guava's `RateLimiter`, `SmoothBursty` without a warm-up and `SmoothWarmingUp` with one.
    pub fn smooth(key: impl Into<String>, rate: f64) -> Builder<Smooth> {
        Builder { key: key.into(), kind: Smooth::new(rate) }
    }

    /// The `{ max, duration, minInterval }` form; without any of them it limits nothing.
    pub fn legacy(key: impl Into<String>) -> Builder<Legacy> {
        Builder { key: key.into(), kind: Legacy::default() }
    }

    /// The name of what is limited.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The type and its parameters.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Whether a call that does not fit yet can take its place by being charged at once.
    pub(crate) fn reserves(&self) -> bool {
        !matches!(self.kind(), Kind::SlidingWindow(_) | Kind::SlidingCounter(_) | Kind::SlidingLog(_) | Kind::Decay(_))
    }

    /// Whether a denied call is charged as well.
    #[must_use]
    pub fn counts_blocked(&self) -> bool {
        match self.kind() {
            Kind::SlidingWindow(definition) => definition.count_blocked,
            Kind::SlidingLog(definition) => definition.count_blocked,
            Kind::Decay(definition) => definition.count_blocked,
            _ => false,
        }
    }

    /// Of the first rule's entry.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// What tells definitions apart in this process.
    #[cfg(feature = "redis")]
    pub(crate) fn digest(&self) -> u64 {
        *self.0.digest.get_or_init(|| Fingerprint::digest(&format!("{:?}", self.kind())))
    }

    /// Of the entries that limits of this key can have, one for each of [`Shape::ALL`].
    pub(crate) fn fingerprints(&self) -> [Fingerprint; Shape::ALL.len()] {
        let key = self.0.fingerprint ^ Fingerprint::of_shape(self.0.rules.shape());
        Shape::ALL.map(|shape| key ^ Fingerprint::of_shape(shape))
    }

    /// What to decide by for an actor with this factor; 0 lifts the limit.
    pub(crate) fn rules(&self, factor: f64) -> Result<Rules, LimitError> {
        if let Some(rules) = self.compiled(factor) {
            return Ok(*rules);
        }
        check_factor(self.key(), factor)?;
        if factor == 0.0 {
            return Ok(Rules::Unlimited);
        }
        self.0.kind.compile(Scope { key: self.key(), factor })
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

/// A key becomes a name in a header, so it must be one that a structured-field string can hold.
fn check_key(key: &str) -> Result<(), LimitError> {
    if key.is_empty() {
        return Err(LimitError::range(key, "key", "must not be empty", r#""""#));
    }
    if key.len() > LONGEST_KEY {
        let problem = format!("must be at most {LONGEST_KEY} bytes");
        return Err(LimitError::range(key, "key", problem, format_args!("{} bytes", key.len())));
    }
    match key.chars().find(|c| !matches!(c, ' '..='~')) {
        Some(c) => Err(LimitError::range(key, "key", "must be printable ASCII", format_args!("{c:?}"))),
        None => Ok(()),
    }
}
