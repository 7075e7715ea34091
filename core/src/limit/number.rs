//! Numbers from outside, checked once for every language.

use crate::algorithm::whole;
use crate::error::LimitError;
use crate::time::{LONGEST, Micros};

/// Counts above this are refused.
pub(crate) const LARGEST_COUNT: u64 = 1_000_000_000_000;

/// The key and the factor of a compile step: an error names the one, the numbers scale by the other.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) key: &'a str,
    pub(crate) factor: f64,
}

impl Scope<'_> {
    /// A finite number that is at least `least`.
    pub(crate) fn at_least(&self, field: &str, value: f64, least: f64) -> Result<f64, LimitError> {
        if value.is_finite() && value >= least {
            return Ok(value);
        }
        let problem =
            if value.is_infinite() { "must be finite".to_owned() } else { format!("must be at least {least}") };
        Err(LimitError::range(self.key, field, problem, value))
    }

    /// A duration in milliseconds, above 0.
    pub(crate) fn period(&self, field: &str, millis: f64) -> Result<f64, LimitError> {
        let millis = self.at_least(field, millis, 0.0)?;
        if millis > 0.0 { Ok(millis) } else { Err(LimitError::range(self.key, field, "must be above 0", millis)) }
    }

    /// A count of at least 1, scaled by the factor and rounded up.
    pub(crate) fn scaled(&self, field: &str, value: f64) -> Result<u64, LimitError> {
        self.scaled_up_to(field, value, LARGEST_COUNT)
    }

    /// The same, of at most so many.
    pub(crate) fn scaled_up_to(&self, field: &str, value: f64, most: u64) -> Result<u64, LimitError> {
        let value = self.at_least(field, value, 1.0)?;
        let scaled = (value / self.factor).ceil().max(1.0);
        if value <= most as f64 && scaled > most as f64 {
            let problem = format!("must leave {field} at most {most}");
            return Err(LimitError::range(self.key, "factor", problem, self.factor));
        }
        self.count_up_to(field, scaled, most)
    }

    /// A count of at least 1, rounded up.
    pub(crate) fn count(&self, field: &str, value: f64) -> Result<u64, LimitError> {
        self.count_up_to(field, value, LARGEST_COUNT)
    }

    /// The same, of at most so many.
    pub(crate) fn count_up_to(&self, field: &str, value: f64, most: u64) -> Result<u64, LimitError> {
        let value = self.at_least(field, value, 1.0)?.ceil();
        if value > most as f64 {
            return Err(LimitError::range(self.key, field, format!("must be at most {most}"), value));
        }
        Ok(whole(value))
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn whole_up_to(&self, field: &str, value: f64, most: u8) -> Result<u8, LimitError> {
        let found = (1..=most).find(|number| f64::from(*number).total_cmp(&value).is_eq());
        found.ok_or_else(|| {
            LimitError::range(self.key, field, format!("must be a whole number from 1 to {most}"), value)
        })
    }

    /// Milliseconds as whole microseconds, at least one, at most 100 years.
    pub(crate) fn micros(&self, field: &str, millis: f64) -> Result<Micros, LimitError> {
        let micros = (self.at_least(field, millis, 0.0)? * 1000.0).round().max(1.0);
        if micros > LONGEST as f64 {
            return Err(self.too_long(field, millis));
        }
        Ok(whole(micros))
    }

    /// Refuses what would take longer than 100 years to drain.
    pub(crate) fn drains(&self, drain_time: Micros, field: &str, value: f64) -> Result<(), LimitError> {
        if drain_time <= LONGEST { Ok(()) } else { Err(self.too_long(field, value)) }
    }

    fn too_long(&self, field: &str, value: f64) -> LimitError {
        LimitError::range(self.key, field, "must let a full entry drain within 100 years", value)
    }
}

/// A factor is finite and not negative.
pub(crate) fn check_factor(key: &str, factor: f64) -> Result<(), LimitError> {
    Scope { key, factor }.at_least("factor", factor, 0.0).map(drop)
}

/// JavaScript's `Math.round`: halves go up.
pub(crate) fn round_half_up(value: f64) -> f64 {
    let below = value.floor();
    if value - below >= 0.5 { below + 1.0 } else { below }
}
