//! A second implementation of remote stores: it decides in the process of its client, on values that a server keeps.

mod client;
mod server;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidegate::remote::OnError;
use tidegate::remote::backend::Settings;
use tidegate::{AnyStore, Limiter};

use self::client::LineStore;
use self::server::LineServer;
use crate::Subject;
use crate::faults::{DEADLINE, Faulty};
use crate::servers::proxy::Proxy;

struct Lines {
    server: LineServer,
    wire: Proxy,
    namespaces: AtomicUsize,
}

impl Lines {
    fn start() -> Self {
        let server = LineServer::start();
        Self { wire: Proxy::to(server.port), server, namespaces: AtomicUsize::new(0) }
    }
}

fn limiter(port: u16, policy: OnError, timeout: Duration) -> Limiter {
    let settings = Settings::default().timeout(timeout).on_error(policy);
    Limiter::new(AnyStore::remote(LineStore { port }, settings))
}

impl Subject for Lines {
    fn limiters(&self) -> [Limiter; 2] {
        let namespace = self.namespaces.fetch_add(1, Ordering::Relaxed).to_string();
        let limiter = || limiter(self.server.port, OnError::Raise, Duration::from_secs(10)).namespace(&namespace);
        [limiter(), limiter()]
    }
}

impl Faulty for Lines {
    fn wire(&self) -> &Proxy {
        &self.wire
    }

    fn over(&self, policy: OnError) -> Limiter {
        limiter(self.wire.port, policy, DEADLINE)
    }
}

crate::conforms!(Lines::start(), vectors suite faults);
