//! Real servers for tests: each on a free port of this machine, ended by its process id when the test is over.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod certificates;
pub(crate) mod fake;
pub(crate) mod proxy;

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        // A cluster's node listens on this one as well.
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

/// A redis-server, or a sentinel.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    arguments: Vec<String>,
    folder: PathBuf,
}

impl Server {
    /// A server that keeps everything in memory.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// A server with these arguments besides.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        // Somebody else may take a free port before the server does.
        (0..5).find_map(|_| Self::try_on(free_port(), arguments)).expect("a server that starts")
    }

    /// A server that replicas are in sync with as soon as they ask for it.
    pub(crate) fn primary() -> Self {
        Self::with(&["--repl-diskless-sync-delay", "0"])
    }

    /// A replica of this server, in sync with it.
    pub(crate) fn replica(&self) -> Self {
        self.replica_at(self.port)
    }

    pub(crate) fn replica_through(&self, link: &proxy::Proxy) -> Self {
        self.replica_at(link.port)
    }

    fn replica_at(&self, port: u16) -> Self {
        let replica = Self::with(&["--replicaof", &format!("127.0.0.1 {port}")]);
        wait_until("the replica has it all", || {
            replica.run::<String>("INFO replication").contains("master_link_status:up")
        });
        self.is_followed_by(1);
        replica
    }

    /// Waits until what is written reaches so many replicas; being online is not enough for that.
    pub(crate) fn is_followed_by(&self, replicas: u64) {
        let mut connection = self.connect();
        wait_until("the replicas acknowledge what is written", || {
            let mut write = redis::pipe();
            write.cmd("SET").arg("followed").arg("").arg("PX").arg(1).ignore();
            let answers = write.cmd("WAIT").arg(replicas).arg(1000).query::<[u64; 1]>(&mut connection);
            answers.expect("an answer")[0] >= replicas
        });
    }

    pub(crate) fn on(port: u16, arguments: &[&str]) -> Self {
        Self::try_on(port, arguments).expect("a server that starts")
    }

    /// None where somebody else has the port.
    pub(crate) fn try_on(port: u16, arguments: &[&str]) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("tidegate-test-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let child = spawn(port, &folder, &arguments);
        let mut server = Self { child, port, arguments, folder };
        server.is_up().then_some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// Waits until it listens; false if it has ended, or somebody else was quicker to take its port.
    fn is_up(&mut self) -> bool {
        let mut is_ours = None;
        wait_until("a server listens", || {
            let ended = self.child.try_wait().expect("its state").is_some();
            is_ours = if ended { Some(false) } else { self.is_heard().ok() };
            is_ours.is_some()
        });
        is_ours == Some(true)
    }

    /// True if it is this process that answers at its port. One that asks for a password tells nobody.
    fn is_heard(&self) -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"INFO server\r\n")?;
        let mut lines = BufReader::new(stream).lines();
        loop {
            let line = lines.next().ok_or(ErrorKind::UnexpectedEof)??;
            if line.starts_with('-') {
                return Ok(true);
            }
            if let Some(id) = line.strip_prefix("process_id:") {
                return Ok(id == self.child.id().to_string());
            }
        }
    }

    /// Stops it as it stands: connections stay, nothing is answered.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "{signal} could not be sent");
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Starts it once more, after it was killed.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(self.port, &self.folder, &self.arguments);
        assert!(self.is_up(), "it does not start again");
    }

    /// A connection past all of ours.
    pub(crate) fn connect(&self) -> redis::Connection {
        let client = redis::Client::open(self.url()).expect("a URL");
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match client.get_connection() {
                Ok(connection) => return connection,
                Err(error) => assert!(Instant::now() < deadline, "no connection: {error}"),
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// One command, past all of ours.
    pub(crate) fn run<T: redis::FromRedisValue>(&self, command: &str) -> T {
        let mut words = command.split_whitespace();
        let mut built = redis::cmd(words.next().expect("a command"));
        built.arg(words.collect::<Vec<_>>());
        built.query(&mut self.connect()).unwrap_or_else(|error| panic!("{command}: {error}"))
    }
}

/// The first of the arguments may be a configuration file.
fn spawn(port: u16, folder: &PathBuf, arguments: &[String]) -> Child {
    let (file, options) = match arguments.split_first() {
        Some((file, options)) if !file.starts_with("--") => (Some(file), options),
        _ => (None, arguments),
    };
    let mut command = Command::new("redis-server");
    command.args(file).args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--daemonize", "no", "--dir"]);
    command.arg(folder);
    if !options.iter().any(|option| option == "--sentinel") {
        command.args(["--save", "", "--enable-debug-command", "yes"]);
    }
    command.args(options).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("redis-server has to be installed (Debian: apt-get install redis-server)")
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Waits for something that takes a while, but not for ever.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(20), "waited too long until {what}");
        sleep(Duration::from_millis(5));
    }
    started.elapsed()
}

/// Three primaries, each with a third of the slots, and as many replicas of each as wanted.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
}

impl Cluster {
    pub(crate) fn start(replicas: usize) -> Self {
        let arguments =
            ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0"];
        let nodes: Vec<_> = (0..3 * (1 + replicas)).map(|_| Server::with(&arguments)).collect();
        let addresses = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port));
        let made = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", &replicas.to_string(), "--cluster-yes"])
            .output()
            .expect("redis-cli");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        let cluster = Self { nodes };
        wait_until("every node says that the cluster is well", || {
            cluster.nodes.iter().all(|node| {
                let known = node.run::<String>("CLUSTER INFO").contains("cluster_state:ok");
                let replication = node.run::<String>("INFO replication");
                let whole = match replicas {
                    0 => true,
                    _ if replication.contains("role:master") => replication.contains("state=online"),
                    _ => replication.contains("master_link_status:up"),
                };
                known && whole
            })
        });
        cluster
    }

    pub(crate) fn url(&self) -> String {
        let hosts: Vec<_> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }
}
