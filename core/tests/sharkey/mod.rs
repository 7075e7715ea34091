//! The work of `SkRateLimiterService` on its two keys, transaction by transaction, as a test needs it: it limits by one.

use std::time::{SystemTime, UNIX_EPOCH};

/// A node that limits one bucket which loses one unit at each drip.
pub(crate) struct Sharkey {
    connection: redis::Connection,
    counter: String,
    tick: String,
    size: i64,
    rate: i64,
}

/// A number under a key, 0 where there is none.
type Number = Option<i64>;

impl Sharkey {
    pub(crate) fn new(connection: redis::Connection, name: &str, size: i64, rate: i64) -> Self {
        Self { connection, counter: format!("{name}_c"), tick: format!("{name}_t"), size, rate }
    }

    fn transaction<T: redis::FromRedisValue>(&mut self, commands: &[&[&str]]) -> T {
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        for command in commands {
            pipeline.cmd(command[0]).arg(&command[1..]);
        }
        pipeline.query(&mut self.connection).expect("a transaction")
    }

    /// Admits a call or not: read, drip, take the drip back if somebody else has dripped, check, add.
    pub(crate) fn limit(&mut self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch").as_millis();
        let now = i64::try_from(now).expect("a few more years");
        let (counter, tick) = (&*self.counter.clone(), &*self.tick.clone());
        let ends = ((self.size * self.rate + 999) / 1000).max(1).to_string();

        let (used, since): (Number, Number) = self.transaction(&[&["GET", counter], &["GET", tick]]);
        let (mut used, mut since) = (used.unwrap_or(0), since.unwrap_or(0));

        let drips = (now - since) / self.rate;
        let drained = drips.min(used);
        if drained > 0 {
            let (moved, less) = (&*(drips * self.rate).to_string(), &*drained.to_string());
            let done: (Number, i64, i64, i64, i64) = self.transaction(&[
                &["GET", tick],
                &["INCRBY", tick, moved],
                &["EXPIRE", tick, &ends],
                &["DECRBY", counter, less],
                &["EXPIRE", counter, &ends],
            ]);
            let canary = done.0.unwrap_or(0);
            let expected = std::mem::replace(&mut since, done.1);
            used = done.3;
            if canary != expected {
                (since, used) = self.transaction(&[&["DECRBY", tick, moved], &["INCRBY", counter, less]]);
            }
        }

        if used >= self.size {
            return false;
        }
        if since == 0 {
            let now = &*now.to_string();
            self.transaction::<redis::Value>(&[&["SET", tick, now], &["EXPIRE", tick, &ends]]);
        }
        let add: [&[&str]; 2] = [&["INCR", counter], &["EXPIRE", counter, &ends]];
        self.transaction::<redis::Value>(&add);
        true
    }
}
