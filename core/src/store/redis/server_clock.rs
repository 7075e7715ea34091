//! What time it is at the server.

use crate::time::Micros;

/// How far the server's clock is ahead of this process's, as narrowly as the exchanges with it have shown.
///
/// A server that said `t` in an answer that was asked for at `sent` and read at `received` is ahead by something from
/// `t - received` to `t - sent`. Both bounds only ever narrow, until they contradict each other: then one of the
/// clocks was set, and the latest exchange is all that counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerClock(Option<Ahead>);

#[derive(Clone, Copy, Debug)]
struct Ahead {
    least: i64,
    most: i64,
}

impl ServerClock {
    /// Learns from one exchange.
    pub(super) fn hear(&mut self, sent: Micros, received: Micros, server: Micros) {
        let heard = Ahead { least: ahead(server, received), most: ahead(server, sent) };
        let narrowed =
            self.0.map(|known| Ahead { least: known.least.max(heard.least), most: known.most.min(heard.most) });
        self.0 = Some(narrowed.filter(|ahead| ahead.least <= ahead.most).unwrap_or(heard));
    }

    /// An instant of this process's clock as the server's clock shows it, or a little earlier, never later; unknown
    /// before the first exchange.
    pub(super) fn at_server(&self, local: Micros) -> Option<Micros> {
        self.0.map(|ahead| local.saturating_add_signed(ahead.least))
    }
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
            clock.hear(sent, received, at_server);
            assert!(clock.at_server(10_000).is_some_and(|instant| instant <= 10_500), "{clock:?}");
        }
        assert_eq!(clock.at_server(10_000), Some(10_490));
    }

    #[test]
    fn forgets_what_it_knew_when_a_clock_was_set() {
        let mut clock = ServerClock::default();
        clock.hear(1_000, 1_010, 3_600_001_005);
        clock.hear(2_000, 2_010, 2_005);
        assert_eq!(clock.at_server(5_000), Some(4_995));
    }
}
