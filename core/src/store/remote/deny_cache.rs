//! Denials that need not be asked for again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::time::{Micros, millis_up};

/// Sets of a few denials each, by entry, in segments that are made as they are needed; powers of two of both.
const SETS: usize = 64;
const SEGMENTS: usize = 64;
const WAYS: usize = 4;

type Segment = Box<[Mutex<Set>]>;

/// The identity of a denied call; the same call again is denied until the time that its denial named. Another
/// definition of the same key may admit what this one denied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DenyKey {
    pub(crate) entry: Fingerprint,
    pub(crate) definition: u64,
    pub(crate) cost: u64,
    pub(crate) factor: f64,
}

/// Denials of this process, for a while: a denial costs nothing and its reset is exact, so until then only a refund or
/// a reset can lift it, and only a charge can prolong it. Those that this process gives back drop it, whichever limiter
/// over the same store they are made with, and so do charges with the same limiter; for others there is a maximum age.
#[derive(Debug)]
pub(crate) struct DenyCache {
    /// Each is made at its first denial: most limiters of a fleet deny seldom, and few actors.
    segments: [OnceLock<Segment>; SEGMENTS],
    max_age: Micros,
    /// Counts what drops denials, so that one that was already on its way is not kept.
    dropped: AtomicU64,
}

/// The number of times that denials had been dropped when a call began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(u64);

#[derive(Debug, Default)]
struct Set {
    /// At most so many as there are ways.
    denials: Vec<Denial>,
    /// The index of the one that makes room for the next.
    oldest: usize,
}

#[derive(Debug)]
struct Denial {
    key: DenyKey,
    info: LimitInfo,
    /// The instant at which it came, the end of the denial, and the end of its use from here.
    came: Micros,
    ends: Micros,
    usable_until: Micros,
}

impl DenyCache {
    /// With a maximum age of 0 nothing is kept.
    pub(crate) fn new(max_age: Duration) -> Self {
        let max_age = Micros::try_from(max_age.as_micros()).unwrap_or(Micros::MAX);
        Self { segments: [const { OnceLock::new() }; SEGMENTS], max_age, dropped: AtomicU64::new(0) }
    }

    /// To be asked for before a call whose denial may be kept.
    pub(crate) fn since(&self) -> Since {
        Since(self.dropped.load(Ordering::Acquire))
    }

    /// The denial of this very call, as it stands now.
    pub(crate) fn find(&self, key: &DenyKey, now: Micros) -> Option<LimitInfo> {
        let (segment, set) = place(key.entry);
        let set = lock(&self.segments[segment].get()?[set]);
        let denial = set.denials.iter().find(|denial| denial.key == *key)?;
        if now >= denial.usable_until {
            return None;
        }
        let passed = now.saturating_sub(denial.came) / 1000;
        let mut info = denial.info.clone();
        info.reset_ms = millis_up(denial.ends - now);
        info.full_reset_ms = info.full_reset_ms.saturating_sub(passed);
        info.next_ms = info.next_ms.saturating_sub(passed).max(1);
        info.at += now.saturating_sub(denial.came);
        Some(info)
    }

    /// Keeps a denial that came at `came`, with its `reset`, for no longer than it `holds`, unless some were dropped
    /// since the call began.
    pub(crate) fn keep(
        &self,
        key: DenyKey,
        info: &LimitInfo,
        came: Micros,
        (reset, holds): (Micros, Micros),
        since: Since,
    ) {
        if self.max_age == 0 || reset == 0 || holds == 0 || self.since().0 != since.0 {
            return;
        }
        let ends = came.saturating_add(reset);
        let usable_until = came.saturating_add(holds.min(reset).min(self.max_age));
        let (segment, set) = place(key.entry);
        let segment = self.segments[segment].get_or_init(|| (0..SETS).map(|_| Mutex::default()).collect());
        let mut set = lock(&segment[set]);
        let index = set.room_for(&key);
        let denial = Denial { key, info: info.clone(), came, ends, usable_until };
        if let Some(place) = set.denials.get_mut(index) {
            *place = denial;
        } else {
            set.denials.reserve_exact(1);
            set.denials.push(denial);
        }
        // Something may have been dropped between the look above and now.
        if self.since().0 != since.0 {
            set.denials.swap_remove(index);
        }
    }

    /// Everything may have been given back.
    pub(crate) fn clear(&self) {
        self.dropped.fetch_add(1, Ordering::AcqRel);
        for set in self.segments.iter().filter_map(OnceLock::get).flat_map(|segment| segment.iter()) {
            lock(set).denials.clear();
        }
    }

    /// Something may have been given back to this entry.
    pub(crate) fn forget(&self, entry: Fingerprint) {
        self.dropped.fetch_add(1, Ordering::AcqRel);
        self.outdate(entry);
    }

    /// Something was charged to this entry: its denials hold longer than they say, and less remains. One that is on its
    /// way may still be kept, because it is a denial all the same.
    pub(crate) fn outdate(&self, entry: Fingerprint) {
        let (segment, set) = place(entry);
        if let Some(segment) = self.segments[segment].get() {
            lock(&segment[set]).denials.retain(|denial| denial.key.entry != entry);
        }
    }
}

impl Set {
    /// The place of this call's denial, or of the next one that is kept.
    fn room_for(&mut self, key: &DenyKey) -> usize {
        let known = self.denials.iter().position(|known| known.key == *key);
        known.unwrap_or_else(|| {
            if self.denials.len() < WAYS {
                return self.denials.len();
            }
            self.oldest = (self.oldest + 1) % WAYS;
            self.oldest
        })
    }
}

fn lock(set: &Mutex<Set>) -> MutexGuard<'_, Set> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::cast_possible_truncation, reason = "any bits of a fingerprint will do")]
fn place(entry: Fingerprint) -> (usize, usize) {
    ((entry.0 >> 26) as usize & (SEGMENTS - 1), (entry.0 >> 20) as usize & (SETS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(entry: u128) -> DenyKey {
        DenyKey { entry: Fingerprint(entry), definition: 0, cost: 1, factor: 1.0 }
    }

    #[test]
    fn a_charge_drops_denials_of_its_entry_and_none_that_are_on_their_way() {
        let cache = DenyCache::new(Duration::from_secs(1));
        let info = LimitInfo::unlimited();
        let since = cache.since();
        cache.keep(key(1), &info, 1_000, (500_000, 500_000), since);
        cache.outdate(Fingerprint(1));
        assert!(cache.find(&key(1), 2_000).is_none());
        cache.keep(key(2), &info, 1_000, (500_000, 500_000), since);
        assert!(cache.find(&key(2), 2_000).is_some());
    }

    #[test]
    fn grows_with_use_and_keeps_a_few_of_each_set() {
        let cache = DenyCache::new(Duration::from_secs(1));
        let info = LimitInfo::unlimited();
        let keep = |entry| cache.keep(key(entry), &info, 1_000, (500_000, 500_000), cache.since());
        let finds = |entry| cache.find(&key(entry), 2_000).is_some();
        let made = || cache.segments.iter().filter(|segment| segment.get().is_some()).count();
        assert_eq!(made(), 0);
        keep(1);
        assert_eq!(made(), 1, "one denial makes one segment");
        for entry in 0..6 {
            keep(entry);
            keep(entry);
        }
        assert_eq!((0..6).filter(|entry| finds(*entry)).count(), WAYS, "all six are of the same set");
        assert!(finds(5) && finds(4));
        cache.forget(Fingerprint(5));
        assert!(!finds(5) && finds(4));
        for entry in 0..u128::from(u16::MAX) {
            keep(entry << 20);
        }
        assert_eq!(made(), SEGMENTS);
        let kept = (0..u128::from(u16::MAX)).filter(|entry| finds(entry << 20)).count();
        assert!(kept > SEGMENTS * SETS * (WAYS - 1), "{kept} are kept");
    }

    #[test]
    fn a_denial_is_that_calls_alone_and_says_how_things_stand_now() {
        let cache = DenyCache::new(Duration::from_millis(300));
        let info =
            LimitInfo { reset_ms: 500, full_reset_ms: 900, next_ms: 250, at: 7_000_000, ..LimitInfo::unlimited() };
        cache.keep(key(1), &info, 1_000, (500_000, 500_000), cache.since());
        for other in [
            DenyKey { definition: 1, ..key(1) },
            DenyKey { cost: 2, ..key(1) },
            DenyKey { factor: 2.0, ..key(1) },
            key(2),
        ] {
            assert!(cache.find(&other, 1_000).is_none(), "{other:?}");
        }
        let later = cache.find(&key(1), 201_000).expect("it is remembered");
        assert_eq!((later.reset_ms, later.full_reset_ms, later.next_ms, later.at), (300, 700, 50, 7_200_000));
        let last = cache.find(&key(1), 300_999).expect("it is remembered");
        assert_eq!((last.reset_ms, last.next_ms), (201, 1), "never nothing, and rounded up");
        assert!(cache.find(&key(1), 301_000).is_none(), "not for longer than its age");
        cache.keep(key(3), &info, 1_000, (200_000, 200_000), cache.since());
        assert!(cache.find(&key(3), 200_999).is_some() && cache.find(&key(3), 201_000).is_none(), "nor than it holds");
    }

    #[test]
    fn nothing_is_kept_of_what_was_given_back_meanwhile() {
        let info = LimitInfo::unlimited();
        let cache = DenyCache::new(Duration::from_secs(1));
        let kept = |cache: &DenyCache| cache.find(&key(1), 1_000).is_some();
        let since = cache.since();
        cache.forget(Fingerprint(1));
        cache.keep(key(1), &info, 1_000, (500_000, 500_000), since);
        assert!(!kept(&cache), "given back to this entry while the call was under way");
        let since = cache.since();
        cache.clear();
        cache.keep(key(1), &info, 1_000, (500_000, 500_000), since);
        assert!(!kept(&cache), "cleared meanwhile");
        cache.keep(key(1), &info, 1_000, (500_000, 500_000), cache.since());
        assert!(kept(&cache));
        cache.clear();
        assert!(!kept(&cache));
        cache.keep(key(1), &info, 1_000, (0, 0), cache.since());
        assert!(!kept(&cache), "it holds no longer");
        let none = DenyCache::new(Duration::ZERO);
        none.keep(key(1), &info, 1_000, (500_000, 500_000), none.since());
        assert!(none.segments.iter().all(|segment| segment.get().is_none()), "nothing is kept at all");
    }
}
