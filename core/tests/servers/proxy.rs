//! A wire that can be cut, held, or made slow.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Passes on what comes to its port, as long as nobody says otherwise.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Connections with a lower number pass nothing on any more, and are not closed either.
    held_below: AtomicU64,
    /// New connections are accepted, and nothing comes of them.
    black_hole: AtomicBool,
    /// Of what comes back, and of everything each way.
    delay_micros: AtomicU64,
    way_micros: AtomicU64,
    /// The server's answers are lost.
    deaf: AtomicBool,
    opened: AtomicU64,
    streams: Mutex<Vec<TcpStream>>,
    over: AtomicBool,
}

impl Proxy {
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let own = listener.local_addr().expect("its address").port();
        let state = Arc::new(State::default());
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                let number = shared.opened.fetch_add(1, Ordering::Relaxed);
                let address = SocketAddr::from(([127, 0, 0, 1], port));
                let Ok(server) = TcpStream::connect(address) else { continue };
                for stream in [&client, &server] {
                    let _ = stream.set_nodelay(true);
                    shared.streams.lock().expect("a lock").push(stream.try_clone().expect("a stream"));
                }
                let (there, back) = (shared.clone(), shared.clone());
                let (from, to) = (client.try_clone().expect("a stream"), server.try_clone().expect("a stream"));
                thread::spawn(move || pass(from, to, number, &there, false));
                thread::spawn(move || pass(server, client, number, &back, true));
            }
        });
        Self { port: own, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From now on nothing passes, over new connections neither.
    pub(crate) fn black_hole(&self, on: bool) {
        self.state.black_hole.store(on, Ordering::Relaxed);
    }

    /// The connections that there are pass nothing on any more; new ones do.
    pub(crate) fn hold_present(&self) {
        self.state.held_below.store(self.state.opened.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The delay of what comes back from the server.
    pub(crate) fn delay(&self, delay: Duration) {
        self.state.delay_micros.store(micros(delay), Ordering::Relaxed);
    }

    /// Everything takes half of this there, and half of it back.
    pub(crate) fn round_trip(&self, round_trip: Duration) {
        self.state.way_micros.store(micros(round_trip / 2), Ordering::Relaxed);
    }

    /// Requests arrive, answers do not.
    pub(crate) fn deafen(&self, on: bool) {
        self.state.deaf.store(on, Ordering::Relaxed);
    }

    /// Cuts every connection.
    pub(crate) fn cut(&self) {
        for stream in self.state.streams.lock().expect("a lock").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn opened(&self) -> u64 {
        self.state.opened.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        self.cut();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).expect("a short time")
}

fn pass(mut from: TcpStream, to: TcpStream, number: u64, state: &State, answers: bool) {
    let (sender, later) = channel();
    let writer = thread::spawn(move || write_later(to, &later));
    let mut bytes = vec![0; 65_536];
    loop {
        let read = match from.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        let is_lost = || {
            state.black_hole.load(Ordering::Relaxed)
                || number < state.held_below.load(Ordering::Relaxed)
                || (answers && state.deaf.load(Ordering::Relaxed))
        };
        if is_lost() {
            continue;
        }
        let delay = if answers { state.delay_micros.load(Ordering::Relaxed) } else { 0 };
        let due = Instant::now() + Duration::from_micros(delay + state.way_micros.load(Ordering::Relaxed));
        if sender.send((due, bytes[..read].to_vec())).is_err() {
            break;
        }
    }
    drop(sender);
    let _ = writer.join();
}

/// Writes each part at its time: one that is on its way does not hold up the next.
fn write_later(mut to: TcpStream, later: &Receiver<(Instant, Vec<u8>)>) {
    for (due, bytes) in later {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
