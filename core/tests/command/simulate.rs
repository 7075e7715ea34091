//! `tidegate simulate`.

use std::fs;

use serde_json::Value;

use super::{tidegate, written};

fn outcomes(arguments: &[&str]) -> Vec<Value> {
    let ended = tidegate(&[&["simulate", "--json"], arguments].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers<const N: usize>(outcome: &Value, fields: [&str; N]) -> [u64; N] {
    fields.map(|field| outcome[field].as_u64().unwrap())
}

#[test]
fn steady_traffic_is_admitted_at_the_rate_of_the_limit() {
    let ended = tidegate(&["simulate", "--limits", "60/minute", "--limits", "120/minute burst 1"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let expected = "\
steady of 20 clients, 120/minute for 5 min; retry: never

limits              calls  tries  admitted  denied  given up  open  half wait  19 of 20 wait  longest wait
60/minute             600    600       359     241       241     0  0 ms       0 ms           0 ms
120/minute burst 1    600    600       600       0         0     0  0 ms       0 ms           0 ms

Open: calls that had not been admitted at the end. Waits: of calls that were admitted, at most so long.
";
    assert_eq!(ended.out, expected);
}

#[test]
fn a_fleet_that_heeds_retry_after_makes_fewer_tries_for_as_many_admissions() {
    let fleet = ["--pattern", "fleet", "--limits", "60/minute", "--clients", "100", "--rate", "100/minute"];
    let fleet = |retry: &str| outcomes(&[&fleet[..], &["--retry", retry]].concat()).remove(0);
    let [at_once, retry_after, never] = ["at-once", "retry-after", "never"].map(fleet);
    let fields = ["calls", "tries", "admitted", "denied", "givenUp", "open"];
    for outcome in [&at_once, &retry_after, &never] {
        let [calls, tries, admitted, denied, given_up, open] = numbers(outcome, fields);
        assert_eq!((tries, calls), (admitted + denied, admitted + given_up + open));
        // The bound of the limit in five minutes.
        assert!(admitted <= 60 + 300, "{admitted}");
        let sum =
            |field: &str| outcome[field].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("triesOverTime"), sum("admittedOverTime")), (tries, admitted));
    }
    let [tries, fewer] = [&at_once, &retry_after].map(|outcome| numbers(outcome, ["tries"])[0]);
    assert!(tries > 10 * fewer, "{tries} {fewer}");
}

#[test]
fn bursts_come_at_once() {
    let outcome = outcomes(&[
        "--pattern",
        "bursts",
        "--limits",
        "5/minute",
        "--clients",
        "10",
        "--rate",
        "10/minute",
        "--for",
        "3m",
    ]);
    assert_eq!(numbers(&outcome[0], ["calls", "admitted", "givenUp"]), [30, 15, 15]);
    assert_eq!(outcome[0]["triesOverTime"][40], 10);
}

/// The traffic of the pictures in `docs`.
const BURSTS: [&str; 6] = [
    "--calls",
    "12 at 8050ms each 150ms, 12 at 10050ms each 150ms, 24 at 16250ms each 500ms, 14 at 42050ms each 150ms",
    "--for",
    "50s",
    "--span",
    "10s",
];

#[test]
fn given_calls_come_at_their_instants_and_windows_at_even_ones() {
    let windows = outcomes(&[&["--limits", "10/10s fixed-window"], &BURSTS[..]].concat()).remove(0);
    assert_eq!(numbers(&windows, ["calls", "tries", "admitted", "mostInSpan"]), [62, 62, 40, 20]);
    // The ten of a window and the ten of the next come in the same 10 s. What does not change in a part counts there too.
    let spans = windows["inSpanOverTime"].as_array().unwrap();
    assert_eq!((spans.len(), spans.iter().map(|most| most.as_u64().unwrap()).max()), (120, Some(20)));
    let of_second = |second: usize| spans[second * 120 / 50].as_u64().unwrap();
    assert_eq!([0, 15, 25, 40, 49].map(of_second), [0, 20, 10, 0, 10]);
    // A call counts for exactly a span: of three calls, each 5 s after the last, two are in any 10 s.
    let three = outcomes(&["--limits", "9/s", "--calls", " 10s,2 at 0s each 5s ", "--for", "20s", "--span", "10s"]);
    assert_eq!(numbers(&three[0], ["calls", "admitted", "mostInSpan"]), [3, 3, 2]);
    assert!(outcomes(&["--limits", "9/s", "--calls", "0ms"])[0].get("mostInSpan").is_none());
}

#[test]
fn calls_that_wait_are_admitted_in_turn_or_denied_at_once() {
    let queue = ["simulate", "--limits", "2/s burst 2", "--calls", "8 at 0s", "--for", "2s", "--max-wait", "1500ms"];
    let ended = tidegate(&queue);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let expected = "\
8 calls for 2 s; longest wait: 1.5 s; retry: never

limits       calls  tries  admitted  denied  given up  open  half wait  19 of 20 wait  longest wait
2/s burst 2      8      8         5       3         3     0  0.5 s      1.5 s          1.5 s

Open: calls that had not been admitted at the end. Waits: of calls that were admitted, at most so long.
";
    assert_eq!(ended.out, expected);
    let svg = picture("waits.svg", &queue[1..]);
    for words in ["admitted at once", "admitted after 0.5 s", "admitted after 1 s", "admitted after 1.5 s"] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    assert_eq!((svg.matches("denied at once").count(), svg.matches("<circle").count()), (3, 8));
}

/// The picture of a simulation.
fn picture(name: &str, arguments: &[&str]) -> String {
    let file = written(name);
    let ended = tidegate(&[&["simulate", "--svg", &file], arguments].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    fs::read_to_string(file).unwrap()
}

#[test]
fn few_tries_are_drawn_each_and_many_as_lines() {
    let bucket = r#"{ "key": "a", "type": "bucket", "size": 10 }"#;
    let svg = picture("dots.svg", &[&["--limits", bucket, "--title", "size <10>"], &BURSTS[..]].concat());
    let dots = ["class=\"admitted fill\"", "class=\"denied line\""].map(|class| svg.matches(class).count());
    assert_eq!(dots, [40, 22]);
    assert!(
        svg.contains("<title>size &lt;10&gt;</title>\n<desc>40 admitted, 22 denied, at most 17 in any 10 s</desc>")
    );
    for part in ["prefers-color-scheme:dark", "level of the bucket", "admitted in the last 10 s", "rate: 10 in 10 s"] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    let log = picture("log.svg", &[&["--limits", "10/10s sliding-log"], &BURSTS[..]].concat());
    assert!(log.contains("at most 10 in any 10 s") && !log.contains("level of the bucket"), "{log}");
    // Without a span nothing is counted, and more calls at once than fit above each other have no dots.
    let plain = picture("plain.svg", &["--limits", bucket, "--calls", "40 at 1s", "--for", "10s"]);
    assert_eq!((plain.matches("<circle").count(), plain.matches("in the last").count()), (40, 0));
    for many in [&["--calls", "41 at 1s"][..], &[]] {
        let lines = picture("lines.svg", &[&["--limits", "1/s", "--span", "1m"], many].concat());
        assert_eq!((lines.matches("<circle").count(), lines.matches("<svg ").count()), (0, 3), "{lines}");
        assert!(lines.contains("1/s: admitted in the last 60 s"), "{lines}");
    }
}

#[test]
fn the_picture_has_a_part_for_each_candidate() {
    let svg = picture("traffic.svg", &["--limits", "1/s", "--limits", "2/s; 30/minute"]);
    assert_eq!((svg.matches("<svg ").count(), svg.matches("</svg>").count()), (3, 3));
    assert!(svg.contains("2/s; 30/minute: calls in 2.5 s"), "{svg}");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    for (arguments, problem) in [
        (["--rate", "5"], "rate: must have \"/\" or \"per\" at character 2, got the end of the text\n"),
        (["--rate", "5/minute burst 3"], "must be a count and a period"),
        (
            ["--for", "15x"],
            "for: must have a unit of time (ms, s, m, h, d, w, month or year) at character 3, got \"x\"\n",
        ),
        (["--for", "101 years"], "for: must be at most 100 years, got \"101 years\"\n"),
        (["--span", "1s sliding-log"], "span: must have nothing more at character 4, got \"sliding-log\"\n"),
        (["--clients", "0"], "0 is not in 1..=100000"),
        (["--rate", "1000000000/ms"], "more than 20000000 tries"),
        (["--calls", "1s, 3 on 2s"], r#"calls: "3 on 2s" must be TIME or COUNT at TIME each TIME"#),
        (["--calls", "0 at 2s"], r#"calls: "0 at 2s" must be"#),
        (["--calls", ""], r#"calls: "" must be"#),
        (["--calls", "100000 at 1s, 2s"], r#"calls: "2s" makes more than 100000 calls"#),
        (
            ["--calls", "2 at 299s each 1s"],
            r#"calls: "2 at 299s each 1s" ends after the simulation, which --for makes longer"#,
        ),
        (["--max-wait", "1s"], "max-wait is for limits that reserve turns, which concurrency cannot"),
        (["--title", "a"], "--svg"),
    ] {
        let limits = r#"{ "key": "a", "type": "concurrency", "max": 3, "lease": 60000 }"#;
        let ended = tidegate(&[&["simulate", "--limits", limits], &arguments[..]].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ended.err.contains(problem), "{}", ended.err);
    }
    let file = written("none.svg");
    for (arguments, problem) in [
        (["--calls", "1s", "--pattern", "steady"], "cannot be used with"),
        (["--calls", "1s", "--rate", "1/s"], "cannot be used with"),
        (["--calls", "1s", "--clients", "3"], "cannot be used with"),
        (["--title", "a", "--title", "b"], "title: must be given once for each candidate"),
    ] {
        let ended = tidegate(&[&["simulate", "--limits", "1/s", "--svg", &file], &arguments[..]].concat());
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert!(ended.err.contains(problem), "{}", ended.err);
    }
}
