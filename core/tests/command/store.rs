//! `tidegate ping`, `inspect`, `top`, `reset` and `block`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use tidegate::config::Limits;
use tidegate::{Call, Limit, Limiter, Redis};

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
fn a_table_that_no_process_has_opened_is_not_made() {
    let table = super::written("unopened");
    let _ = std::fs::remove_file(&table);
    let url = format!("shm://{table}");
    let limits = ["--limits", r#"{"key":"api","type":"bucket","size":10,"dripRate":1000,"blockFor":1000}"#];
    let call = |verb: &[&str]| tidegate(&[verb, &[url.as_str(), "ip:192.0.2.1"], &limits[..]].concat());
    for (verb, ended) in [
        ("inspect", call(&["inspect"])),
        ("reset", call(&["reset"])),
        ("block", call(&["block", "--open"])),
        ("top", tidegate(&[&["top", url.as_str()], &limits[..]].concat())),
    ] {
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{verb}");
        assert!(
            ended.err.contains("no process of this user has opened it") && ended.err.contains(&table),
            "{}",
            ended.err
        );
        assert!(!std::path::Path::new(&table).exists());
    }
    let limiter = Limiter::open(&url, []).unwrap();
    limiter.limit_sync(&Limit::from_json(limits[1]).unwrap(), "ip:192.0.2.1").unwrap();
    let shown = call(&["inspect"]);
    assert_eq!(shown.err, "");
    assert!(shown.out.lines().nth(1).is_some_and(|row| row.split_whitespace().nth(1) == Some("9")), "{}", shown.out);
}

#[test]
fn the_overrides_of_an_actor_are_those_of_the_application() {
    let server = Server::start();
    let url = server.url();
    let file = super::written("overridden.toml");
    let text = r#"
        api = "10/hour"
        [[overrides]]
        actor = "acme"
        limit = "api"
        definition = { type = "sliding-log", max = 3, period = 3600000, blockFor = 60000 }
        [[overrides]]
        actor = "bob"
        factor = 0.5
        [[overrides]]
        actor = "monitor"
        unlimited = true
    "#;
    std::fs::write(&file, text).unwrap();
    let limits = Limits::load(&file).unwrap();
    let is_blocked = |actor: &str| {
        // Each of its own: one that has seen a denial denies by its deny cache for a second.
        let limiter = Limiter::new(Redis::builder(&url).build().unwrap());
        limiter.decide_sync(&[limits.check("api", actor).unwrap()], Call::Limit).unwrap().blocked
    };
    let call = |verb: &str, actor: &str, options: &[&str]| {
        let ended = tidegate(&[&[verb, url.as_str(), actor, "--limits", &file], options].concat());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        ended.out
    };
    assert_eq!([(); 4].map(|()| is_blocked("acme")), [false, false, false, true]);
    assert!(!is_blocked("bob"));
    for (actor, begin) in
        [("acme", "api     0   3  in "), ("bob", "api     19  20  at once"), ("monitor", "api    any  any  at once")]
    {
        let shown = call("inspect", actor, &[]);
        let cells = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let row = cells(shown.lines().last().unwrap());
        assert!(row.starts_with(&cells(begin)), "{shown}");
    }
    assert_eq!(call("reset", "acme", &[]), "1 limit of acme reset\n");
    assert!(!is_blocked("acme"));
    assert_eq!(call("block", "acme", &["--for", "1m"]), "1 limit of acme closed for 60 s\n");
    assert!(is_blocked("acme"));
}

#[test]
fn actors_close_to_their_limits_are_shown() {
    let server = Server::start();
    let url = server.url();
    let limiter = Limiter::new(Redis::builder(&url).namespace("shop").build().unwrap());
    let [login, api] = [Limit::parse("login", "5/hour").unwrap(), Limit::parse("api", "10/hour").unwrap()];
    for actor in ["ip:192.0.2.1", "\u{1b}[2J"] {
        for _ in 0..6 {
            limiter.limit_sync(&login, actor).unwrap();
        }
    }
    for actor in ["ip:192.0.2.1", "ip:192.0.2.2", &"a".repeat(300)] {
        limiter.limit_sync(&api, actor).unwrap();
    }
    let limits = ["--namespace", "shop", "--limits", "login: 5/hour", "--limits", "api: 10/hour"];
    let shown = |options: &[&str]| {
        let ended = tidegate(&[&["top", url.as_str()], &limits[..], options].concat());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        ended.out
    };
    let out = shown(&[]);
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].starts_with("actor ") && lines[0].ends_with("empty in"), "{out}");
    assert!(lines[1..3].iter().any(|line| line.starts_with("\\u{1b}[2J     login     0   5  in ")), "{out}");
    assert!(lines[1..3].iter().any(|line| line.starts_with("ip:192.0.2.1  login     0   5  in ")), "{out}");
    assert!(lines[3].starts_with("ip:192.0.2.2  api       9  10  at once"), "{out}");
    let end = "3 actors found, 2 of them denied now. Looked at 5 of 5 keys.\n\
               1 actor left out: too long to be kept by their names.\n";
    assert!(out.ends_with(end), "{out}");
    let part = shown(&["--count", "1"]);
    assert!(part.ends_with(&end.replace("now.", "now, 2 not shown.")) && part.lines().count() == 5, "{part}");
    let none = shown(&["--budget", "0"]);
    assert_eq!(none, "0 actors found, 0 of them denied now. Looked at about 0 of 5 keys.\n");

    let options = ["top", &url, "--limits", "api: 10/hour", "--every", "10 ms"];
    let mut process =
        Command::new(env!("CARGO_BIN_EXE_tidegate")).args(options).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    assert!(lines.take(3).all(|line| line.unwrap().starts_with("0 actors found")), "nothing in this namespace");
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn a_store_without_names_points_to_the_application() {
    let table = super::written("top");
    // That of an earlier run may be one of another build.
    let _ = std::fs::remove_file(&table);
    let url = format!("shm://{table}");
    drop(Limiter::open(&url, []).unwrap());
    for (url, problem) in
        [(url.as_str(), "limiter.top()"), ("memory://", "limiter.top()"), ("redis://127.0.0.1:1", "127.0.0.1:1")]
    {
        let ended = tidegate(&["top", url, "--limits", "api: 10/hour"]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{url}");
        assert!(ended.err.contains(problem), "{}", ended.err);
    }
    for (option, value) in [("--every", "soon"), ("--budget", "-1"), ("--count", "many")] {
        let ended = tidegate(&["top", "redis://127.0.0.1:1", "--limits", "api: 10/hour", &format!("{option}={value}")]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains(&option[2..]), "{}", ended.err);
    }
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
        (&["--for", "soon"], "for: must have a unit of time"),
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
