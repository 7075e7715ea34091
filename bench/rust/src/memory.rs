//! Resident memory per key, each contender in a process of its own.

use std::process::Command;

use tidegate::{Limiter, Memory};

use crate::measure::{Row, Spread};
use crate::types;

const KEYS: usize = 1_000_000;

/// Ours beside the peer's.
pub(crate) fn row() -> Row {
    let (ours, theirs) = (in_processes("tidegate"), in_processes("governor"));
    Row {
        name: format!("memory a key at {KEYS} keys"),
        unit: "B",
        ours,
        peer: Some((super::PEER, theirs, Spread::ratio(ours, theirs))),
        target: None,
    }
}

/// Each type beside the bucket.
pub(crate) fn rows_of_types() -> Vec<Row> {
    let bucket = in_processes("tidegate");
    let row = |name: &str| {
        let ours = in_processes(name);
        Row {
            name: format!("{name}, memory a key"),
            unit: "B",
            ours,
            peer: Some(("bucket", bucket, Spread::ratio(ours, bucket))),
            target: None,
        }
    };
    types::names().map(row).collect()
}

/// Three processes each.
fn in_processes(contender: &str) -> Spread {
    Spread::of((0..3).filter_map(|_| in_a_process(contender)).collect())
}

fn in_a_process(contender: &str) -> Option<f64> {
    let output = Command::new(std::env::current_exe().ok()?).args(["--memory", contender]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The memory that the process grows by, for each key that it comes to know; the caller's own key is made and dropped.
pub(crate) fn resident_per_key(contender: &str) -> f64 {
    let limiter = Limiter::new(Memory::with_max_entries(2 * KEYS));
    let limit = types::by_name(contender).unwrap_or_else(super::limit);
    let peer = super::peer();
    let before = resident();
    for number in 0..KEYS {
        let key = format!("actor:{number:014}");
        if contender == "governor" {
            let _ = peer.check_key(&key);
        } else {
            let _ = limiter.limit_sync(&limit, &key);
        }
    }
    (resident() - before) / KEYS as f64
}

/// Bytes of this process in memory now, from `/proc`.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(f64::NAN);
    pages * 4096.0
}
