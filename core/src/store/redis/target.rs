//! Where a link leads, and how it gets there.

use std::fmt;
use std::sync::Arc;

use futures_util::future::select_ok;
use redis::RedisResult;
use redis::aio::ConnectionLike as _;
use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, Pipeline, RedisError};

use super::dial::{Connection, FEW, open};
use super::line::Connected;
use super::remedy::Remedy;
use crate::clock;
use crate::failure::Failure;

/// A server, or whatever server the sentinels say is the primary.
#[derive(Clone)]
pub(super) struct Target(Arc<Way>);

struct Way {
    place: Place,
    /// What a server is asked first.
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

impl Target {
    pub(super) fn server(info: ConnectionInfo, greeting: Pipeline) -> Self {
        Self(Arc::new(Way { place: Place::Server(info), greeting }))
    }

    pub(super) fn primary(
        sentinels: Vec<ConnectionInfo>,
        service: String,
        template: ConnectionInfo,
        greeting: Pipeline,
    ) -> Self {
        Self(Arc::new(Way { place: Place::Primary { sentinels, service, template }, greeting }))
    }

    pub(super) fn node(info: ConnectionInfo, greeting: Pipeline) -> Self {
        Self(Arc::new(Way { place: Place::Node(info), greeting }))
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
            Place::Server(info) | Place::Node(info) => self.greet(open(info, FEW).await?).await,
            Place::Primary { sentinels, service, template } => {
                let asked = sentinels.iter().map(|sentinel| Box::pin(ask_sentinel(sentinel, service)));
                let ((host, port), _) = select_ok(asked).await?;
                self.greet(open(&at(template, &host, port), FEW).await?).await
            }
        }
    }

    /// Sees whether the server is of use, and prepares it.
    async fn greet(&self, mut connection: Connection) -> RedisResult<Connected> {
        let greeting = &self.0.greeting;
        let sent = clock::now();
        let replies = connection.wire.req_packed_commands(greeting, 0, greeting.len()).await?;
        let received = clock::now();
        let [.., probed, policy, time] = &replies[..] else { return Err(nonsense("a greeting")) };
        let (probed, policy, time) = (probed.clone(), policy.clone(), time.clone());
        if let Err(error) = probed.extract_error()
            // Of anything else each call will be told for itself; a node that has another slot's keys is as well as any.
            && let Remedy::GiveUp(Failure::NotReady | Failure::ReadOnly | Failure::Unreachable) = Remedy::of(&error)
        {
            return Err(error);
        }
        let heard = redis::from_redis_value::<(u64, u64)>(time).ok();
        let heard = heard.map(|(seconds, micros)| (sent, received, seconds * 1_000_000 + micros));
        // Not everybody may ask for this.
        let policy = redis::from_redis_value::<Vec<String>>(policy).unwrap_or_default();
        let evicts_at_random = policy.last().is_some_and(|policy| policy.ends_with("-random"));
        Ok(Connected { connection, heard, evicts_at_random })
    }
}

impl fmt::Display for Target {
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

pub(super) fn nonsense(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, "unexpected reply to", what.to_owned()))
}
