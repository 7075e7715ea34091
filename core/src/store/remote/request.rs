//! The request to a store: one call, as far as its entries are concerned.

use smallvec::SmallVec;

use super::key::Key;
use super::reply::{Infos, Reply};
use crate::algorithm::Rule;
use crate::clock;
use crate::decision::{self, Impossible, Verb, groups, priors, takes};
use crate::distinct::Distinct;
use crate::inline_vec::InlineVec;
use crate::time::Micros;

/// A call for a store to decide: its entries, and what is asked of each.
///
/// A store reads the values of its [`entries`](Self::entries) and [decides](Self::decide) on them in this process, or
/// has its server decide by the same arithmetic.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) verb: Verb,
    /// Those of a reset are all that its checks can have.
    pub(crate) entries: InlineVec<Key>,
    pub(crate) parts: PartList,
    /// Given by the caller; otherwise the server's clock says.
    pub(crate) now: Option<Micros>,
    /// Instants are whole multiples of this.
    pub(crate) resolution: Micros,
}

/// One check of a request.
pub(crate) type Part = decision::Part<Rule>;

/// Room for two, as most calls have no more: they are large, and go from one thread to another. With room for four,
/// calls took 3 % longer where 512 were under way.
pub(crate) type PartList = SmallVec<[Part; 2]>;

impl Request {
    /// A call; on error, the index of the check whose cost is above what it can ever admit.
    pub(crate) fn new(
        verb: Verb,
        entries: InlineVec<Key>,
        parts: PartList,
        now: Option<Micros>,
    ) -> Result<Self, (usize, Impossible)> {
        let request = Self { verb, entries, parts, now, resolution: 1 };
        if matches!(verb, Verb::Limit | Verb::Peek | Verb::Acquire { .. }) {
            for ((index, part), prior) in request.parts.iter().enumerate().zip(request.priors()) {
                let total = part.needs().saturating_add(prior);
                if total > part.rule.largest_cost() {
                    return Err((index, Impossible::NeverFits { quota: part.rule.quota(), total }));
                }
            }
        }
        Ok(request)
    }

    /// Removes these entries.
    pub(crate) fn reset(entries: InlineVec<Key>) -> Self {
        Self { verb: Verb::Reset, entries, parts: PartList::new(), now: None, resolution: 1 }
    }

    /// The names of its entries. One may come twice where names [may coincide](super::Backend::names_may_coincide).
    #[must_use]
    pub fn entries(&self) -> &[Key] {
        &self.entries
    }

    /// The instant that the caller gave, in microseconds since the Unix epoch; `None` leaves it to the store's clock.
    #[must_use]
    pub fn now(&self) -> Option<Micros> {
        self.now
    }

    /// The same request with instants that are whole multiples of `resolution`.
    pub(crate) fn of_resolution(mut self, resolution: Micros) -> Self {
        self.resolution = resolution.max(1);
        self
    }

    /// Makes entries of one name one entry.
    pub(crate) fn merge_names(&mut self) {
        let (mut names, mut firsts): (Distinct<Key>, InlineVec<usize>) = (Distinct::default(), InlineVec::new());
        let mut first_of_its_name = |(index, name): (usize, &Key)| {
            let place = names.index_of(name);
            if place == firsts.len() {
                firsts.push(index);
            }
            firsts[place]
        };
        let places: InlineVec<usize> = self.entries.iter().enumerate().map(&mut first_of_its_name).collect();
        for part in &mut self.parts {
            part.entry = places[part.entry];
        }
    }

    /// The instant of the decision, where the store's clock shows this.
    pub(crate) fn instant(&self, server: Option<Micros>) -> Option<Micros> {
        let now = self.now.or(server)?;
        Some(now - now % self.resolution)
    }

    /// Its checks, as decisions take them.
    pub(crate) fn checks(&self) -> InlineVec<decision::Part<&Rule>> {
        self.parts.iter().map(Part::borrowed).collect()
    }

    /// The same checks under another verb.
    pub(crate) fn with(&self, verb: Verb) -> Self {
        Self { verb, ..self.clone() }
    }

    /// The request that gives back its charges: all at one instant, but for those of its checks that these instants are
    /// of.
    pub(crate) fn undone(&self, charged_at: Micros, each: impl IntoIterator<Item = Micros>) -> Self {
        let mut undo = self.with(Verb::Undo { charged_at });
        for (part, at) in undo.parts.iter_mut().zip(each) {
            part.charged_at = Some(at);
        }
        undo
    }

    /// The request that gives back what this reply charged, if it did.
    pub(crate) fn undo_of(&self, reply: &Reply) -> Option<Self> {
        let Reply::Decided { now, infos, .. } = reply else { return None };
        let may_charge = matches!(self.verb, Verb::Limit | Verb::Acquire { .. });
        if !may_charge {
            return None;
        }
        let mut undo = self.undone(*now, infos.iter().map(|info| info.at));
        for (part, info) in undo.parts.iter_mut().zip(infos).filter(|(part, _)| part.at_least > 0) {
            part.take(info.granted);
        }
        let blocked: InlineVec<bool> = infos.iter().map(|info| info.blocked).collect();
        undo.leave_uncharged(&blocked).then_some(undo)
    }

    /// Gives nothing back of the checks that were denied, by the answers to its parts. True if any is left.
    pub(crate) fn leave_uncharged(&mut self, blocked: &[bool]) -> bool {
        let mut is_charged = false;
        for group in groups(&self.parts) {
            if group.iter().any(|index| blocked.get(*index).is_some_and(|blocked| *blocked)) {
                group.iter().for_each(|index| self.parts[*index].cost = 0);
            } else {
                is_charged = true;
            }
        }
        is_charged
    }

    /// The decisions that this one is made of where checks of it are observed, in the order in which they are made,
    /// each with the indices of its parts; nothing where it is one.
    pub(crate) fn apart(&self) -> Option<Vec<(InlineVec<usize>, Self)>> {
        if !self.verb.decides_apart() || self.parts.iter().all(|part| part.observed.is_none()) {
            return None;
        }
        let of_group = |members: InlineVec<usize>| {
            let mut one = Self { entries: InlineVec::new(), parts: PartList::new(), ..self.clone() };
            let mut entries: Distinct<usize> = Distinct::default();
            for part in members.iter().filter_map(|index| self.parts.get(*index)) {
                let entry = entries.index_of(&part.entry);
                if entry == one.entries.len() {
                    one.entries.push(self.entries[part.entry].clone());
                }
                one.parts.push(Part { entry, observed: None, ..*part });
            }
            (members, one)
        };
        Some(groups(&self.parts).into_iter().map(of_group).collect())
    }

    /// True if a decision of this may find that a level would leave the range in which it is exact.
    pub(crate) fn may_overflow(&self) -> bool {
        matches!(self.verb, Verb::Acquire { .. }) || self.parts.iter().any(|part| part.rule.pays_later())
    }

    /// The least part of the cost that it takes, where it takes as much as there is room for; else 0.
    #[cfg(feature = "redis")]
    pub(crate) fn at_least(&self) -> u64 {
        match self.verb {
            Verb::Limit | Verb::Peek | Verb::Denied => self.parts.first().map_or(0, |part| part.at_least),
            _ => 0,
        }
    }

    /// The reply to this request of those to the decisions that it is [made of](Self::apart), where the store's clock
    /// shows this.
    pub(crate) fn gathered(&self, replies: Vec<(InlineVec<usize>, Reply)>, server: Option<Micros>) -> Reply {
        let decided = |(_, reply): &(_, Reply)| if let Reply::Decided { now, .. } = reply { Some(*now) } else { None };
        let latest = replies.iter().filter_map(decided).max();
        let now = latest.or_else(|| self.instant(server)).unwrap_or_else(clock::now);
        let mut all: Infos = self.parts.iter().map(|part| part.rule.undecided(now)).collect();
        let (mut corrupts, mut repairs, mut resets) = (0, false, 0);
        for (members, reply) in replies {
            let observed = members.first().is_some_and(|index| self.parts[*index].observed.is_some());
            match reply {
                Reply::Decided { infos, corrupt, repaired, reset, .. } => {
                    (corrupts, repairs) = (corrupts + corrupt, repairs | repaired);
                    resets = if observed { resets } else { reset };
                    members.iter().zip(infos).for_each(|(index, info)| all[*index] = info);
                }
                Reply::Impossible(_, Impossible::Overflows) if observed => {}
                Reply::Impossible(member, why) => {
                    return Reply::Impossible(members.get(member).copied().unwrap_or(member), why);
                }
                late @ Reply::Late { .. } => return late,
            }
        }
        Reply::Decided { now, infos: all, corrupt: corrupts, repaired: repairs, reset: resets }
    }

    /// The same for this process's memory alone: it does not have what a receipt of the store's gives back.
    pub(crate) fn outside_the_store(&self) -> Self {
        let mut request = self.clone();
        if let Verb::Undo { .. } = self.verb {
            for part in &mut request.parts {
                (part.cost, part.spent) = (0, self.verb.adds(part.cost, part.spent));
            }
        }
        request
    }

    /// The cost of each check that an error names.
    pub(crate) fn costs(&self) -> InlineVec<u64> {
        self.parts.iter().map(|part| self.verb.named_cost(part.cost, part.spent)).collect()
    }

    /// The units that earlier checks of this request take from the same entry, for each check.
    pub(crate) fn priors(&self) -> InlineVec<u64> {
        priors(&self.parts, self.entries.len(), self.verb.decides_apart())
    }

    /// The units that each check charges or gives back, and how many of those were spent.
    pub(crate) fn takes(&self) -> InlineVec<(u64, u64)> {
        takes(&self.parts, self.entries.len(), self.verb)
    }

    /// The reply to a reset.
    pub(crate) fn emptied(&self, server: Option<Micros>) -> Reply {
        let now = self.instant(server).unwrap_or_else(clock::now);
        let infos = self.parts.iter().map(|part| part.rule.emptied(now)).collect();
        Reply::Decided { now, infos, corrupt: 0, repaired: false, reset: 0 }
    }
}
