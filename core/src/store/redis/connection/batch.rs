//! Decisions that travel together.

use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};

use super::dial::Transport;
use super::error_action::nonsense;
use super::group_reply::GroupReply;
use super::message::Message;
use super::server_clock::ServerClock;
use super::underway::{Underway, last};
use crate::clock;
use crate::failure::Failure;
use crate::store::redis::context::Context;
use crate::store::redis::protocol::decode::decode;
use crate::store::redis::protocol::encode::{ScriptCall, encode};
use crate::store::redis::protocol::keys::slot_of;
use crate::store::redis::protocol::layout::Strategy;
use crate::store::redis::topology::replicas::{Acknowledgement, Wait, right_behind};
use crate::store::redis::transactions;
use crate::time::Micros;

/// The slot of a message in a sharded server, and true where the server is asked for this once only.
type Route = Option<(u16, bool)>;

/// The decisions of one script call, in a cluster those of one slot; or of a round of transactions.
pub(super) struct Group {
    pub(crate) messages: Vec<Message>,
    call: ScriptCall,
    asking: bool,
    /// The server did not know the script.
    pub(crate) with_script: bool,
}

/// The replies to a batch.
pub(super) struct BatchReply {
    pub(super) groups: Vec<Group>,
    pub(crate) decided: RedisResult<Vec<RedisResult<GroupReply>>>,
    pub(crate) sent: Micros,
    pub(crate) received: Micros,
    /// Present if something has to wait for replicas.
    pub(crate) acknowledgement: Option<Acknowledgement>,
    pub(crate) connection: Transport,
}

impl BatchReply {
    /// True if the server has decided everything.
    pub(crate) fn is_well(&self) -> bool {
        self.decided.as_ref().is_ok_and(|decided| decided.iter().all(Result::is_ok))
    }
}

/// Bytes that a reply may take for each check: the longest state is 255 pairs of numbers. A decision that takes several
/// round trips has as many replies.
const OF_A_PART: u64 = 16 * 1024;

/// Decisions on their way together.
pub(super) type Batch = Underway<BatchReply>;

/// Sends decisions over this connection or an earlier one of its task.
pub(crate) fn send(connection: Transport, number: u64, groups: Vec<Group>, context: &Context) -> Batch {
    let messages = || groups.iter().flat_map(|group| &group.messages);
    let wait = Wait::of(messages(), context);
    let parts = messages().map(|message| message.job.request.parts.len() + 1).sum::<usize>();
    let weight = u64::try_from(parts).unwrap_or(u64::MAX).saturating_mul(OF_A_PART);
    connection.allow(weight);
    let until = last(messages().map(|message| message.job.deadline));
    Underway::new(until, number, weight, exchange(connection, groups, context.strategy(), wait))
}

impl Group {
    /// Groups what may share a script call: everything on a single server, one slot of a sharded one.
    pub(crate) fn of(
        messages: impl Iterator<Item = Message>,
        context: &Context,
        sharded: bool,
        clock_of_server: &ServerClock,
    ) -> Vec<Self> {
        let mut grouped: Vec<(Route, Vec<Message>)> = Vec::new();
        for message in messages {
            let route = sharded.then(|| (slot_of(&message.job.request), message.asking));
            match grouped.iter_mut().find(|(known, _)| *known == route) {
                Some((_, together)) => together.push(message),
                None => grouped.push((route, vec![message])),
            }
        }
        let of_messages = |(route, messages): (Route, Vec<Message>)| {
            let by = |message: &Message| clock_of_server.at_server(message.job.expires).unwrap_or(0);
            let requests = messages.iter().map(|message| (message.job.request(), by(message)));
            let call = match context.strategy() {
                Strategy::Script => {
                    let now = clock::now();
                    encode(requests, context.layout(), clock_of_server.at_server(now).unwrap_or(now))
                }
                Strategy::Transactions => ScriptCall::default(),
            };
            Self { messages, call, asking: route.is_some_and(|(_, asking)| asking), with_script: false }
        };
        grouped.into_iter().map(of_messages).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Of a sharded server, where these belong.
    pub(crate) fn slot(&self) -> Option<u16> {
        self.messages.first().map(|message| slot_of(&message.job.request))
    }

    fn command(&self) -> Cmd {
        self.call.command(self.with_script)
    }

    fn decode(&self, reply: Value) -> RedisResult<GroupReply> {
        let reply = reply.extract_error()?;
        let requests = self.messages.iter().map(|message| message.job.request());
        let (server, outcomes) = decode(&reply, requests).map_err(|_| nonsense("the script"))?;
        Ok(GroupReply { server, outcomes, held: Vec::new(), undone: Vec::new() })
    }

    pub(crate) fn fail(self, failure: Failure) {
        for message in self.messages {
            message.job.finish(Err(failure));
        }
    }
}

/// One round trip, or as many as the strategy takes.
async fn exchange(connection: Transport, groups: Vec<Group>, strategy: Strategy, wait: Option<Wait>) -> BatchReply {
    let sent = clock::now();
    let mut wire = connection.wire.clone();
    let (decided, acknowledgement) = match (wait, strategy) {
        (None, _) => (decide(&mut wire, &groups, strategy, false).await, None),
        (Some(wait), Strategy::Script) => {
            let acknowledgement = wait.send(wire.clone());
            let decided = decide(&mut wire, &groups, strategy, true);
            let (decided, acknowledgement) = right_behind(decided, acknowledgement).await;
            (decided, Some(acknowledgement))
        }
        (Some(wait), Strategy::Transactions) => {
            let decided = decide(&mut wire, &groups, strategy, true).await;
            (decided, Some(wait.send(wire.clone())))
        }
    };
    BatchReply { groups, decided, sent, received: clock::now(), acknowledgement, connection }
}

async fn decide(
    connection: &mut MultiplexedConnection,
    groups: &[Group],
    strategy: Strategy,
    holds: bool,
) -> RedisResult<Vec<RedisResult<GroupReply>>> {
    match (groups, strategy) {
        ([group], Strategy::Transactions) => one(transactions::decide(connection, &group.messages, holds).await),
        ([group], Strategy::Script) if !group.asking => {
            let reply = connection.req_packed_command(&group.command()).await;
            one(reply.and_then(|reply| group.decode(reply)))
        }
        _ => several(connection, groups).await,
    }
}

fn one(decided: RedisResult<GroupReply>) -> RedisResult<Vec<RedisResult<GroupReply>>> {
    match decided {
        Err(error) if is_lost(&error) => Err(error),
        decided => Ok(vec![decided]),
    }
}

async fn several(
    connection: &mut MultiplexedConnection,
    groups: &[Group],
) -> RedisResult<Vec<RedisResult<GroupReply>>> {
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
    Ok(groups.iter().zip(places.into_iter().map(reply_of)).map(|(group, reply)| group.decode(reply)).collect())
}

/// True if the connection is of no use any more.
pub(super) fn is_lost(error: &RedisError) -> bool {
    error.is_unrecoverable_error() || error.is_io_error()
}
