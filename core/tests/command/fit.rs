//! `tidegate fit`.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use tidegate::{Call, Check, Limit, Limiter, Memory};

use super::{fed, tidegate, written};

/// An instant in the middle of an hour.
const START: u64 = 1_764_001_800_000_000;

/// The answers of a limit to a call each so many milliseconds.
fn answers(limit: &str, gaps: &[u64]) -> String {
    let (limiter, limit) = (Limiter::new(Memory::new()), Limit::parse("api", limit).unwrap());
    let (mut log, mut at) = ("time,status\n".to_owned(), START);
    for gap in gaps.iter().cycle().take(300) {
        let info = limiter.decide_sync_at(&[Check::new(&limit, "client")], Call::Limit, at).unwrap();
        let _ = writeln!(log, "{},{}", at / 1000, if info.blocked { 429 } else { 200 });
        at += gap * 1000;
    }
    log
}

fn found(log: &str) -> Value {
    serde_json::from_str(&fed(&["fit", "--json", "-"], log.as_bytes()).out).unwrap()
}

#[test]
fn the_limit_that_answered_is_among_those_found_and_the_safe_one_is_safe() {
    for limit in ["5/10s sliding-log", "20/1m fixed-window", "30/1m", "8/30s sliding-counter", "12/1m sliding-window"] {
        let found = found(&answers(limit, &[700, 10, 10, 2900, 1300]));
        let (size, rest) = limit.split_once('/').unwrap();
        let (period, family) = rest.split_once(' ').unwrap_or((rest, "token-bucket"));
        let fitted = found["fitted"].as_array().unwrap();
        let fits = |fitted: &&Value| {
            let size: u64 = size.parse().unwrap();
            fitted["type"] == family
                && fitted["period"] == period
                && fitted["from"].as_u64().unwrap() <= size
                && size <= fitted["to"].as_u64().unwrap()
        };
        assert!(fitted.iter().find(fits).is_some(), "{limit}: {found}");
        // Whoever keeps to the safe limit is never refused.
        let safe: Vec<_> =
            found["safe"].as_str().unwrap().split("; ").map(|text| Limit::parse(text, text).unwrap()).collect();
        let (limiter, theirs) = (Limiter::new(Memory::new()), Limit::parse("theirs", limit).unwrap());
        let own: Vec<_> = safe.iter().map(|limit| Check::new(limit, "client")).collect();
        for step in 0..20_000 {
            let at = START + step * 50_000;
            if limiter.decide_sync_at(&own, Call::Limit, at).unwrap().allowed() {
                assert!(
                    limiter.decide_sync_at(&[Check::new(&theirs, "client")], Call::Limit, at).unwrap().allowed(),
                    "{limit}"
                );
            }
        }
    }
}

#[test]
fn calls_tell_apart_what_agreed_so_far() {
    let file = written("answers.csv");
    fs::write(&file, "time,status\n1764001800,200\n1764001801,200\n1764001802,refused\nnonsense,x\n1764001840,404\n")
        .unwrap();
    let ended = tidegate(&["fit", "--period", "30s", &file]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let (summary, rest) = ended.out.split_once("\n\n").unwrap();
    assert!(summary.ends_with("3 accepted, 1 refused; 1 malformed line left out."), "{summary}");
    assert!(rest.starts_with("type            period  from  to\n"), "{rest}");
    assert!(rest.contains("\nfixed-window    30s        2   2\n"), "{rest}");
    // Each type is told apart from the next.
    assert_eq!(rest.matches(": the last is accepted by 2/30s ").count(), 3, "{rest}");
}

#[test]
fn answers_that_no_limit_gives_are_told() {
    let ended = fed(&["fit", "-"], b"time,status\n1,429\n2,200\n3,429\n");
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("No limit that was tried agrees with every answer."), "{}", ended.out);
    let ended = fed(&["fit", "-"], b"x\n");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("has no answers; 1 line left out"), "{}", ended.err);
    let ended = fed(&["fit", "-", "--status", "code"], b"time,status\n1,429\n");
    assert!(
        ended.err.contains("has no answers; 2 lines left out; --time and --status name its fields"),
        "{}",
        ended.err
    );
    let ended = fed(&["fit", "-", "--period", "5x"], b"time,status\n1,429\n");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.starts_with("period: must have a unit of time"), "{}", ended.err);
}
