//! The tokens that a response of a language model says were used.

use crate::algorithm::whole;
use crate::time::EXACT;

/// Places where a response or an event of a stream has its counts. A dot leads into an object inside.
///
/// A host looks for [`USAGE_FIELDS`] in them and passes those to a [`Report`], which knows what they mean.
pub const USAGE_PLACES: [&str; 4] = ["usage", "response.usage", "message.usage", "usage_metadata"];

/// Fields of such a place that count tokens: in the APIs of `OpenAI` (chat completions, responses) and of Anthropic
/// (messages), and in the results of libraries around them.
pub const USAGE_FIELDS: [&str; FIELDS.len()] = {
    let mut names = [""; FIELDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = FIELDS[at].0;
        at += 1;
    }
    names
};

/// The meaning of a field.
#[derive(Clone, Copy)]
enum Meaning {
    /// All input.
    Prompt,
    /// Input; beside what was written to a cache, where that has a field of its own.
    Input,
    Written,
    Output,
    Cached,
}

const FIELDS: [(&str, Meaning); 12] = [
    ("prompt_tokens", Meaning::Prompt),
    ("completion_tokens", Meaning::Output),
    ("prompt_tokens_details.cached_tokens", Meaning::Cached),
    ("input_tokens", Meaning::Input),
    ("output_tokens", Meaning::Output),
    ("input_tokens_details.cached_tokens", Meaning::Cached),
    ("cache_creation_input_tokens", Meaning::Written),
    ("cache_read_input_tokens", Meaning::Cached),
    ("input_token_details.cache_read", Meaning::Cached),
    ("inputTokens", Meaning::Prompt),
    ("outputTokens", Meaning::Output),
    ("inputTokenDetails.cacheReadTokens", Meaning::Cached),
];

/// Tokens of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens, as the API counts them against its limits. `OpenAI` counts those that it found in its cache.
    /// Anthropic does not; it counts those that it wrote there.
    pub input: u64,
    /// Output tokens, with those of its reasoning.
    pub output: u64,
    /// Input tokens that were found in a cache: part of `input` at `OpenAI`, beside it at Anthropic.
    pub cached: u64,
}

impl Usage {
    /// Input and output together, for an API that has one limit for both.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output).min(EXACT)
    }
}

/// The counts of a response, or of the events of a stream, one after another.
///
/// A stream may say a count several times; each is that of the whole call so far, so the last one holds.
///
/// ```
/// use tidegate::llm::Report;
///
/// let mut report = Report::default();
/// assert_eq!(report.usage(), None);
/// report.add("input_tokens", 20.0); // at the beginning of a stream
/// report.add("cache_read_input_tokens", 300.0);
/// report.add("output_tokens", 1.0);
/// report.add("output_tokens", 45.0); // at its end
/// let usage = report.usage().unwrap();
/// assert_eq!((usage.input, usage.output, usage.cached), (20, 45, 300));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    counts: [Option<u64>; 5],
}

impl Report {
    /// Notes a count by the name of its field, one of [`USAGE_FIELDS`]. What is no count of tokens is passed over: a
    /// response must not fail because of a field that is not read for its own sake.
    pub fn add(&mut self, field: &str, count: f64) {
        let is_count = count >= 0.0 && count <= EXACT as f64 && count.fract() == 0.0;
        let Some((_, part)) = FIELDS.iter().find(|(known, _)| is_count && *known == field) else { return };
        self.counts[*part as usize] = Some(whole(count));
    }

    /// The tokens; nothing where neither input nor output was said.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let [prompt, input, written, output, cached] = self.counts;
        prompt.or(input).or(output)?;
        let input = prompt.unwrap_or_else(|| input.unwrap_or(0).saturating_add(written.unwrap_or(0)).min(EXACT));
        Some(Usage { input, output: output.unwrap_or(0), cached: cached.unwrap_or(0) })
    }
}
