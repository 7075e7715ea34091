//! Replies of servers: those of a real one, changed on their way.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::select;
use tidegate::redis::Strategy as Deciding;
use tidegate::remote::OnError;
use tidegate::{Limit, Limiter, Redis};

use crate::mutate::{Edits, fuzz};
use crate::servers::Server;

const TOKENS: &[&str] = &[
    "\r\n",
    "+OK\r\n",
    "-ERR no\r\n",
    "-MOVED 1 127.0.0.1:1\r\n",
    "-ASK 1 127.0.0.1:1\r\n",
    "-NOSCRIPT none\r\n",
    "-LOADING\r\n",
    "-READONLY no\r\n",
    "-NOAUTH no\r\n",
    "-OOM no\r\n",
    ":-1\r\n",
    ":9223372036854775807\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "_\r\n",
    "$1\r\n",
    "$99999999999\r\n",
    "*99999999999\r\n",
    "*2\r\n",
    "%1\r\n",
    "~1\r\n",
    ">1\r\n",
    ",nan\r\n",
    "#t\r\n",
    "(1\r\n",
    "|1\r\n",
    "0",
    "1",
    "18446744073709551615",
    "16384",
    "65536",
    "\u{0}",
    "mode",
    "cluster",
    "-inf",
    "+",
    "-",
    ":",
    "$",
    "*",
];

const DEADLINE: Duration = Duration::from_millis(40);
/// The time that a busy machine may add; a call that is forgotten is never answered at all.
const SLACK: Duration = Duration::from_secs(5);

/// The change of one reply: its number on each connection, and what becomes of it.
type Plan = Arc<Mutex<(usize, Edits)>>;

/// A server that passes everything on to a real one, changes one of its replies, and answers for a cluster and for a
/// sentinel by itself.
struct Liar {
    port: u16,
    plan: Plan,
}

impl Liar {
    fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let plan: Plan = Arc::new(Mutex::new((usize::MAX, Edits::none())));
        let shared = plan.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let plan = shared.clone();
                thread::spawn(move || drop(serve(client, server, port, &plan)));
            }
        });
        Self { port, plan }
    }
}

fn serve(mut client: TcpStream, server: u16, own: u16, plan: &Plan) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", server))?;
    let (mut replies, mut back) = (server.try_clone()?, client.try_clone()?);
    let (shared, mut number) = (plan.clone(), 0);
    thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(read @ 1..) = replies.read(&mut bytes) {
            if back.write_all(&changed(&bytes[..read], number, &shared)).is_err() {
                break;
            }
            number += 1;
        }
        let _ = back.shutdown(Shutdown::Both);
    });
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = client.read(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes[..read]);
        let canned = if text.contains("SLOTS") {
            // With `CLUSTER NODES` behind it, in one packet.
            let nodes = format!("id 127.0.0.1:{own}@1 myself,master - 0 0 1 connected 0-16383\n");
            let slots = format!("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:{own}\r\n$2\r\nid\r\n");
            Some(format!("{slots}${}\r\n{nodes}\r\n", nodes.len()))
        } else if text.contains("SENTINEL") {
            Some(format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{own}\r\n", own.to_string().len()))
        } else {
            None
        };
        match canned {
            Some(canned) => {
                let changed = changed(canned.as_bytes(), 0, plan);
                // Looking up names that are made up would ask the network's servers.
                let is_here = changed.windows(15).any(|part| part == b"$9\r\n127.0.0.1\r\n");
                client.write_all(if is_here { &changed } else { canned.as_bytes() })?;
            }
            None if read == 0 => return server.shutdown(Shutdown::Both),
            None => server.write_all(&bytes[..read])?,
        }
    }
}

fn changed(reply: &[u8], number: usize, plan: &Plan) -> Vec<u8> {
    let (chosen, edits) = plan.lock().expect("a lock").clone();
    if number == chosen { edits.apply(reply) } else { reply.to_vec() }
}

/// Panics of all threads; those of a task are caught by its runtime.
fn panics() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            COUNT.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
    COUNT.load(Ordering::Relaxed)
}

#[derive(Clone, Copy, Debug)]
enum Store {
    Script,
    Transactions,
    Resp3,
    Cluster,
    Sentinel,
}

const STORES: [Store; 5] = [Store::Script, Store::Transactions, Store::Resp3, Store::Cluster, Store::Sentinel];

impl Store {
    fn open(self, port: u16) -> Limiter {
        let url = match self {
            Self::Script | Self::Transactions => format!("redis://127.0.0.1:{port}"),
            Self::Resp3 => format!("redis://127.0.0.1:{port}?protocol=3"),
            Self::Cluster => format!("redis+cluster://127.0.0.1:{port}"),
            Self::Sentinel => format!("redis+sentinel://127.0.0.1:{port}/primary"),
        };
        let redis = Redis::builder(&url).timeout(DEADLINE).on_error(OnError::Allow);
        let redis = match self {
            Self::Transactions => redis.strategy(Deciding::Transactions),
            _ => redis,
        };
        Limiter::new(redis.build().expect("a store"))
    }
}

#[test]
fn replies() {
    let server = Server::start();
    let liar = Liar::before(server.port);
    let limit = Limit::bucket("login", 10).build().expect("a limit");
    // Without changes each way leads to the server.
    for store in STORES {
        let limiter = store.open(liar.port);
        crate::servers::wait_until("the store decides", || {
            limiter.peek_sync(&limit, "ada").is_ok_and(|info| !info.degraded)
        });
    }
    fuzz(300, (select(&STORES[..]), 0..4_usize, Edits::upto(3, TOKENS)), |(store, number, edits)| {
        let before = panics();
        *liar.plan.lock().expect("a lock") = (number, edits);
        let limiter = store.open(liar.port);
        for _ in 0..2 {
            let started = Instant::now();
            let info = limiter.limit_sync(&limit, "ada").expect("the policy answers");
            prop_assert!(started.elapsed() < DEADLINE + SLACK, "{:?}", started.elapsed());
            prop_assert!(info.remaining <= info.quota, "{:?}", info);
        }
        drop(limiter);
        prop_assert_eq!(panics(), before, "a thread panicked");
        Ok(())
    });
}
