//! Estimates of the output tokens of a call, by those of the calls before it.

use std::collections::HashMap;

use ahash::RandomState;

use super::window::Window;
use crate::error::LimitError;
use crate::time::EXACT;

/// Most models and purposes times numbers that one estimator keeps: 16 bytes each, and as much again where room is left.
const MOST_NUMBERS: u64 = 10_000_000;

/// Estimates the output tokens of a call to a language model: a percentile of the latest calls to the same model for
/// the same purpose.
///
/// `max_tokens` bounds an output, and few outputs come near to it. To reserve it leaves most of a limit unused.
///
/// It is bounded: the latest numbers of a pair of model and purpose, and so many pairs. The pair that has been recorded
/// longest ago makes room. An estimate for a pair that is unknown adds none.
///
/// ```
/// use tidegate::llm::Estimator;
///
/// let mut estimator = Estimator::builder().least(3).build()?;
/// assert_eq!(estimator.estimate("gpt-5", "summary", 4096), 4096);
/// for output in [180, 220, 190] {
///     estimator.record("gpt-5", "summary", output);
/// }
/// assert_eq!(estimator.estimate("gpt-5", "summary", 4096), 220);
/// assert_eq!(estimator.estimate("gpt-5", "summary", 200), 200);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Estimator {
    settings: EstimatorBuilder,
    hashes: [RandomState; 2],
    pairs: HashMap<u128, Pair, RandomState>,
    records: u64,
}

/// The outputs of one model for one purpose, and the number of the record that came last.
#[derive(Clone, Debug, Default)]
struct Pair {
    outputs: Window,
    latest: u64,
}

/// Settings of an [`Estimator`].
#[derive(Clone, Debug)]
pub struct EstimatorBuilder {
    percentile: f64,
    window: u64,
    least: u64,
    pairs: u64,
}

impl Default for EstimatorBuilder {
    fn default() -> Self {
        Self { percentile: 95.0, window: 256, least: 20, pairs: 1000 }
    }
}

impl EstimatorBuilder {
    /// The part of a hundred calls that an estimate covers, above 0 and at most 100; 95 by default.
    #[must_use]
    pub fn percentile(mut self, percentile: f64) -> Self {
        self.percentile = percentile;
        self
    }

    /// The number of calls of each pair that count, the latest ones; 256 by default.
    #[must_use]
    pub fn window(mut self, calls: u64) -> Self {
        self.window = calls;
        self
    }

    /// The number of calls of a pair below which there is no estimate; 20 by default.
    #[must_use]
    pub fn least(mut self, calls: u64) -> Self {
        self.least = calls;
        self
    }

    /// The number of pairs of model and purpose that are kept; 1,000 by default.
    #[must_use]
    pub fn pairs(mut self, pairs: u64) -> Self {
        self.pairs = pairs;
        self
    }

    /// An estimator without records.
    ///
    /// # Errors
    /// When the percentile is not above 0 and at most 100, a number is below 1, `least` is above `window`, or `window`
    /// times `pairs` is above 10,000,000.
    pub fn build(self) -> Result<Estimator, LimitError> {
        let Self { percentile, window, least, pairs } = self;
        if !(percentile > 0.0 && percentile <= 100.0) {
            return Err(LimitError::range("", "percentile", "must be above 0 and at most 100", percentile));
        }
        for (field, number) in [("window", window), ("least", least), ("pairs", pairs)] {
            if number == 0 {
                return Err(LimitError::range("", field, "must be at least 1", number));
            }
        }
        if least > window {
            return Err(LimitError::range("", "least", format!("must be at most the window, {window}"), least));
        }
        if window.saturating_mul(pairs) > MOST_NUMBERS {
            let problem = format!("times pairs, {pairs}, must be at most {MOST_NUMBERS}");
            return Err(LimitError::range("", "window", problem, window));
        }
        let hashes = [RandomState::new(), RandomState::new()];
        Ok(Estimator { settings: self, hashes, pairs: HashMap::default(), records: 0 })
    }
}

impl Default for Estimator {
    fn default() -> Self {
        let hashes = [RandomState::new(), RandomState::new()];
        Self { settings: EstimatorBuilder::default(), hashes, pairs: HashMap::default(), records: 0 }
    }
}

impl Estimator {
    /// An estimator with other settings.
    #[must_use]
    pub fn builder() -> EstimatorBuilder {
        EstimatorBuilder::default()
    }

    /// Notes the output tokens of a call that has ended.
    pub fn record(&mut self, model: &str, purpose: &str, output: u64) {
        let name = self.name(model, purpose);
        if self.pairs.len() as u64 >= self.settings.pairs && !self.pairs.contains_key(&name) {
            let oldest = self.pairs.iter().min_by_key(|(_, pair)| pair.latest).map(|(name, _)| *name);
            self.pairs.remove(&oldest.unwrap_or_default());
        }
        self.records += 1;
        let pair = self.pairs.entry(name).or_default();
        pair.latest = self.records;
        pair.outputs.add(output.min(EXACT), usize::try_from(self.settings.window).unwrap_or(usize::MAX));
    }

    /// The output tokens to reserve for a call, at most `most`; `most` while too few calls are recorded.
    #[must_use]
    pub fn estimate(&self, model: &str, purpose: &str, most: u64) -> u64 {
        let Some(pair) = self.pairs.get(&self.name(model, purpose)) else { return most };
        if (pair.outputs.len() as u64) < self.settings.least {
            return most;
        }
        pair.outputs.percentile(self.settings.percentile).map_or(most, |output| output.min(most))
    }

    /// The number of pairs of model and purpose that are kept.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// A pair in 128 bits, keyed at random: a name of any length takes no room, and none can be made to meet another.
    fn name(&self, model: &str, purpose: &str) -> u128 {
        let [high, low] = &self.hashes;
        u128::from(high.hash_one((model, purpose))) << 64 | u128::from(low.hash_one((model, purpose)))
    }
}
