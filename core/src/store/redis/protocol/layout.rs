//! Strategies, and layouts of entries.

use super::keys;
use crate::algorithm::Shape;
use crate::error::LimitError;
use crate::limit::{Kind, Limit, Translation};
use crate::names::named;
use crate::store::remote::{EntryName, Key, NamePart, NameParts};
use crate::time::wire_millis;

/// The way in which a server decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// By a script: one round trip, nothing in between, every type of limit.
    #[default]
    Script,
    /// By transactions under optimistic locking, for servers that run no scripts: for buckets alone, always in the
    /// [`Sharkey`](Layout::Sharkey) layout. A denial takes one round trip and a charge two, or three where the bucket
    /// has dripped since the last one; other processes that come in between cost one more each time.
    ///
    /// Calls of several processes at the same instant may overfill a bucket, by what each of them costs; the wait then
    /// grows until what is too much has drained.
    Transactions,
}

named!(Strategy, "strategy", Script = "script", Transactions = "transactions");

/// The layout of the entries on a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// One key each, `{namespace}:{actor}:{key}` with braces around the actor, for every type of limit.
    #[default]
    Own,
    /// Two keys each, `rl_<actor>_<key>_c` and `rl_<actor>_<key>_t`: how much is in a bucket, and since when, in whole
    /// milliseconds. Sharkey's `SkRateLimiterService` keeps its entries so, and can run beside.
    ///
    /// Buckets alone, and legacy limits that are translated to buckets. Not for clusters, where the two keys need not
    /// share a slot. A namespace is put in front, with a colon, where one is set.
    Sharkey,
}

named!(Layout, "layout", Own = "own", Sharkey = "sharkey");

impl Layout {
    /// The namespace of a store that none is set for.
    pub(crate) const fn namespace(self) -> &'static str {
        match self {
            Self::Own => "tidegate",
            Self::Sharkey => "",
        }
    }

    /// The name of an entry. The other layout has levels only.
    pub(crate) fn key(self, name: EntryName<'_>) -> Key {
        match self {
            Self::Own => name.to_key(),
            Self::Sharkey => keys::pair(name.namespace, name.actor, name.limit),
        }
    }

    /// The actor of a key, if it is one of this namespace and limit.
    pub(crate) fn actor(self, namespace: &str, limit: &str, key: &[u8]) -> Option<NamePart> {
        if self == Self::Own {
            let parts = NameParts::of_key(key)?;
            return (parts.namespace.is(namespace) && parts.limit.is(limit)).then_some(parts.actor);
        }
        let empty = keys::pair(namespace, "", "");
        let actor =
            std::str::from_utf8(key).ok()?.strip_prefix(std::str::from_utf8(&empty).ok()?.strip_suffix("__")?)?;
        let actor = actor.strip_suffix("_c").or_else(|| actor.strip_suffix("_t"))?;
        let actor = actor.strip_suffix(limit)?.strip_suffix('_')?;
        Some(NamePart::Text(actor.to_owned()))
    }

    /// The shapes of which a limit may have left an entry.
    pub(crate) fn shapes(self) -> &'static [Shape] {
        match self {
            Self::Own => &Shape::ALL,
            Self::Sharkey => &[Shape::Level],
        }
    }

    /// A key in this slot that no entry has.
    pub(crate) fn mark(self, namespace: &str, slot: Option<u16>) -> Key {
        match self {
            Self::Own => keys::mark(namespace, slot),
            Self::Sharkey => keys::pair(namespace, "", "").iter().chain(b"wait").copied().collect(),
        }
    }

    /// Refuses what cannot be kept so.
    pub(crate) fn admits(self, limit: &Limit) -> Result<(), LimitError> {
        if self == Self::Own {
            return Ok(());
        }
        if let Some(blocking) = limit.kind().blocking().filter(|_| limit.blocks()) {
            return Err(LimitError::range(limit.key(), "blockFor", NO_BLOCKS, wire_millis(blocking.length())));
        }
        let value = match limit.kind() {
            Kind::Bucket(_) => return Ok(()),
            Kind::Legacy(legacy) if legacy.translation == Translation::Bucket => return Ok(()),
            Kind::Legacy(_) => "legacy with an exact translation",
            kind => kind.type_name().unwrap_or_default(),
        };
        Err(LimitError::range(limit.key(), "type", ONLY_BUCKETS, value))
    }
}

const NO_BLOCKS: &str = "must be 0 where the layout is sharkey (as it is with the transactions strategy), which keeps no \
    blocks; the script strategy in its own layout does";
const ONLY_BUCKETS: &str = "must be bucket, or legacy in its bucket translation, where the layout is sharkey (as it is \
    with the transactions strategy); the script strategy in its own layout takes every type";
