//! A locked part of a table as decisions see it.

use super::lock::Words as _;
use super::locked::Shard;
use super::plan::{SLOTS, part};
use super::shard::{Array, low_of, tag_of};
use crate::algorithm::{Entry, Rule};
use crate::fingerprint::Fingerprint;
use crate::store::memory::{Drain, Kept, Moment, Position, Shelf, Timeline};

impl Shelf for Shard<'_> {
    type Seats = Self;

    #[inline]
    fn find(&self, fingerprint: Fingerprint) -> Position {
        self.search(Array::Own, tag_of(fingerprint), Some(low_of(fingerprint))).ok_or(0)
    }

    fn is_over(&self, place: Position, moment: Moment) -> bool {
        moment.timeline == Timeline::Real && place.is_ok_and(|slot| self.drain(Array::Own, slot).is_empty(moment))
    }

    fn is_shared(&self) -> bool {
        self.get(part::SHARED) != 0
    }

    fn take(&mut self, place: Position, rule: Option<&Rule>, _moment: Moment, _may_lend: bool) -> Entry {
        match (place, rule) {
            (Ok(slot), Some(rule)) => self.entry(Array::Own, slot, rule),
            _ => Entry::Absent,
        }
    }

    fn put_back(&mut self, _place: Position, _entry: Entry) {}

    fn keep(
        &mut self,
        place: Position,
        fingerprint: Fingerprint,
        (mut entry, mended): (Entry, Option<Box<Entry>>),
        rule: &Rule,
        moment: Moment,
    ) -> Kept {
        // Room that was taken for it is a slot by now, where it says nothing.
        let Ok(slot) = place.or_else(|_| self.find(fingerprint)) else { return Kept::default() };
        let drains = rule.drains_unless_empty(&mut entry, moment.now);
        let kept = match mended {
            Some(mended) if *mended != Entry::Absent => {
                let old = self.drain(Array::Own, slot);
                Some((*mended, drains.map_or(old, |drains| Drain::new(drains, moment.timeline))))
            }
            Some(_) => None,
            None => drains.map(|drains| (entry, Drain::new(drains, moment.timeline))),
        };
        let inserted = kept.is_some();
        match kept {
            Some((entry, drain)) => self.write(Array::Own, slot, &entry, drain),
            // The room that was taken is given back by who took it.
            None if place.is_err() => {}
            None => self.vacate(Array::Own, slot),
        }
        Kept { moved: false, inserted }
    }

    fn reserve(&mut self, fingerprint: Fingerprint) -> bool {
        self.new_slot(fingerprint).is_some()
    }

    fn release(&mut self, fingerprint: Fingerprint) {
        if let Ok(slot) = self.find(fingerprint) {
            self.vacate(Array::Own, slot);
        }
    }

    fn make_room(&mut self, fingerprint: Fingerprint, moment: Moment, needed: &[Fingerprint]) -> bool {
        if self.reserve(fingerprint) {
            return true;
        }
        if self.get(part::LEN) >= self.plan.own as u64 && !self.drop_in_turn(moment, needed) {
            return false;
        }
        let homes = self.homes(Array::Own, tag_of(fingerprint)).into_iter();
        let near = homes.flat_map(|home| home * SLOTS..(home + 1) * SLOTS);
        self.reserve(fingerprint) || self.drop_one(near, moment, needed) && self.reserve(fingerprint)
    }

    fn lanes(&self) -> usize {
        self.plan.lanes
    }

    fn seats(&mut self) -> Option<&mut Self> {
        self.is_shared().then_some(self)
    }

    fn seats_or_new(&mut self) -> &mut Self {
        self.set(part::SHARED, 1);
        self
    }
}
