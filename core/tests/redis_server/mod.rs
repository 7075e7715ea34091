//! Servers of our own: started on a free port of this machine, stopped when they are dropped.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A `redis-server` that keeps nothing on disk.
pub(crate) struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With these options as well, as on the command line.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("tidegate-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        // Somebody else may take a free port before the server does.
        for _ in 0..5 {
            let port = free_port();
            let mut process = Command::new("redis-server")
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
                .args(options)
                .current_dir(&folder)
                .stdout(Stdio::null())
                .spawn()
                .expect("redis-server is installed");
            if is_up(&mut process, port) {
                return Self { process, port, folder };
            }
            // It is gone, or will be.
            let _ = process.kill();
            let _ = process.wait();
        }
        panic!("redis-server does not start with {options:?}");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn connect(&self) -> redis::Connection {
        let client = redis::Client::open(self.url()).expect("a client");
        client.get_connection().expect("a connection")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn is_up(process: &mut Child, port: u16) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("a client");
    while Instant::now() < deadline {
        if process.try_wait().expect("its state").is_some() {
            return false;
        }
        let pinged = client.get_connection().and_then(|mut connection| redis::cmd("PING").query(&mut connection));
        if pinged.is_ok_and(|answer: String| answer == "PONG") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
