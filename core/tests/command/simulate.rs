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

#[test]
fn the_picture_has_a_part_for_each_candidate() {
    let file = written("traffic.svg");
    let ended = tidegate(&["simulate", "--limits", "1/s", "--limits", "2/s; 30/minute", "--svg", &file]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let svg = fs::read_to_string(file).unwrap();
    assert_eq!((svg.matches("<svg ").count(), svg.matches("</svg>").count()), (3, 3));
    assert!(svg.contains("2/s; 30/minute: calls in 2.5 s"), "{svg}");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    for (arguments, problem) in [
        (["--rate", "5"], "rate"),
        (["--rate", "5/minute burst 3"], "must be a count and a period"),
        (["--for", "soon"], "unit of time"),
        (["--clients", "0"], "0 is not in 1..=100000"),
        (["--rate", "1000000000/ms"], "more than 20000000 tries"),
    ] {
        let ended = tidegate(&[&["simulate", "--limits", "1/s fixed-window"], &arguments[..]].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ended.err.contains(problem), "{}", ended.err);
    }
}
