//! The server that a connection goes to, and the way to connect to it.

use std::fmt;
use std::sync::Arc;

use futures_util::future::select_ok;
use redis::RedisResult;
use redis::aio::ConnectionLike as _;
use redis::{ErrorKind, Pipeline, RedisError};

use super::address::{Host, Target};
use crate::clock;
use crate::store::redis::connection::dial::{FEW, open};
use crate::store::redis::connection::handshake::Handshake;
use crate::store::redis::connection::state::Connected;

/// A server, or the server that the sentinels name as the primary.
#[derive(Clone)]
pub(crate) struct Endpoint(Arc<Inner>);

struct Inner {
    kind: Kind,
    /// The first commands on a new connection.
    handshake: Pipeline,
}

enum Kind {
    Server(Target),
    Primary {
        sentinels: Vec<Target>,
        service: String,
        template: Target,
    },
    /// One node of a cluster.
    Node(Target),
}

impl Endpoint {
    pub(crate) fn server(target: Target, handshake: Pipeline) -> Self {
        Self(Arc::new(Inner { kind: Kind::Server(target), handshake }))
    }

    pub(crate) fn primary(sentinels: Vec<Target>, service: String, template: Target, handshake: Pipeline) -> Self {
        Self(Arc::new(Inner { kind: Kind::Primary { sentinels, service, template }, handshake }))
    }

    pub(crate) fn node(target: Target, handshake: Pipeline) -> Self {
        Self(Arc::new(Inner { kind: Kind::Node(target), handshake }))
    }

    /// Decisions about different slots cannot share a script call there.
    pub(crate) fn is_sharded(&self) -> bool {
        matches!(self.0.kind, Kind::Node(_))
    }

    /// The host that it leads to, where that is one.
    pub(crate) fn host(&self) -> String {
        match &self.0.kind {
            Kind::Server(target) | Kind::Node(target) | Kind::Primary { template: target, .. } => match &target.host {
                Host::Tcp(host, _) => host.clone(),
                Host::Unix(_) => String::new(),
            },
        }
    }

    /// The reason why a connection has had no answer in time.
    pub(crate) fn silence(&self) -> &'static str {
        match &self.0.kind {
            Kind::Server(target) | Kind::Node(target) | Kind::Primary { template: target, .. } => target.silence(),
        }
    }

    /// A connection to a server that decides.
    pub(crate) async fn connect(&self) -> RedisResult<Connected> {
        match &self.0.kind {
            Kind::Server(target) | Kind::Node(target) => self.handshake(target).await,
            Kind::Primary { sentinels, service, template } => {
                let asked = sentinels.iter().map(|sentinel| Box::pin(ask_sentinel(sentinel, service)));
                let ((host, port), _) = select_ok(asked).await?;
                self.handshake(&template.at(&host, port)).await
            }
        }
    }

    /// The host and port of a server that may turn out to be a node of a cluster; none for a socket, which has no other
    /// hosts.
    pub(crate) fn seed(target: &Target) -> Option<(String, u16)> {
        match &target.host {
            Host::Tcp(host, port) => Some((host.clone(), *port)),
            Host::Unix(_) => None,
        }
    }

    /// Opens a connection, and checks that the server can decide.
    async fn handshake(&self, target: &Target) -> RedisResult<Connected> {
        let handshake = &self.0.handshake;
        let mut connection = open(target, FEW).await?;
        let sent = clock::now();
        let replies = match connection.wire.req_packed_commands(handshake, 0, handshake.len()).await {
            Ok(replies) => replies,
            Err(error) => return Err(complaint(target).await.unwrap_or_else(|| connection.complaint(error))),
        };
        let received = clock::now();
        let said = Handshake::read(&replies)?;
        let heard = said.time.map(|time| (sent, received, time));
        Ok(Connected { connection, heard, said })
    }
}

/// The error of a server that hung up. A server that rejects the login reads no command as long as the script, and
/// reports why only after a short one.
async fn complaint(target: &Target) -> Option<RedisError> {
    let mut connection = open(target, FEW).await.ok()?;
    let answer: RedisResult<String> = redis::cmd("PING").query_async(&mut connection.wire).await;
    answer.err().map(|error| connection.complaint(error)).filter(|error| !error.is_io_error())
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Server(target) | Kind::Node(target) => write!(f, "{}", target.host),
            Kind::Primary { service, .. } => write!(f, "the primary of {service}"),
        }
    }
}

async fn ask_sentinel(sentinel: &Target, service: &str) -> RedisResult<(String, u16)> {
    let mut connection = open(sentinel, FEW).await?;
    let mut question = redis::cmd("SENTINEL");
    question.arg("GET-MASTER-ADDR-BY-NAME").arg(service);
    let found = question.query_async(&mut connection.wire).await;
    let found: Option<(String, u16)> = found.map_err(|error| connection.complaint(error))?;
    found.ok_or_else(|| RedisError::from((ErrorKind::MasterNameNotFoundBySentinel, "no such service")))
}
