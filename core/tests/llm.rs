//! Tokens of language models: counts of responses, and estimates.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::VecDeque;

use proptest::prelude::*;
use tidegate::llm::{Estimator, Report, USAGE_FIELDS, Usage};

fn usage(counts: &[(&str, f64)]) -> Option<Usage> {
    let mut report = Report::default();
    for (field, count) in counts {
        report.add(field, *count);
    }
    report.usage()
}

#[test]
fn counts_of_each_api() {
    let chat = [("prompt_tokens", 100.0), ("completion_tokens", 20.0), ("prompt_tokens_details.cached_tokens", 64.0)];
    assert_eq!(usage(&chat), Some(Usage { input: 100, output: 20, cached: 64 }));
    let responses = [("input_tokens", 100.0), ("output_tokens", 20.0), ("input_tokens_details.cached_tokens", 64.0)];
    assert_eq!(usage(&responses), Some(Usage { input: 100, output: 20, cached: 64 }));
    let messages = [
        ("input_tokens", 10.0),
        ("output_tokens", 20.0),
        ("cache_creation_input_tokens", 5.0),
        ("cache_read_input_tokens", 64.0),
    ];
    assert_eq!(usage(&messages), Some(Usage { input: 15, output: 20, cached: 64 }));
    // A proxy says them in the words of two APIs, where all input is counted already.
    let proxy = [("prompt_tokens", 79.0), ("completion_tokens", 20.0), ("cache_creation_input_tokens", 5.0)];
    assert_eq!(usage(&proxy), Some(Usage { input: 79, output: 20, cached: 0 }));
    assert_eq!(usage(&[("output_tokens", 0.0)]), Some(Usage::default()));
}

#[test]
fn what_is_no_count_is_passed_over() {
    for count in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.5, 1e300] {
        for field in USAGE_FIELDS {
            assert_eq!(usage(&[(field, count)]), None, "{field} {count}");
        }
    }
    assert_eq!(usage(&[("total_tokens", 1.0), ("", 1.0), ("cache_read_input_tokens", 1.0)]), None);
    let most = 2f64.powi(53);
    let largest = usage(&[("input_tokens", most), ("cache_creation_input_tokens", most), ("output_tokens", most)]);
    assert_eq!(largest.map(|usage| [usage.input, usage.output, usage.total()]), Some([1 << 53; 3]));
}

proptest! {
    /// An estimate is the percentile of the latest outputs of its own pair, by sorting; and the pairs stay bounded.
    #[test]
    fn estimates_are_percentiles_of_the_latest(
        records in prop::collection::vec((0..4_usize, 0..5000_u64), 0..120),
        window in 1..30_u64,
        pairs in 1..5_u64,
        percent in 1..=100_u32,
        most in 0..5000_u64,
    ) {
        let names = [("a", "bc"), ("ab", "c"), ("", ""), ("a", "")];
        let builder = Estimator::builder().percentile(f64::from(percent)).window(window).least(1).pairs(pairs);
        let mut estimator = builder.build().unwrap();
        // The pairs in the order of their latest records, each with its outputs.
        let mut kept: VecDeque<(usize, Vec<u64>)> = VecDeque::new();
        for (name, output) in records {
            let at = kept.iter().position(|(kept, _)| *kept == name);
            let mut outputs = at.and_then(|at| kept.remove(at)).map(|(_, outputs)| outputs).unwrap_or_default();
            outputs.push(output);
            kept.push_back((name, outputs));
            if kept.len() as u64 > pairs {
                kept.pop_front();
            }
            estimator.record(names[name].0, names[name].1, output);
            prop_assert_eq!(estimator.pairs(), kept.len());
            for (name, (model, purpose)) in names.iter().enumerate() {
                let outputs = kept.iter().find(|(kept, _)| *kept == name).map_or(&[][..], |(_, outputs)| outputs);
                let mut latest = outputs[outputs.len().saturating_sub(usize::try_from(window).unwrap())..].to_vec();
                latest.sort_unstable();
                let rank = (latest.len() * percent as usize).div_ceil(100).max(1);
                let expected = latest.get(rank - 1).map_or(most, |output| *output.min(&most));
                prop_assert_eq!(estimator.estimate(model, purpose, most), expected);
            }
        }
    }
}

#[test]
fn bounds_of_settings() {
    let refused = [
        (Estimator::builder().percentile(0.0), "percentile must be above 0 and at most 100, got 0"),
        (Estimator::builder().percentile(f64::NAN), "percentile must be above 0 and at most 100, got NaN"),
        (Estimator::builder().percentile(100.5), "percentile must be above 0 and at most 100, got 100.5"),
        (Estimator::builder().window(0), "window must be at least 1, got 0"),
        (Estimator::builder().least(0), "least must be at least 1, got 0"),
        (Estimator::builder().pairs(0), "pairs must be at least 1, got 0"),
        (Estimator::builder().window(10), "least must be at most the window, 10, got 20"),
        (Estimator::builder().window(10_001), "window times pairs, 1000, must be at most 10000000, got 10001"),
    ];
    assert!(Estimator::builder().window(u64::MAX).build().is_err());
    for (builder, message) in refused {
        assert_eq!(builder.build().unwrap_err().to_string(), message);
    }
}

#[test]
fn too_few_calls_make_no_estimate() {
    let mut estimator = Estimator::default();
    for call in 0..19 {
        estimator.record("m", "p", call);
        assert_eq!(estimator.estimate("m", "p", 4096), 4096);
    }
    estimator.record("m", "p", 19);
    // 95 of a hundred of 20 are 19, and the nineteenth is 18.
    assert_eq!(estimator.estimate("m", "p", 4096), 18);
    assert_eq!(estimator.estimate("m", "other", 4096), 4096);
    assert_eq!(estimator.pairs(), 1);
}
