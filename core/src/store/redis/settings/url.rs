//! A store's URL, taken apart, and the only way in which one is ever shown.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use crate::error::LimitError;

/// The servers that a URL names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    Server(Node),
    Socket(String),
    Sentinels { sentinels: Vec<Node>, service: String },
    Cluster(Vec<Node>),
}

/// A host and its port.
pub(crate) type Node = (String, u16);

/// A user's name and password, as far as they are given.
#[derive(Clone, Default)]
pub(crate) struct Login {
    pub(super) username: Option<String>,
    pub(crate) password: Option<String>,
}

/// Certificates, as the contents of PEM files.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// The authorities to trust in place of the system's.
    pub(crate) authority: Option<Vec<u8>>,
    /// The client's certificate and key.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Any certificate of the server's is good.
    pub(crate) unverified: bool,
}

/// A store's URL: `scheme://[user[:password]@]host[:port][,host[:port]…][/database or service[/database]][?options]`.
#[derive(Clone)]
pub(crate) struct StoreUrl {
    scheme: &'static str,
    pub(crate) servers: Servers,
    pub(crate) database: i64,
    pub(super) resp3: bool,
    pub(crate) login: Login,
    /// Sentinels have logins of their own, which are rarely set.
    pub(super) sentinel_login: Login,
    pub(crate) tls: Tls,
}

const SENTINEL_PORT: u16 = 26_379;
const REDIS_PORT: u16 = 6379;
const SCHEMES: [&str; 14] = [
    "memory",
    "redis",
    "rediss",
    "valkey",
    "valkeys",
    "unix",
    "redis+sentinel",
    "rediss+sentinel",
    "valkey+sentinel",
    "valkeys+sentinel",
    "redis+cluster",
    "rediss+cluster",
    "valkey+cluster",
    "valkeys+cluster",
];
const KNOWN: &str =
    "must begin with memory://, shm://, redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://";
const ENCODE: &str = "must percent-encode what is special in a user or password (/ ? # @ % as %2F %3F %23 %40 %25)";
const OPTIONS: &str = "it may have db, username, password, sentinel_username, sentinel_password, protocol, \
    ssl_ca_certs, ssl_certfile, ssl_keyfile and ssl_cert_reqs";

/// The error for a URL of which nothing but the scheme may be shown: any other part may be one of a password.
pub(crate) fn refused(url: &str, problem: &str) -> LimitError {
    let scheme = url.split_once("://").and_then(|(scheme, _)| SCHEMES.iter().find(|known| **known == scheme));
    let shown = scheme.map_or_else(
        || if url.is_empty() { "none".to_owned() } else { format!("text of length {}", url.chars().count()) },
        |scheme| format!("one that begins with {scheme}://"),
    );
    LimitError::range("", "url", problem, shown)
}

impl StoreUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, LimitError> {
        Self::read(url).map_err(|problem| refused(url, &problem))
    }

    fn read(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or(KNOWN)?;
        let scheme = SCHEMES.iter().find(|known| **known == scheme && scheme != "memory").ok_or(KNOWN)?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        if rest.contains('#') || options.contains(['#', '@']) {
            return Err(ENCODE.to_owned());
        }
        let (login, servers, database) =
            if *scheme == "unix" { Self::socket(rest)? } else { Self::servers(scheme, rest)? };
        let mut read = Self {
            scheme,
            servers,
            database,
            resp3: false,
            login: Login::read(login)?,
            sentinel_login: Login::default(),
            tls: Tls::default(),
        };
        read.read_options(options)?;
        Ok(read)
    }

    fn socket(rest: &str) -> Result<(&str, Servers, i64), String> {
        if !cfg!(unix) {
            return Err("must not name a Unix socket: this system has none".to_owned());
        }
        if rest.starts_with('/') {
            return Ok(("", Servers::Socket(decoded(rest)?), 0));
        }
        let (login, path) = rest.split_once('@').ok_or("must name a socket, as in unix:///path/to/socket")?;
        if !path.starts_with('/') || path.contains('@') {
            return Err(ENCODE.to_owned());
        }
        Ok((login, Servers::Socket(decoded(path)?), 0))
    }

    fn servers<'a>(scheme: &str, rest: &'a str) -> Result<(&'a str, Servers, i64), String> {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if path.contains('@') {
            return Err(ENCODE.to_owned());
        }
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let port = if scheme.ends_with("+sentinel") { SENTINEL_PORT } else { REDIS_PORT };
        let nodes: Option<Vec<_>> = hosts.split(',').map(|host| host_and_port(host, port)).collect();
        let mut nodes = nodes.ok_or("must name hosts, each with a port or without")?;
        if nodes.iter().any(|(host, _)| host == "0.0.0.0" || host == "::") {
            return Err("must name the address of a server, not the one that stands for all addresses".to_owned());
        }
        let path = path.trim_end_matches('/');
        match scheme.split_once('+').map(|(_, kind)| kind) {
            Some("cluster") if path.trim_matches('0').is_empty() => Ok((login, Servers::Cluster(nodes), 0)),
            Some("cluster") => Err("must not name a database: a cluster has only one".to_owned()),
            Some(_) => {
                let (service, number) = path.split_once('/').unwrap_or((path, ""));
                if service.is_empty() {
                    return Err("must end in the name of a service, as in redis+sentinel://host/primary".to_owned());
                }
                let servers = Servers::Sentinels { sentinels: nodes, service: decoded(service)? };
                Ok((login, servers, database(number)?))
            }
            None => match (nodes.pop(), nodes.is_empty()) {
                (Some(node), true) => Ok((login, Servers::Server(node), database(path)?)),
                _ => Err("must name one host, or be redis+cluster:// or redis+sentinel://".to_owned()),
            },
        }
    }

    fn read_options(&mut self, options: &str) -> Result<(), String> {
        let (mut certificate, mut key) = (None, None);
        for (name, value) in form_urlencoded::parse(options.as_bytes()) {
            let text = || Some(value.clone().into_owned()).filter(|text| !text.is_empty());
            let file = || {
                std::fs::read(&*value).map(Some).map_err(|error| format!("names a {name} that cannot be read: {error}"))
            };
            match &*name {
                "db" => self.database = database(&value)?,
                "user" | "username" => self.login.username = text(),
                "pass" | "password" => self.login.password = text(),
                "sentinel_username" => self.sentinel_login.username = text(),
                "sentinel_password" => self.sentinel_login.password = text(),
                "protocol" => {
                    self.resp3 = match &*value {
                        "2" | "resp2" => false,
                        "3" | "resp3" => true,
                        _ => return Err("has a protocol that is neither 2 nor 3".to_owned()),
                    }
                }
                "ssl_ca_certs" => self.tls.authority = file()?,
                "ssl_certfile" => certificate = file()?,
                "ssl_keyfile" => key = file()?,
                "ssl_cert_reqs" => {
                    self.tls.unverified = match &*value {
                        "none" => true,
                        "optional" | "required" => false,
                        _ => return Err("has an ssl_cert_reqs that is none of none, optional, required".to_owned()),
                    }
                }
                _ => return Err(self.unknown_option(&name, options)),
            }
        }
        match (certificate, key) {
            (None, None) => {}
            (Some(both), None) => self.tls.identity = Some((both.clone(), both)),
            (Some(certificate), Some(key)) => self.tls.identity = Some((certificate, key)),
            (None, Some(_)) => return Err("must name an ssl_certfile beside its ssl_keyfile".to_owned()),
        }
        Ok(())
    }

    /// The name is shown unless it may be a part of a password: of one that was not encoded, and so ends in the middle.
    fn unknown_option(&self, name: &str, options: &str) -> String {
        let is_name = (1..=40).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        let passwords = [&self.login, &self.sentinel_login].map(|login| login.password.as_deref());
        let may_be_secret = |password: &str| password.contains(name) || name.contains(password);
        let follows_one = options.split('&').any(|pair| pair.starts_with("pass") || pair.starts_with("sentinel_pass"));
        let is_given = options.split('&').any(|pair| pair.split_once('=').is_some_and(|(given, _)| given == name));
        if is_name && is_given && !follows_one && !passwords.into_iter().flatten().any(may_be_secret) {
            format!("has an option {name} that is not known; {OPTIONS}")
        } else {
            format!("has an option that is not known; {OPTIONS}")
        }
    }

    pub(super) fn uses_tls(&self) -> bool {
        self.scheme.starts_with("rediss") || self.scheme.starts_with("valkeys")
    }

    /// The error for a URL that was understood, but does not go with something else.
    pub(crate) fn refused(&self, problem: &str) -> LimitError {
        LimitError::range("", "url", problem, format!("\"{self}\""))
    }

    /// The servers alone, as events name them.
    pub(crate) fn servers_shown(&self) -> String {
        match &self.servers {
            Servers::Server(node) => shown(node),
            Servers::Socket(path) => path.clone(),
            Servers::Sentinels { service, .. } => format!("the primary of {service}"),
            Servers::Cluster(nodes) => format!("the cluster of {}", all_shown(nodes)),
        }
    }
}

/// The URL without what is secret, and without a user's name.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Login { username, password } = &self.login;
        let login = if username.is_some() || password.is_some() { "…@" } else { "" };
        write!(f, "{}://{login}", self.scheme)?;
        match &self.servers {
            Servers::Server(node) => write!(f, "{}", shown(node))?,
            Servers::Socket(path) => write!(f, "{path}")?,
            Servers::Sentinels { sentinels, service } => write!(f, "{}/{service}", all_shown(sentinels))?,
            Servers::Cluster(nodes) => write!(f, "{}", all_shown(nodes))?,
        }
        if self.database != 0 { write!(f, "/{}", self.database) } else { Ok(()) }
    }
}

impl Login {
    fn read(login: &str) -> Result<Self, String> {
        let (username, password) = login.split_once(':').unwrap_or((login, ""));
        let text = |part: &str| Ok::<_, String>(Some(decoded(part)?).filter(|text| !text.is_empty()));
        Ok(Self { username: text(username)?, password: text(password)? })
    }
}

fn shown((host, port): &Node) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn all_shown(nodes: &[Node]) -> String {
    nodes.iter().map(shown).collect::<Vec<_>>().join(",")
}

fn database(text: &str) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().ok().filter(|number| *number >= 0).ok_or_else(|| "has a database that is not a number".to_owned())
}

fn host_and_port(text: &str, port: u16) -> Option<Node> {
    let (host, port) = match text.rsplit_once(':') {
        // A colon inside brackets belongs to an address.
        Some((host, digits)) if !digits.ends_with(']') => (host, digits.parse().ok()?),
        _ => (text, port),
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_host = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(is_known),
    };
    is_host.then(|| (address.unwrap_or(host).to_owned(), port))
}

/// Text with its percent signs taken for what they stand for.
fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| "must be UTF-8 where it is percent-encoded".to_owned())
}
