//! `tidegate top`: the actors of a shared store that are closest to their limits.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use clap::Args;

use super::FINE;
use super::limits::{Keyed, duration};
use super::output::{Done, Output};
use super::store::{Store, told};
use super::words::{count, table};
use crate::Error;
use crate::error::excerpt;
use crate::explain::words::{number, time};
use crate::limit::Limit;
use crate::limiter::Limiter;

#[derive(Args)]
pub(super) struct Options {
    #[command(flatten)]
    store: Store,
    /// Limits as text with a key ("api: 100/minute"), in the wire form, or a file of limits; as often as needed
    #[arg(long, required = true, value_name = "LIMITS")]
    limits: Vec<String>,
    /// The most keys of the store that are looked at
    #[arg(long, default_value_t = BUDGET, value_name = "KEYS")]
    budget: u64,
    /// The most actors that are shown
    #[arg(long, default_value_t = ROWS, value_name = "ACTORS")]
    count: usize,
    /// Shows it again and again, each time after a pause such as 2s, until it is interrupted
    #[arg(long, value_name = "TIME")]
    every: Option<String>,
}

/// The most keys that are looked at, unless a caller says another number.
pub const BUDGET: u64 = 10_000;
/// The most actors that are shown, unless a caller says another number.
pub const ROWS: usize = 20;
/// Clears a terminal, from its upper left corner on.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows the actors that are closest to their limits.
pub(super) fn run(options: &Options, output: &mut Output) -> Done {
    let limits: Vec<_> = Keyed::read(&options.limits)?.iter().flat_map(Keyed::limits).collect();
    let limiter = options.store.open()?;
    let pause = options.every.as_deref().map(|pause| duration("every", pause)).transpose()?;
    loop {
        let text = closest(&limiter, &limits, options.budget, options.count).map_err(told)?;
        if pause.is_some() && stdout().is_terminal() {
            output.print(&format!("{CLEAR}{text}"))?;
        } else {
            output.print(&text)?;
        }
        let Some(pause) = pause else { return Ok(FINE) };
        output.flush()?;
        std::thread::sleep(Duration::from_micros(pause));
    }
}

/// The actors of a store that are closest to these limits, at most `rows`, as a table: those that are denied now, then
/// those with the smallest share left. At most `budget` keys of the store are looked at.
///
/// # Errors
/// As `Limiter::closest_sync`.
#[doc(hidden)]
pub fn closest(limiter: &Limiter, limits: &[Limit], budget: u64, rows: usize) -> Result<String, Error> {
    let closest = limiter.closest_sync(limits, budget)?;
    let mut lines = vec![["actor", "limit", "left", "of", "next call", "empty in"].map(str::to_owned).to_vec()];
    for row in closest.actors.iter().take(rows) {
        let info = &row.info;
        lines.push(vec![
            excerpt(&row.actor),
            excerpt(limits.get(row.limit).map_or("", Limit::key)),
            number(info.remaining as f64),
            number(info.quota as f64),
            if info.blocked { format!("in {}", time(info.reset_ms as f64)) } else { "at once".to_owned() },
            time(info.full_reset_ms as f64),
        ]);
    }
    let mut text = String::new();
    if lines.len() > 1 {
        table(&mut text, &lines);
        text.push('\n');
    }
    let hidden = closest.actors.len().saturating_sub(rows) as u64;
    let hidden = if hidden > 0 { format!(", {} not shown", number(hidden as f64)) } else { String::new() };
    let denied = number(closest.actors.iter().filter(|row| row.info.blocked).count() as f64);
    let about = if closest.looked_at < closest.total { "about " } else { "" };
    let looked_at = format!("{about}{} of {}", number(closest.looked_at as f64), count(closest.total, "key"));
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{} found, {denied} of them denied now{hidden}. Looked at {looked_at}.",
        count(closest.found, "actor"),
    );
    if closest.hashed > 0 {
        let _ = writeln!(text, "{} left out: too long to be kept by their names.", count(closest.hashed, "actor"));
    }
    Ok(text)
}
