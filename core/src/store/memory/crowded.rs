//! Decisions about actors who have no entry of their own while the table is full, or was lately.

use smallvec::smallvec;

use super::Moment;
use super::overflow::{AtSeat, Seat, Seats, Taken};
use super::shelf::{Shelf, Shelves};
use super::slot::Drain;
use crate::algorithm::{Entry, Rule};
use crate::decision::{Impossible, OpenEntry, Part, Verb, together};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::time::{Micros, millis_up};

/// The origin of an entry's state.
#[derive(Clone, Copy)]
enum Origin {
    /// An entry of its own.
    Own,
    /// The shared one at this seat, or nothing where there is none.
    Shared(Seat, AtSeat),
    /// Nowhere: all at this seat are denied until then.
    Closed(Seat, Micros),
}

/// The table of an entry, and its state there.
#[derive(Clone, Copy)]
struct Source {
    shard: usize,
    origin: Origin,
    /// There is room for an entry of its own.
    reserved: bool,
}

/// [`several::decide`](super::several::decide) where an actor has no entry and may have to share one.
///
/// Such an actor is decided by what its shared entry says. What it is charged goes into an entry of its own, which
/// starts from that, if there is room for one; else into the shared one. Nothing is given back there: what it
/// would free is not known.
#[cold]
#[inline(never)]
pub(super) fn decide<T: Shelf>(
    mut shelves: Shelves<'_, T>,
    fingerprints: &[Fingerprint],
    shard_of: impl Fn(Fingerprint) -> usize,
    parts: &[Part<&Rule>],
    actor_of: &dyn Fn(usize) -> Fingerprint,
    moment: Moment,
    verb: Verb,
) -> (Result<Vec<LimitInfo>, (usize, Impossible)>, u64) {
    let now = moment.now;
    let gives_back = matches!(verb, Verb::Refund | Verb::Undo { .. });

    let mut needed = InlineVec::from(fingerprints);
    needed.sort_unstable();
    // First, because it moves others about.
    let mut reserved: InlineVec<bool> = InlineVec::new();
    for fingerprint in fingerprints {
        let shard = shelves.index(shard_of(*fingerprint));
        let table = shelves.get(shard);
        let is_new = !gives_back && verb != Verb::Peek && table.find(*fingerprint).is_err();
        reserved.push(is_new && table.make_room(*fingerprint, moment, &needed));
    }
    let mut parts = needed_of(parts);
    let asked = asked_of(&parts, fingerprints.len());
    let cost_of = |entry: usize| asked[entry].map_or(0, |(_, cost)| verb.grants(cost));
    let (mut entries, mut sources): (InlineVec<OpenEntry>, InlineVec<Source>) = (InlineVec::new(), InlineVec::new());
    let mut seats = Taken::default();
    for (index, fingerprint) in fingerprints.iter().enumerate() {
        let shard = shelves.index(shard_of(*fingerprint));
        let table = shelves.get(shard);
        let part = asked[index].and_then(|(number, cost)| Some((number, cost, parts.get(number)?)));
        let place = table.find(*fingerprint);
        let (entry, origin) = match part {
            Some((number, cost, part)) if place.is_err() || reserved[index] => {
                let seat = Seat::new(*fingerprint, actor_of(number), part.rule, moment.timeline, table.lanes());
                let taken = seats.take(seat);
                read(table, part.rule, seat, taken, cost, moment, verb, !reserved[index])
            }
            _ if table.is_over(place, moment) => (Entry::Absent, Origin::Own),
            _ => (table.take(place, part.map(|(.., part)| part.rule), moment, part.is_some()), Origin::Own),
        };
        entries.push(OpenEntry::new(entry));
        sources.push(Source { shard, origin, reserved: reserved[index] });
    }
    if gives_back {
        for part in &mut parts {
            if sources.get(part.entry).is_some_and(|source| !matches!(source.origin, Origin::Own)) {
                (part.cost, part.spent) = (0, 0);
            }
        }
    }

    let verb = unless_closed(verb, &parts, &sources);
    let mut infos = together(&parts, &mut entries, now, verb);
    let mut overflowed = 0;
    for (index, ((fingerprint, held), source)) in fingerprints.iter().zip(entries).zip(sources).enumerate() {
        let (OpenEntry { entry, kept_by, mended, .. }, Source { shard, origin, reserved }) = (held, source);
        let table = shelves.get(shard);
        let rule = kept_by.and_then(|number| parts.get(number)).map(|part| part.rule);
        if let (Origin::Closed(_, until), Ok(infos)) = (origin, &mut infos) {
            for (info, _) in infos.iter_mut().zip(&parts).filter(|(info, part)| part.entry == index && info.blocked) {
                info.reset_ms = info.reset_ms.max(millis_up(until.saturating_sub(now)));
                info.full_reset_ms = info.full_reset_ms.max(info.reset_ms);
            }
        }
        let kept = match (origin, rule) {
            (Origin::Own, Some(rule)) => {
                let place = table.find(*fingerprint);
                table.keep(place, *fingerprint, (entry, mended), rule, moment);
                true
            }
            (Origin::Own, None) => {
                let place = table.find(*fingerprint);
                table.put_back(place, entry);
                true
            }
            (Origin::Shared(seat, found), Some(rule)) if !gives_back => {
                keep_shared(table, *fingerprint, entry, rule, (seat, found), reserved, moment)
            }
            (Origin::Shared(seat, AtSeat::Lane(_)), _) => {
                if let Some(overflow) = table.seats() {
                    overflow.put_back(seat, entry);
                }
                false
            }
            (Origin::Closed(seat, until), Some(rule)) if !gives_back => {
                let from = table.seats_or_new().drains_from(seat, now, until, rule.drains_in_turn());
                let mut alone = Entry::Absent;
                rule.charge(&mut alone, from, cost_of(index));
                close(table, seat, rule, (&mut alone, from), now);
                false
            }
            _ => false,
        };
        if reserved && !kept {
            table.release(*fingerprint);
        }
        overflowed += u64::from(!kept && !reserved && !gives_back && verb != Verb::Peek);
    }
    (infos, overflowed)
}

/// Keeps what was decided with a shared entry. Answers whether that is an entry of its own now.
fn keep_shared<T: Shelf>(
    table: &mut T,
    fingerprint: Fingerprint,
    mut entry: Entry,
    rule: &Rule,
    (seat, found): (Seat, AtSeat),
    reserved: bool,
    moment: Moment,
) -> bool {
    let now = moment.now;
    rule.restart(&mut entry, now);
    if reserved {
        let place = table.find(fingerprint);
        return table.keep(place, fingerprint, (entry, None), rule, moment).inserted;
    }
    let is_empty = rule.is_empty(&mut entry, now);
    let drain = Drain::new(rule.drains(&mut entry, now), moment.timeline);
    let lanes = table.lanes();
    let overflow = table.seats_or_new();
    match found {
        AtSeat::Lane(_) => overflow.keep(seat, entry, is_empty, drain),
        _ if is_empty => {}
        AtSeat::Nothing if rule.can_be_shared() => {
            if let Err(mut entry) = overflow.open(seat, lanes, entry, drain) {
                close(table, seat, rule, (&mut entry, now), now);
            }
        }
        _ => close(table, seat, rule, (&mut entry, now), now),
    }
    false
}

/// The state for an actor without an entry.
#[expect(clippy::too_many_arguments, reason = "all that is known of one entry")]
fn read<T: Shelf>(
    table: &mut T,
    rule: &Rule,
    seat: Seat,
    taken: bool,
    cost: u64,
    moment: Moment,
    verb: Verb,
    may_lend: bool,
) -> (Entry, Origin) {
    let now = moment.now;
    let Some(overflow) = table.seats() else { return (Entry::Absent, Origin::Shared(seat, AtSeat::Nothing)) };
    let found = match overflow.find(seat) {
        AtSeat::Foreign(at) if overflow.empty_at(AtSeat::Foreign(at)) <= now => {
            overflow.give_up(at);
            AtSeat::Nothing
        }
        found => found,
    };
    let (closed, empty_at) = (overflow.closed_until(seat), overflow.empty_at(found));
    // Two actors of one decision who share would each overwrite what the other is charged.
    if closed > now || taken {
        return (rule.full(now), Origin::Closed(seat, closed.max(empty_at)));
    }
    let (AtSeat::Lane(at) | AtSeat::Foreign(at)) = found else {
        return (Entry::Absent, Origin::Shared(seat, found));
    };
    let mut entry = overflow.take(at, rule, now, may_lend && matches!(found, AtSeat::Lane(_)));
    // What others are charged afterwards must not make an error of this charge.
    if verb == Verb::Charge && rule.examine(&mut entry, now, verb, cost, 0).is_err() {
        overflow.put_back(seat, entry);
        return (rule.full(now), Origin::Closed(seat, empty_at));
    }
    (entry, Origin::Shared(seat, found))
}

/// Denies all at a seat until this entry, as it is at an instant, has drained.
fn close<T: Shelf>(table: &mut T, seat: Seat, rule: &Rule, (entry, at): (&mut Entry, Micros), now: Micros) {
    let drains = rule.drains(entry, at);
    table.seats_or_new().close(seat, now, drains.since.saturating_add(drains.time.duration()));
}

/// The verb of a decision. Nobody waits for a turn at a place of which only is known until when it is closed.
fn unless_closed(verb: Verb, parts: &[Part<&Rule>], sources: &[Source]) -> Verb {
    let is_closed = |part: &Part<&Rule>| {
        let source = sources.get(part.entry).filter(|_| part.observed.is_none());
        source.is_some_and(|source| matches!(source.origin, Origin::Closed(..)))
    };
    if matches!(verb, Verb::Acquire { .. }) && parts.iter().any(is_closed) { Verb::Denied } else { verb }
}

/// The checks, of no more units than they need: what others at a shared place leave room for is not known.
fn needed_of<'a>(parts: &[Part<&'a Rule>]) -> InlineVec<Part<&'a Rule>> {
    let mut needed = InlineVec::from(parts);
    needed.iter_mut().for_each(|part| part.take(part.needs()));
    needed
}

/// Of each entry the first check, and all that is asked of it; all of its checks are of one rule.
fn asked_of(parts: &[Part<&Rule>], entries: usize) -> InlineVec<Option<(usize, u64)>> {
    let mut asked: InlineVec<Option<(usize, u64)>> = smallvec![None; entries];
    for (number, part) in parts.iter().enumerate() {
        let (_, cost) = asked[part.entry].get_or_insert((number, 0));
        *cost = cost.saturating_add(part.cost);
    }
    asked
}
