//! Where a store is: a server, a primary that sentinels know, or a cluster.

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, TlsCertificates};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use url::form_urlencoded;

use super::target::at;
use crate::error::LimitError;

/// Where a store is, and how to connect there.
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
        seeds: Vec<(String, u16)>,
        template: Box<ConnectionInfo>,
    },
}

/// Certificates, as the contents of PEM files.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// The authorities to trust in place of the system's.
    pub(crate) authority: Option<Vec<u8>>,
    /// The client's certificate and key.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
}

const SENTINEL_PORT: u16 = 26_379;
const REDIS_PORT: u16 = 6379;

impl Address {
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster { .. })
    }

    /// Reads `redis://`, `rediss://`, `unix://`, `redis+cluster://` and `redis+sentinel://` (and the latter two with
    /// `rediss`): `scheme://[user[:password]@]host[:port][,host[:port]…][/database or service[/database]][?options]`.
    pub(crate) fn parse(url: &str, tls: &Tls) -> Result<Self, LimitError> {
        let refused = |problem: &str| refused(url, problem);
        let (scheme, rest) = url.split_once("://").ok_or_else(|| refused("must be a URL"))?;
        let (family, kind) = scheme.split_once('+').unwrap_or((scheme, ""));
        let base = match family {
            "redis" | "valkey" => "redis",
            "rediss" | "valkeys" => "rediss",
            "unix" if kind.is_empty() => "unix",
            _ => return Err(refused(KNOWN)),
        };
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (options, tls) = &read_options(options, tls).map_err(|problem| refused(&problem))?;
        let (rest, path) = match base {
            "unix" => (rest, ""),
            _ => rest.split_once('/').unwrap_or((rest, "")),
        };
        let (login, hosts) = rest.rsplit_once('@').map_or(("", rest), |(login, hosts)| (login, hosts));
        let login = if login.is_empty() { String::new() } else { format!("{login}@") };
        let read =
            |url: String| url.into_connection_info().map_err(|error| refused(&format!("cannot be read: {error}")));
        let one = |host: &str, path: &str| secure(read(format!("{base}://{login}{host}/{path}{options}"))?, tls, url);
        let nodes = |port| {
            let nodes: Option<Vec<_>> = hosts.split(',').map(|host| host_and_port(host, port)).collect();
            nodes.ok_or_else(|| refused("must name hosts, each with a port or without"))
        };
        match kind {
            "" if base == "unix" => Ok(Self::Server(Box::new(read(format!("unix://{rest}{options}"))?))),
            "" if hosts.contains(',') => {
                Err(refused("must name one host, or be redis+cluster:// or redis+sentinel://"))
            }
            "" => one(hosts, path).map(|info| Self::Server(Box::new(info))),
            "cluster" if path.trim_matches('0').is_empty() => {
                let seeds = nodes(REDIS_PORT)?;
                let template = one("node", "")?;
                Ok(Self::Cluster { seeds, template: Box::new(template) })
            }
            "cluster" => Err(refused("must not name a database: a cluster has only one")),
            "sentinel" => {
                let (service, database) = path.split_once('/').unwrap_or((path, ""));
                if service.is_empty() {
                    return Err(refused("must end in the name of a service, as in redis+sentinel://host/primary"));
                }
                let template = one("primary", database)?;
                // Sentinels have logins of their own, which nearly nobody sets.
                let without_login = template.clone().set_redis_settings(redis::RedisConnectionInfo::default());
                let nodes = nodes(SENTINEL_PORT)?;
                let sentinels = nodes.iter().map(|(host, port)| at(&without_login, host, *port)).collect();
                Ok(Self::Sentinels { sentinels, service: service.to_owned(), template: Box::new(template) })
            }
            _ => Err(refused(KNOWN)),
        }
    }
}

const KNOWN: &str = "must begin with memory://, redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://";

/// A URL may hold a password: before its last `@`, among its options, or anywhere if it is none.
pub(crate) fn refused(url: &str, problem: &str) -> LimitError {
    let shown = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (rest, options) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?…"));
            let (login, place) = rest.rsplit_once('@').map_or(("", rest), |(_, place)| ("…@", place));
            format!("\"{scheme}://{login}{place}{options}\"")
        }
        None => format!("{} characters", url.chars().count()),
    };
    LimitError::range("", "url", problem, shown)
}

fn secure(info: ConnectionInfo, tls: &Tls, url: &str) -> Result<ConnectionInfo, LimitError> {
    if tls.authority.is_none() && tls.identity.is_none() {
        return Ok(info);
    }
    if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        return Err(refused(url, "must begin with rediss:// where certificates are given"));
    }
    let is_certificate = |pem: &[u8]| matches!(CertificateDer::pem_slice_iter(pem).next(), Some(Ok(_)));
    if tls.authority.as_deref().is_some_and(|pem| !is_certificate(pem)) {
        return Err(refused(url, "has a certificate authority that is no certificate in PEM form"));
    }
    let identity = tls.identity.clone();
    let certificates = TlsCertificates {
        client_tls: identity.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key }),
        root_cert: tls.authority.clone(),
    };
    let client = Client::build_with_tls(info, certificates)
        .map_err(|error| refused(url, &format!("has certificates that cannot be read: {error}")))?;
    Ok(client.get_connection_info().clone())
}

fn host_and_port(text: &str, port: u16) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        // A colon inside brackets belongs to an address.
        Some((host, digits)) if !digits.ends_with(']') => (host, digits.parse().ok()?),
        _ => (text, port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// What comes after the question mark: ours are taken out, the rest is the client library's.
fn read_options(options: &str, tls: &Tls) -> Result<(String, Tls), String> {
    let mut tls = tls.clone();
    let (mut certificate, mut key) = (None, None);
    let mut others = form_urlencoded::Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(options.as_bytes()) {
        let file =
            || std::fs::read(&*value).map(Some).map_err(|error| format!("names a {name} that cannot be read: {error}"));
        match &*name {
            "ssl_ca_certs" => tls.authority = file()?,
            "ssl_certfile" => certificate = file()?,
            "ssl_keyfile" => key = file()?,
            "protocol" | "db" | "user" | "pass" => drop(others.append_pair(&name, &value)),
            _ => return Err(format!("has an unknown option {name:?}")),
        }
    }
    match (certificate, key) {
        (None, None) => {}
        (Some(certificate), Some(key)) => tls.identity = Some((certificate, key)),
        _ => return Err("must name both of ssl_certfile and ssl_keyfile, or neither".to_owned()),
    }
    let others = others.finish();
    Ok((if others.is_empty() { others } else { format!("?{others}") }, tls))
}
