//! The script on a real server.
#![allow(clippy::unwrap_used, reason = "a test")]

mod agreement;
mod edges;
#[path = "../../../../tests/mutate/mod.rs"]
mod mutate;
mod replies;
#[path = "../../../../tests/servers/mod.rs"]
mod servers;
mod speed;
#[path = "../../../../tests/strategies/mod.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod strategies;

use ::redis::{Cmd, Connection, Pipeline, Value};
use servers::Server;

use super::protocol::decode::{Malformed, decode};
use super::protocol::encode::encode;
use super::protocol::layout::Layout;
use super::protocol::script::{SHA, SOURCE};
use crate::check::Check;
use crate::clock;
use crate::decision::{Call, Impossible, Verb};
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::{EntryKind, Limit, Rules};
use crate::store::remote::{EntryName, Part, PartList, Reply, Request};
use crate::time::Micros;

/// A server that knows the script, and a connection to it.
struct Script {
    _server: Server,
    connection: Connection,
}

impl Script {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(options: &[&str]) -> Self {
        let server = Server::with(options);
        let mut connection = server.connect();
        let sha: String = ::redis::cmd("SCRIPT").arg("LOAD").arg(SOURCE).query(&mut connection).unwrap();
        assert_eq!(sha, *SHA);
        Self { _server: server, connection }
    }

    /// Makes decisions in one call of the script, each with its deadline.
    fn decide_by(&mut self, decisions: &[(&Request, Micros)]) -> (Option<Micros>, Vec<Reply>) {
        let reply = evalsha(decisions).query(&mut self.connection).unwrap();
        decode(&reply, decisions.iter().map(|(decision, _)| *decision)).unwrap()
    }

    fn decide(&mut self, decision: &Request) -> Reply {
        self.decide_by(&[(decision, 0)]).1.pop().unwrap()
    }

    /// Makes batches of decisions, which the server gets all at once.
    fn decide_batches(&mut self, batches: &[&[Request]]) -> Result<Vec<Reply>, Malformed> {
        let mut pipeline = Pipeline::with_capacity(batches.len());
        for batch in batches {
            pipeline.add_command(evalsha(&batch.iter().map(|decision| (decision, 0)).collect::<Vec<_>>()));
        }
        if batches.is_empty() {
            return Ok(Vec::new());
        }
        let replies: Vec<Value> = pipeline.query(&mut self.connection).unwrap();
        let mut outcomes = Vec::new();
        for (batch, reply) in batches.iter().zip(&replies) {
            outcomes.extend(decode(reply, *batch)?.1);
        }
        Ok(outcomes)
    }

    fn ask<T: ::redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.query(&mut self.connection).unwrap()
    }
}

fn evalsha(decisions: &[(&Request, Micros)]) -> Cmd {
    let call = encode(decisions.iter().copied(), Layout::Own, clock::now());
    let mut command = Cmd::new();
    command.arg("EVALSHA").arg(&*SHA).arg(call.keys.len());
    for key in &call.keys {
        command.arg(key.as_ref());
    }
    command.arg(&call.blob[..]);
    command
}

/// A decision about checks, with what is needed to put its outcome into a caller's words.
struct Question {
    verb: Verb,
    decision: Result<Request, (usize, Impossible)>,
    /// For each answer its check, and its part; `None` where nothing is limited.
    answers: Vec<(usize, Option<usize>)>,
    /// The limit's key and the cost of each part.
    asked: Vec<(String, u64)>,
    /// The checks that are not enforced.
    observed: Vec<usize>,
    /// The units that each check is granted where nothing is limited.
    granted: Vec<u64>,
    /// Each check gets the same units.
    alike: bool,
}

impl Question {
    fn new(namespace: &str, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Self {
        let (mut names, mut parts) = (InlineVec::new(), PartList::new());
        let (mut answers, mut asked): (Vec<(usize, Option<usize>)>, _) = (Vec::new(), Vec::new());
        for (index, check) in checks.iter().enumerate() {
            let is_same = |other: &Check<'_>| {
                !other.observed && !check.observed && (other.actor, other.key()) == (check.actor, check.key())
            };
            if let Some(first) = checks[..index].iter().position(is_same) {
                // The answer to the sum of both is that of each.
                let same = answers.iter().filter(|(of, _)| *of == first);
                answers.extend(same.map(|(_, part)| (index, *part)).collect::<Vec<_>>());
                continue;
            }
            let sum = |of: fn(&Check<'_>) -> u64| {
                checks.iter().filter(|other| is_same(other)).map(of).reduce(u64::saturating_add).unwrap_or(of(check))
            };
            let (cost, spent) = match Verb::from(call) {
                // What is left upstream is left once.
                Verb::Observe { .. } => (check.cost, check.spent),
                _ => (sum(|check| check.cost), sum(|check| check.spent)),
            };
            let (of, limit) = (check.actor, check.limit.key());
            let rules = check.limit.rules(check.factor).unwrap();
            for (EntryKind { shape, is_block }, rule) in rules.placed() {
                let name = EntryName { is_block, ..EntryName::new(namespace, of, limit, shape) }.to_key();
                let entry = names.iter().position(|known| *known == name).unwrap_or(names.len());
                if entry == names.len() {
                    names.push(name);
                }
                let charged_at = check.charged_at;
                if !is_block {
                    answers.push((index, Some(parts.len())));
                }
                let at_least = check.at_least;
                parts.push(Part {
                    rule: *rule,
                    cost,
                    at_least,
                    spent,
                    charged_at,
                    entry,
                    observed: check.group(index),
                });
                asked.push((limit.to_owned(), Verb::from(call).named_cost(cost, spent)));
            }
            if matches!(rules, Rules::Unlimited) {
                answers.push((index, None));
            }
        }
        let observed = (0..checks.len()).filter(|index| checks[*index].observed).collect();
        let of_same = |check: &Check<'_>| {
            let is_same =
                |other: &&Check<'_>| !other.observed && (other.actor, other.key()) == (check.actor, check.key());
            if check.observed { check.cost } else { checks.iter().filter(is_same).map(|other| other.cost).sum() }
        };
        let granted = |check: &Check<'_>| Verb::from(call).grants(of_same(check));
        let granted = checks.iter().map(granted).collect();
        Self {
            verb: Verb::from(call),
            alike: checks.iter().any(|check| check.at_least > 0),
            granted,
            decision: Request::new(Verb::from(call), names, parts, now),
            answers,
            asked,
            observed,
        }
    }

    fn forget(namespace: &str, limit: &Limit, actor: &str) -> Self {
        let names = EntryKind::all()
            .map(|EntryKind { shape, is_block }| {
                EntryName { is_block, ..EntryName::new(namespace, actor, limit.key(), shape) }.to_key()
            })
            .collect();
        let decision = Ok(Request::reset(names));
        Self {
            decision,
            answers: Vec::new(),
            asked: Vec::new(),
            observed: Vec::new(),
            granted: Vec::new(),
            alike: false,
            verb: Verb::Reset,
        }
    }

    /// The answer to the caller.
    fn answer(&self, outcome: &Reply) -> Result<LimitInfo, LimitError> {
        match outcome {
            Reply::Decided { infos, .. } => {
                let of = |(check, part): &(usize, Option<usize>)| {
                    let unlimited = || LimitInfo::unlimited().granting(self.granted[*check]);
                    let info = part.map_or_else(unlimited, |part| infos[part].clone());
                    info.of_check(*check, self.observed.contains(check))
                };
                let mut infos: Vec<LimitInfo> = self.answers.iter().map(of).collect();
                LimitInfo::grant_together(&mut infos, self.alike);
                Ok(LimitInfo::merged(infos))
            }
            Reply::Impossible(part, why) => Err(self.refusal(*part, *why)),
            Reply::Late { .. } => panic!("there was no deadline"),
        }
    }

    fn refusal(&self, part: usize, why: Impossible) -> LimitError {
        let (key, cost) = &self.asked[part];
        why.of(self.verb, key, *cost)
    }
}

/// Otherwise a test asks the server of another one that was quicker, and finds its entries.
#[test]
fn a_test_asks_no_server_but_its_own() {
    let server = Server::start();
    assert!(Server::try_on(server.port, &[]).is_none());
}
