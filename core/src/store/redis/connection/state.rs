//! The connection to one server: being made, up, or resting.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;

use redis::RedisResult;
use tokio::time::{Instant, sleep_until};

use super::dial::Transport;
use super::handshake::Handshake;
use crate::time::Micros;

pub(super) type Connecting = Pin<Box<dyn Future<Output = RedisResult<Connected>> + Send>>;

/// A connection that has just answered.
pub(crate) struct Connected {
    pub(crate) connection: Transport,
    /// The time that the server reported, between two instants of this process.
    pub(crate) heard: Option<(Micros, Micros, Micros)>,
    pub(crate) said: Handshake,
}

pub(super) enum ConnectionState {
    Down,
    Connecting(Connecting),
    Up(Transport),
    /// Failed; not to be tried again before this instant.
    Resting(Instant),
}

/// A change of a connection that was not asked for.
pub(super) enum Progress {
    /// A connection or an error.
    Connected(RedisResult<Connected>),
    /// It has rested, and is to be made anew.
    Rested,
    /// The server has closed it.
    Closed,
}

impl ConnectionState {
    pub(super) async fn progress(&mut self) -> Progress {
        match self {
            Self::Down => pending().await,
            Self::Connecting(connecting) => Progress::Connected(connecting.await),
            Self::Up(connection) => {
                poll_fn(|context| connection.poll_closed(context)).await;
                Progress::Closed
            }
            Self::Resting(until) => {
                sleep_until(*until).await;
                Progress::Rested
            }
        }
    }
}
