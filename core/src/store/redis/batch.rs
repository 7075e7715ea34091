//! Decisions that travel together.

use std::fmt;

use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};

use super::link::{Exchanged, Message};
use super::plan::{Plan, plan};
use super::reply::{Outcome, finish};
use super::script::{SHA, SOURCE};
use super::server_clock::ServerClock;
use crate::clock;
use crate::failure::Failure;
use crate::time::Micros;

/// The decisions of one script call: in a cluster, those of one slot.
pub(super) struct Group {
    pub(super) messages: Vec<Message>,
    plan: Plan,
    asking: bool,
    /// The server did not know the script.
    pub(super) with_script: bool,
}

/// An answer that the script cannot have given.
#[derive(Debug)]
pub(super) struct Nonsense;

impl fmt::Display for Nonsense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script's answer makes no sense")
    }
}

impl Group {
    /// Groups what may share a script call: everything on a single server, one slot of a sharded one.
    pub(super) fn of(messages: impl Iterator<Item = Message>, sharded: bool, clock: &ServerClock) -> Vec<Self> {
        let mut grouped: Vec<(Option<(u16, bool)>, Vec<Message>)> = Vec::new();
        for message in messages {
            let place = sharded.then(|| (message.job.decision.slot(), message.asking));
            match grouped.iter_mut().find(|(known, _)| *known == place) {
                Some((_, together)) => together.push(message),
                None => grouped.push((place, vec![message])),
            }
        }
        let of_messages = |(place, messages): (Option<(u16, bool)>, Vec<Message>)| {
            let by = |message: &Message| clock.at_server(message.job.expires).unwrap_or(0);
            let plan = plan(messages.iter().map(|message| (&message.job.decision, by(message))));
            Self { messages, plan, asking: place.is_some_and(|(_, asking)| asking), with_script: false }
        };
        grouped.into_iter().map(of_messages).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    fn command(&self) -> Cmd {
        let Plan { keys, blob } = &self.plan;
        let mut command = Cmd::with_capacity(keys.len() + 4, blob.len() + keys.len() * 48 + 64);
        if self.with_script {
            command.arg("EVAL").arg(SOURCE);
        } else {
            command.arg("EVALSHA").arg(&*SHA);
        }
        command.arg(keys.len());
        for key in keys {
            command.arg(key.as_ref());
        }
        command.arg(&blob[..]);
        command
    }

    /// What the script said: the server's time, and what came of each decision.
    pub(super) fn finish(&self, reply: &Value) -> Result<(Option<Micros>, Vec<Outcome>), Nonsense> {
        finish(reply, self.messages.iter().map(|message| &message.job.decision)).map_err(|_| Nonsense)
    }

    pub(super) fn fail(self, fault: Failure) {
        for message in self.messages {
            message.job.finish(Err(fault));
        }
    }
}

/// One round trip.
pub(super) async fn exchange(mut connection: MultiplexedConnection, groups: Vec<Group>) -> Exchanged {
    let sent = clock::now();
    let replies = match &groups[..] {
        [group] if !group.asking => one(&mut connection, &group.command()).await,
        _ => several(&mut connection, &groups).await,
    };
    Exchanged { groups, replies, sent, received: clock::now() }
}

async fn one(connection: &mut MultiplexedConnection, command: &Cmd) -> RedisResult<Vec<RedisResult<Value>>> {
    match connection.req_packed_command(command).await.and_then(Value::extract_error) {
        Err(error) if is_lost(&error) => Err(error),
        reply => Ok(vec![reply]),
    }
}

async fn several(connection: &mut MultiplexedConnection, groups: &[Group]) -> RedisResult<Vec<RedisResult<Value>>> {
    let mut pipeline = Pipeline::with_capacity(groups.len());
    // Which of the replies is a group's.
    let mut places = Vec::with_capacity(groups.len());
    for group in groups {
        if group.asking {
            pipeline.cmd("ASKING");
        }
        places.push(pipeline.len());
        pipeline.add_command(group.command());
    }
    let mut replies = connection.req_packed_commands(&pipeline, 0, pipeline.len()).await?;
    let reply_of =
        |place: usize| replies.get_mut(place).map_or(Value::Nil, |reply| std::mem::replace(reply, Value::Nil));
    Ok(places.into_iter().map(reply_of).map(Value::extract_error).collect())
}

/// Whether the connection is of no use any more.
fn is_lost(error: &RedisError) -> bool {
    error.is_unrecoverable_error() || error.is_io_error()
}
