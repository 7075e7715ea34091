//! A build without TLS: plain connections work, and a URL that asks for TLS is refused with the feature's name.
#![cfg(all(feature = "redis", not(feature = "tls")))]
#![allow(missing_docs, reason = "a test")]

mod servers;

use servers::Server;
use tidegate::{Limit, Limiter, Redis};

#[test]
fn a_url_that_asks_for_tls_is_refused() {
    for url in ["rediss://localhost", "valkeys://localhost", "rediss+cluster://a,b", "rediss+sentinel://a/primary"] {
        let error = Redis::open(url).map(drop).expect_err(url).to_string();
        assert!(error.contains("the feature `tls`"), "{url}: {error}");
    }
    let error = Limiter::open("rediss://ada:secret@localhost", []).map(drop).expect_err("no TLS").to_string();
    assert!(error.contains("the feature `tls`") && !error.contains("secret"), "{error}");
}

#[test]
fn a_plain_connection_decides() {
    let server = Server::start();
    let limiter = Limiter::new(Redis::open(&server.url()).expect("a URL"));
    let info = limiter.limit_sync(&Limit::bucket("login", 1).build().expect("a limit"), "ada").expect("an answer");
    assert!(!info.blocked && !info.degraded);
}
