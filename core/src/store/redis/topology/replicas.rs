//! Waiting until replicas have what was decided.
//!
//! `WAIT` is sent right behind the decisions of a batch. Their answers come first; those that charged nothing are
//! delivered at once, the others are held until enough replicas have acknowledged all that this connection has written.
//! If that takes longer than a caller waits, the charge stays, and the policy answers.

use std::future::{Future, ready};
use std::pin::{Pin, pin};

use futures_util::future::{Either, select};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisResult, from_redis_value};
use tokio::time::Instant;

use crate::decision::Verb;
use crate::store::redis::connection::dial::Transport;
use crate::store::redis::connection::group_reply::Pending;
use crate::store::redis::connection::message::Message;
use crate::store::redis::connection::underway::{Underway, last};
use crate::store::redis::context::Context;
use crate::store::remote::{Reply, Request};

/// The number of replicas that have acknowledged, once that is known.
pub(crate) type Acknowledgement = Pin<Box<dyn Future<Output = RedisResult<u32>> + Send>>;

/// So many replicas have to acknowledge a batch.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    replicas: u32,
    /// No caller waits for longer.
    until: Instant,
}

impl Wait {
    /// The acknowledgement that these decisions need; none if they write nothing or are not to wait.
    pub(crate) fn of<'a>(mut messages: impl Iterator<Item = &'a Message>, context: &Context) -> Option<Self> {
        let replicas = context.replicas();
        let writes = |message: &Message| message.job.request.verb != Verb::Peek;
        // The latest of them has just come, and no other waits for longer than it does.
        (replicas > 0 && messages.any(writes)).then(|| Self { replicas, until: Instant::now() + context.timeout() })
    }

    pub(crate) fn send(self, mut connection: MultiplexedConnection) -> Acknowledgement {
        let command = wait(self.replicas, self.until);
        Box::pin(async move {
            let reply = connection.req_packed_command(&command).await?.extract_error()?;
            Ok(from_redis_value(reply)?)
        })
    }
}

/// The command. A server checks its clock when it has something to do, or ten times a second. So with replicas missing
/// this may take that much longer, and no deadline depends on it.
fn wait(replicas: u32, until: Instant) -> Cmd {
    let left = until.saturating_duration_since(Instant::now()).as_millis();
    let mut command = Cmd::with_capacity(3, 32);
    // 0 would be for ever.
    command.arg("WAIT").arg(replicas).arg(u64::try_from(left).unwrap_or(u64::MAX).max(1));
    command
}

/// Sends one request right behind another, in the same round trip; what the first was answered, and what the second
/// will be.
pub(crate) async fn right_behind<T>(first: impl Future<Output = T>, second: Acknowledgement) -> (T, Acknowledgement) {
    match select(pin!(first), second).await {
        Either::Left(both) => both,
        Either::Right((second, first)) => (first.await, Box::pin(ready(second))),
    }
}

/// The decisions that were held, and the number of replicas that have them.
pub(crate) struct Acknowledged {
    pub(crate) held: Vec<Pending>,
    pub(crate) replicas: RedisResult<u32>,
}

/// Decisions that are held until replicas have acknowledged them.
pub(crate) type Holding = Underway<Acknowledged>;

pub(crate) fn hold(
    held: Vec<Pending>,
    connection: &Transport,
    number: u64,
    acknowledgement: Acknowledgement,
) -> Holding {
    let connection = connection.clone();
    let until = last(held.iter().map(Pending::deadline));
    Underway::new(until, number, 0, async move {
        let replicas = acknowledgement.await;
        // Until here it has to stay open.
        drop(connection);
        Acknowledged { held, replicas }
    })
}

/// True if a decision changed an entry: peeks and most denials do not, and no failover can lose them.
pub(crate) fn is_charged(request: &Request, outcome: &Reply) -> bool {
    let Reply::Decided { infos, .. } = outcome else { return false };
    match request.verb {
        Verb::Peek => false,
        Verb::Limit | Verb::Acquire { .. } => {
            !infos.iter().any(|info| info.blocked)
                || request
                    .parts
                    .iter()
                    .any(|part| part.observed.is_some() || part.block().is_some() || part.rule.counts_blocked())
        }
        // What is given back of a receipt that is used up already.
        Verb::Charge | Verb::Refund | Verb::Undo { .. } | Verb::Renew { .. } | Verb::Denied => {
            request.parts.iter().any(|part| part.cost != part.spent)
        }
        Verb::Observe { .. } | Verb::Block { .. } | Verb::Reset => true,
    }
}
