//! Connections as they are made: names looked up, sockets opened, and no more read than was asked for.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread;

use arc_swap::ArcSwapOption;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, select_ok};
use futures_util::task::AtomicWaker;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisError, RedisResult};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::fork::Process;
use crate::store::redis::settings::address::{Host, Target};
use crate::store::remote::task;

/// Bytes of replies to anything but decisions: a handshake, errors, the address of a primary.
pub(crate) const FEW: u64 = 64 * 1024;
/// Bytes of a cluster's map.
pub(crate) const A_MAP: u64 = 16 * 1024 * 1024;

/// A multiplexed connection and the bytes that may come over it; it is closed when the last that holds it lets go.
#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) wire: MultiplexedConnection,
    allowance: Arc<Allowance>,
    driver: Arc<Driver>,
    /// It goes to a port that may be one with TLS, and is without.
    may_be_tls: bool,
}

/// The problem where a server hangs up on all that is not TLS.
const MUTE: &str = "it closed the connection without an answer: its port is perhaps one with TLS, for rediss:// URLs";
/// The problem where a server answers in TLS. The first byte of an alert or a handshake says so.
const IN_TLS: &str = "it answers in TLS: the URL must begin with rediss://";

fn complaint(may_be_tls: bool, allowance: &Allowance, error: RedisError) -> RedisError {
    let read = allowance.read.load(Ordering::Relaxed);
    // An error of AUTH does not quote the reply.
    let hides_it = error.is_io_error() || error.kind() == ErrorKind::AuthenticationFailed;
    let is_all = |refusal: &&Vec<u8>| hides_it && read == refusal.len() as u64;
    if let Some(refusal) = allowance.refusal.get().filter(is_all) {
        let refusal = redis::parse_redis_value(refusal).ok().and_then(|refusal| refusal.extract_error().err());
        return refusal.unwrap_or(error);
    }
    let is_mute = may_be_tls && error.is_io_error() && read == 0;
    if is_mute { io::Error::new(io::ErrorKind::ConnectionReset, MUTE).into() } else { error }
}

impl Transport {
    /// So many bytes more may come.
    pub(crate) fn allow(&self, bytes: u64) {
        self.allowance.allowed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All has come that was asked for but for so many bytes.
    pub(super) fn owes(&self, bytes: u64) {
        let read = self.allowance.read.load(Ordering::Relaxed);
        self.allowance.allowed.store(read + bytes + FEW, Ordering::Relaxed);
    }

    /// The error of a connection that ended without a word, with what is probably wrong.
    pub(crate) fn complaint(&self, error: RedisError) -> RedisError {
        complaint(self.may_be_tls, &self.allowance, error)
    }

    /// Ready once it is closed; wakes the last that asked.
    pub(super) fn poll_closed(&self, context: &Context<'_>) -> Poll<()> {
        self.driver.end.poll(context)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.driver.end.is_over.load(Ordering::Acquire)
    }
}

/// The task that reads and writes, which ends when the other side hangs up.
struct Driver {
    task: JoinHandle<()>,
    end: Arc<End>,
}

impl Driver {
    fn start(drives: impl Future<Output = ()> + Send + 'static) -> Self {
        let end = Arc::<End>::default();
        let ends = Ends(end.clone());
        // Woken by nothing but what is to be sent, and by the server.
        let idle = Arc::new(AtomicBool::new(true));
        let task = task::spawn(idle, async move {
            // What is under way fails first.
            drives.await;
            drop(ends);
        });
        Self { task, end }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The end of a driver, and the task that waits for it.
#[derive(Default)]
struct End {
    is_over: AtomicBool,
    waits: AtomicWaker,
}

impl End {
    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        if !self.is_over.load(Ordering::Acquire) {
            self.waits.register(context.waker());
        }
        // It may have come to its end meanwhile.
        if self.is_over.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Marks the end when it is dropped, also by a panic.
struct Ends(Arc<End>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.waits.wake();
    }
}

/// Bytes that were read, and bytes that may be.
struct Allowance {
    read: AtomicU64,
    allowed: AtomicU64,
    /// The first that was read, where that is an error: a server that takes no clients writes one, and hangs up, whatever
    /// it is asked.
    refusal: OnceLock<Vec<u8>>,
}

/// A stream that ends with an error when more comes than was asked for.
struct Bounded<S> {
    stream: S,
    allowance: Arc<Allowance>,
    may_be_tls: bool,
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = bytes.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, bytes))?;
        let more = u64::try_from(bytes.filled().len() - before).unwrap_or(u64::MAX);
        let read = self.allowance.read.fetch_add(more, Ordering::Relaxed) + more;
        if self.may_be_tls && read == more && matches!(bytes.filled().get(before), Some(0x15 | 0x16)) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, IN_TLS)));
        }
        if read == more && bytes.filled().get(before) == Some(&b'-') {
            let _ = self.allowance.refusal.set(bytes.filled()[before..].to_vec());
        }
        if read > self.allowance.allowed.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "it answers more than it was asked")));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Opens a connection over which so many bytes may come, and more for each request. Our own deadlines are the only ones.
pub(crate) async fn open(target: &Target, allowed: u64) -> RedisResult<Transport> {
    let stream: Box<dyn Stream> = match (&target.host, &target.tls) {
        (Host::Tcp(host, port), None) => Box::new(tcp(host, *port).await?),
        (Host::Tcp(host, port), Some(tls)) => Box::new(tls.connect(host, tcp(host, *port).await?).await?),
        #[cfg(unix)]
        (Host::Unix(path), _) => Box::new(UnixStream::connect(path).await?),
        // No URL is read as one.
        #[cfg(not(unix))]
        (Host::Unix(_), _) => return Err(io::Error::from(io::ErrorKind::Unsupported).into()),
    };
    let allowance = Allowance { read: AtomicU64::new(0), allowed: AtomicU64::new(allowed), refusal: OnceLock::new() };
    let allowance = Arc::new(allowance);
    let may_be_tls = target.tls.is_none() && matches!(target.host, Host::Tcp(..));
    let bounded = Bounded { stream, allowance: allowance.clone(), may_be_tls };
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let made = MultiplexedConnection::new_with_config(&target.session, bounded, config).await;
    let (wire, driver) = made.map_err(|error| complaint(may_be_tls, &allowance, error))?;
    Ok(Transport { wire, allowance, driver: Arc::new(Driver::start(driver)), may_be_tls })
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses = look_up(host, port).await?;
    let (stream, _) = select_ok(addresses.iter().map(|address| Box::pin(TcpStream::connect(*address)))).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Look-ups under way at once, each with a thread.
const MOST_LOOK_UPS: usize = 256;

/// Addresses, or why there are none, for all who wait for the same look-up.
type LookedUp = Result<Arc<[SocketAddr]>, Arc<io::Error>>;
type LookingUp = Shared<BoxFuture<'static, LookedUp>>;

/// The look-ups of a process that are under way. The system may take minutes for one, and a thread for as long; so there
/// is one for each host, however many ask for it, and however often.
struct LookingUpAll {
    process: Process,
    under_way: Mutex<HashMap<(String, u16), LookingUp>>,
}

/// A child makes its own: a thread of the parent may have held the lock when it was forked off.
static LOOKING_UP: ArcSwapOption<LookingUpAll> = ArcSwapOption::const_empty();

impl LookingUpAll {
    fn here() -> Arc<Self> {
        let process = Process::current();
        let known = LOOKING_UP.load_full();
        if let Some(known) = &known
            && known.process == process
        {
            return known.clone();
        }
        let fresh = Arc::new(Self { process, under_way: Mutex::default() });
        let before = LOOKING_UP.compare_and_swap(&known, Some(fresh.clone()));
        // What the parent looks up is of no use here, and not to be dropped.
        std::mem::forget((known, arc_swap::Guard::into_inner(before)));
        LOOKING_UP.load_full().unwrap_or(fresh)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, u16), LookingUp>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the system, on a thread that nothing waits for, not even the end of a runtime.
    fn look_up(self: &Arc<Self>, name: (String, u16)) -> io::Result<LookingUp> {
        let (told, found) = oneshot::channel();
        let all = self.clone();
        thread::Builder::new().name("tidegate-names".to_owned()).spawn(move || {
            let found = (name.0.as_str(), name.1).to_socket_addrs().map(Iterator::collect::<Arc<[_]>>);
            all.lock().remove(&name);
            let found =
                found.and_then(
                    |addresses| {
                        if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
                    },
                );
            let _ = told.send(found.map_err(Arc::new));
        })?;
        Ok(looking_up(found))
    }
}

fn looking_up(found: oneshot::Receiver<LookedUp>) -> LookingUp {
    let found = async { found.await.unwrap_or_else(|_| Err(Arc::new(io::ErrorKind::Other.into()))) };
    found.boxed().shared()
}

async fn look_up(host: &str, port: u16) -> io::Result<Arc<[SocketAddr]>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok([SocketAddr::new(address, port)].into());
    }
    let all = LookingUpAll::here();
    let name = (host.to_owned(), port);
    let found = {
        let mut under_way = all.lock();
        if let Some(found) = under_way.get(&name) {
            found.clone()
        } else if under_way.len() >= MOST_LOOK_UPS {
            return Err(io::Error::other("too many look-ups of names are under way"));
        } else {
            let found = all.look_up(name.clone())?;
            under_way.insert(name, found.clone());
            found
        }
    };
    found.await.map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_up_serves_all_who_wait_for_it() {
        let name = ("nowhere.invalid".to_owned(), 1);
        let (told, found) = oneshot::channel();
        LookingUpAll::here().lock().insert(name, looking_up(found));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let asking: Vec<_> = (0..50).map(|_| tokio::spawn(look_up("nowhere.invalid", 1))).collect();
            tokio::task::yield_now().await;
            let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
            assert!(threads < 30, "{threads} threads");
            let address = SocketAddr::from(([127, 0, 0, 1], 1));
            assert!(told.send(Ok([address].into())).is_ok());
            for asked in asking {
                assert_eq!(asked.await.expect("a task").expect("an address")[..], [address]);
            }
            assert_eq!(look_up("::1", 5).await.expect("an address")[0].port(), 5);
            assert!(!look_up("localhost", 6).await.expect("an address").is_empty());
        });
    }
}
