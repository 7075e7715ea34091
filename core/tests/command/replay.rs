//! `tidegate replay`.

use std::fs;
use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use super::{data, fed, tidegate, written};

/// The report as data.
fn report(arguments: &[&str]) -> Value {
    let ended = tidegate(&[&["replay", "--json"], arguments].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    serde_json::from_str(&ended.out).unwrap()
}

#[test]
fn the_report_says_who_was_denied_when_and_by_which_limit() {
    let limits = ["--limits", "3/second; 5/minute", "--limits", "12/minute"];
    let ended = tidegate(&[&["replay", "common.log"], &limits[..]].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let expected = "\
common.log: 17 requests of 3 clients in 20 s; 1 malformed line left out, the first is line 4.

limits              denied            clients            honest
3/second; 5/minute       8  47.059 %        2  66.667 %       0
12/minute                0       0 %        0       0 %       0

Honest: clients that were denied for less than one in ten of their requests.

3/second; 5/minute
  3/second decided 1 denial.
  5/minute decided 7 denials.
  3/second would have to have a count of 4 to deny at most 0.1 % of clients.
  5/minute would have to have a count of 11 to deny at most 0.1 % of clients.
  client     requests  denied  first                 last                  limit
  192.0.2.1        12       7  2000-10-10T20:55:41Z  2000-10-10T20:55:47Z  5/minute
  192.0.2.2         4       1  2000-10-10T20:55:41Z  2000-10-10T20:55:41Z  3/second

12/minute
  12/minute would have to have a count of 11 to deny at most 0.1 % of clients.
";
    assert_eq!(ended.out, expected);
}

#[test]
fn a_log_reads_alike_in_every_format_compressed_and_from_a_pipe() {
    let limits = ["--limits", "5/minute"];
    let mut common = report(&[&["common.log"], &limits[..]].concat());
    assert_eq!((&common["malformed"], &common["firstMalformed"]), (&1.into(), &4.into()));
    assert_eq!(common["candidates"][0]["top"][0]["limit"], "5/minute");

    let log = fs::read(data("combined.log")).unwrap();
    let compressed = written("combined.log.gz");
    // Two parts, as a log that was appended to has them.
    let (first, second) = log.split_at(log.len() / 2);
    let parts = [first, second].map(|part| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    });
    fs::write(&compressed, parts.concat()).unwrap();
    let piped = fed(&[&["replay", "--json", "-"], &limits[..]].concat(), &log);
    let mut others = vec![serde_json::from_str::<Value>(&piped.out).unwrap()];
    others.push(report(&[&["combined.log"], &limits[..]].concat()));
    others.push(report(&[&[compressed.as_str()], &limits[..]].concat()));
    others.push(report(&[&["lines.json"], &limits[..]].concat()));
    others.push(report(&[&["table.csv", "--actor", "who"], &limits[..]].concat()));
    for report in others.iter_mut().chain([&mut common]) {
        for field in ["file", "lines", "malformed", "firstMalformed"] {
            report.as_object_mut().unwrap().remove(field);
        }
    }
    for other in others {
        assert_eq!(other, common);
    }
}

#[test]
fn the_smallest_limit_is_the_smallest() {
    let candidate = |limits: &str, share: &str| {
        report(&["common.log", "--limits", limits, "--share", share])["candidates"][0].clone()
    };
    for kind in
        ["token-bucket", "token-bucket burst 3", "fixed-window", "sliding-window", "sliding-counter", "sliding-log"]
    {
        let found = candidate(&format!("9/minute {kind}"), "34")["smallest"][0].clone();
        let field = found["field"].as_str().unwrap().to_owned();
        let value = found["value"].as_u64().unwrap();
        let of = |value: u64| match field.as_str() {
            "burst" => format!("9/minute burst {value}"),
            _ => format!("{value}/minute {kind}"),
        };
        assert!(candidate(&of(value), "0")["deniedClients"].as_u64().unwrap() <= 1, "{kind} {value}");
        assert!(value == 1 || candidate(&of(value - 1), "0")["deniedClients"].as_u64().unwrap() > 1, "{kind} {value}");
    }
    // Half of three clients is one.
    assert_eq!(candidate("1/hour fixed-window", "50")["smallest"][0]["value"], 4);
    assert_eq!(candidate("1/hour fixed-window", "0")["smallest"][0]["value"], 12);
    let none = report(&["common.log", "--limits", "1/hour", "--no-smallest"]);
    assert_eq!(none["candidates"][0]["smallest"], Value::Array(Vec::new()));
}

#[test]
fn the_page_has_pictures_and_asks_for_nothing_else() {
    let page = written("page.html");
    let hostile = b"time,ip\n1,<script>alert(1)</script>\n1,<script>alert(1)</script>\n";
    let ended = fed(&["replay", "-", "--limits", "1/minute", "--html", &page], hostile);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let html = fs::read_to_string(page).unwrap();
    assert_eq!(html.matches("<svg").count(), 5);
    assert!(html.contains("Requests and denials in 1 s") && html.contains("&lt;script&gt;"));
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="));
}

#[test]
fn no_log_is_a_crash() {
    let long = [b"x".repeat(3 << 20), b"\n".to_vec(), fs::read(data("common.log")).unwrap()].concat();
    let ended = fed(&["replay", "-", "--limits", "5/minute"], &long);
    assert!(
        ended.out.contains("17 requests of 3 clients in 20 s; 2 malformed lines left out, the first is line 1."),
        "{}",
        ended.out
    );
    // A log without a request that can be read is one of another format, most likely.
    let unreadable = |lines| format!("-: has no request that can be read; {lines}, the first is line 1");
    for (log, code, told) in [
        (&b""[..], 0, "-: 0 requests of 0 clients".to_owned()),
        (b"\n\n", 0, "-: 0 requests of 0 clients".to_owned()),
        (b"time,ip", 0, "-: 0 requests of 0 clients".to_owned()),
        (b"\xff\xfe\0", 2, unreadable("1 malformed line")),
        (b"{", 2, unreadable("1 malformed line") + "; --actor and --time name its fields"),
        (b"a,b\n1,2\n", 2, unreadable("2 malformed lines") + "; --actor and --time name its fields"),
        (b"\x1f\x8b", 2, "-: ".to_owned()),
    ] {
        let ended = fed(&["replay", "-", "--limits", "5/minute", "--html", &written("empty.html")], log);
        let shown = if code == 0 { &ended.out } else { &ended.err };
        assert_eq!(ended.code, Some(code), "{log:?}");
        assert!(shown.contains(&told), "{log:?}: {shown}");
    }
    for (limits, problem) in [
        ("5/fortnight", "must have a unit of time"),
        ("nowhere.toml", "cannot be read"),
        (" ; ", r#"" ; ": has no limits"#),
        (r#"{"key":"a","type":"concurrency","max":1,"lease":1000}"#, "a log does not say when a request ended"),
    ] {
        let ended = tidegate(&["replay", "common.log", "--limits", limits]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
        assert!(ended.err.contains(problem), "{}", ended.err);
    }
}
