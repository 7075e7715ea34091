//! Numbers and times as people read them.

use std::fmt::Write as _;

/// With commas between thousands, and at most three decimals.
pub(crate) fn number(value: f64) -> String {
    let decimals = if value.abs() >= 1000.0 { 0 } else { 3 };
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut shown = String::with_capacity(text.len() + 8);
    for (index, digit) in whole.char_indices() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && !shown.ends_with('-') {
            shown.push(',');
        }
        shown.push(digit);
    }
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        shown.push('.');
        shown.push_str(fraction);
    }
    shown
}

/// By the shortest unit in which there is at least one.
pub(crate) fn rate(per_second: Option<f64>) -> String {
    let Some(per_second) = per_second else { return "without a bound".to_owned() };
    let units = [("second", 1.0), ("minute", 60.0), ("hour", 3_600.0)];
    // A hair below one is one that was not rounded.
    let fits = units.into_iter().find(|(_, seconds)| per_second * seconds >= 1.0 - 1e-9);
    let (unit, seconds) = fits.unwrap_or(("day", 86_400.0));
    let count = per_second * seconds;
    // Slower than one in a thousand days: the time of one, instead.
    if count < 0.001 { format!("1 in {}", time(1000.0 / per_second)) } else { format!("{} per {unit}", number(count)) }
}

/// A time in milliseconds.
pub(crate) fn time(millis: f64) -> String {
    if millis < 100.0 {
        return format!("{} ms", number(millis));
    }
    if millis < 120_000.0 {
        return format!("{} s", number(millis / 1000.0));
    }
    let (mut shown, mut left) = (String::new(), millis);
    for (unit, of_unit) in [("d", 86_400_000.0), ("h", 3_600_000.0), ("min", 60_000.0)] {
        let count = (left / of_unit).floor();
        left -= count * of_unit;
        if count > 0.0 {
            // Writing to a string does not fail.
            let _ = write!(shown, "{} {unit} ", number(count));
        }
    }
    if left >= 1.0 {
        let _ = write!(shown, "{} s", number(left / 1000.0));
    }
    shown.trim_end().to_owned()
}
