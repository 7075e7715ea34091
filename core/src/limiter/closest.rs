//! The actors of a shared store that are closest to their limits, for operators.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::mpsc::sync_channel;

use super::upkeep::wait;
use super::{Limiter, Store};
use crate::Error;
use crate::check::Check;
use crate::decision::Call;
use crate::error::{LimitError, StoreError};
use crate::failure::Failure;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::store::remote::NamePart;

/// Questions that are under way at the same time.
const TOGETHER: usize = 100;

/// The actors that are closest to their limits; see [`Limiter::closest_sync`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Closest {
    /// Those that are denied now, the one with the longest wait first; then those that have the smallest share left. Those
    /// that have everything left are not there.
    pub actors: Vec<CloseActor>,
    /// The number of actors that were found.
    pub found: u64,
    /// The number of actors of which only a hash was found, because their names are too long.
    pub hashed: u64,
    /// The number of keys that were looked at, or nearly so.
    pub looked_at: u64,
    /// The number of keys that there are.
    pub total: u64,
}

/// An actor, and the limit that it is closest to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CloseActor {
    /// The actor.
    pub actor: String,
    /// The limit, as an index of those that were given.
    pub limit: usize,
    /// The answer of a [`peek`](Limiter::peek_sync).
    pub info: LimitInfo,
}

impl Limiter {
    /// The actors that are closest to these limits, among those that at most `budget` keys of the store name. It charges
    /// nothing.
    ///
    /// It looks at the keys in steps, and so at other programs' keys too. More than the budget are not looked at, so in a
    /// large store it shows a part of the actors. An actor's factor is not known.
    ///
    /// # Errors
    /// [`LimitError`] for a store whose entries have no names, and for a limit that the store cannot keep; [`StoreError`]
    /// where the store cannot be reached, does not allow it, or does not decide in time.
    pub(crate) fn closest_sync(&self, limits: &[Limit], budget: u64) -> Result<Closest, Error> {
        let Store::Remote(remote) = &self.store else { return Err(self.nameless()) };
        let (answered, answer) = sync_channel(1);
        if !remote.start_scan(budget, move |scan| drop(answered.send(scan))) {
            return Err(self.nameless());
        }
        let scan = wait(&answer)?;
        let (mut actors, mut unnamed) = (BTreeSet::new(), BTreeSet::new());
        for key in &scan.keys {
            match limits.iter().find_map(|limit| remote.actor_of(limit, key)) {
                Some(NamePart::Text(actor)) => drop(actors.insert(actor)),
                Some(NamePart::Hash(hash)) => drop(unnamed.insert(hash)),
                None => {}
            }
        }
        drop(scan.keys);
        let (found, hashed) = (actors.len() as u64, unnamed.len() as u64);
        let mut closest = Vec::new();
        let actors: Vec<_> = actors.into_iter().collect();
        for actors in actors.chunks(TOGETHER.div_ceil(limits.len().max(1))) {
            closest.extend(self.tightest(limits, actors)?);
        }
        closest.sort_by(|one: &CloseActor, other| closer(&one.info, &other.info).then(one.actor.cmp(&other.actor)));
        Ok(Closest { actors: closest, found, hashed, looked_at: scan.looked_at, total: scan.total })
    }

    /// The limit that each actor is closest to, of those who used something.
    fn tightest(&self, limits: &[Limit], actors: &[String]) -> Result<Vec<CloseActor>, Error> {
        let asked: Vec<_> = actors
            .iter()
            .flat_map(|actor| limits.iter().enumerate().map(move |(index, limit)| (actor, index, limit)))
            .collect();
        let (answered, answers) = sync_channel(asked.len());
        for (place, (actor, _, limit)) in asked.iter().enumerate() {
            let to = answered.clone();
            let send = move |answer| {
                let _ = to.send(Ok((place, answer)));
                Ok(())
            };
            if let Some(answer) = self.start(&[Check::new(limit, actor)], Call::Peek, None, send) {
                let _ = answered.send(Ok((place, answer)));
            }
        }
        drop(answered);
        let mut closest: Vec<CloseActor> = Vec::new();
        let mut infos = vec![None; asked.len()];
        for _ in &asked {
            let (place, answer): (usize, Result<LimitInfo, Error>) = wait(&answers)?;
            let info = answer?;
            if info.degraded {
                // What this process knows by itself says nothing about the store.
                return Err(StoreError::new(Failure::Timeout).into());
            }
            infos[place] = Some(info);
        }
        for ((actor, limit, _), info) in asked.into_iter().zip(infos) {
            let Some(info) = info.filter(|info| info.blocked || info.remaining < info.quota) else { continue };
            match closest.last_mut().filter(|known| known.actor == *actor) {
                Some(known) if closer(&known.info, &info).is_le() => {}
                Some(known) => (known.limit, known.info) = (limit, info),
                None => closest.push(CloseActor { actor: actor.clone(), limit, info }),
            }
        }
        Ok(closest)
    }

    /// The error for a store that keeps no names.
    fn nameless(&self) -> Error {
        const PROBLEM: &str = "must be of a store that keeps the names of actors, as Redis does, because entries in memory \
            have none (in the application, limiter.top() shows who is denied)";
        #[cfg(feature = "redis")]
        let url = self.url();
        #[cfg(not(feature = "redis"))]
        let url = if self.is_shared() { "a shared store" } else { "memory" };
        LimitError::range("", "url", PROBLEM, url).into()
    }
}

/// The order of answers: denials by their wait, then by the share that is left.
fn closer(one: &LimitInfo, other: &LimitInfo) -> Ordering {
    let by_share = || {
        let across = |part: &LimitInfo, whole: &LimitInfo| u128::from(part.remaining) * u128::from(whole.quota);
        across(one, other).cmp(&across(other, one))
    };
    match (one.blocked, other.blocked) {
        (true, true) => other.reset_ms.cmp(&one.reset_ms),
        (false, false) => by_share(),
        (is_denied, _) => {
            if is_denied {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    }
}
