//! Numbers in sentences, and tables for a terminal.

use std::fmt::Write as _;

use crate::explain::words::{number, time};

/// `5 %`, of nothing too.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{} %", number(part as f64 * 100.0 / whole.max(1) as f64))
}

/// `1 client`, `2 clients`.
pub(crate) fn count(value: u64, word: &str) -> String {
    format!("{} {word}{}", number(value as f64), if value == 1 { "" } else { "s" })
}

/// Columns, the first and those of words to the left.
pub(crate) fn table(text: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let is_number = rows
                .last()
                .and_then(|row| row.get(column))
                .is_some_and(|cell| cell.bytes().all(|byte| byte.is_ascii_digit() || b",. %".contains(&byte)));
            let _ = match (column, is_number) {
                (0, _) | (_, false) => write!(line, "{cell:width$}  "),
                _ => write!(line, "{cell:>width$}  "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Calls that come at once: at so many milliseconds from the first, so many.
pub(crate) type Step = (u64, u64);

/// `20 at once, then 1 each 600 ms, 99 times`.
pub(crate) fn calls_shown(steps: &[Step]) -> String {
    let Some((&(_, first), rest)) = steps.split_first() else { return "none".to_owned() };
    let mut groups: Vec<(u64, u64, u64)> = Vec::new();
    for (pair, (_, count)) in steps.windows(2).zip(rest) {
        let gap = pair.iter().map(|(at, _)| *at).reduce(|before, at| at - before).unwrap_or(0);
        match groups.last_mut() {
            Some((known, each, times)) if (*known, *each) == (gap, *count) => *times += 1,
            _ => groups.push((gap, *count, 1)),
        }
    }
    let mut text = format!("{} at once", number(first as f64));
    for (gap, count, times) in groups.iter().take(4) {
        let _ = match times {
            1 => write!(text, ", {} after {}", number(*count as f64), time(*gap as f64)),
            _ => {
                write!(text, ", {} each {}, {} times", number(*count as f64), time(*gap as f64), number(*times as f64))
            }
        };
    }
    text + if groups.len() > 4 { ", and so on" } else { "" }
}
