//! The client of that store: what the interface of remote stores asks for, and no more.

use std::fmt::Write as _;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate::StoreError;
use tidegate::remote::backend::{Backend, EntryName, Job, Key, Request, Servers, Session, Work, Write};
use tidegate::remote::{Failure, Health};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A reply that comes later than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct LineStore {
    pub(crate) port: u16,
}

impl Backend for LineStore {
    fn kind(&self) -> &'static str {
        "line"
    }

    fn url(&self) -> String {
        format!("line://{}", self.servers())
    }

    fn servers(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn connect(&self, session: Session) -> Arc<dyn Servers> {
        Arc::new(Lines { port: self.port, session, idle: Mutex::default() })
    }

    fn ping(&self, session: Session, probes: [Request; 2]) -> Work<Health> {
        let lines = Lines { port: self.port, session, idle: Mutex::default() };
        Box::pin(async move {
            let patience = lines.session.timeout();
            for probe in probes {
                let decided = timeout(patience, lines.decide(&Job::without_caller(probe))).await;
                lines.checked(decided)?;
            }
            let mut health = Health::default();
            health.servers.push(lines.server());
            Ok(health)
        })
    }

    fn clear(&self, session: Session, namespace: &str) -> Work<u64> {
        let lines = Lines { port: self.port, session, idle: Mutex::default() };
        let command = format!("CLEAR {}/", hexadecimal(namespace.as_bytes()));
        Box::pin(async move {
            let reply = timeout(LONGEST_WAIT, async { lines.line().await?.ask(&command).await }).await;
            let reply = lines.checked(reply)?;
            Ok(reply.strip_prefix("REMOVED ").and_then(|count| count.parse().ok()).unwrap_or(0))
        })
    }

    fn key(&self, name: EntryName<'_>) -> Key {
        let [namespace, actor, limit] =
            [name.namespace, name.actor, name.limit].map(|part| hexadecimal(part.as_bytes()));
        format!("{namespace}/{actor}/{limit}/{:?}{}", name.shape, if name.is_block { "/block" } else { "" })
            .into_bytes()
            .into()
    }
}

struct Lines {
    port: u16,
    session: Session,
    /// Connections on which no reply is awaited.
    idle: Mutex<Vec<Line>>,
}

impl Servers for Lines {
    fn send(self: Arc<Self>, job: Arc<Job>) -> Result<(), Failure> {
        let runtime = self.session.runtime().clone();
        runtime.spawn(job.clone().expire());
        runtime.spawn(async move {
            self.session.sent(1);
            match timeout(LONGEST_WAIT, self.decide(&job)).await {
                Ok(Ok(Some(undo))) => drop(timeout(LONGEST_WAIT, self.decide(&Job::without_caller(undo))).await),
                Ok(Ok(None)) => {}
                Ok(Err(error)) => {
                    self.session.failed(&self.server(), Failure::Disconnected, &error.to_string());
                    job.fail(Failure::Disconnected);
                }
                Err(_) => job.fail(Failure::Timeout),
            }
        });
        Ok(())
    }

    fn is_open(&self) -> bool {
        false
    }
}

impl Lines {
    /// Reads, decides and writes, until nobody has come in between; the result is what has to be undone.
    async fn decide(&self, job: &Job) -> io::Result<Option<Request>> {
        let mut line = self.line().await?;
        let request = job.request();
        loop {
            let left = u64::try_from(job.time_left().as_micros()).unwrap_or(u64::MAX / 2);
            let read = line.ask(&format!("READ{}", request.entries().iter().map(spaced).collect::<String>())).await?;
            let Read { now, versions, values } = Read::parse(&read).ok_or_else(|| nonsense(&read))?;
            let decision = request.decide(&values, now);
            let reply = if decision.writes().is_empty() {
                "DONE".to_owned()
            } else {
                // The deadline by the server's clock, or a little later; what comes too late all the same is undone.
                line.ask(&swap(request, now + left, &versions, decision.writes())).await?
            };
            match &*reply {
                "DONE" => {
                    self.idle.lock().expect("a lock").push(line);
                    return Ok(job.complete(decision));
                }
                "MOVED" => {}
                "LATE" => {
                    job.fail(Failure::Timeout);
                    return Ok(None);
                }
                other => return Err(nonsense(other)),
            }
        }
    }

    async fn line(&self) -> io::Result<Line> {
        let idle = self.idle.lock().expect("a lock").pop();
        match idle {
            Some(line) => Ok(line),
            None => Ok(Line(BufStream::new(TcpStream::connect(("127.0.0.1", self.port)).await?))),
        }
    }

    fn server(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn checked<T>(&self, reply: Result<io::Result<T>, impl Sized>) -> Result<T, StoreError> {
        let error = |failure| StoreError::new(failure).at("line", self.server());
        let reply = reply.map_err(|_| error(Failure::Timeout))?;
        reply.map_err(|cause| error(Failure::Disconnected).because(cause.to_string()))
    }
}

/// A connection.
struct Line(BufStream<TcpStream>);

impl Line {
    async fn ask(&mut self, command: &str) -> io::Result<String> {
        self.0.write_all(command.as_bytes()).await?;
        self.0.write_all(b"\n").await?;
        self.0.flush().await?;
        let mut reply = String::new();
        if self.0.read_line(&mut reply).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        reply.truncate(reply.trim_end().len());
        Ok(reply)
    }
}

/// The server's clock, and the version and the value of each entry.
#[derive(Default)]
struct Read {
    now: u64,
    versions: Vec<String>,
    values: Vec<Option<Vec<u8>>>,
}

impl Read {
    fn parse(reply: &str) -> Option<Self> {
        let mut words = reply.strip_prefix("VALUES ")?.split(' ');
        let mut read = Self { now: words.next()?.parse().ok()?, ..Self::default() };
        while let Some(version) = words.next() {
            read.versions.push(version.to_owned());
            read.values.push(bytes(words.next()?));
        }
        Some(read)
    }
}

/// All entries as they were read, and those that change.
fn swap(request: &Request, until: u64, versions: &[String], writes: &[Write]) -> String {
    let mut command = format!("SWAP {until}");
    for (entry, (key, version)) in request.entries().iter().zip(versions).enumerate() {
        let write = writes.iter().find(|write| write.entry == entry);
        let lasts = write.map_or(0, |write| write.lasts.as_micros());
        let value = write.map_or("=".to_owned(), |write| write.value.as_deref().map_or("-".to_owned(), hexadecimal));
        let _ = write!(command, "{} {version} {value} {lasts}", spaced(key));
    }
    command
}

fn spaced(key: &Key) -> String {
    format!(" {}", String::from_utf8_lossy(key))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn nonsense(reply: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not understood: {reply}"))
}
