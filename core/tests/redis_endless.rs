//! Replies that never end, in every shape, over TLS and without: the connection ends, and little memory is used.
#![cfg(feature = "redis")]
#![allow(missing_docs, reason = "a test")]

mod calls;
mod servers;

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use calls::hourly;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use servers::certificates::Certificates;
use servers::fake::{Fake, Stream};
use tidegate::remote::{Failure, OnError};
use tidegate::{Limiter, Redis};

/// Long, so that the connection ends for its reply and not for the time that it takes.
const DEADLINE: Duration = Duration::from_secs(5);
/// MiB that a reply may cost: the reply that a call can have, the buffers on its way, and the allocator's own.
const MOST: u64 = 16;

const PIECE: &str =
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
const SHAPES: [(&str, &str, &str); 7] = [
    ("a bulk of 900 MB", "$900000000\r\n", PIECE),
    ("a line without an end", "+", PIECE),
    ("an error without an end", "-ERR ", PIECE),
    ("an array of a thousand million", "*1000000000\r\n", ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"),
    ("a reply that is right, and ever more", "*0\r\n", "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n"),
    ("arrays in arrays", "*1\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
    ("many arrays of a thousand million", "*1000000000\r\n", "*1000000000\r\n*1000000000\r\n*1000000000\r\n"),
];

fn tls(certificates: &Certificates) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(&certificates.pem("server.crt")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(&certificates.pem("server.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_no_client_auth().with_single_cert(vec![certificate], key);
    Arc::new(config.expect("a key for the certificate"))
}

#[test]
fn an_endless_reply_ends_the_connection() {
    let certificates = Certificates::make("endless");
    let config = tls(&certificates);
    for over_tls in [false, true] {
        for (shape, head, tail) in SHAPES {
            let config = config.clone();
            let tail: &'static str = Box::leak(tail.repeat(16_384 / tail.len()).into_boxed_str());
            let streams = move |client: TcpStream| -> Option<Box<dyn Stream>> {
                if over_tls {
                    let connection = ServerConnection::new(config.clone()).ok()?;
                    return Some(Box::new(StreamOwned::new(connection, client)));
                }
                Some(Box::new(client))
            };
            let fake = Fake::over(streams, tail, move |_, _| Some(head.to_owned()));
            let scheme = if over_tls { "rediss" } else { "redis" };
            let store = Redis::builder(&format!("{scheme}://127.0.0.1:{}", fake.port));
            let store = if over_tls { store.certificate_authority(&certificates.pem("ca.crt")) } else { store };
            let store = store.timeout(DEADLINE).on_error(OnError::Allow);
            let limiter = Limiter::new(store.deny_cache(Duration::ZERO).build().expect("a store"));
            let limit = hourly("endless", 10);
            reset_peak();
            let before = memory("VmRSS:");
            for _ in 0..5 {
                let started = Instant::now();
                assert!(limiter.limit_sync(&limit, "ada").expect("the policy's answer").degraded, "{shape}");
                assert!(started.elapsed() < DEADLINE / 2, "{shape}: {:?}", started.elapsed());
            }
            let more = memory("VmHWM:").saturating_sub(before);
            let failures = limiter.stats().failures;
            println!("{scheme}, {shape}: {more} MiB more; {failures:?}");
            assert_eq!(failures[&Failure::Timeout], 0, "{scheme}, {shape}: it ends in time");
            assert!(more <= MOST, "{scheme}, {shape}: {more} MiB more");
        }
    }
}

/// Begins to look for the most memory anew.
fn reset_peak() {
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
}

/// MiB of memory that this process has, or had at most.
fn memory(of: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(of)).expect("a line");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024
}
