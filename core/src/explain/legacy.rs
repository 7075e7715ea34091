//! The translation of a legacy limit's fields, and its deviation from what they ask for.

use std::fmt;

use serde::Serialize;

use super::words::{number, rate, time};
use crate::algorithm::Rule;
use crate::limit::{Legacy, Rules, Translation};

/// A legacy limit beside what it was translated to, at factor 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTranslation {
    /// The translation that was chosen.
    pub translation: Translation,
    /// Of the bucket that it became, how many units it holds; `None` where it became a token bucket.
    pub size: Option<u64>,
    /// The time between that bucket's drips, in milliseconds.
    pub drip_rate: Option<f64>,
    /// The units that leave that bucket with each drip.
    pub drip_size: Option<u64>,
    /// The rate that the fields ask for.
    pub asked_per_second: f64,
    /// The rate that is enforced.
    pub enforced_per_second: f64,
    /// The deviation of the enforced rate from the one asked for: 0.5 is half as much again, -0.5 half of it.
    pub deviation: f64,
    /// The least time between two calls that the fields ask for, in milliseconds.
    pub min_interval: Option<f64>,
    /// True if every two calls are at least that far apart.
    pub min_interval_enforced: bool,
}

impl LegacyTranslation {
    /// Nothing where there is no limit.
    pub(super) fn of(legacy: &Legacy, rules: &Rules) -> Option<Self> {
        let (rate, spacing) = match rules {
            Rules::Unlimited => return None,
            Rules::One(rule) | Rules::Blocking(rule, _) => (rule, rule),
            Rules::Both(rate, spacing) => (rate, spacing),
        };
        let min_interval = legacy.min_interval.filter(|interval| *interval > 0.0);
        let asked_per_second = match (legacy.max, legacy.duration) {
            (Some(max), Some(duration)) => max / duration,
            _ => 1.0 / min_interval?,
        } * 1000.0;
        let enforced_per_second = rate.per_second()?;
        let bucket = match rate {
            Rule::Level(level) if legacy.max.is_none() || legacy.translation == Translation::Bucket => Some(level),
            _ => None,
        };
        Some(Self {
            translation: legacy.translation,
            size: bucket.map(|level| level.quota),
            drip_rate: bucket.map(|level| level.tick.get() as f64 / 1000.0),
            drip_size: bucket.map(|level| level.drain.get()),
            asked_per_second,
            enforced_per_second,
            deviation: enforced_per_second / asked_per_second - 1.0,
            min_interval,
            min_interval_enforced: min_interval.is_some_and(|interval| keeps_apart(spacing, interval)),
        })
    }
}

/// One call at a time, and the next no sooner than a tick that is at least as long.
fn keeps_apart(rule: &Rule, interval: f64) -> bool {
    matches!(rule, Rule::Level(level) if level.quota == 1 && level.by_groups && level.group.get() as f64 >= interval * 1000.0)
}

impl fmt::Display for LegacyTranslation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.size, self.drip_rate, self.drip_size) {
            (Some(size), Some(drip_rate), Some(drip_size)) => write!(
                f,
                "It was translated to a bucket of {} that drips {} every {}: ",
                number(size as f64),
                number(drip_size as f64),
                time(drip_rate),
            )?,
            _ => f.write_str("It was translated as its fields say: ")?,
        }
        let (asked, enforced) = (rate(Some(self.asked_per_second)), rate(Some(self.enforced_per_second)));
        let percent = self.deviation * 100.0;
        if percent.abs() < 0.05 {
            write!(f, "{asked} were asked for and are enforced.")?;
        } else {
            write!(f, "{asked} were asked for, {enforced} are enforced: {percent:+.1} %.")?;
        }
        match self.min_interval {
            Some(interval) if self.min_interval_enforced => {
                write!(f, " The minInterval of {} is enforced.", time(interval))
            }
            Some(interval) => write!(f, " The minInterval of {} is not enforced.", time(interval)),
            None => Ok(()),
        }
    }
}
