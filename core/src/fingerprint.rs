//! Fingerprints: the identity of an entry, as 128 bits.

use std::hash::{BuildHasher, Hasher as _};
use std::ops::BitXor;
use std::sync::OnceLock;

use ahash::RandomState;

use crate::algorithm::Shape;

/// Stands for a (namespace, actor, key, shape of what is kept) wherever entries are kept.
///
/// Each part is hashed with random keys of its own that live as long as the process, so no client can choose
/// names that collide, and the parts are combined by exclusive or, so the two that seldom change are hashed once.
/// The lowest bits are the actor's alone: whatever is kept of one actor can be kept in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint(pub(crate) u128);

impl Fingerprint {
    pub(crate) fn of_namespace(namespace: &str) -> Self {
        secrets().namespace.hash(namespace).beside_an_actor()
    }

    pub(crate) fn of_key(key: &str) -> Self {
        secrets().key.hash(key).beside_an_actor()
    }

    #[expect(clippy::inline_always, reason = "as what it calls")]
    #[inline(always)]
    pub(crate) fn of_actor(actor: &str) -> Self {
        secrets().actor.hash(actor)
    }

    /// The part that stands for a shape; zero for a level, the shape of most limits.
    pub(crate) fn of_shape(shape: Shape) -> Self {
        secrets().shapes[shape as usize]
    }

    /// The entry of a limit's second rule, beside a level.
    #[cfg(feature = "remote")]
    pub(crate) fn second(self) -> Self {
        self ^ Self::of_shape(Shape::Interval)
    }

    /// The block that stands beside this entry.
    #[inline]
    pub(crate) fn of_block(self) -> Self {
        self ^ secrets().block
    }

    /// Half a fingerprint of a text that is no part of an entry's name.
    #[cfg(feature = "remote")]
    pub(crate) fn digest(text: &str) -> u64 {
        half(&secrets().key.low, text)
    }

    /// The fingerprint without the bits that an actor's lowest bits occupy.
    const fn beside_an_actor(self) -> Self {
        Self(self.0 & !(u8::MAX as u128))
    }
}

impl BitXor for Fingerprint {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

/// Two independently keyed 64-bit hashes side by side.
struct Hasher {
    high: RandomState,
    low: RandomState,
}

impl Hasher {
    fn random() -> Self {
        Self { high: RandomState::new(), low: RandomState::new() }
    }

    #[inline]
    fn hash(&self, text: &str) -> Fingerprint {
        Fingerprint(u128::from(half(&self.high, text)) << 64 | u128::from(half(&self.low, text)))
    }
}

#[expect(clippy::inline_always, reason = "both halves at once, which do not wait for each other")]
#[inline(always)]
fn half(keys: &RandomState, text: &str) -> u64 {
    let mut hasher = keys.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

struct Secrets {
    namespace: Hasher,
    key: Hasher,
    actor: Hasher,
    shapes: [Fingerprint; Shape::ALL.len()],
    block: Fingerprint,
}

fn secrets() -> &'static Secrets {
    static SECRETS: OnceLock<Secrets> = OnceLock::new();
    SECRETS.get_or_init(|| Secrets {
        namespace: Hasher::random(),
        key: Hasher::random(),
        actor: Hasher::random(),
        shapes: Shape::ALL.map(|shape| match shape {
            Shape::Level => Fingerprint(0),
            _ => Hasher::random().hash("").beside_an_actor(),
        }),
        block: Hasher::random().hash("").beside_an_actor(),
    })
}
