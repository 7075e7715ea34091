//! The scenarios of HTTP clients, played by the engine: the server is a list of replies, and time stands still.

use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::http_vectors::{list, number, text};
use serde_json::{Value, json};
use tidegate::http::{Next, Outgoing, Reply};
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory, Micros, Receipt};

fn vectors() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/client.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn limits(given: &Value) -> Vec<Limit> {
    list(given).iter().map(|limit| Limit::from_json(&limit.to_string()).expect("a limit")).collect()
}

fn outgoing(case: &Value) -> Outgoing {
    let mut fields = Vec::new();
    let value = |value: &Value| match value {
        Value::Number(number) => tidegate::limits::Value::Number(number.as_f64().expect("a double")),
        other => tidegate::limits::Value::Text(text(other).to_owned()),
    };
    for (name, given) in case["options"].as_object().expect("options").iter().filter(|(name, _)| *name != "cost") {
        match given {
            Value::Array(items) => fields.extend(items.iter().map(|item| (name.clone(), value(item)))),
            one => fields.push((name.clone(), value(one))),
        }
    }
    Outgoing::from_fields(limits(&case["limits"]), fields).expect("sound options")
}

fn headers(given: &Value) -> Vec<(&str, &str)> {
    given.as_object().expect("headers").iter().map(|(name, value)| (name.as_str(), text(value))).collect()
}

fn or(value: &Value, default: u64) -> u64 {
    value.as_u64().unwrap_or(default)
}

#[test]
fn judged() {
    let vectors = vectors();
    for case in list(&vectors["judged"]) {
        let given = &case["reply"];
        let left: Vec<_> = given["left"].as_array().into_iter().flatten().map(number).collect();
        let next = outgoing(case).judge(&Reply {
            status: u16::try_from(number(&given["status"])).expect("a status"),
            headers: &headers(&given["headers"]),
            method: given["method"].as_str().unwrap_or("GET"),
            attempt: u32::try_from(or(&given["attempt"], 0)).expect("few"),
            replayable: given["replayable"].as_bool().unwrap_or(true),
            left: &left,
            random: given["random"].as_f64().unwrap_or_default(),
            now: Some(number(&vectors["now"]) * 1000),
        });
        let want = &case["want"];
        assert_eq!(json!(next.remaining), want["remaining"], "{case}");
        assert_eq!((next.stop_ms, next.retry_in_ms), (want["stopMs"].as_u64(), want["retryInMs"].as_u64()), "{case}");
    }
}

/// A client whose server is a list of replies.
struct Player {
    limiter: Limiter,
    outgoing: Outgoing,
    cost: u64,
    max_wait: Option<Micros>,
    now: Micros,
}

/// The host of the loopback servers of the other players.
const ACTOR: &str = "127.0.0.1";
const LONGEST: Micros = 1 << 53;

impl Player {
    fn new(vectors: &Value, case: &Value) -> Self {
        Self {
            limiter: Limiter::new(Memory::new()),
            outgoing: outgoing(case),
            cost: or(&case["options"]["cost"], 1),
            max_wait: case["options"]["maxWaitMs"].as_u64().map(|millis| millis * 1000),
            now: number(&vectors["now"]) * 1000,
        }
    }

    fn decide(&self, limits: &[Limit], cost: u64, call: Call) -> (LimitInfo, Receipt) {
        let checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, ACTOR).cost(cost)).collect();
        let info = self.limiter.decide_sync_at(&checks, call, self.now).expect("an answer");
        let receipt = self.limiter.receipt(&checks, call, &info);
        (info, receipt)
    }

    fn give_back(&self, receipt: &Receipt) {
        let nothing = vec![0; receipt.checks().len()];
        let mut context = Context::from_waker(Waker::noop());
        let refund = pin!(receipt.settle_at(&nothing, self.now)).poll(&mut context);
        assert!(matches!(refund, Poll::Ready(Ok(_))), "in memory nothing waits");
    }

    /// Waits for a turn: the answer that charged it, or none where it is blocked.
    fn turn(&mut self) -> Option<(LimitInfo, Receipt)> {
        let mut left = self.max_wait;
        loop {
            let max_wait = Duration::from_micros(left.unwrap_or(LONGEST));
            let (info, receipt) = self.decide(self.outgoing.limits(), self.cost, Call::Acquire { max_wait });
            if info.blocked {
                return None;
            }
            self.now += info.wait_ms * 1000;
            let (stop, _) = self.decide(&[Outgoing::stop()], 1, Call::Peek);
            if !stop.blocked {
                return Some((info, receipt));
            }
            self.give_back(&receipt);
            if let Some(left) = &mut left {
                *left = left.checked_sub((info.wait_ms + stop.reset_ms) * 1000)?;
            }
            self.now += stop.reset_ms * 1000;
        }
    }

    /// Sends a request until it is not repeated: its outcome, and how often it was sent.
    fn send(&mut self, request: &Value) -> (Value, u32) {
        let replies = request["replies"].as_array().cloned().unwrap_or_default();
        let fine = json!({"status": 200, "headers": {}});
        for attempt in 0.. {
            let Some((info, receipt)) = self.turn() else { return (json!("blocked"), attempt) };
            if request["want"] == "unreachable" {
                self.give_back(&receipt);
                return (json!("unreachable"), attempt);
            }
            let reply = replies.get(attempt as usize).unwrap_or(&fine);
            let left: Vec<_> = info.checks().iter().map(|check| check.remaining).collect();
            let Next { remaining, stop_ms, retry_in_ms, .. } = self.outgoing.judge(&Reply {
                status: u16::try_from(number(&reply["status"])).expect("a status"),
                headers: &headers(&reply["headers"]),
                method: request["method"].as_str().unwrap_or("GET"),
                attempt,
                replayable: request["body"] != "stream",
                left: &left,
                random: 0.0,
                now: Some(self.now),
            });
            for (index, units) in remaining {
                let limit = &self.outgoing.limits()[index];
                self.decide(
                    std::slice::from_ref(limit),
                    1,
                    Call::Observe { remaining: Some(units), retry_after: None },
                );
            }
            if let Some(stop) = stop_ms {
                let observed = self.outgoing.observed().into_iter().map(|index| self.outgoing.limits()[index].clone());
                let limits: Vec<_> = std::iter::once(Outgoing::stop()).chain(observed).collect();
                let retry_after = Some(Duration::from_millis(stop));
                self.decide(&limits, 1, Call::Observe { remaining: None, retry_after });
            }
            let Some(retry_in) = retry_in_ms else { return (reply["status"].clone(), attempt + 1) };
            self.now += retry_in * 1000;
        }
        unreachable!("it is repeated only so often")
    }
}

#[test]
fn scenarios() {
    let vectors = vectors();
    for case in list(&vectors["scenarios"]) {
        let mut player = Player::new(&vectors, case);
        for request in list(&case["requests"]) {
            player.now += or(&request["advance"], 0) * 1000;
            let before = player.now;
            let (outcome, sent) = player.send(request);
            let waited = (player.now - before) / 1000;
            let want = (request["want"].clone(), or(&request["sent"], 1), or(&request["waited"], 0));
            assert_eq!((outcome, u64::from(sent), waited), want, "{}: {request}", case["says"]);
        }
        for (limit, left) in limits(&case["limits"]).iter().zip(case["left"].as_array().into_iter().flatten()) {
            let (info, _) = player.decide(std::slice::from_ref(limit), 1, Call::Peek);
            let found = json!({"remaining": info.remaining, "resetMs": info.reset_ms});
            assert_eq!(&found, left, "{}", case["says"]);
        }
    }
}
