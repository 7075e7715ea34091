//! The texts of one limit as a regular expression, for schemas.

use super::named::Named;
use super::units::{UNITS, calendar_unit};

/// One limit as a regular expression, for schemas: what ECMA-262 and every other dialect understand alike.
pub(crate) fn pattern() -> String {
    let any_case = |word: &str| -> String {
        let letter =
            |c: char| if c.is_ascii_alphabetic() { format!("[{c}{}]", c.to_ascii_uppercase()) } else { c.into() };
        word.chars().map(letter).collect()
    };
    // That many zeros make LARGEST_COUNT, and one digit less any number below it.
    let (blank, number) = (r"[ \t\n\f\r]", "0*(?:[1-9][0-9]{0,11}|10{12})");
    let blanks = format!("{blank}*");
    let units = UNITS.map(|(name, _)| any_case(name)).join("|");
    let period_after = |word: &str| {
        let word = any_case(word);
        (format!("{word}{blank}{blanks}(?:{number}{blanks})?"), format!("{word}{number}{blanks}"))
    };
    let (per, per_number) = period_after("per");
    let divided = format!("(?:/{blanks}(?:{number}{blanks})?|{per}|{per_number})(?:{units})");
    let (resolution, resolution_number) = period_after("resolution");
    let resolution = format!("(?:{blank}{blanks}(?:{resolution}|{resolution_number})(?:{units}))?");
    let burst = format!("{blank}{blanks}{}{blanks}{number}", any_case("burst"));
    let of_calendar = UNITS.into_iter().filter(|(_, millis)| calendar_unit(*millis).is_some());
    let of_calendar = of_calendar.map(|(name, _)| any_case(name)).collect::<Vec<_>>().join("|");
    let calendar = any_case(Named::CalendarWindow.name());
    let calendar =
        format!("(?:/{blanks}|{}{blank}{blanks})(?:{of_calendar}){blank}{blanks}{calendar}", any_case("per"));
    let types: Vec<_> = Named::ALL
        .into_iter()
        .filter(|kind| *kind != Named::CalendarWindow)
        .map(|kind| {
            let option = match kind {
                Named::TokenBucket => format!("(?:{burst})?"),
                Named::SlidingWindow => resolution.clone(),
                _ => String::new(),
            };
            format!("{blank}{blanks}{}{option}", any_case(kind.name()))
        })
        .collect();
    let rate = format!("{divided}(?:{burst}|{})?", types.join("|"));
    format!("^{blanks}{number}{blanks}(?:{rate}|{calendar}){blanks}$")
}
