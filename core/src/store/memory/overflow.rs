//! The shared entries of a table that is full, for those who find no place in it.
//!
//! Actors without an entry of their own are counted together with others. A *lane* is an entry that some actors of one limit
//! share; which one is chosen by the keyed hash of the actor, so no client can choose with whom it shares. What a lane holds is
//! never less than what any one of them was charged, so they may be denied early, and are never admitted too often.
//! Where there is no lane to be had either, a *cell* says until when all who fall into it are denied.

use super::moment::Timeline;
use super::slot::{Drain, GIVEN_LIVES};
use super::table::{Beside, Table};
use crate::algorithm::{Entry, Rule};
use crate::clock;
use crate::decision::{Resolved, Verb, Verdict};
use crate::distinct::Distinct;
use crate::fingerprint::Fingerprint;
use crate::time::Micros;

/// The number of cells that a table has for each timeline.
pub(in crate::store) const CELLS: usize = u64::BITS as usize;
/// One limit takes at most one in so many of the lanes.
const LIMITS: usize = 4;

/// A table with the shared entries of those that find no place in it.
pub(super) type BoundedTable = Table<Overflow>;

/// The shared entries of a table that is full.
#[derive(Debug)]
pub(in crate::store) struct Overflow {
    lanes: Table,
    /// Until when all who fall into a cell are denied: those of the process's clock, and those of a caller's.
    closed: [[Micros; CELLS]; 2],
    /// Until when, by the process's clock, the cells of a caller's clock are kept.
    given_until: Micros,
}

impl Default for Overflow {
    fn default() -> Self {
        Self { lanes: Table::default(), closed: [[0; CELLS]; 2], given_until: 0 }
    }
}

/// The shared place at which an actor without an entry is counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Seat {
    /// Stands for the limit, some bits of the actor, and the timeline.
    key: u64,
    /// Stands for the compiled rule: a lane drains as that one says, so another must not write to it.
    rule: u64,
    cell: usize,
    timeline: Timeline,
}

/// The entry at a [`Seat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum AtSeat {
    /// No charges are left.
    Nothing,
    Lane(usize),
    /// A lane of another rule of the same limit, scaled by another factor for instance.
    Foreign(usize),
}

impl Seat {
    /// `lanes` is how many a table may have.
    pub(super) fn new(
        fingerprint: Fingerprint,
        actor: Fingerprint,
        rule: &Rule,
        timeline: Timeline,
        lanes: usize,
    ) -> Self {
        let (entry, limit) = ((fingerprint.0 >> 64) as u64, ((fingerprint ^ actor).0 >> 64) as u64);
        // The highest bits are where an entry sits, so the lanes of a limit are spread evenly.
        let actors = !(u64::MAX.checked_shr((lanes / LIMITS).checked_ilog2().unwrap_or(0)).unwrap_or(0));
        let cell = fingerprint.place() % CELLS;
        let key = (entry & actors | limit & !actors) & !1 | u64::from(timeline == Timeline::Given);
        Self { key, rule: rule.digest(), cell, timeline }
    }

    fn fingerprint(self) -> Fingerprint {
        Fingerprint(u128::from(self.key) << 64 | u128::from(self.rule))
    }
}

/// The seats of one decision.
#[derive(Default)]
pub(super) struct Taken {
    keys: Distinct<u64>,
    /// A bit for each cell.
    cells: u64,
}

impl Taken {
    /// Takes a seat; true if an earlier one shares its lane or its cell.
    pub(super) fn take(&mut self, seat: Seat) -> bool {
        let known = self.keys.len();
        let shares_lane = self.keys.index_of(&seat.key) < known;
        let shares_cell = self.cells >> seat.cell & 1 == 1;
        self.cells |= 1 << seat.cell;
        shares_lane || shares_cell
    }
}

/// The shared entries of a part of a table, wherever they are kept.
pub(in crate::store) trait Seats {
    /// The lane of this key: its place, and the rule that it is of.
    fn lane_of(&self, key: u64) -> Option<(usize, u64)>;
    fn drain_at(&self, lane: usize) -> Drain;
    /// The state of a lane, itself if it may be lent.
    fn take(&mut self, lane: usize, rule: &Rule, now: Micros, may_lend: bool) -> Entry;
    fn put_back_at(&mut self, lane: usize, entry: Entry);
    fn replace(&mut self, lane: usize, entry: Entry, drain: Drain);
    fn insert(&mut self, fingerprint: Fingerprint, entry: Entry, drain: Drain);
    /// Gives up a lane.
    fn give_up(&mut self, lane: usize);
    /// True if there is room for one more of at most so many lanes.
    fn has_room(&self, key: u64, most: usize) -> bool;
    /// Until when all who fall into a cell are denied.
    fn closed(&self, timeline: Timeline, cell: usize) -> Micros;
    fn set_closed(&mut self, timeline: Timeline, cell: usize, until: Micros);
    /// Keeps the cells of a caller's clock for so long from now on at least.
    fn keep_given(&mut self, lives: Micros);

    fn find(&self, seat: Seat) -> AtSeat {
        match self.lane_of(seat.key) {
            Some((at, rule)) if rule == seat.rule => AtSeat::Lane(at),
            Some((at, _)) => AtSeat::Foreign(at),
            None => AtSeat::Nothing,
        }
    }

    /// Until when all at this seat are denied.
    fn closed_until(&self, seat: Seat) -> Micros {
        self.closed(seat.timeline, seat.cell)
    }

    /// The instant at which the lane is empty by the rule that drains it, and free for others.
    fn empty_at(&self, found: AtSeat) -> Micros {
        match found {
            AtSeat::Nothing => 0,
            AtSeat::Lane(at) | AtSeat::Foreign(at) => self.drain_at(at).empty_at(),
        }
    }

    fn put_back(&mut self, seat: Seat, entry: Entry) {
        if let AtSeat::Lane(at) = self.find(seat) {
            self.put_back_at(at, entry);
        }
    }

    /// Keeps the state of a lane.
    fn keep(&mut self, seat: Seat, entry: Entry, is_empty: bool, drain: Drain) {
        match self.find(seat) {
            AtSeat::Lane(at) if is_empty => self.give_up(at),
            AtSeat::Lane(at) => self.replace(at, entry, drain),
            _ => {}
        }
    }

    /// Opens a lane at a seat where there is none, unless there are this many.
    fn open(&mut self, seat: Seat, most: usize, entry: Entry, drain: Drain) -> Result<(), Entry> {
        if !self.has_room(seat.key, most) || self.find(seat) != AtSeat::Nothing {
            return Err(entry);
        }
        self.insert(seat.fingerprint(), entry, drain);
        Ok(())
    }

    /// The instant from which on a further charge at this seat drains: now, or where one drains after the other, when all
    /// that is owed there has drained, by `until` at the earliest.
    fn drains_from(&self, seat: Seat, now: Micros, until: Micros, in_turn: bool) -> Micros {
        if in_turn { self.closed_until(seat).max(until).max(now) } else { now }
    }

    /// Denies all at this seat at least until then.
    fn close(&mut self, seat: Seat, now: Micros, until: Micros) {
        let closed = until.max(self.closed_until(seat));
        self.set_closed(seat.timeline, seat.cell, closed);
        if seat.timeline == Timeline::Given {
            self.keep_given(GIVEN_LIVES.max(closed.saturating_sub(now)));
        }
    }
}

impl Seats for Overflow {
    #[expect(clippy::cast_possible_truncation, reason = "the low half is taken on purpose")]
    fn lane_of(&self, key: u64) -> Option<(usize, u64)> {
        let (Ok(at) | Err(at)) = self.lanes.find(Fingerprint(u128::from(key) << 64));
        let lane = self.lanes.fingerprint(at).filter(|lane| lane >> 64 == u128::from(key))?;
        Some((at, lane as u64))
    }

    fn drain_at(&self, lane: usize) -> Drain {
        self.lanes.drain_at(lane)
    }

    fn take(&mut self, lane: usize, rule: &Rule, now: Micros, may_lend: bool) -> Entry {
        self.lanes.take(Ok(lane), |entry| may_lend && rule.may_borrow(entry, now))
    }

    fn put_back_at(&mut self, lane: usize, entry: Entry) {
        self.lanes.put_back(Ok(lane), entry);
    }

    fn replace(&mut self, lane: usize, entry: Entry, drain: Drain) {
        self.lanes.replace(lane, entry, drain);
    }

    fn insert(&mut self, fingerprint: Fingerprint, entry: Entry, drain: Drain) {
        self.lanes.insert(fingerprint, entry, drain);
    }

    fn give_up(&mut self, lane: usize) {
        self.lanes.remove(lane);
    }

    fn has_room(&self, _key: u64, most: usize) -> bool {
        self.lanes.len() < most
    }

    fn closed(&self, timeline: Timeline, cell: usize) -> Micros {
        self.closed[timeline as usize][cell]
    }

    fn set_closed(&mut self, timeline: Timeline, cell: usize, until: Micros) {
        self.closed[timeline as usize][cell] = until;
    }

    fn keep_given(&mut self, lives: Micros) {
        self.given_until = self.given_until.max(clock::now().saturating_add(lives));
    }
}

impl Beside for Overflow {
    fn note_given(&mut self, real_now: Micros) {
        self.lanes.note_given(real_now);
        if self.given_until > 0 {
            self.given_until = self.given_until.max(real_now.saturating_add(GIVEN_LIVES));
        }
    }

    fn sweep(&mut self, now: Micros) -> bool {
        self.lanes.sweep(now);
        self.lanes.len() == 0 && self.given_until <= now && self.closed[0].iter().all(|until| *until <= now)
    }
}

impl Rule {
    /// Has the ticks of a shared level count from now on: those of each that shares it count from a later charge than
    /// the first, and it must not drain before any of theirs.
    pub(super) fn restart(&self, entry: &mut Entry, now: Micros) {
        if let (Self::Level(rule), Entry::Level(level)) = (self, entry) {
            rule.restart(level, now);
        }
    }

    /// Charges an entry whatever it holds.
    pub(super) fn charge(&self, entry: &mut Entry, now: Micros, cost: u64) {
        self.commit(entry, now, Verb::Charge, Resolved::alone(Verdict::default(), cost), 0);
    }

    /// An entry that nothing fits into.
    pub(super) fn full(&self, now: Micros) -> Entry {
        let mut entry = Entry::Absent;
        self.charge(&mut entry, now, self.quota().saturating_add(1));
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::Duration;

    use crate::decision::Call;
    use crate::{Check, Limit, Limiter, Memory};

    const HOUR: Duration = Duration::from_hours(1);
    const SECOND: Micros = 1_000_000;
    const START: Micros = 1_750_000_000 * SECOND;

    fn seat(cell: usize) -> Seat {
        Seat { key: 0, rule: 0, cell, timeline: Timeline::Real }
    }

    #[test]
    fn a_cell_stays_closed_for_the_longest_that_anybody_owes() {
        let mut overflow = Overflow::default();
        let (hour, second) = (3600 * SECOND, SECOND);
        overflow.close(seat(3), START, START + hour);
        overflow.close(seat(3), START, START + second);
        assert_eq!(overflow.closed_until(seat(3)), START + hour, "a shorter one does not open it");
        assert_eq!(overflow.closed_until(seat(4)), 0);
        assert_eq!(overflow.drains_from(seat(3), START, 0, false), START);
        assert_eq!(overflow.drains_from(seat(3), START, 0, true), START + hour, "one drains after the other");
        let later = START + 2 * hour;
        assert_eq!(overflow.drains_from(seat(3), START, later, true), later, "what a lane there owes counts");
        assert_eq!(overflow.drains_from(seat(3), later, 0, true), later, "never before it is charged");
    }

    #[test]
    fn nothing_is_swept_away_as_long_as_a_cell_is_closed() {
        let given = |cell| Seat { timeline: Timeline::Given, ..seat(cell) };
        let mut overflow = Overflow::default();
        assert!(overflow.sweep(START), "there is nothing");
        overflow.close(seat(63), START, START + 10 * SECOND);
        assert!(!overflow.sweep(START + 10 * SECOND - 1));
        assert!(overflow.sweep(START + 10 * SECOND), "all have drained");
        // A caller's clock says nothing of ours: its cells stay for a while after the last call with such a clock.
        let mut overflow = Overflow::default();
        overflow.close(given(63), 0, SECOND);
        let later = clock::now() + 100 * GIVEN_LIVES;
        overflow.note_given(later);
        assert!(!overflow.sweep(later + GIVEN_LIVES - 1));
        assert!(overflow.sweep(later + GIVEN_LIVES));
    }

    #[test]
    fn one_limit_leaves_lanes_to_the_others_and_one_clock_to_the_other() {
        const LANES: usize = 64;
        let rule = Limit::bucket("lanes", 5).drip_rate(HOUR).build().expect("a bucket");
        let rules = rule.rules(1.0).expect("a rule");
        let (_, rule) = rules.placed().next().expect("a rule");
        let seats = |timeline| -> HashSet<u64> {
            let of = |actor: u32| {
                let actor = Fingerprint::of_actor(&actor.to_string());
                Seat::new(Fingerprint(0x5eed << 64) ^ actor, actor, rule, timeline, LANES).key
            };
            (0..10_000).map(of).collect()
        };
        let real = seats(Timeline::Real);
        assert_eq!(real.len(), 16, "a quarter of them");
        assert!(real.is_disjoint(&seats(Timeline::Given)));
    }

    #[test]
    fn whatever_is_charged_at_a_closed_cell_drains_after_what_is_owed_there() {
        // No lane at all, so that all share cells.
        let limiter = Limiter::new(Memory::with_max_entries(1));
        let limit = Limit::bucket("turns", 5).drip_rate(HOUR).build().expect("a bucket");
        let ask = |actor: &str, cost, call, now| {
            limiter.decide_sync_at(&[Check::new(&limit, actor).cost(cost)], call, now).expect("an answer").blocked
        };
        ask("the only entry", 1, Call::Limit, START);
        ask("overfull", 5, Call::Charge, START);
        ask("overfull", 5, Call::Charge, START);
        let hour = 3600 * SECOND;
        assert!(ask("overfull", 5, Call::Limit, START + 7 * hour), "three are owed still");
        let peek = Check::new(&limit, "overfull").cost(1);
        let denied = limiter.decide_sync_at(&[peek], Call::Limit, START + hour).expect("an answer");
        assert!(denied.blocked && denied.full_reset_ms >= denied.reset_ms);
        let reset = START + hour + denied.reset_ms * 1000;
        assert!(!ask("overfull", 1, Call::Limit, reset), "as it said: {denied:?}");
    }

    #[test]
    fn nobody_waits_for_a_turn_at_a_closed_cell_and_each_window_there_drains_after_the_one_before() {
        // No lane at all, so that all share cells.
        let limiter = Limiter::new(Memory::with_max_entries(1));
        let limit = Limit::fixed_window("windows", 3, Duration::from_secs(10)).build().expect("a window");
        let ask = |actor: &str, cost, call, now| {
            limiter
                .decide_sync_at(&[Check::new(&limit, actor).cost(cost)], call, START + now * SECOND)
                .expect("an answer")
        };
        let acquire = Call::Acquire { max_wait: Duration::from_secs(5) };
        ask("the only entry", 1, Call::Limit, 0);
        assert!(!ask("ada", 2, acquire, 6).blocked);
        let denied = ask("ada", 2, acquire, 7);
        // What is kept of times is rounded up.
        assert!(denied.blocked && denied.wait_ms == 0 && (3000..4000).contains(&denied.reset_ms), "{denied:?}");
        ask("ada", 2, Call::Charge, 8);
        assert!(ask("ada", 1, Call::Limit, 19).blocked, "the units of the next window drain at its end");
        assert!(!ask("ada", 1, Call::Limit, 22).blocked);
    }

    #[test]
    fn a_limit_of_a_second_frees_nobody_from_one_of_an_hour() {
        // No lane at all, so that all share cells.
        let limiter = Limiter::new(Memory::with_max_entries(1));
        let slow = Limit::sliding_log("slow", 1, HOUR).build().expect("a log");
        let quick = Limit::sliding_log("quick", 1, Duration::from_secs(1)).build().expect("a log");
        let ask = |limit: &Limit, name: String, now: Micros| {
            limiter.decide_sync_at(&[Check::new(limit, &name)], Call::Limit, now).expect("an answer").blocked
        };
        ask(&slow, "the only entry".to_owned(), START);
        let victims: Vec<_> =
            (0..32).map(|name| format!("victim {name}")).filter(|name| !ask(&slow, name.clone(), START)).collect();
        assert!(victims.len() > 4, "{}", victims.len());
        for name in 0..2000 {
            ask(&quick, format!("hostile {name}"), START + 1);
        }
        assert!(victims.iter().all(|victim| ask(&slow, victim.clone(), START + 2 * SECOND)));
    }
}
