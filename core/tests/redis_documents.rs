//! Documents of limits that a server keeps under a key.

use std::time::Duration;

use tidegate::config::{Change, Watch};

use crate::servers::{Cluster, Server, wait_until};

#[test]
fn a_document_under_a_key_is_watched() {
    let server = Server::start();
    server.run::<()>("SET limits.toml api='100/minute'");
    let source = format!("{}/limits.toml", server.url());
    let watched = Watch::open(&source).expect("a URL").by_hand().expect("sound");
    assert!(watched.look().is_none());
    // What a server says is whole.
    server.run::<()>("SET limits.toml login='5/minute'");
    let Some(Change::Changed(limits)) = watched.look() else { panic!("changed") };
    assert_eq!(limits.names().collect::<Vec<_>>(), ["login"]);
    server.run::<()>("SET limits.toml login=");
    let Some(Change::Wrong(error)) = watched.look() else { panic!("wrong") };
    assert!(error.to_string().contains(&format!("127.0.0.1:{}", server.port)), "{error}");
    assert!(watched.look().is_none(), "once");
    server.run::<()>("DEL limits.toml");
    let Some(Change::Wrong(error)) = watched.look() else { panic!("wrong") };
    assert!(error.errors()[0].message().contains("there is no such key"), "{error}");
    server.run::<()>("RPUSH limits.toml a");
    let Some(Change::Wrong(error)) = watched.look() else { panic!("wrong") };
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
    assert_eq!(watched.current().names().collect::<Vec<_>>(), ["login"]);
}

#[test]
fn a_server_that_is_gone_changes_nothing_until_it_is_back() {
    let mut server = Server::start();
    server.run::<()>("SET limits.yaml api:5/s");
    server.run::<()>("SET limits.json {\"api\":\"5/s\"}");
    let source = format!("{}/limits.json", server.url());
    let watched = Watch::open(&source).expect("a URL").by_hand().expect("sound");
    server.kill();
    assert!(matches!(watched.look(), Some(Change::Wrong(_))));
    assert!(watched.look().is_none(), "once");
    assert!(watched.current().get("api").is_some());
    server.restart();
    server.run::<()>("SET limits.json {\"api\":\"7/s\"}");
    wait_until("it is back", || watched.reload().is_ok());
    assert_eq!(watched.current()["api"], tidegate::Limit::parse("api", "7/s").expect("sound"));
}

/// Sets a key on the node that has it.
fn set(cluster: &Cluster, key: &str, text: &str) {
    let on = |node: &Server| redis::cmd("SET").arg(key).arg(text).query::<()>(&mut node.connect()).is_ok();
    assert!(cluster.nodes.iter().any(on), "a node has {key}");
}

#[test]
fn the_thread_looks_at_a_server_and_a_cluster_has_documents_too() {
    let cluster = Cluster::start(0);
    for name in ["a", "b", "c", "d"] {
        set(&cluster, &format!("{name}.toml"), "api='5/s'");
        let watched = Watch::open(&format!("{}/{name}.toml", cluster.url())).expect("a URL").start().expect("sound");
        assert_eq!(watched.current().len(), 1);
    }
    let watched = Watch::open(&format!("{}/a.toml", cluster.url())).expect("a URL");
    let watched = watched.every(Duration::from_millis(10)).on_change(|_| {}).start().expect("sound");
    set(&cluster, "a.toml", "login='5/s'");
    wait_until("it has changed", || watched.current().get("login").is_some());
}

#[test]
fn what_is_no_place_of_a_document_is_an_error() {
    for source in
        ["memory://limits.toml", "redis://localhost", "redis://localhost/0", "shm://limits.toml", "http://h/a.toml"]
    {
        let error = Watch::open(source).expect_err(source);
        assert_eq!(error.field(), "url", "{error}");
    }
    let error = Watch::open("redis://:secret@localhost").expect_err("no key");
    assert!(!error.to_string().contains("secret"), "{error}");
    assert!(Watch::open("limits.toml").is_ok());
}
