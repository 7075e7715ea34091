//! The smallest limit of its type that denies no more than a few clients.

use serde::Serialize;

use super::super::output::Failure;
use super::actors::Actors;
use super::candidate::MANY;
use super::spool::Spool;
use crate::check::Check;
use crate::decision::Call;
use crate::limit::{Kind, Limit};
use crate::limiter::Limiter;
use crate::store::memory::Memory;

/// The answer for one limit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Smallest {
    pub(super) key: String,
    /// The field that was varied, everything else as it was.
    pub(super) field: &'static str,
    pub(super) value: u64,
}

/// The size of a limit, by the name of its field; none of a limit that may deny at any size.
fn size(kind: &mut Kind) -> Option<(&'static str, &mut f64)> {
    Some(match kind {
        Kind::Bucket(bucket) => ("size", &mut bucket.size),
        Kind::TokenBucket(bucket) => match &mut bucket.burst {
            Some(burst) => ("burst", burst),
            None => ("count", &mut bucket.count),
        },
        Kind::FixedWindow(window) => ("max", &mut window.max),
        Kind::SlidingWindow(window) => ("max", &mut window.max),
        Kind::SlidingCounter(counter) => ("max", &mut counter.max),
        Kind::SlidingLog(log) if log.min_interval == 0.0 => ("max", &mut log.max),
        Kind::Decay(decay) => ("max", &mut decay.max),
        Kind::CalendarWindow(window) => ("max", &mut window.max),
        _ => return None,
    })
}

fn sized(limit: &Limit, value: u64) -> Option<Limit> {
    let mut kind = limit.kind().clone();
    *size(&mut kind)?.1 = value as f64;
    Limit::new(limit.key(), kind).ok()
}

/// The smallest size of this limit, by itself, at which at most `allowed` actors are ever denied: every probe lets the
/// engine decide all requests of the actors that are in question still.
pub(super) fn smallest(
    limit: &Limit,
    actors: &Actors,
    spool: &mut Spool,
    allowed: usize,
) -> Result<Option<Smallest>, Failure> {
    let Some((field, _)) = size(&mut limit.kind().clone()) else { return Ok(None) };
    // Nobody is denied at the number of all his requests.
    let mut totals = actors.requests().to_vec();
    totals.sort_unstable_by(|one, other| other.cmp(one));
    let (mut too_small, mut enough) = (0, u64::from(totals.get(allowed).copied().unwrap_or(1)));
    // A larger size denies nobody more: whoever was denied is denied by smaller ones too, and the others by no larger.
    let (mut open, mut denied_anyway) = (vec![true; totals.len()], 0);
    drop(totals);
    while enough - too_small > 1 {
        let middle = too_small + (enough - too_small) / 2;
        let Some(probe) = sized(limit, middle) else { return Ok(None) };
        let denied = denied_by(&probe, actors, spool, &open)?;
        let count = denied.iter().filter(|denied| **denied).count();
        let fits = denied_anyway + count <= allowed;
        if fits {
            (enough, denied_anyway) = (middle, denied_anyway + count);
        } else {
            too_small = middle;
        }
        open.iter_mut().zip(denied).for_each(|(open, denied)| *open = *open && denied != fits);
    }
    Ok(Some(Smallest { key: limit.key().to_owned(), field, value: enough }))
}

/// The actors among these that the limit ever denies.
fn denied_by(limit: &Limit, actors: &Actors, spool: &mut Spool, open: &[bool]) -> Result<Vec<bool>, Failure> {
    let limiter = Limiter::new(Memory::with_max_entries(MANY));
    let requests = actors.requests();
    let size = size(&mut limit.kind().clone()).map_or(0.0, |(_, size)| *size);
    // Whoever asked no more often than the size fits at once.
    let mut asks: Vec<_> = open.iter().zip(requests).map(|(open, count)| *open && f64::from(*count) > size).collect();
    let mut denied = vec![false; open.len()];
    spool.each::<Failure>(|number, at| {
        let index = number as usize;
        if let (Some(asks @ true), Some(denied)) = (asks.get_mut(index), denied.get_mut(index)) {
            let info = limiter.decide_sync_at(&[Check::new(limit, actors.name(number))], Call::Limit, at);
            if info.map_err(|error| Failure::Told(error.to_string()))?.blocked {
                (*asks, *denied) = (false, true);
            }
        }
        Ok(())
    })?;
    Ok(denied)
}
