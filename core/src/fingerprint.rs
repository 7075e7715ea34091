//! Fingerprints: the identity of an entry, as 128 bits.

use std::hash::{BuildHasher, Hasher as _};
use std::ops::BitXor;
use std::sync::OnceLock;

use ahash::RandomState;

use crate::algorithm::Shape;

/// Stands for a (namespace, actor, key, shape of what is kept) wherever entries are kept.
///
/// Each part is hashed with random keys of its own that live as long as what they are kept in, the process or a table
/// that processes share, so no client can choose names that collide. The parts are combined by exclusive or, so the two
/// that seldom change are hashed once.
/// The lowest bits are the actor's alone: whatever is kept of one actor can be kept in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint(pub(crate) u128);

impl Fingerprint {
    pub(crate) fn of_namespace(namespace: &str) -> Self {
        secrets().of_namespace(namespace)
    }

    pub(crate) fn of_key(key: &str) -> Self {
        secrets().of_key(key)
    }

    #[expect(clippy::inline_always, reason = "as what it calls")]
    #[inline(always)]
    pub(crate) fn of_actor(actor: &str) -> Self {
        secrets().of_actor(actor)
    }

    /// The part that stands for a shape; zero for a level, the shape of most limits.
    pub(crate) fn of_shape(shape: Shape) -> Self {
        secrets().of_shape(shape)
    }

    /// The entry of a limit's second rule, beside a level.
    #[cfg(feature = "remote")]
    pub(crate) fn second(self) -> Self {
        self ^ Self::of_shape(Shape::Interval)
    }

    /// The block that stands beside this entry.
    #[inline]
    pub(crate) fn of_block(self) -> Self {
        secrets().of_block(self)
    }

    /// Half a fingerprint of a text that is no part of an entry's name.
    #[cfg(feature = "remote")]
    pub(crate) fn digest(text: &str) -> u64 {
        half(&secrets().key.low, text)
    }

    /// One of 64 places, of which the entries of one limit and actor have different ones.
    #[allow(clippy::cast_possible_truncation, reason = "six bits of it")]
    pub(crate) const fn place(self) -> usize {
        (self.0 & PLACES) as usize >> u8::BITS
    }

    /// The fingerprint without the bits that an actor's lowest bits occupy.
    const fn beside_an_actor(self) -> Self {
        Self(self.0 & !(u8::MAX as u128))
    }
}

/// The identity of what a limiter keeps: limiters with the same one share their entries. It says so for as long as one of
/// them lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntriesId {
    /// The address of what all limiters of the store share.
    pub(crate) store: usize,
    pub(crate) namespace: Fingerprint,
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

/// Random words for the keys of all parts: of each its high half, then its low one.
#[cfg(any(test, all(feature = "shm", target_os = "linux")))]
pub(crate) type Keys = [[[u64; 4]; 2]; 4];

/// The bits of an actor alone, and those behind them: where entries are shared, these say with whom.
const PLACES: u128 = 0x3fff;

/// The keys by which names become fingerprints.
pub(crate) struct Secrets {
    namespace: Hasher,
    key: Hasher,
    actor: Hasher,
    shapes: [Fingerprint; Shape::ALL.len()],
    block: Fingerprint,
}

impl Secrets {
    fn new([namespace, key, actor, beside]: [Hasher; 4]) -> Self {
        // Were the place of two entries of one call the same, each would be denied: those of a limit never share one.
        let part = |name, place: usize| Fingerprint(beside.hash(name).0 & !PLACES | (place as u128) << u8::BITS);
        let shapes = Shape::ALL.map(|shape| match shape {
            Shape::Level => Fingerprint(0),
            _ => part(shape.suffix(), shape as usize),
        });
        let block = part("~block", Shape::ALL.len().next_power_of_two());
        Self { namespace, key, actor, shapes, block }
    }

    /// The same for everyone who knows these words and hashes alike.
    #[cfg(any(test, all(feature = "shm", target_os = "linux")))]
    pub(crate) fn of_keys(keys: Keys) -> Self {
        let state = |[first, second, third, fourth]: [u64; 4]| RandomState::with_seeds(first, second, third, fourth);
        Self::new(keys.map(|[high, low]| Hasher { high: state(high), low: state(low) }))
    }

    pub(crate) fn of_namespace(&self, namespace: &str) -> Fingerprint {
        self.namespace.hash(namespace).beside_an_actor()
    }

    pub(crate) fn of_key(&self, key: &str) -> Fingerprint {
        self.key.hash(key).beside_an_actor()
    }

    #[expect(clippy::inline_always, reason = "as what it calls")]
    #[inline(always)]
    pub(crate) fn of_actor(&self, actor: &str) -> Fingerprint {
        self.actor.hash(actor)
    }

    pub(crate) fn of_shape(&self, shape: Shape) -> Fingerprint {
        self.shapes[shape as usize]
    }

    #[inline]
    pub(crate) fn of_block(&self, entry: Fingerprint) -> Fingerprint {
        entry ^ self.block
    }

    /// Equal for all who hash alike under these keys. The hash of a text depends on the library, and on the instructions
    /// that it was compiled for; and there is a way of its own for short texts, for longer ones and for long ones.
    #[cfg(any(test, all(feature = "shm", target_os = "linux")))]
    pub(crate) fn canary(&self) -> u128 {
        const TEXT: &str = "a text that is longer than all that is hashed at once, and so longer than 64 bytes";
        let texts = (0..=TEXT.len()).filter_map(|end| TEXT.get(..end));
        let sum = texts.fold(self.block, |sum, text| Fingerprint(sum.0.rotate_left(1)) ^ self.of_actor(text));
        sum.0
    }
}

fn secrets() -> &'static Secrets {
    static SECRETS: OnceLock<Secrets> = OnceLock::new();
    SECRETS.get_or_init(|| Secrets::new([(); 4].map(|()| Hasher::random())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(first: u64) -> Keys {
        let mut word = first;
        [(); 4].map(|()| {
            [(); 2].map(|()| {
                [(); 4].map(|()| {
                    word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    word
                })
            })
        })
    }

    #[test]
    fn equal_keys_hash_alike_and_others_do_not() {
        let [one, same, other] = [keys(1), keys(1), keys(2)].map(Secrets::of_keys);
        assert_eq!(one.canary(), same.canary());
        assert_ne!(one.canary(), other.canary());
        for text in ["", "a", "actor", "an actor", "one of more than 8 bytes", &"long ".repeat(50)] {
            assert_eq!(one.of_actor(text), same.of_actor(text));
            assert_ne!(one.of_actor(text), other.of_actor(text));
        }
    }

    #[test]
    fn a_text_has_another_hash_in_each_place_and_the_lowest_bits_are_the_actors() {
        let secrets = Secrets::of_keys(keys(3));
        let [namespace, key, actor] = [secrets.of_namespace("a"), secrets.of_key("a"), secrets.of_actor("a")];
        let all = [namespace, key, actor, secrets.of_block(Fingerprint(0)), secrets.of_shape(Shape::Interval)];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{all:?}");
        }
        assert_eq!((namespace ^ key ^ secrets.of_shape(Shape::Interval)).0 & 0xff, 0);
        assert_eq!(secrets.of_shape(Shape::Level), Fingerprint(0));
    }

    #[test]
    fn no_two_entries_of_a_limit_share_a_place() {
        for first in 0..200 {
            let secrets = Secrets::of_keys(keys(first));
            let limit = secrets.of_key("a") ^ secrets.of_actor("b");
            let entries = Shape::ALL.map(|shape| limit ^ secrets.of_shape(shape));
            let all = entries.into_iter().chain(entries.map(|entry| secrets.of_block(entry)));
            let mut places: Vec<_> = all.map(Fingerprint::place).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 2 * Shape::ALL.len());
        }
    }
}
