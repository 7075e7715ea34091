//! Access to a server: users, their passwords and certificates.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::calls::{hourly, raising_store};
use crate::servers::certificates::Certificates;
use crate::servers::{Server, free_port, wait_until};
use tidegate::redis::{RedisBuilder, Strategy};
use tidegate::remote::{EventKind, Failure, OnError};
use tidegate::{Error, Limiter, Redis};

/// Long, so that no machine is too slow for it.
const PATIENT: Duration = Duration::from_secs(10);

fn store(url: &str) -> RedisBuilder {
    raising_store(url, PATIENT)
}

#[test]
fn tls_with_an_authority_and_a_certificate_of_ones_own() {
    let certificates = Certificates::make("tls");
    let file = |name: &str| certificates.file(name);
    let secure = free_port();
    let arguments = [
        "--tls-port",
        &secure.to_string(),
        "--tls-cert-file",
        &file("server.crt"),
        "--tls-key-file",
        &file("server.key"),
        "--tls-ca-cert-file",
        &file("ca.crt"),
        "--tls-auth-clients",
        "yes",
    ];
    let server = Server::with(&arguments);
    let url = format!("rediss://localhost:{secure}");
    let (limit, pem) = (hourly("tls", 10), |name: &str| certificates.pem(name));
    let with = |authority: &str| {
        let store = Redis::builder(&url).timeout(Duration::from_secs(1)).on_error(OnError::Raise);
        let store = store.certificate_authority(&pem(authority));
        store.client_certificate(&pem("client.crt"), &pem("client.key"))
    };
    let limiter = Limiter::new(with("ca.crt").build().expect("a store"));
    assert_eq!(limiter.limit_sync(&limit, "ada").expect("an answer").remaining, 9);

    let named = format!(
        "{url}?ssl_ca_certs={}&ssl_certfile={}&ssl_keyfile={}",
        file("ca.crt"),
        file("client.crt"),
        file("client.key")
    );
    let limiter = Limiter::new(Redis::builder(&named).timeout(Duration::from_secs(1)).build().expect("a store"));
    assert_eq!(limiter.limit_sync(&limit, "ada").expect("an answer").remaining, 8);

    // Whom nobody vouches for is not talked to; the policy answers.
    for refused in
        [Limiter::new(with("other.crt").build().expect("a store")), Limiter::new(store(&url).build().expect("a store"))]
    {
        assert!(matches!(refused.limit_sync(&limit, "ada"), Err(Error::Store(_))));
    }
    for refused in ["expired", "elsewhere"] {
        let named = [file(&format!("{refused}.crt")), file(&format!("{refused}.key"))];
        server.run::<()>(&format!("CONFIG SET tls-cert-file {} tls-key-file {}", named[0], named[1]));
        let answer = Limiter::new(with("ca.crt").build().expect("a store")).limit_sync(&limit, "ada");
        assert!(matches!(&answer, Err(Error::Store(_))), "{refused}: {answer:?}");
    }
    // Unless nobody has to be vouched for, which is told.
    let heard: Arc<Mutex<Vec<EventKind>>> = Arc::default();
    let identity = format!("ssl_certfile={}&ssl_keyfile={}", file("client.crt"), file("client.key"));
    let anybody = Redis::builder(&format!("{url}?{identity}&ssl_cert_reqs=none"));
    let listener = heard.clone();
    let anybody = anybody.timeout(Duration::from_secs(1)).on_error(OnError::Raise);
    let anybody = anybody.listener(move |event| listener.lock().expect("a lock").push(event.kind));
    assert!(Limiter::new(anybody.build().expect("a store")).limit_sync(&limit, "ada").is_ok());
    assert_eq!(*heard.lock().expect("a lock"), [EventKind::Unverified]);
    let nonsense = Redis::builder(&url).certificate_authority(b"nonsense").build();
    assert!(nonsense.is_err(), "no certificate");
    let plain = Redis::builder("redis://localhost").certificate_authority(&pem("ca.crt")).build();
    assert!(plain.is_err(), "certificates without TLS");
}

/// A server over TLS, which asks nobody for a certificate; its port, and the one without TLS.
fn tls_server(certificates: &Certificates, name: &str) -> (Server, u16) {
    let secure = free_port();
    let (certificate, key) = (certificates.file(&format!("{name}.crt")), certificates.file(&format!("{name}.key")));
    let secured = ["--tls-port", &secure.to_string(), "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let server =
        Server::with(&[&secured[..], &["--tls-ca-cert-file", &certificate, "--tls-auth-clients", "no"]].concat());
    (server, secure)
}

#[test]
fn a_certificate_that_signed_itself_is_its_own_authority() {
    let certificates = Certificates::make("own");
    let limit = hourly("tls", 10);
    for (name, other, is_good) in [("own", "ca", true), ("own-name", "own", false)] {
        let (_server, secure) = tls_server(&certificates, name);
        let with = |authority: &str| {
            let store = Redis::builder(&format!("rediss://localhost:{secure}"))
                .timeout(PATIENT)
                .certificate_authority(&certificates.pem(&format!("{authority}.crt")))
                .on_error(OnError::Raise);
            Limiter::new(store.build().expect("a store")).limit_sync(&limit, "ada")
        };
        match with(name) {
            Ok(info) => assert!(is_good && info.remaining == 9, "{info:?}"),
            Err(error) => assert!(!is_good && error.to_string().contains("not valid for name"), "{error}"),
        }
        let error = with(other).expect_err("nobody vouches for it").to_string();
        assert!(error.contains("certificate"), "{error}");
    }
}

#[test]
fn a_port_that_is_the_other_one_is_said_to_be() {
    let certificates = Certificates::make("ports");
    let (server, secure) = tls_server(&certificates, "own");
    let limit = hourly("ports", 10);
    for (url, said) in [
        (format!("rediss://localhost:{}", server.port), ["one without TLS", "redis://"]),
        (format!("rediss+cluster://localhost:{}", server.port), ["one without TLS", "redis://"]),
        (format!("redis://localhost:{secure}"), ["one with TLS", "rediss://"]),
        (format!("redis://:password@localhost:{secure}"), ["one with TLS", "rediss://"]),
        (format!("redis+cluster://localhost:{secure}"), ["one with TLS", "rediss://"]),
    ] {
        let store = Redis::builder(&url).on_error(OnError::Raise).timeout(PATIENT);
        // A server without TLS says nothing to a client that speaks it.
        let store = if url.starts_with("rediss") {
            store.certificate_authority(&certificates.pem("own.crt")).timeout(Duration::from_millis(200))
        } else {
            store
        };
        let limiter = Limiter::new(store.build().expect("a store"));
        let pinged = limiter.ping_sync().expect_err("the wrong port").to_string();
        assert!(said.iter().all(|words| pinged.contains(words)), "{url}: {pinged}");
        wait_until("a call says so too", || {
            let called = limiter.limit_sync(&limit, "ada").expect_err("the wrong port").to_string();
            said.iter().all(|words| called.contains(words))
        });
    }
}

/// A server without a command, or a user who may not use it.
fn without(command: &str, is_renamed: bool) -> (Server, String) {
    if is_renamed {
        let server = Server::with(&["--rename-command", command, ""]);
        let url = server.url();
        return (server, url);
    }
    let server = Server::start();
    server.run::<()>(&format!("ACL SETUSER app on >secret ~* +@all -{command}"));
    let url = format!("redis://app:secret@127.0.0.1:{}", server.port);
    (server, url)
}

#[test]
fn a_command_that_is_missing_is_named_with_what_to_do() {
    let script = ["time", "get", "set", "pexpire", "evalsha"];
    let transactions = ["time", "get", "set", "incrby", "expire", "multi"];
    let both = [(Strategy::Script, &script[..]), (Strategy::Transactions, &transactions[..])];
    for (strategy, commands) in both {
        for (command, is_renamed) in commands.iter().flat_map(|command| [(*command, true), (*command, false)]) {
            let (_server, url) = without(command, is_renamed);
            let about = format!("{command}, {strategy:?}, renamed: {is_renamed}");
            let limiter =
                Limiter::new(store(&url).timeout(Duration::from_secs(2)).strategy(strategy).build().expect("a store"));
            let limit = hourly("faults", 1);
            let mut refused = vec![limiter.ping_sync().map(drop)];
            if command == "pexpire" {
                // Only what empties an entry needs it.
                limiter.limit_sync(&limit, "ada").expect("an answer");
                refused.push(limiter.refund_sync(&limit, "ada").map(drop));
            } else {
                refused.push(limiter.limit_sync(&limit, "ada").map(drop));
            }
            for answer in refused {
                let Err(Error::Store(error)) = answer else { panic!("{about}: {answer:?}") };
                assert_eq!(error.failure(), Failure::Denied, "{about}: {error}");
                let said = error.to_string();
                assert!(said.to_lowercase().contains(command), "{about}: {said}");
                let advice = if command == "evalsha" {
                    "strategy=\"transactions\""
                } else {
                    "must be allowed to the server's user"
                };
                assert!(said.contains(advice), "{about}: {said}");
                assert!(!said.contains("ada"), "{about}: {said}");
            }
        }
    }
}

#[test]
fn commands_that_can_be_done_without() {
    for command in ["hello", "client", "eval", "script", "config", "info", "scan"] {
        for is_renamed in [true, false] {
            let (_server, url) = without(command, is_renamed);
            let limiter = Limiter::new(store(&url).timeout(Duration::from_secs(2)).build().expect("a store"));
            // A script that may not be loaded goes along with the first call.
            limiter.ping_sync().unwrap_or_else(|error| panic!("{command}: {error}"));
            let answer = limiter.limit_sync(&hourly("faults", 1), "ada");
            assert!(!answer.unwrap_or_else(|error| panic!("{command}: {error}")).blocked);
        }
    }
}

#[test]
fn clearing_says_which_right_it_needs() {
    for command in ["scan", "unlink"] {
        for is_renamed in [true, false] {
            let (_server, url) = without(command, is_renamed);
            let limiter = Limiter::new(store(&url).timeout(Duration::from_secs(2)).build().expect("a store"));
            limiter.limit_sync(&hourly("faults", 1), "ada").expect("an answer");
            let Err(Error::Store(error)) = limiter.clear_sync() else { panic!("{command} is not needed") };
            assert_eq!(error.failure(), Failure::Denied, "{error}");
            let said = error.to_string().to_lowercase();
            assert!(said.contains(command) && said.contains("must be allowed to the server's user"), "{error}");
        }
    }
}

#[test]
fn a_look_over_the_keys_says_which_right_it_needs() {
    for command in ["scan", "dbsize"] {
        for is_renamed in [true, false] {
            let (_server, url) = without(command, is_renamed);
            let limiter = Limiter::new(store(&url).timeout(Duration::from_secs(2)).build().expect("a store"));
            let Err(Error::Store(error)) = tidegate::ffi::closest_sync(&limiter, &[hourly("faults", 1)], 10) else {
                panic!("{command} is not needed")
            };
            assert_eq!(error.failure(), Failure::Denied, "{error}");
            let said = error.to_string().to_lowercase();
            assert!(said.contains(command) && said.contains("must be allowed to the server's user"), "{error}");
        }
    }
}

/// As one does that has as many clients as it may, or that takes none from other hosts.
#[test]
fn a_server_that_takes_no_clients_is_quoted() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(b"-ERR max number of clients reached\r\n");
        }
    });
    let plain = ["redis://127.0.0.1", "redis+cluster://127.0.0.1", "redis+sentinel://127.0.0.1"];
    for url in [&plain[..], &["redis://:secret@127.0.0.1", "redis+cluster://app:secret@127.0.0.1"]].concat() {
        let (service, limit) = (if url.contains("sentinel") { "/shop" } else { "" }, hourly("full", 10));
        for _ in 0..10 {
            let limiter = Limiter::new(store(&format!("{url}:{port}{service}")).build().expect("a store"));
            for answer in [limiter.limit_sync(&limit, "ada").map(drop), limiter.ping_sync().map(drop)] {
                let Err(Error::Store(error)) = answer else { panic!("{answer:?}") };
                assert!(error.to_string().contains("max number of clients reached"), "{url}: {error}");
            }
        }
    }
}
