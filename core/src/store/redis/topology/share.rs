//! The shares that slots of a cluster have in one decision.

use smallvec::smallvec;

use crate::algorithm::{LevelRule, Rule};
use crate::decision::{Verb, takes};
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::store::redis::context::Context;
use crate::store::redis::protocol::keys::slot;
use crate::store::remote::{Infos, Part, PartList, Request};
use crate::time::{EXACT, Micros};

/// The share of one slot in a decision.
pub(super) struct Share {
    pub(crate) request: Request,
    /// The indices of these checks in the whole decision.
    pub(crate) parts: Vec<usize>,
}

/// More than any level can be charged.
const TOO_MUCH: u64 = 1 << 53;

impl Share {
    /// A charge that is refused in any case, and so writes nothing: for the first check that cannot be charged, or, where
    /// there is none, for the last one, which is of no entry of the decision.
    pub(super) fn trial(&self, context: &Context) -> Request {
        let mut trial = self.request.with(Verb::Charge);
        let slot = self.request.entries.first().map(|key| slot(key));
        let (rule, entry) = (Rule::Level(LevelRule::new(1, 1, 1)), trial.entries.len());
        trial.entries.push(context.layout().mark(context.session.namespace(), slot));
        trial.parts.push(Part { rule, cost: TOO_MUCH, at_least: 0, spent: 0, charged_at: None, entry, observed: None });
        trial
    }

    /// A renewal that is denied in any case, and so renews nothing: each check says for itself whether its units are held.
    /// That of units which nobody can hold comes last.
    pub(super) fn look_at_held(&self) -> Request {
        let mut look = self.request.clone();
        let held = look.parts.iter().find(|part| part.block().is_none()).copied();
        look.parts.extend(held.map(|part| Part { cost: 1, charged_at: Some(EXACT), observed: None, ..part }));
        look
    }

    /// The request that writes the effects of a denial after this look. What could have waited closes no block.
    pub(super) fn denied(&self, looked: &ShareReply) -> Request {
        let mut denied = self.request.with(Verb::Denied);
        for index in 1..denied.parts.len() {
            let could_wait = looked.infos.get(index - 1).is_some_and(|info| self.waits(index - 1, info));
            if denied.parts[index].block().is_some() && could_wait {
                denied.parts[index].cost = 0;
            }
        }
        denied
    }

    /// True if this check, which does not fit yet, would wait for its turn: also where that is in the last millisecond.
    fn waits(&self, index: usize, looked: &LimitInfo) -> bool {
        let Verb::Acquire { max_wait } = self.request.verb else { return false };
        self.request.parts[index].rule.reserves() && looked.reset_ms.saturating_mul(1000) <= max_wait
    }

    /// Of a settlement what it charges beyond its costs, where there is such, and the rest.
    pub(super) fn parted(&self) -> (Option<Self>, Self) {
        let parts = &self.request.parts;
        let taken = takes(parts, self.request.entries.len(), self.request.verb);
        let mut added = Self { request: self.request.with(Verb::Charge), parts: self.parts.clone() };
        let mut rest = Self { request: self.request.clone(), parts: self.parts.clone() };
        let mut grows: InlineVec<bool> = smallvec![false; self.request.entries.len()];
        for ((part, (cost, spent)), added) in parts.iter().zip(taken).zip(&mut added.request.parts) {
            // What is settled closes no block.
            let units = if part.block().is_some() { 0 } else { spent.saturating_sub(cost) };
            (added.cost, added.spent, added.charged_at) = (units, 0, None);
            grows[part.entry] |= added.cost > 0;
        }
        for part in rest.request.parts.iter_mut().filter(|part| grows[part.entry]) {
            (part.cost, part.spent) = (0, 0);
        }
        (grows.contains(&true).then_some(added), rest)
    }
}

/// The outcome of a share.
pub(super) struct ShareReply {
    pub(crate) now: Micros,
    pub(crate) infos: Infos,
    pub(crate) corrupt: u32,
    pub(crate) repaired: bool,
    pub(crate) reset: Micros,
}

impl ShareReply {
    pub(super) fn is_denied(&self) -> bool {
        self.infos.iter().any(|info| info.blocked)
    }

    /// The outcome of the call itself after this look. A check that does not fit yet is denied only if it would come too
    /// late. Nothing if the milliseconds of an answer leave that open.
    pub(super) fn would_deny(&self, verb: Verb, share: &Share) -> Option<bool> {
        let Verb::Acquire { max_wait } = verb else { return Some(self.is_denied()) };
        let mut denied = false;
        for (part, info) in share.request.parts.iter().zip(&self.infos) {
            let at_most = info.reset_ms.saturating_mul(1000);
            let waits = part.rule.reserves() && at_most <= max_wait;
            if info.blocked && !waits {
                if part.rule.reserves() && at_most.saturating_sub(1000) < max_wait {
                    return None;
                }
                denied = true;
            }
        }
        Some(denied)
    }
}

pub(super) fn shares_of(request: &Request) -> Vec<Share> {
    let mut shares: Vec<(u16, Share)> = Vec::new();
    let nothing = || Share {
        request: Request {
            verb: request.verb,
            entries: InlineVec::new(),
            parts: PartList::new(),
            now: request.now,
            resolution: request.resolution,
        },
        parts: Vec::new(),
    };
    // Where each entry went.
    let mut places = Vec::with_capacity(request.entries.len());
    for key in &request.entries {
        let slot = slot(key);
        let share = shares.iter().position(|(known, _)| *known == slot).unwrap_or_else(|| {
            shares.push((slot, nothing()));
            shares.len() - 1
        });
        let entries = &mut shares[share].1.request.entries;
        entries.push(key.clone());
        places.push((share, entries.len() - 1));
    }
    for (index, part) in request.parts.iter().enumerate() {
        let (share, entry) = places[part.entry];
        let share = &mut shares[share].1;
        share.request.parts.push(Part { entry, ..*part });
        share.parts.push(index);
    }
    shares.into_iter().map(|(_, share)| share).collect()
}
