//! What becomes of a batch when its answers are there.

use std::time::Duration;

use redis::RedisError;
use tokio::time::Instant;

use super::batch::{Exchanged, Group, is_lost};
use super::line::Line;
use super::link::{Keeper, Message};
use super::remedy::{Remedy, trips};
use super::replicas::{Acknowledged, Pending, hold, is_charged};
use super::reply::Outcome;
use crate::failure::Failure;

/// How long after a slot was found in motion it is asked again.
const RETRY_AFTER: Duration = Duration::from_millis(10);

impl Keeper {
    pub(super) fn read(&mut self, exchanged: Exchanged) {
        let Exchanged { groups, decided, sent, received, acknowledgement } = exchanged;
        let decided = match decided {
            Ok(decided) => decided,
            // What was on its way may have been done, so it is not sent again.
            Err(error) => {
                for message in groups.into_iter().flat_map(|group| group.messages) {
                    message.job.finish(Err(Failure::Disconnected));
                }
                return self.lose(&error);
            }
        };
        self.forget_finished();
        if self.unreplicated == 0 {
            self.missed = 0;
        }
        let mut held = Vec::new();
        for (group, decided) in groups.into_iter().zip(decided) {
            match decided {
                Ok(decided) => {
                    if let Some(server) = decided.server {
                        self.clock.hear(sent, received, server);
                    }
                    held.extend(decided.held);
                    self.settle(group, decided.outcomes, acknowledgement.is_some().then_some(&mut held));
                }
                Err(error) => self.remedy(group, &error),
            }
        }
        // Another group's answer may have been that the server has failed; then these are over too.
        if let (Some(acknowledgement), Some(last), Line::Up(_)) = (acknowledgement, held.last(), &self.line) {
            self.slot = self.target.is_sharded().then(|| last.slot());
            self.holding.push(hold(held, acknowledgement));
        }
        self.forget_finished();
    }

    /// The connection broke. What waits may still make it over a new one.
    fn lose(&mut self, error: &RedisError) {
        if matches!(self.line, Line::Up(_)) {
            self.context.fault(&self.target, Failure::Disconnected, &error.to_string());
            self.line = Line::Down;
            self.router.refresh();
        }
    }

    /// Tells what was decided, but for what is to be held.
    fn settle(&mut self, group: Group, outcomes: Vec<Outcome>, mut held: Option<&mut Vec<Pending>>) {
        for (message, outcome) in group.messages.into_iter().zip(outcomes) {
            // By the server's clock it was too late, by ours it may not be: one of them was set.
            if matches!(outcome, Outcome::Late { .. }) && message.job.deadline > Instant::now() {
                if message.job.may_hop() {
                    self.waiting.push_back(message);
                }
                continue;
            }
            match &mut held {
                Some(held) if is_charged(&message.job.decision, &outcome) => {
                    held.push(Pending::new(message.job, outcome));
                }
                _ => drop(message.job.finish(Ok(outcome))),
            }
        }
    }

    /// Tells what was held, if enough replicas have it.
    pub(super) fn acknowledged(&mut self, acknowledged: Acknowledged) {
        let Acknowledged { held, replicas } = acknowledged;
        match replicas {
            Ok(replicas) if replicas >= self.context.replicas() => {
                (self.missed, self.unreplicated) = (0, 0);
                held.into_iter().for_each(Pending::tell);
            }
            Ok(_) => {
                for held in held {
                    self.unreplicated += u32::from(held.fail(Failure::Unreplicated));
                }
                self.judge();
            }
            Err(error) if is_lost(&error) => {
                for held in held {
                    held.fail(Failure::Disconnected);
                }
                self.lose(&error);
            }
            Err(error) => {
                let fault = if let Remedy::GiveUp(fault) = Remedy::of(&error) { fault } else { Failure::Other };
                for held in held {
                    held.fail(fault);
                }
                self.give_up(fault, &error);
            }
        }
        self.forget_finished();
    }

    fn remedy(&mut self, mut group: Group, error: &RedisError) {
        match Remedy::of(error) {
            Remedy::SendScript if !group.with_script => {
                group.with_script = true;
                if let Line::Up(connection) = &self.line {
                    let connection = connection.clone();
                    self.launch(connection, vec![group]);
                }
            }
            Remedy::Redirect { mut to, asking } => {
                if to.0.is_empty() {
                    to.0 = self.target.host();
                }
                for message in group.messages {
                    if message.job.may_hop() {
                        self.router.redirect(&to, Message { job: message.job, asking });
                    } else {
                        message.job.finish(Err(Failure::Moving));
                    }
                }
            }
            Remedy::Retry => {
                let router = self.router.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(RETRY_AFTER).await;
                    for Message { job, asking } in group.messages {
                        router.again(Message { job, asking });
                    }
                });
            }
            Remedy::GiveUp(fault) => {
                group.fail(fault);
                self.give_up(fault, error);
            }
            Remedy::SendScript => {
                self.context.fault(&self.target, Failure::Other, &error.to_string());
                group.fail(Failure::Other);
            }
        }
    }

    fn give_up(&mut self, fault: Failure, error: &RedisError) {
        if trips(fault) {
            self.trip(fault, &error.to_string());
        } else {
            self.context.fault(&self.target, fault, &error.to_string());
        }
    }
}
