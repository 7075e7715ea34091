//! The address of a store: a server, a primary that sentinels know, or a cluster.

use redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion,
    RedisConnectionInfo, TlsCertificates,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::endpoint::at;
use super::url::{Login, Node, Place, StoreUrl, Tls};
use crate::error::LimitError;

/// The address of a store, and the settings of connections to it.
#[derive(Clone)]
pub(crate) enum Address {
    Server(Box<ConnectionInfo>),
    /// `template` has the credentials of the primary.
    Sentinels {
        sentinels: Vec<ConnectionInfo>,
        service: String,
        template: Box<ConnectionInfo>,
    },
    Cluster {
        seeds: Vec<Node>,
        template: Box<ConnectionInfo>,
    },
}

impl Address {
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster { .. })
    }

    pub(super) fn of(url: &StoreUrl) -> Result<Self, LimitError> {
        let redis = RedisConnectionInfo::default().set_db(url.database);
        let redis = redis.set_protocol(if url.resp3 { ProtocolVersion::RESP3 } else { ProtocolVersion::RESP2 });
        let template = |host: &str, port| -> Result<ConnectionInfo, LimitError> {
            let info = connection(url, host, port)?;
            Ok(info.set_redis_settings(with_login(redis.clone(), &url.login)))
        };
        Ok(match &url.place {
            Place::Server((host, port)) => Self::Server(Box::new(template(host, *port)?)),
            Place::Socket(path) => {
                let info = plain(url, ConnectionAddr::Unix(path.into()))?;
                Self::Server(Box::new(info.set_redis_settings(with_login(redis, &url.login))))
            }
            Place::Cluster(seeds) => Self::Cluster { seeds: seeds.clone(), template: Box::new(template("node", 0)?) },
            Place::Sentinels { sentinels, service } => {
                let template = Box::new(template("primary", 0)?);
                let login = with_login(RedisConnectionInfo::default(), &url.sentinel_login);
                let asked = template.as_ref().clone().set_redis_settings(login);
                let sentinels = sentinels.iter().map(|(host, port)| at(&asked, host, *port)).collect();
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

fn connection(url: &StoreUrl, host: &str, port: u16) -> Result<ConnectionInfo, LimitError> {
    if !url.uses_tls() {
        return plain(url, ConnectionAddr::Tcp(host.to_owned(), port));
    }
    let Tls { authority, identity, unverified } = &url.tls;
    let address = ConnectionAddr::TcpTls { host: host.to_owned(), port, insecure: *unverified, tls_params: None };
    let info = made(url, address)?;
    if authority.is_none() && identity.is_none() {
        return Ok(info);
    }
    let is_certificate = |pem: &[u8]| matches!(CertificateDer::pem_slice_iter(pem).next(), Some(Ok(_)));
    if authority.as_deref().is_some_and(|pem| !is_certificate(pem)) {
        return Err(url.refused("has a certificate authority that is no certificate in PEM form"));
    }
    let certificates = TlsCertificates {
        client_tls: identity.clone().map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key }),
        root_cert: authority.clone(),
    };
    let client = Client::build_with_tls(info, certificates)
        .map_err(|error| url.refused(&format!("has certificates that cannot be read: {error}")))?;
    Ok(client.get_connection_info().clone())
}

fn plain(url: &StoreUrl, address: ConnectionAddr) -> Result<ConnectionInfo, LimitError> {
    let Tls { authority, identity, unverified } = &url.tls;
    if authority.is_some() || identity.is_some() || *unverified {
        return Err(url.refused("must begin with rediss:// where certificates are given"));
    }
    made(url, address)
}

fn made(url: &StoreUrl, address: ConnectionAddr) -> Result<ConnectionInfo, LimitError> {
    address.into_connection_info().map_err(|_| url.refused("cannot be connected to"))
}
