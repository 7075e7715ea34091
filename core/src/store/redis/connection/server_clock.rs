//! An estimate of the clock of a server.

use redis::Value;

use crate::time::{EXACT, Micros};

/// The interval by which the server's clock is ahead of this process's, as narrow as the latest exchanges have shown.
///
/// A server that said `t` in an answer that was asked for at `sent` and read at `received` is ahead by something from
/// `t - received` to `t - sent`. The lower bound is less than the truth by what the answer took on its way. So an
/// instant as the server's clock [shows it](Self::at_server) is the one at which an answer has to leave, in order to be
/// here then; and bounds are forgotten after a while, for the way may have become longer.
///
/// Bounds that contradict each other say that one of the clocks was set; then the latest exchange is all that counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerClock {
    /// Of the exchanges of this while and of the one before.
    recent: Option<Ahead>,
    before: Option<Ahead>,
    /// The instant at which this period began.
    since: Micros,
}

/// Time for which bounds count at least; they count for twice that at most.
const WHILE: Micros = 500_000;

#[derive(Clone, Copy, Debug)]
struct Ahead {
    least: i64,
    most: i64,
}

impl Ahead {
    /// Both bounds, as far as they do not contradict each other.
    fn narrowed(self, other: Option<Self>) -> Option<Self> {
        let other = other.unwrap_or(self);
        let both = Self { least: self.least.max(other.least), most: self.most.min(other.most) };
        (both.least <= both.most).then_some(both)
    }
}

impl ServerClock {
    /// Learns from one exchange.
    pub(super) fn on_reply(&mut self, sent: Micros, received: Micros, server: Micros) {
        let heard = Ahead { least: ahead(server, received), most: ahead(server, sent) };
        if received.saturating_sub(self.since) >= WHILE {
            *self = Self { recent: None, before: self.recent, since: received };
        }
        let narrowed = heard.narrowed(self.recent).filter(|recent| recent.narrowed(self.before).is_some());
        if narrowed.is_none() {
            self.before = None;
        }
        self.recent = narrowed.or(Some(heard));
    }

    /// The instant at which an answer has to leave the server, by its clock, to be here at this instant of ours, or a little earlier;
    /// unknown before the first exchange.
    pub(super) fn at_server(&self, local: Micros) -> Option<Micros> {
        let known = self.recent.map_or(self.before, |recent| recent.narrowed(self.before));
        known.map(|ahead| local.saturating_add_signed(ahead.least))
    }
}

/// The instant in a reply to `TIME`; none if it is no time.
pub(crate) fn instant(reply: Value) -> Option<Micros> {
    let (seconds, micros) = redis::from_redis_value::<(u64, u64)>(reply).ok()?;
    seconds.checked_mul(1_000_000)?.checked_add(micros).filter(|instant| *instant <= EXACT)
}

fn ahead(server: Micros, local: Micros) -> i64 {
    i64::try_from(server).unwrap_or(i64::MAX).saturating_sub(i64::try_from(local).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrows_with_every_exchange_and_never_tells_an_instant_too_late() {
        let mut clock = ServerClock::default();
        assert_eq!(clock.at_server(1_000), None);
        // The server is ahead by 500; a slow exchange, then a quick one, then a slow one again.
        for (sent, at_server, received) in [(1_000, 1_550, 1_900), (2_000, 2_520, 2_030), (3_000, 3_900, 3_950)] {
            clock.on_reply(sent, received, at_server);
            assert!(clock.at_server(10_000).is_some_and(|instant| instant <= 10_500), "{clock:?}");
        }
        assert_eq!(clock.at_server(10_000), Some(10_490));
    }

    #[test]
    fn a_time_that_cannot_be_is_none() {
        let reply = |seconds: &str, micros| {
            Value::Array(vec![Value::BulkString(seconds.into()), Value::BulkString(str::as_bytes(micros).to_vec())])
        };
        assert_eq!(instant(reply("1700000000", "5")), Some(1_700_000_000_000_005));
        for (seconds, micros) in [
            ("18446744073709551615", "0"),
            ("18446744073709", "18446744073709551615"),
            ("9007199255", "0"),
            ("-1", "0"),
        ] {
            assert_eq!(instant(reply(seconds, micros)), None, "{seconds} {micros}");
        }
        assert_eq!(instant(Value::Nil), None);
    }

    #[test]
    fn forgets_what_it_knew_when_a_clock_was_set() {
        let mut clock = ServerClock::default();
        clock.on_reply(1_000, 1_010, 3_600_001_005);
        clock.on_reply(2_000, 2_010, 2_005);
        assert_eq!(clock.at_server(5_000), Some(4_995));
    }

    #[test]
    fn learns_within_a_second_that_answers_have_become_slow() {
        let mut clock = ServerClock::default();
        // The clocks agree, and the way takes nothing, or a tenth of a second back.
        clock.on_reply(0, 0, 0);
        assert_eq!(clock.at_server(10_000_000), Some(10_000_000));
        for round in 1..=11 {
            clock.on_reply(round * 100_000, (round + 1) * 100_000, round * 100_000);
        }
        assert_eq!(clock.at_server(10_000_000), Some(9_900_000));
        // And at once that they are quick again.
        clock.on_reply(1_300_000, 1_300_010, 1_300_000);
        assert_eq!(clock.at_server(10_000_000), Some(9_999_990));
    }
}
