//! The block beside a limit's entry: its part of a decision comes right after that of the limit.

use super::{Change, Resolved, Verb};
use crate::algorithm::{Algorithm as _, Block, Entry, Rule};
use crate::info::LimitInfo;
use crate::time::{Micros, millis_up};

/// True if the call closes a block: this check of it is denied for the limit's own reasons, or charged beyond them.
///
/// The rule and the entry are those of the limit. The entry has been brought to now, and not been written to.
pub(crate) fn closes(verb: Verb, rule: &Rule, entry: &mut Entry, now: Micros, check: Resolved) -> bool {
    match verb {
        Verb::Limit | Verb::Denied | Verb::Acquire { .. } => !check.verdict.fits,
        Verb::Charge => !rule.fits(entry, now, check.cost.saturating_add(check.prior)),
        _ => false,
    }
}

impl Block {
    /// Writes what a call makes of a block: it closes where the call `closes` it and it is open.
    pub(super) fn commit(&self, entry: &mut Entry, now: Micros, verb: Verb, check: Resolved, closes: bool) -> Change {
        let state = entry.block(|| self.fresh(now));
        if closes && self.fits(state, now, 1) {
            self.charge(state, now, 1);
            return Change::Written;
        }
        match verb {
            Verb::Block { time } if self.close_for(state, now, time) => Change::Written,
            _ => check.verdict.unwritten(verb),
        }
    }
}

impl LimitInfo {
    /// Makes of a limit's answer that of the limit with its block, both as the call leaves them.
    pub(crate) fn beside_block(
        &mut self,
        (rule, entry): (&Rule, &mut Entry),
        (block, blocked): (&Rule, &mut Entry),
        now: Micros,
        verb: Verb,
        check: Resolved,
    ) {
        self.full_reset_ms = self.full_reset_ms.max(millis_up(block.full_in(blocked, now)));
        let left = block.until(blocked, now, 1);
        if left == 0 {
            return;
        }
        self.closed = true;
        let asked = check.cost.saturating_add(check.prior) > 0;
        match verb {
            Verb::Limit | Verb::Denied | Verb::Acquire { .. } if check.admitted => {}
            Verb::Limit | Verb::Denied | Verb::Acquire { .. } | Verb::Peek => self.blocked |= asked,
            _ => self.blocked |= verb.gives_back(),
        }
        // Else the answer is about a call that costs nothing.
        if asked || verb.gives_back() || check.admitted && verb != Verb::Peek {
            self.reset_ms = self.reset_ms.max(millis_up(left));
        }
        self.remaining = 0;
        self.next_ms = millis_up(left.max(rule.until(entry, now, 1)));
    }
}
