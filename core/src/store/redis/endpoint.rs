//! The server that a connection goes to, and the way to connect to it.

use std::fmt;
use std::sync::Arc;

use futures_util::future::select_ok;
use redis::RedisResult;
use redis::aio::ConnectionLike as _;
use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, Pipeline, RedisError};

use super::connection_state::Connected;
use super::dial::{FEW, open};
use super::greeting::Said;
use crate::clock;

/// A server, or the server that the sentinels name as the primary.
#[derive(Clone)]
pub(super) struct Endpoint(Arc<Inner>);

struct Inner {
    place: Place,
    /// The first commands on a new connection.
    greeting: Pipeline,
}

enum Place {
    Server(ConnectionInfo),
    Primary {
        sentinels: Vec<ConnectionInfo>,
        service: String,
        template: ConnectionInfo,
    },
    /// One node of a cluster.
    Node(ConnectionInfo),
}

impl Endpoint {
    pub(super) fn server(info: ConnectionInfo, greeting: Pipeline) -> Self {
        Self(Arc::new(Inner { place: Place::Server(info), greeting }))
    }

    pub(super) fn primary(
        sentinels: Vec<ConnectionInfo>,
        service: String,
        template: ConnectionInfo,
        greeting: Pipeline,
    ) -> Self {
        Self(Arc::new(Inner { place: Place::Primary { sentinels, service, template }, greeting }))
    }

    pub(super) fn node(info: ConnectionInfo, greeting: Pipeline) -> Self {
        Self(Arc::new(Inner { place: Place::Node(info), greeting }))
    }

    /// Decisions about different slots cannot share a script call there.
    pub(super) fn is_sharded(&self) -> bool {
        matches!(self.0.place, Place::Node(_))
    }

    /// The host that it leads to, where that is one.
    pub(super) fn host(&self) -> String {
        match &self.0.place {
            Place::Server(info) | Place::Node(info) | Place::Primary { template: info, .. } => match info.addr() {
                ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.clone(),
                _ => String::new(),
            },
        }
    }

    /// A connection to a server that decides.
    pub(super) async fn connect(&self) -> RedisResult<Connected> {
        match &self.0.place {
            Place::Server(info) | Place::Node(info) => self.handshake(info).await,
            Place::Primary { sentinels, service, template } => {
                let asked = sentinels.iter().map(|sentinel| Box::pin(ask_sentinel(sentinel, service)));
                let ((host, port), _) = select_ok(asked).await?;
                self.handshake(&at(template, &host, port)).await
            }
        }
    }

    /// The host and port of a server that may turn out to be a node of a cluster; none for a socket, which has no other
    /// hosts.
    pub(super) fn seed(info: &ConnectionInfo) -> Option<(String, u16)> {
        match info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => Some((host.clone(), *port)),
            _ => None,
        }
    }

    /// Opens a connection, and checks that the server can decide.
    async fn handshake(&self, info: &ConnectionInfo) -> RedisResult<Connected> {
        let greeting = &self.0.greeting;
        let mut connection = open(info, FEW).await?;
        let sent = clock::now();
        let replies = match connection.wire.req_packed_commands(greeting, 0, greeting.len()).await {
            Ok(replies) => replies,
            Err(error) => return Err(complaint(info).await.unwrap_or(error)),
        };
        let received = clock::now();
        let said = Said::read(&replies)?;
        let heard = said.time.map(|time| (sent, received, time));
        Ok(Connected { connection, heard, said })
    }
}

/// The error of a server that hung up. A server that rejects the login reads no command as long as the script, and
/// reports why only after a short one.
async fn complaint(info: &ConnectionInfo) -> Option<RedisError> {
    let mut connection = open(info, FEW).await.ok()?;
    let answer: RedisResult<String> = redis::cmd("PING").query_async(&mut connection.wire).await;
    answer.err().filter(|error| !error.is_io_error())
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.place {
            Place::Server(info) | Place::Node(info) => write!(f, "{}", info.addr()),
            Place::Primary { service, .. } => write!(f, "the primary of {service}"),
        }
    }
}

/// The same way of connecting to another host and port.
pub(super) fn at(template: &ConnectionInfo, host: &str, port: u16) -> ConnectionInfo {
    let addr = match template.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host: host.to_owned(), port, insecure: *insecure, tls_params: tls_params.clone() }
        }
        _ => ConnectionAddr::Tcp(host.to_owned(), port),
    };
    template.clone().set_addr(addr)
}

async fn ask_sentinel(sentinel: &ConnectionInfo, service: &str) -> RedisResult<(String, u16)> {
    let mut connection = open(sentinel, FEW).await?;
    let mut question = redis::cmd("SENTINEL");
    question.arg("GET-MASTER-ADDR-BY-NAME").arg(service);
    let found: Option<(String, u16)> = question.query_async(&mut connection.wire).await?;
    found.ok_or_else(|| RedisError::from((ErrorKind::MasterNameNotFoundBySentinel, "no such service")))
}
