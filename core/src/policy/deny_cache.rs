//! Denials that need not be asked for again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::time::{Micros, millis_up};

/// Sets of a few denials each, by entry; a power of two of them.
const SETS: usize = 4096;
const WAYS: usize = 4;

/// What a call was about; the same call again is denied until the time that its denial named. Another definition of the
/// same key may admit what this one denied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) entry: Fingerprint,
    pub(crate) definition: u64,
    pub(crate) cost: u64,
    pub(crate) factor: f64,
}

/// Denials of this process, for a while: a denial costs nothing and its reset is exact, so until then only a refund or
/// a reset can change it. Those made through this process drop it; for others there is a maximum age.
#[derive(Debug)]
pub(crate) struct DenyCache {
    /// Made at the first denial: most limiters of a fleet deny seldom.
    sets: OnceLock<Box<[Mutex<Set>]>>,
    max_age: Micros,
    /// Counts what drops denials, so that one that was already on its way is not kept.
    dropped: AtomicU64,
}

/// How often denials had been dropped when a call began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(u64);

#[derive(Debug, Default)]
struct Set {
    denials: [Option<Denial>; WAYS],
    /// Which of them makes room for the next.
    oldest: usize,
}

#[derive(Debug)]
struct Denial {
    question: Question,
    info: LimitInfo,
    /// When it was heard, until when it holds, and until when it may be told.
    heard: Micros,
    holds: Micros,
    told: Micros,
}

impl DenyCache {
    /// With a maximum age of 0 nothing is kept.
    pub(crate) fn new(max_age: Duration) -> Self {
        let max_age = Micros::try_from(max_age.as_micros()).unwrap_or(Micros::MAX);
        Self { sets: OnceLock::new(), max_age, dropped: AtomicU64::new(0) }
    }

    /// To be asked for before a call whose denial may be kept.
    pub(crate) fn since(&self) -> Since {
        Since(self.dropped.load(Ordering::Acquire))
    }

    /// The denial of this very call, as it stands now.
    pub(crate) fn find(&self, question: &Question, now: Micros) -> Option<LimitInfo> {
        let sets = self.sets.get()?;
        let set = lock(&sets[place(question.entry)]);
        let denial = set.denials.iter().flatten().find(|denial| denial.question == *question)?;
        if now >= denial.told {
            return None;
        }
        let passed = now.saturating_sub(denial.heard) / 1000;
        let mut info = denial.info.clone();
        info.reset_ms = millis_up(denial.holds - now);
        info.full_reset_ms = info.full_reset_ms.saturating_sub(passed);
        info.next_ms = info.next_ms.saturating_sub(passed).max(1);
        info.at += now.saturating_sub(denial.heard);
        Some(info)
    }

    /// Keeps a denial that was heard at `heard` and holds for `reset`, unless some were dropped since the call began.
    pub(crate) fn keep(&self, question: Question, info: &LimitInfo, heard: Micros, reset: Micros, since: Since) {
        if self.max_age == 0 || reset == 0 || self.since().0 != since.0 {
            return;
        }
        let holds = heard.saturating_add(reset);
        let told = holds.min(heard.saturating_add(self.max_age));
        let sets = self.sets.get_or_init(|| (0..SETS).map(|_| Mutex::default()).collect());
        let mut set = lock(&sets[place(question.entry)]);
        let known = set.denials.iter().position(|known| known.as_ref().is_none_or(|known| known.question == question));
        let index = known.unwrap_or_else(|| {
            set.oldest = (set.oldest + 1) % WAYS;
            set.oldest
        });
        set.denials[index] = Some(Denial { question, info: info.clone(), heard, holds, told });
        // Something may have been dropped between the look above and now.
        if self.since().0 != since.0 {
            set.denials[index] = None;
        }
    }

    /// Something may have been given back to this entry.
    pub(crate) fn forget(&self, entry: Fingerprint) {
        self.dropped.fetch_add(1, Ordering::AcqRel);
        if let Some(sets) = self.sets.get() {
            let mut set = lock(&sets[place(entry)]);
            for denial in &mut set.denials {
                if denial.as_ref().is_some_and(|denial| denial.question.entry == entry) {
                    *denial = None;
                }
            }
        }
    }
}

fn lock(set: &Mutex<Set>) -> MutexGuard<'_, Set> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::cast_possible_truncation, reason = "any bits of a fingerprint will do")]
fn place(entry: Fingerprint) -> usize {
    (entry.0 >> 20) as usize & (SETS - 1)
}
