//! The handling of a batch whose replies have come.

use std::sync::Arc;
use std::time::Duration;

use redis::RedisError;
use tokio::time::Instant;

use super::batch::{BatchReply, Group, is_lost};
use super::dial::Transport;
use super::error_action::{ErrorAction, opens_breaker};
use super::group_reply::Pending;
use super::message::Message;
use super::server_clock::ServerClock;
use super::state::ConnectionState;
use super::task::ConnectionTask;
use super::underway::{Back, Underway};
use crate::failure::Failure;
use crate::store::redis::topology::replicas::{Acknowledged, hold, is_charged};
use crate::store::remote::{Job, Reply, Request};

/// Delay before a slot that was found in motion is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// The connection that something came back over.
struct Over {
    connection: Transport,
    number: u64,
}

impl ConnectionTask {
    pub(super) fn read(&mut self, back: Back<BatchReply>) {
        let Back { what, since, number, missed } = back;
        let BatchReply { groups, decided, sent, received, acknowledgement, connection } = what;
        let decided = match decided {
            Ok(decided) => decided,
            // What was on its way may have been done, so it is not sent again.
            Err(error) => {
                // First what is wrong, so that the errors of these calls can say it.
                self.on_lost(number, &error);
                for message in groups.into_iter().flat_map(|group| group.messages) {
                    message.job.finish(Err(Failure::Disconnected));
                }
                return;
            }
        };
        if number == self.connection_number {
            self.heard = Instant::now();
            let took = self.heard.duration_since(since);
            self.round_trip = if self.round_trip.is_zero() { took } else { (self.round_trip * 7 + took) / 8 };
            if !missed {
                self.breaker.answered();
            }
        }
        let owed = self.batches.iter().filter(|batch| batch.was_sent_over(number)).map(Underway::weight).sum();
        connection.owes(owed);
        let over = Over { connection, number };
        // Where answers take longer on their way than they did, nothing from before counts; but an old bound is better
        // than none.
        let mut outdated = missed && number == self.connection_number;
        let mut held = Vec::new();
        for (group, decided) in groups.into_iter().zip(decided) {
            match decided {
                Ok(decided) => {
                    if let Some(server) = decided.server {
                        if std::mem::take(&mut outdated) {
                            self.clock = ServerClock::default();
                        }
                        self.clock.on_reply(sent, received, server);
                    }
                    held.extend(decided.held);
                    if self.endpoint.is_sharded() {
                        self.slot = group.slot();
                    }
                    self.complete(group, decided.outcomes, acknowledgement.is_some().then_some(&mut held), &over);
                    self.undo(decided.undone.into_iter().map(|undo| (undo, false)), &over);
                }
                Err(error) => self.handle_error(group, &error, &over),
            }
        }
        if let Some(acknowledgement) = acknowledgement
            && !held.is_empty()
        {
            self.holding.push(hold(held, &over.connection, number, acknowledgement));
        }
        self.forget_finished();
    }

    /// The connection broke. What waits may still make it over a new one.
    fn on_lost(&mut self, number: u64, error: &RedisError) {
        if number == self.connection_number && matches!(self.state, ConnectionState::Up(_)) {
            self.context.fault(&self.endpoint, Failure::Disconnected, &error.to_string());
            self.part(ConnectionState::Down);
            self.router.refresh();
        }
    }

    /// Answers the calls that were decided, but for those to be held.
    fn complete(&mut self, group: Group, outcomes: Vec<Reply>, mut held: Option<&mut Vec<Pending>>, over: &Over) {
        let mut undone = Vec::new();
        for (message, outcome) in group.messages.into_iter().zip(outcomes) {
            let Message { job, asking } = message;
            // By the server's clock it was too late, by ours it may not be: one of them was set.
            if matches!(outcome, Reply::Late { .. }) && job.deadline > Instant::now() && !self.breaker.is_open() {
                if job.may_hop() {
                    self.waiting.push_back((Instant::now(), Message { job, asking }));
                }
                continue;
            }
            match &mut held {
                Some(held) if is_charged(&job.request, &outcome) => held.push(Pending::new(job, outcome)),
                _ => {
                    undone.extend(job.reply(outcome).map(|undo| (undo, asking)));
                }
            }
        }
        self.undo(undone.into_iter(), over);
    }

    /// Gives back charges over the connection that they were made over.
    fn undo(&mut self, undone: impl Iterator<Item = (Request, bool)>, over: &Over) {
        let messages =
            undone.map(|(undo, asking)| Message { job: Arc::new(Job::without_caller(undo).staying()), asking });
        let groups = Group::of(messages, &self.context, self.endpoint.is_sharded(), &self.clock);
        if !groups.is_empty() {
            self.launch(over.connection.clone(), over.number, groups);
        }
    }

    /// Answers the calls that were held, if enough replicas have them.
    pub(super) fn acknowledged(&mut self, back: Back<Acknowledged>) {
        let Back { what: Acknowledged { held, replicas }, since, number, missed } = back;
        let fail = |held: Vec<Pending>, fault| held.into_iter().for_each(|held| held.fail(fault));
        match replicas {
            Ok(replicas) if replicas >= self.context.replicas() => {
                if number == self.connection_number && !missed {
                    self.breaker.replicated();
                }
                held.into_iter().for_each(Pending::complete);
            }
            Ok(_) => {
                fail(held, Failure::Unreplicated);
                if number == self.connection_number && !missed {
                    self.breaker.missed(since, Failure::Unreplicated);
                    self.check_health(Instant::now());
                }
            }
            Err(error) if is_lost(&error) => {
                self.on_lost(number, &error);
                fail(held, Failure::Disconnected);
            }
            Err(error) => {
                let fault =
                    if let ErrorAction::GiveUp(fault) = ErrorAction::of(&error) { fault } else { Failure::Other };
                self.give_up(fault, &error, number);
                fail(held, fault);
            }
        }
        self.forget_finished();
    }

    fn handle_error(&mut self, mut group: Group, error: &RedisError, over: &Over) {
        match ErrorAction::of(error) {
            ErrorAction::SendScript if !group.with_script => {
                group.with_script = true;
                self.launch(over.connection.clone(), over.number, vec![group]);
            }
            ErrorAction::Redirect { mut to, asking } => {
                // As in a map, a node that does not say its name is where this one is.
                if matches!(&*to.0, "" | "?") {
                    to.0 = self.endpoint.host();
                }
                for message in group.messages {
                    if message.job.may_hop() {
                        self.router.redirect(&to, Message { job: message.job, asking });
                    } else {
                        message.job.finish(Err(Failure::Moving));
                    }
                }
            }
            ErrorAction::Retry => {
                let router = self.router.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(RETRY_AFTER).await;
                    for Message { job, asking } in group.messages {
                        router.resend(Message { job, asking });
                    }
                });
            }
            ErrorAction::NoOwner => {
                self.context.fault(&self.endpoint, Failure::NotReady, &error.to_string());
                self.router.refresh();
                for message in group.messages {
                    // A probe has found out that this server answers.
                    let failure = if message.job.may_hop() { Failure::NotReady } else { Failure::Moving };
                    message.job.finish(Err(failure));
                }
            }
            ErrorAction::GiveUp(fault) => {
                // First what is wrong, so that the errors of these calls can say it.
                self.give_up(fault, error, over.number);
                group.fail(fault);
            }
            ErrorAction::SendScript => {
                self.context.fault(&self.endpoint, Failure::Other, &error.to_string());
                group.fail(Failure::Other);
            }
        }
    }

    fn give_up(&mut self, fault: Failure, error: &RedisError, number: u64) {
        if !opens_breaker(fault) {
            self.context.fault(&self.endpoint, fault, &error.to_string());
        } else if number == self.connection_number {
            self.open_breaker(fault, &error.to_string());
        }
    }
}
