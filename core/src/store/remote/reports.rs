//! Reports of calls that a store did not decide: to the log when an outage begins and when it is over, and once a minute
//! at the most while it lasts; and in errors.

use std::collections::VecDeque;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::on_error::OnError;
use super::settings::Settings;
use super::stats::{FailureCounts, Stats};
use crate::clock;
use crate::error::StoreError;
use crate::events::{Event, EventKind, Events};
use crate::failure::Failure;
use crate::time::Micros;

/// Between two reports that say the same.
const QUIET: Micros = 60 * 1_000_000;
/// Time for which all calls have to be decided before the store counts as recovered.
const CALM: Micros = 1_000_000;

/// The failures of a store, as this process knows them.
pub(crate) struct Reports {
    events: Events,
    /// The kind of the store, and its servers.
    kind: &'static str,
    servers: String,
    policy: OnError,
    timeout: Duration,
    outage: Mutex<Outage>,
    /// The instant of the last call that was answered without the store.
    last: AtomicU64,
    /// The instant at which the next decided call has to check for the end of the outage; 0 if there is none.
    calm: AtomicU64,
    /// The instant from which the next call that is answered without the store is reported.
    due: AtomicU64,
    troubles: Mutex<Troubles>,
    /// The instant of the last event of each kind of failure.
    failed_reported: [AtomicU64; Failure::ALL.len()],
}

/// The reports of calls that were answered without the store. The statistics count them.
#[derive(Default)]
struct Outage {
    /// The counts at the last report, by kind of failure, and when the store last recovered.
    reported: FailureCounts,
    recovered: u64,
    /// The first call since then, and the last report that it is so.
    first: Option<Micros>,
    degraded_reported: Option<Micros>,
}

/// Servers whose errors are kept while their breakers are open. One may leave its cluster meanwhile.
const MOST_OPENED: usize = 16;

/// The last error of each kind of failure, and of each server whose breaker is open; the latest comes last.
#[derive(Default)]
struct Troubles {
    of_kind: [Option<Trouble>; Failure::ALL.len()],
    opened: VecDeque<Trouble>,
}

impl Troubles {
    fn close(&mut self, server: &str) {
        self.opened.retain(|trouble| trouble.server != server);
    }

    fn open(&mut self, trouble: Trouble) {
        self.close(&trouble.server);
        self.opened.push_back(trouble);
        if self.opened.len() > MOST_OPENED {
            self.opened.pop_front();
        }
    }
}

#[derive(Clone)]
struct Trouble {
    server: String,
    cause: String,
}

impl Reports {
    pub(crate) fn new(settings: &Settings, kind: &'static str, servers: String) -> Self {
        Self {
            events: settings.events.clone(),
            kind,
            servers,
            policy: settings.on_error,
            timeout: settings.timeout,
            outage: Mutex::default(),
            last: AtomicU64::new(0),
            calm: AtomicU64::new(0),
            due: AtomicU64::new(0),
            troubles: Mutex::default(),
            failed_reported: Default::default(),
        }
    }

    /// The store did not decide a call. Nearly all of an outage's calls only count, and take no lock.
    pub(crate) fn degraded(&self, failure: Failure, now: Micros, stats: &Stats) {
        stats.degraded(failure);
        self.last.store(now, Ordering::Relaxed);
        let is_first = self.calm.swap(now + CALM, Ordering::Relaxed) == 0;
        if is_first || now >= self.due.load(Ordering::Relaxed) {
            self.perhaps_report(failure, now, stats);
        }
    }

    #[cold]
    fn perhaps_report(&self, failure: Failure, now: Micros, stats: &Stats) {
        let mut outage = self.outage();
        let is_new = outage.first.is_none();
        outage.first.get_or_insert(now);
        if !is_new && now < self.due.load(Ordering::Relaxed) {
            return;
        }
        self.due.store(now + QUIET, Ordering::Relaxed);
        let since = outage.degraded_reported.replace(now);
        let counts = stats.failures();
        let before = std::mem::replace(&mut outage.reported, counts);
        drop(outage);
        let counts: FailureCounts = std::array::from_fn(|kind| counts[kind] - before[kind]);
        let most = Failure::ALL.into_iter().max_by_key(|failure| counts[failure.index()]).unwrap_or(failure);
        let message = self.degraded_message(&counts, most, since.map(|since| now - since), stats);
        self.report(EventKind::Degraded(most), &self.servers, &message);
    }

    /// The store decided a call. Answers whether no outage is left to watch for the end of.
    #[inline]
    pub(crate) fn decided(&self, now: Micros, stats: &Stats) -> bool {
        let calm = self.calm.load(Ordering::Relaxed);
        if calm != 0 && now >= calm {
            self.perhaps_recovered(now, calm, stats);
        }
        calm == 0
    }

    #[cold]
    fn perhaps_recovered(&self, now: Micros, calm: Micros, stats: &Stats) {
        let mut outage = self.outage();
        let last = self.last.load(Ordering::Relaxed);
        let due = last + CALM;
        let is_over = now >= due;
        // Another call may have been answered without the store meanwhile, or found its end.
        let next = if is_over { 0 } else { due };
        let is_ours = self.calm.compare_exchange(calm, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_over || !is_ours {
            return;
        }
        let counts = stats.failures();
        let all = counts.iter().sum();
        let total = all - std::mem::replace(&mut outage.recovered, all);
        let took = outage.first.take().map_or(0, |first| last.saturating_sub(first));
        (outage.reported, outage.degraded_reported) = (counts, None);
        drop(outage);
        let message = format!("{} without it within {}", calls(total), seconds(took));
        self.report(EventKind::Recovered, &self.servers, &message);
    }

    fn degraded_message(&self, counts: &[u64], most: Failure, since: Option<Micros>, stats: &Stats) -> String {
        let mut message = calls(counts.iter().sum());
        message.push_str(" without it");
        if let Some(since) = since {
            // Writing to a string does not fail.
            let _ = write!(message, " in the last {}", seconds(since));
        }
        let met = Failure::ALL.iter().map(|failure| (failure, counts[failure.index()])).filter(|(_, count)| *count > 0);
        let met: Vec<_> = met.map(|(failure, count)| format!("{} {count}", failure.name())).collect();
        let policy = match self.policy {
            OnError::Local => "local: this process alone enforces the limits",
            OnError::Allow => "allow: they are admitted",
            OnError::Deny => "deny: they are denied",
            OnError::Raise => "raise: they fail with a StoreError",
        };
        let _ = write!(message, " ({}); the policy is {policy}", met.join(", "));
        if counts[Failure::Timeout.index()] > 0 {
            let _ = write!(message, "; the timeout is {} ms", self.timeout.as_secs_f64() * 1000.0);
            if let Some(within) = stats.most_took() {
                let _ = write!(message, ", and 99 of 100 answers took less than {} ms", within.as_secs_f64() * 1000.0);
            }
            message.push_str(": choose three times what those take, and more than either host pauses");
        }
        let troubles = self.troubles();
        let trouble = troubles.opened.back().or(troubles.of_kind[most.index()].as_ref());
        if let Some(Trouble { server, cause }) = trouble.filter(|_| most != Failure::Timeout) {
            let _ = write!(message, "; last error of {server}: {cause}");
        }
        message
    }

    /// Reports that a server is not asked for now.
    pub(super) fn opened(&self, server: &dyn Display, failure: Failure, why: &str) {
        let trouble = self.trouble(server, failure, why);
        self.troubles().open(trouble);
        self.report(EventKind::BreakerOpen(failure), server, why);
    }

    /// Reports that a server decides again.
    pub(super) fn closed(&self, server: &dyn Display) {
        self.troubles().close(&server.to_string());
        self.report(EventKind::BreakerClose, server, "it answers again");
    }

    /// Reports a failure that does not stop the server from being asked, once a minute.
    pub(super) fn failed(&self, server: &dyn Display, failure: Failure, why: &str) {
        self.trouble(server, failure, why);
        let told = &self.failed_reported[failure.index()];
        let (now, last) = (clock::now(), told.load(Ordering::Relaxed));
        let due = last == 0 || now.saturating_sub(last) >= QUIET;
        if due && told.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.report(EventKind::Failure(failure), server, why);
        }
    }

    pub(super) fn report(&self, kind: EventKind, server: &dyn Display, why: &str) {
        self.events.report(&Event::new(kind, self.kind, server, why));
    }

    /// Keeps the last error of this kind.
    fn trouble(&self, server: &dyn Display, failure: Failure, cause: &str) -> Trouble {
        let trouble = Trouble { server: server.to_string(), cause: crate::error::shortened(cause, 200) };
        self.troubles().of_kind[failure.index()] = Some(trouble.clone());
        trouble
    }

    /// The error for a call that the store did not decide.
    #[cold]
    pub(crate) fn error(&self, failure: Failure) -> StoreError {
        let troubles = self.troubles();
        let trouble = match failure {
            Failure::Unavailable => troubles.opened.back().cloned(),
            // A deadline that was missed is the caller's own finding.
            Failure::Timeout => None,
            _ => troubles.of_kind[failure.index()].clone(),
        };
        drop(troubles);
        match trouble {
            Some(Trouble { server, cause }) => StoreError::new(failure).at(self.kind, server).because(cause),
            None => StoreError::new(failure).at(self.kind, &self.servers),
        }
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn calls(count: u64) -> String {
    if count == 1 { "1 call was answered".to_owned() } else { format!("{count} calls were answered") }
}

fn seconds(time: Micros) -> String {
    format!("{:.1} s", Duration::from_micros(time).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn reports() -> (Reports, Arc<Mutex<Vec<Event>>>) {
        let heard: Arc<Mutex<Vec<Event>>> = Arc::default();
        let listener = heard.clone();
        let settings = Settings::default().listener(move |event| listener.lock().expect("a lock").push(event.clone()));
        (Reports::new(&settings, "redis", "somewhere:6379".to_owned()), heard)
    }

    #[test]
    fn an_outage_is_told_at_once_and_again_when_it_is_over() {
        let (reports, heard) = reports();
        let stats = Stats::default();
        let told = || heard.lock().expect("a lock").iter().map(|event| event.kind.name()).collect::<Vec<_>>();
        reports.decided(clock::now(), &stats);
        reports.degraded(Failure::Timeout, clock::now(), &stats);
        assert_eq!(told(), ["degraded"]);
        for _ in 0..9 {
            reports.degraded(Failure::Unreachable, clock::now(), &stats);
        }
        let last = clock::now();
        reports.decided(last, &stats);
        assert_eq!(told(), ["degraded"], "one call that fits does not end it");
        reports.decided(last + CALM, &stats);
        assert_eq!(told(), ["degraded", "recovered"]);
        let messages: Vec<_> = heard.lock().expect("a lock").iter().map(ToString::to_string).collect();
        assert!(messages[0].contains("1 call was answered without it (timeout 1)"), "{messages:?}");
        assert!(messages[0].contains("the timeout is 100 ms"), "{messages:?}");
        assert!(messages[1].contains("10 calls"), "{messages:?}");
        assert!(messages.iter().all(|message| message.starts_with("redis at somewhere:6379 ")), "{messages:?}");

        // The next outage is reported just as soon as the first one, and so is its end.
        let next = last + 2 * CALM;
        reports.degraded(Failure::Denied, next, &stats);
        assert_eq!(told(), ["degraded", "recovered", "degraded"]);
        reports.degraded(Failure::Denied, next + CALM, &stats);
        reports.decided(next + CALM + CALM / 2, &stats);
        assert_eq!(told().len(), 3, "neither is new");
        reports.decided(next + 2 * CALM, &stats);
        assert_eq!(told(), ["degraded", "recovered", "degraded", "recovered"]);
        let messages: Vec<_> = heard.lock().expect("a lock").iter().map(ToString::to_string).collect();
        assert!(messages[2].contains("1 call was answered without it (denied 1)"), "{messages:?}");
        assert!(messages[3].contains("2 calls were answered without it within 1.0 s"), "{messages:?}");
    }

    #[test]
    fn a_server_that_answers_again_leaves_the_errors_of_others() {
        let (reports, _) = reports();
        for server in ["first:1", "second:1"] {
            reports.opened(&server, Failure::Unreachable, "refused");
        }
        reports.closed(&"second:1");
        let error = reports.error(Failure::Unavailable);
        assert_eq!((error.server(), error.cause()), ("first:1", Some("refused")));
        reports.closed(&"first:1");
        assert_eq!(reports.error(Failure::Unavailable).cause(), None);
        for port in 0..1000 {
            reports.opened(&format!("gone:{port}"), Failure::Unreachable, "refused");
        }
        assert_eq!(reports.troubles().opened.len(), MOST_OPENED);
    }

    #[test]
    fn an_outage_that_lasts_is_told_once_a_minute_with_counts() {
        let (reports, heard) = reports();
        let stats = Stats::default();
        reports.degraded(Failure::Unavailable, clock::now(), &stats);
        reports.degraded(Failure::Unavailable, clock::now(), &stats);
        reports.degraded(Failure::Timeout, clock::now(), &stats);
        reports.degraded(Failure::Unavailable, clock::now() + QUIET, &stats);
        let heard = heard.lock().expect("a lock");
        assert_eq!(heard.len(), 2);
        assert_eq!(heard[1].kind, EventKind::Degraded(Failure::Unavailable));
        assert!(heard[1].message.contains("3 calls were answered without it in the last 60.0 s"), "{}", heard[1]);
        assert!(heard[1].message.contains("(timeout 1, unavailable 2)"), "{}", heard[1]);
    }
}
