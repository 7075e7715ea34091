//! Operators' tasks on a store: health checks with their warnings, and clearing it.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::calls::{hourly, raising_store};
use crate::servers::{Cluster, Server, wait_until};
use tidegate::redis::RedisBuilder;
use tidegate::remote::{Event, EventKind, Failure, OnError};
use tidegate::{Error, Limiter, Memory, StoreError};

const PATIENT: Duration = Duration::from_secs(10);

fn store(url: &str) -> RedisBuilder {
    raising_store(url, PATIENT)
}

type Heard = Arc<Mutex<Vec<Event>>>;

fn listened(store: RedisBuilder) -> (Limiter, Heard) {
    let heard = Heard::default();
    let listener = heard.clone();
    (
        Limiter::new(
            store.listener(move |event| listener.lock().expect("a lock").push(event.clone())).build().expect("a store"),
        ),
        heard,
    )
}

fn messages(heard: &Heard, name: &str) -> Vec<String> {
    let heard = heard.lock().expect("a lock");
    heard.iter().filter(|event| event.kind.name() == name).map(ToString::to_string).collect()
}

fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> StoreError {
    match answer {
        Err(Error::Store(error)) => error,
        other => panic!("not a store error: {other:?}"),
    }
}

#[test]
fn a_store_that_is_fit_says_so() {
    let server = Server::start();
    let limiter = Limiter::new(store(&server.url()).build().expect("a store"));
    let health = limiter.ping_sync().expect("it is fit");
    assert_eq!(health.servers, [format!("127.0.0.1:{}", server.port)]);
    assert_eq!((health.memory_policy.as_deref(), health.warnings.len()), (Some("noeviction"), 0), "{health:?}");
    assert!(health.round_trip > Duration::ZERO && health.clock_ahead.abs() < 1.0, "{health:?}");
    assert_eq!(server.run::<u64>("DBSIZE"), 0, "it leaves nothing behind");
    let memory = Limiter::new(Memory::new()).ping_sync().expect("nothing can be wrong");
    assert_eq!((memory.servers.len(), memory.warnings.len()), (0, 0));

    let transactions = store(&server.url()).strategy(tidegate::redis::Strategy::Transactions);
    assert!(Limiter::new(transactions.build().expect("a store")).ping_sync().is_ok());
    assert_eq!(server.run::<u64>("DBSIZE"), 0, "it leaves nothing behind");
    server.run::<()>("CONFIG SET maxmemory-policy volatile-ttl");
    let warned = limiter.ping_sync().expect("it decides").warnings.join("\n");
    assert!(warned.contains("volatile-ttl") && warned.contains("noeviction"), "{warned}");
}

#[test]
fn a_ping_says_what_is_wrong_whatever_the_policy() {
    let nobody = refused(
        Limiter::new(store("redis://127.0.0.1:1").on_error(OnError::Allow).build().expect("a store")).ping_sync(),
    );
    assert_eq!((nobody.failure(), nobody.server()), (Failure::Unreachable, "127.0.0.1:1"));
    assert!(nobody.cause().is_some_and(|cause| cause.contains("refused")), "{nobody}");

    let hangs_up = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("redis://{}", hangs_up.local_addr().expect("its address"));
    thread::spawn(move || hangs_up.incoming().for_each(drop));
    let error = refused(Limiter::new(store(&url).build().expect("a store")).ping_sync());
    assert_eq!(error.failure(), Failure::Unreachable, "no call was under way: {error}");

    let sixth = refused(Limiter::new(store("redis://[::1]:1").build().expect("a store")).ping_sync());
    assert_eq!(sixth.server(), "[::1]:1");

    let server = Server::start();
    let needless = store(&server.url()).password("secret").build().expect("a store");
    let error = refused(Limiter::new(needless).ping_sync());
    assert_eq!(error.failure(), Failure::Denied, "{error}");
    assert!(error.to_string().contains("without any password configured"), "{error}");

    let server = Server::with(&["--requirepass", "secret"]);
    let error = refused(Limiter::new(store(&server.url()).build().expect("a store")).ping_sync());
    assert_eq!(error.failure(), Failure::Denied, "{error}");
    assert!(error.to_string().contains("NOAUTH"), "{error}");
    let wrong = refused(
        Limiter::new(store(&format!("redis://:wrong@127.0.0.1:{}", server.port)).build().expect("a store")).ping_sync(),
    );
    assert_eq!(wrong.failure(), Failure::Denied, "{wrong}");
    let right = store(&server.url()).password("secret");
    assert!(Limiter::new(right.build().expect("a store")).ping_sync().is_ok());
}

#[test]
fn a_call_whose_connection_breaks_says_why() {
    let mut server = Server::start();
    let (limiter, limit) = (Limiter::new(store(&server.url()).build().expect("a store")), hourly("broken", 10));
    limiter.limit_sync(&limit, "ada").expect("an answer");
    server.pause();
    let error = thread::scope(|scope| {
        let before = limiter.stats().store_calls;
        let call = scope.spawn(|| refused(limiter.limit_sync(&limit, "ada")));
        wait_until("the call is sent", || limiter.stats().store_calls > before);
        server.kill();
        call.join().expect("no panic")
    });
    assert_eq!(error.failure(), Failure::Disconnected, "{error}");
    assert_eq!(error.server(), format!("127.0.0.1:{}", server.port), "{error}");
    assert!(error.cause().is_some(), "{error}");
}

/// A server that does not know a command repeats its arguments.
#[test]
fn a_password_is_not_repeated_where_a_server_knows_no_login() {
    for (command, protocol) in [("HELLO", 3), ("AUTH", 2)] {
        let server = Server::with(&["--rename-command", command, ""]);
        for scheme in ["redis", "redis+cluster"] {
            let url = format!("{scheme}://app:hunter2@127.0.0.1:{}/?protocol={protocol}", server.port);
            let limiter = Limiter::new(store(&url).build().expect("a store"));
            let errors = [refused(limiter.ping_sync()), refused(limiter.limit_sync(&hourly("login", 1), "ada"))];
            for error in errors {
                assert!(error.to_string().contains(command) && !error.to_string().contains("hunter2"), "{error}");
            }
            assert!(!refused(limiter.clear_sync()).to_string().contains("hunter2"));
        }
    }
}

#[test]
fn rights_that_are_missing_are_named() {
    let server = Server::start();
    let user = "+eval +evalsha +script|load +get +set +pexpire +time +ping +hello +client";
    let url = format!("redis://app:secret@127.0.0.1:{}", server.port);
    for (missing, strategy) in [("set", false), ("get", false), ("evalsha", true)] {
        server.run::<()>(&format!("ACL SETUSER app reset on >secret ~tidegate:* {user} -{missing}"));
        let error = refused(Limiter::new(store(&url).build().expect("a store")).ping_sync());
        assert_eq!(error.failure(), Failure::Denied, "{missing}: {error}");
        assert!(error.to_string().contains("transactions") == strategy, "{missing}: {error}");
    }
    server.run::<()>(&format!("ACL SETUSER app reset on >secret ~tidegate:* {user}"));
    let health = Limiter::new(store(&url).build().expect("a store")).ping_sync().expect("all that it needs");
    assert_eq!(health.memory_policy, None, "which it may not ask for");
}

#[test]
fn no_password_is_told_as_such() {
    let server = Server::with(&["--requirepass", "secret"]);
    let of_cluster = store(&format!("redis+cluster://127.0.0.1:{}", server.port));
    let (limiter, heard) = listened(of_cluster);
    let error = refused(limiter.limit_sync(&hourly("login", 1), "ada"));
    // A look at the map may have found it out before the call.
    let is_known = matches!(error.failure(), Failure::Denied | Failure::Unavailable);
    assert!(is_known && error.cause().is_some_and(|cause| cause.contains("NOAUTH")), "{error}");
    let opened = |event: &Event| event.kind == EventKind::BreakerOpen(Failure::Denied);
    assert!(heard.lock().expect("a lock").iter().any(opened), "{heard:?}");
    let (limiter, heard) = listened(store(&server.url()));
    let error = refused(limiter.limit_sync(&hourly("login", 1), "ada"));
    assert_eq!(error.failure(), Failure::Denied, "{error}");
    assert!(error.cause().is_some_and(|cause| cause.contains("NOAUTH")), "{error}");
    assert!(messages(&heard, "breaker-open")[0].contains("NOAUTH"), "{heard:?}");
    // What was first said is still known while the server is not asked.
    let error = refused(limiter.limit_sync(&hourly("login", 1), "ada"));
    assert!(error.cause().is_some_and(|cause| cause.contains("NOAUTH")), "{error}");
}

#[test]
fn a_server_without_scripts_is_told_of_at_once() {
    let without = ["EVAL", "EVALSHA", "SCRIPT"].map(|name| ["--rename-command", name, ""]);
    let server = Server::with(&without.concat());
    let (limiter, heard) = listened(store(&server.url()));
    let error = refused(limiter.limit_sync(&hourly("login", 1), "ada"));
    assert!(error.to_string().contains("strategy=\"transactions\""), "{error}");
    assert!(messages(&heard, "failure")[0].contains("strategy=\"transactions\""), "{heard:?}");
    let error = refused(limiter.ping_sync());
    assert!(error.to_string().contains("strategy=\"transactions\""), "{error}");
    let transactions = store(&server.url()).strategy(tidegate::redis::Strategy::Transactions);
    let limiter = Limiter::new(transactions.build().expect("a store"));
    assert!(limiter.ping_sync().is_ok());
    assert!(!limiter.limit_sync(&hourly("login", 1), "ada").expect("an answer").blocked);
}

#[test]
fn calls_that_the_store_does_not_decide_are_heard_of() {
    let server = Server::start();
    let quick = store(&server.url()).timeout(Duration::from_millis(200)).on_error(OnError::Local);
    let (limiter, heard) = listened(quick);
    let limit = hourly("login", 1000);
    wait_until("the store decides", || limiter.limit_sync(&limit, "ada").is_ok_and(|info| !info.degraded));
    heard.lock().expect("a lock").clear();
    let before = limiter.stats().degraded;
    server.pause();
    // One deadline that is missed does not open the breaker, and is heard of all the same.
    assert!(limiter.limit_sync(&limit, "ada").expect("an answer").degraded);
    server.resume();
    let told = messages(&heard, "degraded");
    assert_eq!(told.len(), usize::from(before == 0), "{told:?}");
    if before == 0 {
        assert!(told[0].contains("1 call was answered without it (timeout 1)"), "{told:?}");
        assert!(told[0].contains("the policy is local") && told[0].contains("the timeout is 200 ms"), "{told:?}");
    }
    wait_until("it is said to be over", || {
        let _ = limiter.limit_sync(&limit, "ada");
        messages(&heard, "recovered").len() == 1
    });
}

/// However soon after another.
#[test]
fn every_outage_is_heard_of_when_it_begins_and_when_it_is_over() {
    let mut server = Server::start();
    let (limiter, heard) = listened(store(&server.url()).timeout(Duration::from_secs(2)).on_error(OnError::Local));
    let limit = hourly("login", 1000);
    let decides = || limiter.limit_sync(&limit, "ada").is_ok_and(|info| !info.degraded);
    wait_until("the store decides", decides);
    for outage in 1..=2 {
        server.kill();
        wait_until("it is noticed", || !decides());
        for name in ["degraded", "breaker-open"] {
            wait_until("the breaker is open", || !decides() && messages(&heard, "breaker-open").len() == outage);
            assert_eq!(messages(&heard, name).len(), outage, "{name}: {heard:?}");
        }
        server.restart();
        wait_until("it is said to be over", || {
            decides();
            messages(&heard, "recovered").len() == outage
        });
        assert_eq!(messages(&heard, "breaker-close").len(), outage, "{heard:?}");
    }
}

#[test]
fn the_url_of_one_node_is_that_of_its_cluster() {
    let cluster = Cluster::start(0);
    for policy in [OnError::Raise, OnError::Local] {
        let (limiter, heard) = listened(store(&cluster.nodes[0].url()).on_error(policy));
        let limit = hourly("login", 1);
        for actor in 0..60 {
            let actor = format!("{policy:?}{actor}");
            let verdicts = [(); 2].map(|()| limiter.limit_sync(&limit, &actor).expect("an answer"));
            assert!(verdicts.iter().all(|info| !info.degraded), "{actor}: {verdicts:?} {heard:?}");
            assert_eq!(verdicts.map(|info| info.blocked), [false, true], "{actor}");
        }
        assert_eq!(messages(&heard, "cluster").len(), 1, "{heard:?}");
        assert_eq!(heard.lock().expect("a lock").len(), 1, "{heard:?}");
        let health = limiter.ping_sync().expect("every node is fit");
        assert_eq!(health.servers.len(), 3);
        assert!(health.warnings.iter().any(|warning| warning.contains("redis+cluster://")), "{health:?}");
    }
    // Two keys of one entry need not be on one node: what cannot be is said.
    let sharkey = store(&cluster.nodes[0].url()).layout(tidegate::redis::Layout::Sharkey);
    let (limiter, heard) = listened(sharkey);
    refused(limiter.limit_sync(&hourly("login", 1), "ada"));
    let open = messages(&heard, "breaker-open");
    assert!(open.iter().any(|message| message.contains("node of a cluster")), "{heard:?}");

    let limiter = Limiter::new(store(&cluster.url()).build().expect("a store"));
    assert_eq!(limiter.ping_sync().expect("every node is fit").servers.len(), 3);
    assert_eq!(limiter.clear_sync().expect("every node is asked"), 120);
    let left: u64 = cluster.nodes.iter().map(|node| node.run::<u64>("DBSIZE")).sum();
    assert_eq!(left, 0);
}

#[test]
fn clearing_removes_a_namespace_and_nothing_else() {
    let server = Server::start();
    let limiter = Limiter::new(store(&server.url()).build().expect("a store"));
    let (odd, limit) = (limiter.namespace("t*[i]?:"), hourly("login", 1));
    for actor in 0..1200 {
        let _ = limiter.limit_sync(&limit, &actor.to_string()).expect("an answer");
    }
    for other in [&odd, &limiter.namespace("tidegate2"), &limiter.namespace("txixx")] {
        let _ = other.limit_sync(&limit, "ada").expect("an answer");
    }
    server.run::<()>("SET tidegate:other 1");
    assert_eq!(odd.clear_sync().expect("a count"), 1);
    assert!(!odd.limit_sync(&limit, "ada").expect("an answer").blocked);
    assert_eq!(limiter.clear_sync().expect("a count"), 1200);
    assert_eq!(server.run::<u64>("DBSIZE"), 4);
    assert!(!limiter.limit_sync(&limit, "7").expect("an answer").blocked);

    // A denial that is remembered is forgotten too.
    let remembers = Limiter::new(store(&server.url()).deny_cache(Duration::from_secs(60)).build().expect("a store"));
    assert!(remembers.limit_sync(&limit, "7").expect("an answer").blocked);
    assert_eq!(remembers.clear_sync().expect("a count"), 1);
    assert!(!remembers.limit_sync(&limit, "7").expect("an answer").blocked);

    let sharkey = Limiter::new(store(&server.url()).layout(tidegate::redis::Layout::Sharkey).build().expect("a store"));
    let _ = sharkey.limit_sync(&limit, "ada").expect("an answer");
    assert_eq!(sharkey.clear_sync().expect("a count"), 2);

    let memory = Limiter::new(Memory::new());
    for actor in 0..100 {
        let _ = memory.limit_sync(&limit, &actor.to_string()).expect("an answer");
    }
    assert_eq!(memory.clear_sync().expect("a count"), 100);
    assert_eq!((memory.memory().len(), memory.limit_sync(&limit, "7").expect("an answer").blocked), (0, false));
    let denied = refused(Limiter::new(store("redis://127.0.0.1:1").build().expect("a store")).clear_sync());
    assert_eq!(denied.failure(), Failure::Unreachable);
}

#[test]
fn sentinels_may_ask_for_a_password() {
    let primary = Server::with(&["--requirepass", "data"]);
    let folder = primary.folder().join("sentinel.conf");
    let lines = format!(
        "sentinel monitor shop 127.0.0.1 {} 1\nsentinel auth-pass shop data\nrequirepass watch\n",
        primary.port
    );
    std::fs::write(&folder, lines).expect("a file");
    let sentinel = Server::with(&[&folder.to_string_lossy(), "--sentinel"]);
    let url = format!("redis+sentinel://:data@127.0.0.1:{}/shop", sentinel.port);
    let error = refused(Limiter::new(store(&url).build().expect("a store")).ping_sync());
    assert_eq!(error.failure(), Failure::Denied, "{error}");
    let limiter = Limiter::new(store(&url).sentinel_login(None, Some("watch")).build().expect("a store"));
    assert!(limiter.ping_sync().is_ok());
    assert!(!limiter.limit_sync(&hourly("login", 1), "ada").expect("an answer").blocked);
    let limiter = Limiter::new(store(&format!("{url}?sentinel_password=watch")).build().expect("a store"));
    assert!(limiter.ping_sync().is_ok());
}

#[test]
fn every_event_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = EventKind::NAMES.iter().copied().collect();
    assert_eq!(names.len(), EventKind::NAMES.len());
    assert_eq!(EventKind::BreakerOpen(Failure::Timeout).name(), "breaker-open");
    assert_eq!(EventKind::Cluster.name(), "cluster");
}
