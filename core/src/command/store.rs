//! `tidegate ping`, `inspect`, `reset` and `block`: a store that applications share.

use std::time::Duration;

use clap::Args;

use super::limits::{Keyed, duration};
use super::output::{Done, Failure, Output};
use super::words::{count, table};
use super::{FAULTS, FINE};
use crate::decision::Call;
use crate::explain::words::{number, time};
use crate::info::UNLIMITED;
use crate::limit::Value;
use crate::limiter::Limiter;
#[cfg(all(feature = "shm", target_os = "linux"))]
use crate::store::shared::Address;

#[derive(Args)]
pub(super) struct Store {
    /// The URL of the store, such as <redis://localhost:6379/0>
    url: String,
    /// The namespace of its entries
    #[arg(long, default_value = "tidegate")]
    namespace: String,
    /// The milliseconds that the store has for an answer
    #[arg(long, default_value_t = 1000.0, value_name = "MS")]
    timeout: f64,
}

#[derive(Args)]
pub(super) struct Entries {
    #[command(flatten)]
    store: Store,
    /// The actor, as the application names it, such as ip:203.0.113.9
    actor: String,
    /// Limits as text with a key ("api: 100/minute"), in the wire form, or a file of limits; as often as needed
    #[arg(long, required = true, value_name = "LIMITS")]
    limits: Vec<String>,
}

#[derive(Args)]
pub(super) struct Closed {
    #[command(flatten)]
    entries: Entries,
    /// The time from now on, such as 15m
    #[arg(long = "for", value_name = "TIME", required_unless_present = "open")]
    time: Option<String>,
    /// Opens the limits instead, and forgets how often they closed
    #[arg(long, conflicts_with = "time")]
    open: bool,
}

impl Store {
    /// A limiter of the store that the application uses: to look into a table of processes makes none, in which there
    /// would be nothing.
    pub(super) fn open(&self) -> Result<Limiter, Failure> {
        #[cfg(all(feature = "shm", target_os = "linux"))]
        if let Some(path) = Address::missing(&self.url) {
            let problem = format!("no process of this user has opened it: there is no {}", path.display());
            return Err(Failure::of(&self.url, problem));
        }
        self.open_or_make()
    }

    /// A limiter whose answers are the store's own, or none.
    fn open_or_make(&self) -> Result<Limiter, Failure> {
        let options = [
            ("namespace", Value::Text(self.namespace.clone())),
            ("timeout", Value::Number(self.timeout)),
            ("onError", Value::Text("raise".to_owned())),
        ];
        if self.url.starts_with("memory:") {
            return Err(Failure::of(
                &self.url,
                "is the memory of a process: no other one sees it. In the application, limiter.stats() and limiter.top() \
                 show it",
            ));
        }
        Limiter::open(&self.url, options.map(|(name, value)| (name.to_owned(), value))).map_err(told)
    }
}

impl Entries {
    /// Decides all limits in one call; how many there are.
    fn decide(&self, call: Call) -> Result<usize, Failure> {
        let (limits, limiter) = (Keyed::read(&self.limits)?, self.store.open()?);
        let checks: Vec<_> = limits.iter().flat_map(|limits| limits.checks(&self.actor)).collect();
        limiter.decide_sync(&checks, call).map_err(told)?;
        Ok(checks.len())
    }

    fn done(&self, limits: usize, what: &str) -> String {
        format!("{} of {} {what}", count(limits as u64, "limit"), crate::error::excerpt(&self.actor))
    }
}

pub(super) fn told(error: impl std::fmt::Display) -> Failure {
    Failure::Told(error.to_string())
}

/// Asks whether the store decides calls.
pub(super) fn ping(store: &Store, output: &mut Output) -> Done {
    let limiter = store.open_or_make()?;
    let health = limiter.ping_sync().map_err(told)?;
    for warning in &health.warnings {
        output.print(&format!("{}: {warning}", limiter.url()))?;
    }
    let slowest = time(health.round_trip.as_secs_f64() * 1000.0);
    let servers = count(health.servers.len() as u64, "server");
    output.print(&format!("{}: decides calls; {servers}, at most {slowest}", limiter.url()))?;
    Ok(if health.warnings.is_empty() { FINE } else { FAULTS })
}

/// Shows what an actor has left in every limit, and charges nothing.
pub(super) fn inspect(entries: &Entries, output: &mut Output) -> Done {
    let (limits, limiter) = (Keyed::read(&entries.limits)?, entries.store.open()?);
    let mut rows = vec![["limit", "left", "of", "next call", "next unit in", "empty in"].map(str::to_owned).to_vec()];
    for check in limits.iter().flat_map(|limits| limits.checks(&entries.actor)) {
        let info = limiter.decide_sync(&[check], Call::Peek).map_err(told)?;
        // An override may have lifted the limit.
        let units = |units: u64| if info.quota < UNLIMITED { number(units as f64) } else { "any".to_owned() };
        rows.push(vec![
            check.key().to_owned(),
            units(info.remaining),
            units(info.quota),
            if info.blocked { format!("in {}", time(info.reset_ms as f64)) } else { "at once".to_owned() },
            time(info.next_ms as f64),
            time(info.full_reset_ms as f64),
        ]);
    }
    let mut text = String::new();
    table(&mut text, &rows);
    output.print(&text)?;
    Ok(FINE)
}

/// Empties the entries of an actor.
pub(super) fn reset(entries: &Entries, output: &mut Output) -> Done {
    output.print(&entries.done(entries.decide(Call::Reset)?, "reset"))?;
    Ok(FINE)
}

/// Closes the limits of an actor, or opens them.
pub(super) fn block(closed: &Closed, output: &mut Output) -> Done {
    let entries = &closed.entries;
    let micros = closed.time.as_ref().map_or(Ok(0), |time| duration("for", time))?;
    let limits = entries.decide(Call::Block { time: Duration::from_micros(micros) })?;
    let what = if closed.open { "opened".to_owned() } else { format!("closed for {}", time(micros as f64 / 1000.0)) };
    output.print(&entries.done(limits, &what))?;
    Ok(FINE)
}
