//! `tidegate ping`, `inspect`, `reset` and `block`.

use tidegate::{Limit, Limiter, Redis};

use super::servers::Server;
use super::tidegate;

#[test]
fn an_actors_entries_are_shown_and_emptied() {
    let server = Server::start();
    let url = server.url();
    let limiter = Limiter::new(Redis::builder(&url).namespace("shop").build().unwrap());
    let login = Limit::parse("login", "5/hour").unwrap();
    let api = Limit::parse("api", "10/hour fixed-window").unwrap();
    for _ in 0..6 {
        limiter.limit_sync(&login, "ip:192.0.2.1").unwrap();
    }
    limiter.limit_sync(&api, "ip:192.0.2.1").unwrap();
    let limits = ["--namespace", "shop", "--limits", "login: 5/hour", "--limits", "api: 10/hour fixed-window"];
    let call = |verb: &str, actor: &str| {
        let ended = tidegate(&[&[verb, url.as_str(), actor], &limits[..]].concat());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        ended.out
    };
    let columns = |out: &str| -> Vec<Vec<String>> {
        out.lines()
            .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect())
            .collect()
    };
    let shown = columns(&call("inspect", "ip:192.0.2.1"));
    assert_eq!(shown[0], ["limit", "left", "of", "next call", "next unit in", "empty in"]);
    assert_eq!(shown[1][..3], ["login", "0", "5"]);
    assert!(shown[1][3].starts_with("in "), "{shown:?}");
    assert_eq!(shown[2][..4], ["api", "9", "10", "at once"]);
    assert_eq!(call("reset", "ip:192.0.2.1"), "2 limits of ip:192.0.2.1 reset\n");
    let shown = columns(&call("inspect", "ip:192.0.2.1"));
    assert_eq!([&shown[1][1], &shown[2][1]], ["5", "10"]);
}

#[test]
fn limits_are_closed_to_an_actor_and_opened() {
    let server = Server::start();
    let url = server.url();
    let limits = ["--limits", r#"{"key":"login","type":"sliding-log","max":5,"period":900000,"blockFor":900000}"#];
    let limiter = Limiter::new(Redis::builder(&url).build().unwrap());
    let login = Limit::from_json(limits[1]).unwrap();
    let call = |options: &[&str]| tidegate(&[&["block", url.as_str(), "ip:192.0.2.1"], &limits[..], options].concat());

    assert_eq!(call(&["--for", "30 minutes"]).out, "1 limit of ip:192.0.2.1 closed for 30 min\n");
    let info = limiter.limit_sync(&login, "ip:192.0.2.1").unwrap();
    assert!(info.blocked && (1_700_000..=1_800_000).contains(&info.reset_ms), "{info:?}");
    assert!(limiter.limit_sync(&login, "ip:192.0.2.2").unwrap().allowed());
    assert_eq!(call(&["--open"]).out, "1 limit of ip:192.0.2.1 opened\n");
    // Another process: this one knows of the denial, and denies by its deny cache for a second.
    let elsewhere = Limiter::new(Redis::builder(&url).build().unwrap());
    assert!(elsewhere.limit_sync(&login, "ip:192.0.2.1").unwrap().allowed());

    for (options, problem) in [
        (&[][..], "--for <TIME>"),
        (&["--for", "soon"], "limit \"for\""),
        (&["--for", "1m", "--open"], "cannot be used with"),
        (&["--for", "1m", "--limits", "api: 5/hour"], "\"api\""),
    ] {
        let ended = call(options);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{options:?}");
        assert!(ended.err.contains(problem), "{}", ended.err);
    }
}

#[test]
fn a_store_answers_or_the_reason_is_told() {
    let server = Server::start();
    let ended = tidegate(&["ping", &server.url()]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(
        ended.out.starts_with(&server.url()) && ended.out.contains(": decides calls; 1 server, at most "),
        "{}",
        ended.out
    );
    let url = server.url().replace("redis://", "redis://ada:hunter2@");
    for (url, problem) in [
        ("redis://127.0.0.1:1", "127.0.0.1:1"),
        ("memory://", "no other one sees it"),
        ("mongodb://localhost", "must begin with memory://"),
        (url.as_str(), "access denied"),
    ] {
        let ended = tidegate(&["ping", url]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{url}");
        assert!(ended.err.contains(problem) && !ended.err.contains("hunter2"), "{}", ended.err);
    }
}
