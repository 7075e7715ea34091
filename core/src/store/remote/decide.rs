//! Decisions in this process on the values that a store has read.

use std::time::Duration;

use super::reply::Reply;
use super::request::{Part, Request};
use super::value::{decode, encode};
use crate::algorithm::{Entry, Rule};
use crate::decision::{OpenEntry, Verb, together};
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::time::Micros;

/// The decision on a request: the writes to make, and the reply to give once they are made.
#[derive(Clone, Debug)]
pub struct Decision {
    writes: Vec<Write>,
    pub(super) reply: Reply,
}

/// A change to one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Write {
    /// The index of the entry in [`Request::entries`].
    pub entry: usize,
    /// The value to keep; `None` removes the entry.
    pub value: Option<Vec<u8>>,
    /// The time after which the entry is empty, so that it need not be kept any more.
    pub lasts: Duration,
}

impl Decision {
    /// The writes that it needs. All of them have to be made, or none; and none if another process has changed one of
    /// the [entries](Request::entries) since they were read.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }
}

/// The least time for which an entry is kept whose caller gives `now`: the store's clock is not the caller's.
const LEAST: Micros = 3600 * 1_000_000;

impl Request {
    /// Decides on these values of its [entries](Self::entries), in their order, at this instant of the store's clock.
    ///
    /// A value that no limit has written counts as none.
    #[must_use]
    pub fn decide(&self, values: &[Option<Vec<u8>>], clock: Micros) -> Decision {
        if self.verb == Verb::Reset {
            let gone = |entry| Write { entry, value: None, lasts: Duration::ZERO };
            return Decision { writes: (0..self.entries.len()).map(gone).collect(), reply: self.emptied(Some(clock)) };
        }
        let now = self.instant(Some(clock)).unwrap_or(clock);
        let mut corrupt = 0;
        let read = |entry: usize| {
            let value = values.get(entry)?.as_deref()?;
            let found = decode(self.rule_of(entry)?, value);
            corrupt += u32::from(found.is_none());
            found
        };
        let entries = (0..self.entries.len()).map(read).map(Option::unwrap_or_default);
        let mut entries: InlineVec<OpenEntry> = entries.map(OpenEntry::new).collect();
        let reply = self.reply_on(self.verb, &mut entries, now, corrupt, false);
        let decided = matches!(reply, Reply::Decided { .. });
        let writes = entries.iter_mut().enumerate().filter(|(_, held)| decided && held.kept_by.is_some());
        let writes = writes.filter_map(|(entry, held)| self.write(entry, held, now)).collect();
        Decision { writes, reply }
    }

    /// The engine's reply for entries in this state, which it changes.
    pub(crate) fn reply_on(
        &self,
        verb: Verb,
        entries: &mut [OpenEntry],
        now: Micros,
        corrupt: u32,
        repaired: bool,
    ) -> Reply {
        let infos = match together(&self.checks(), entries, now, verb) {
            Ok(infos) => infos,
            Err((part, why)) => return Reply::Impossible(part, why),
        };
        let mut reset = 0;
        if matches!(verb, Verb::Limit | Verb::Peek | Verb::Acquire { .. }) {
            let checks = self.parts.iter().zip(self.priors()).zip(&infos);
            let counts = |part: &Part, info: &LimitInfo| info.blocked || part.block().is_some();
            for ((part, prior), _) in checks.filter(|((part, _), info)| counts(part, info) && part.observed.is_none()) {
                let total = part.needs().saturating_add(prior);
                reset = reset.max(part.rule.until(&mut entries[part.entry].entry, now, total));
            }
        }
        Reply::Decided { now, infos: infos.into(), corrupt, repaired, reset }
    }

    /// The rule of an entry. All checks of one are of the same.
    fn rule_of(&self, entry: usize) -> Option<&Rule> {
        self.parts.iter().find(|part| part.entry == entry).map(|part| &part.rule)
    }

    fn write(&self, entry: usize, held: &mut OpenEntry, now: Micros) -> Option<Write> {
        let rule = self.rule_of(entry)?;
        let mended = held.mended.take().map(|mended| *mended);
        let (kept, is_mended) = (&mut held.entry, mended.is_some());
        if mended == Some(Entry::Absent) || !is_mended && rule.is_empty(kept, now) {
            return Some(Write { entry, value: None, lasts: Duration::ZERO });
        }
        let drains = rule.drains(kept, now);
        let lasts = drains.since.saturating_add(drains.time.duration()).saturating_sub(now);
        let least = if self.now.is_some() || is_mended { LEAST.max(rule.window()) } else { 0 };
        Some(Write {
            entry,
            value: Some(encode(mended.as_ref().unwrap_or(kept))),
            lasts: Duration::from_micros(lasts.max(least)),
        })
    }
}
