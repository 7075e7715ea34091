//! The pure part as a public call.

use super::{Call, OpenEntry, Part, State, Verb, drop_blocks, together};
use crate::algorithm::{Entry, Rule};
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::{EntryKind, Limit};
use crate::time::{EXACT, Micros};

impl Limit {
    /// Decides one call of cost 1 at `now`: a function of its arguments, without a clock, without I/O.
    ///
    /// The state that it returns is the one to decide the next call from.
    ///
    /// # Errors
    /// When a [`Call::Charge`] would take the level out of the exact range, or `now` is not below 2^53.
    ///
    /// ```
    /// use tidegate::{Call, Limit, State};
    ///
    /// let door = Limit::bucket("door", 1).build()?;
    /// let (first, state) = door.decide(State::default(), 0, Call::Limit)?;
    /// let (second, state) = door.decide(state, 400_000, Call::Limit)?;
    /// let (third, _) = door.decide(state, 1_000_000, Call::Limit)?;
    /// assert_eq!([first.blocked, second.blocked, third.blocked], [false, true, false]);
    /// assert_eq!(second.reset_ms, 600);
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn decide(&self, state: State, now: Micros, call: Call) -> Result<(LimitInfo, State), LimitError> {
        self.decide_with(state, now, call, 1, 1.0)
    }

    /// [`decide`](Self::decide) with a cost, and a factor for this actor.
    ///
    /// # Errors
    /// As [`decide`](Self::decide), and when the cost is above what the limit can ever admit, or the factor is not a
    /// finite number of at least 0.
    pub fn decide_with(
        &self,
        mut state: State,
        now: Micros,
        call: Call,
        cost: u64,
        factor: f64,
    ) -> Result<(LimitInfo, State), LimitError> {
        if now >= EXACT {
            return Err(LimitError::range(self.key(), "now", format!("must be below {EXACT} microseconds"), now));
        }
        // What a reset leaves is an entry that nothing has touched.
        let is_reset = call == Call::Reset;
        let (cost, verb) = if is_reset { (0, Verb::Peek) } else { (call.cost_at(self, cost, 0)?, Verb::from(call)) };
        if is_reset {
            state = State::default();
        }
        let rules = self.rules(factor)?;
        let parts: InlineVec<Part<&Rule>> = rules
            .placed()
            .enumerate()
            .map(|(entry, (_, rule))| Part {
                rule,
                cost,
                at_least: 0,
                spent: 0,
                charged_at: None,
                entry,
                observed: None,
            })
            .collect();
        let places: InlineVec<EntryKind> = rules.placed().map(|(place, _)| place).collect();
        let before: InlineVec<Entry> = places.iter().map(|place| state.take(*place)).collect();
        let mut held: InlineVec<OpenEntry> = before.iter().map(|entry| OpenEntry::new(entry.clone())).collect();
        let mut infos = together(&parts, &mut held, now, verb).map_err(|(_, why)| why.of(verb, self.key(), cost))?;
        drop_blocks(&mut infos, &parts);
        for ((place, before), mut held) in places.into_iter().zip(before).zip(held) {
            let after = match held.kept_by.and_then(|index| parts.get(index)) {
                Some(_) if held.mended.is_some() => held.mended.map_or(Entry::Absent, |mended| *mended),
                Some(part) if part.rule.is_empty(&mut held.entry, now) => Entry::Absent,
                Some(_) => held.entry,
                None => before,
            };
            state.keep(place, after);
        }
        let granted = verb.grants(cost);
        let info = if parts.is_empty() { LimitInfo::unlimited().granting(granted) } else { LimitInfo::merged(infos) };
        Ok((info, state))
    }
}
