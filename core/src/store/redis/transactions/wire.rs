//! Commands between MULTI and EXEC, and the numbers that come back.

use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Pipeline, RedisResult, ToRedisArgs, Value};

use crate::store::redis::connection::error_action::nonsense;
use crate::store::redis::connection::server_clock;
use crate::time::EXACT;

/// The largest number that is not [foreign](Kept::Foreign).
const LARGEST: i64 = EXACT.cast_signed();

/// Commands that a server does one right after the other, or none of them.
pub(super) struct Transaction {
    pipeline: Pipeline,
    commands: usize,
}

impl Transaction {
    pub(super) fn begin() -> Self {
        let mut pipeline = Pipeline::new();
        pipeline.cmd("MULTI");
        Self { pipeline, commands: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands == 0
    }

    /// Adds a command, and says which of the replies will be its own.
    fn add(&mut self, name: &str) -> usize {
        self.pipeline.cmd(name);
        self.commands += 1;
        self.commands - 1
    }

    pub(super) fn time(&mut self) -> usize {
        self.add("TIME")
    }

    pub(super) fn get(&mut self, key: &[u8]) -> usize {
        let place = self.add("GET");
        self.pipeline.arg(key);
        place
    }

    /// Adds to a number, or takes from it.
    pub(super) fn change(&mut self, key: &[u8], by: i64) -> usize {
        let place = self.add(if by < 0 { "DECRBY" } else { "INCRBY" });
        self.pipeline.arg(key).arg(by.unsigned_abs());
        place
    }

    pub(super) fn expire(&mut self, key: &[u8], seconds: u64) {
        self.add("EXPIRE");
        self.pipeline.arg(key).arg(seconds);
    }

    /// Sets a number always, or only if the key is absent.
    pub(super) fn set(&mut self, key: &[u8], number: impl ToRedisArgs, seconds: u64, only_if_absent: bool) {
        self.add("SET");
        self.pipeline.arg(key).arg(number).arg("EX").arg(seconds);
        if only_if_absent {
            self.pipeline.arg("NX");
        }
    }

    /// One round trip.
    pub(super) async fn send(mut self, connection: &mut MultiplexedConnection) -> RedisResult<Replies> {
        self.pipeline.cmd("EXEC");
        let mut replies = connection.req_packed_commands(&self.pipeline, 0, self.pipeline.len()).await?;
        let done = replies.pop();
        // A command that was refused says why; the end only says that one was.
        for reply in replies {
            reply.extract_error()?;
        }
        match done {
            Some(Value::Array(values)) if values.len() == self.commands => Ok(Replies(values)),
            Some(Value::ServerError(error)) => Err(error.into()),
            _ => Err(nonsense("a transaction")),
        }
    }
}

/// The replies to the commands of a transaction.
pub(super) struct Replies(Vec<Value>);

impl Replies {
    /// The value of a key that was read.
    pub(super) fn kept(&self, place: usize) -> RedisResult<Kept> {
        match self.0.get(place) {
            Some(Value::Nil) => Ok(Kept::Nothing),
            Some(Value::BulkString(text)) => Ok(Kept::read(text)),
            Some(Value::ServerError(error)) if error.code() == "WRONGTYPE" => Ok(Kept::Foreign),
            other => Err(self.unexpected(other)),
        }
    }

    /// The value of a number after a change, or the nearest that a rate limiter can have written: another program may
    /// have set it since it was read.
    pub(super) fn number(&self, place: usize) -> RedisResult<i64> {
        match self.0.get(place) {
            Some(Value::Int(number)) => Ok((*number).clamp(-LARGEST, LARGEST)),
            other => Err(self.unexpected(other)),
        }
    }

    /// The server's clock, in microseconds.
    pub(super) fn time(&self, place: usize) -> RedisResult<u64> {
        let value = self.0.get(place).cloned().unwrap_or(Value::Nil);
        server_clock::instant(value).ok_or_else(|| nonsense("TIME"))
    }

    /// Checks that no command failed.
    pub(super) fn all_well(&self) -> RedisResult<()> {
        self.0.iter().try_for_each(|reply| reply.clone().extract_error().map(drop))
    }

    #[expect(clippy::unused_self, reason = "it is said of a reply")]
    fn unexpected(&self, value: Option<&Value>) -> redis::RedisError {
        match value {
            Some(Value::ServerError(error)) => error.clone().into(),
            _ => nonsense("a command"),
        }
    }
}

/// The value of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kept {
    #[default]
    Nothing,
    Number(i64),
    /// A value that no rate limiter has written.
    Foreign,
}

impl Kept {
    fn read(text: &[u8]) -> Self {
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
        match number {
            Some(number) if (-LARGEST..=LARGEST).contains(&number) => Self::Number(number),
            _ => Self::Foreign,
        }
    }

    pub(super) fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_out_of_bounds_whoever_wrote_it() {
        let numbers = [0, 7, -7, LARGEST, -LARGEST, LARGEST + 1, i64::MAX, i64::MIN];
        let replies = Replies(numbers.map(Value::Int).to_vec());
        let read: Vec<i64> = (0..numbers.len()).map(|place| replies.number(place).expect("a number")).collect();
        assert_eq!(read, [0, 7, -7, LARGEST, -LARGEST, LARGEST, LARGEST, -LARGEST]);
        assert_eq!(Kept::read(LARGEST.to_string().as_bytes()), Kept::Number(LARGEST));
        assert_eq!(Kept::read((LARGEST + 1).to_string().as_bytes()), Kept::Foreign);
        assert_eq!(Kept::read(b"-9223372036854775808"), Kept::Foreign);
    }
}
