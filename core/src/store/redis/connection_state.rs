//! The connection to one server: being made, up, or resting.

use std::future::{Future, pending};
use std::pin::Pin;

use redis::RedisResult;
use tokio::time::{Instant, sleep_until};

use super::dial::Transport;
use super::greeting::Said;
use crate::time::Micros;

pub(super) type Connecting = Pin<Box<dyn Future<Output = RedisResult<Connected>> + Send>>;

/// A connection that has just answered.
pub(super) struct Connected {
    pub(super) connection: Transport,
    /// The time that the server reported, between two instants of this process.
    pub(super) heard: Option<(Micros, Micros, Micros)>,
    pub(super) said: Said,
}

pub(super) enum ConnectionState {
    Down,
    Connecting(Connecting),
    Up(Transport),
    /// Failed; not to be tried again before this instant.
    Resting(Instant),
}

impl ConnectionState {
    /// A connection or an error; none when it is time to try again.
    pub(super) async fn progress(&mut self) -> Option<RedisResult<Connected>> {
        match self {
            Self::Connecting(connecting) => Some(connecting.await),
            Self::Resting(until) => {
                sleep_until(*until).await;
                None
            }
            Self::Down | Self::Up(_) => pending().await,
        }
    }
}
