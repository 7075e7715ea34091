//! The address of a store: a server, a primary that sentinels know, or a cluster.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use redis::{ProtocolVersion, RedisConnectionInfo};

use super::url::{Login, Node, Servers, StoreUrl};
use crate::error::LimitError;
use crate::store::redis::connection::tls::Tls;

/// The place of one server.
#[derive(Clone)]
pub(crate) enum Host {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// One server, and the settings of a connection to it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) host: Host,
    pub(crate) tls: Option<Arc<Tls>>,
    /// The login, the database and the protocol.
    pub(crate) session: RedisConnectionInfo,
}

impl Target {
    /// The reason why no answer has come in time.
    pub(crate) fn silence(&self) -> &'static str {
        self.tls.as_ref().and_then(|tls| tls.silence()).unwrap_or("no answer in time")
    }

    /// The same way of connecting to another host and port.
    pub(crate) fn at(&self, host: &str, port: u16) -> Self {
        Self { host: Host::Tcp(host.to_owned(), port), ..self.clone() }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The address of a store, and the settings of connections to it.
#[derive(Clone)]
pub(crate) enum Address {
    Server(Box<Target>),
    /// `template` has the credentials of the primary.
    Sentinels {
        sentinels: Vec<Target>,
        service: String,
        template: Box<Target>,
    },
    Cluster {
        seeds: Vec<Node>,
        template: Box<Target>,
    },
}

impl Address {
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster { .. })
    }

    pub(crate) fn of(url: &StoreUrl) -> Result<Self, LimitError> {
        let session = RedisConnectionInfo::default().set_db(url.database).set_skip_set_lib_name();
        let session = session.set_protocol(if url.resp3 { ProtocolVersion::RESP3 } else { ProtocolVersion::RESP2 });
        let session = with_login(session, &url.login);
        let tls = tls_of(url)?;
        let target = |host: &str, port| {
            let host = Host::Tcp(host.to_owned(), port);
            Box::new(Target { host, tls: tls.clone(), session: session.clone() })
        };
        Ok(match &url.servers {
            Servers::Server((host, port)) => Self::Server(target(host, *port)),
            Servers::Socket(path) => Self::Server(Box::new(Target { host: Host::Unix(path.into()), tls, session })),
            Servers::Cluster(seeds) => Self::Cluster { seeds: seeds.clone(), template: target("node", 0) },
            Servers::Sentinels { sentinels, service } => {
                let template = target("primary", 0);
                let login = RedisConnectionInfo::default().set_skip_set_lib_name();
                let asked = Target { session: with_login(login, &url.sentinel_login), ..(*template).clone() };
                let sentinels = sentinels.iter().map(|(host, port)| asked.at(host, *port)).collect();
                Self::Sentinels { sentinels, service: service.clone(), template }
            }
        })
    }
}

fn with_login(mut redis: RedisConnectionInfo, Login { username, password }: &Login) -> RedisConnectionInfo {
    if let Some(username) = username {
        redis = redis.set_username(username);
    }
    if let Some(password) = password {
        redis = redis.set_password(password);
    }
    redis
}

/// Settings of TLS, where the URL asks for it.
fn tls_of(url: &StoreUrl) -> Result<Option<Arc<Tls>>, LimitError> {
    if url.uses_tls() {
        return Ok(Some(Arc::new(Tls::read(&url.tls).map_err(|problem| url.refused(&problem))?)));
    }
    if url.tls.authority.is_some() || url.tls.identity.is_some() || url.tls.unverified {
        return Err(url.refused("must begin with rediss:// where certificates are given"));
    }
    Ok(None)
}
