//! Connecting, giving a connection up, and probing a server that has failed.

use std::iter;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use redis::RedisResult;
use tokio::time::{Instant, sleep};

use super::batch::Group;
use super::error_action::unconnected;
use super::message::Message;
use super::state::{Connected, ConnectionState};
use super::task::ConnectionTask;
use crate::failure::Failure;
use crate::store::remote::{Answer, Job};

const NO_ANSWER: &str = "no answer in time";
const TOO_FEW: &str = "too few replicas acknowledge what it writes";
const NO_DECISION: &str = "it answers, and does not decide";
/// Attempts to connect within the time that one may take.
const ATTEMPTS: u32 = 4;
/// A connection that is closed so soon, without a call over it, is made anew only by the next call.
const TOO_SOON: Duration = Duration::from_secs(1);

impl ConnectionTask {
    pub(crate) fn connect(&mut self) {
        let endpoint = self.endpoint.clone();
        let timeout = self.context.connect_timeout();
        self.connecting_since = Instant::now();
        self.state = ConnectionState::Connecting(Box::pin(async move {
            // A packet that got lost is sent again only after longer than this; one more attempt is quicker.
            let attempt = async |number: u32| {
                sleep(timeout / ATTEMPTS * number).await;
                endpoint.connect().await
            };
            tokio::select! {
                connected = attempt(0) => connected,
                connected = attempt(1) => connected,
                connected = attempt(2) => connected,
                connected = attempt(3) => connected,
                () = sleep(timeout) => {
                    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, endpoint.silence()).into())
                }
            }
        }));
    }

    /// The server is a node of a cluster, whose nodes take over where they can.
    fn hand_over(&mut self) {
        if !self.router.use_cluster() {
            let why = "it is a node of a cluster, which this layout and strategy, or a socket, cannot be used with";
            return self.open_breaker(Failure::Other, why);
        }
        self.context.is_node(&self.endpoint);
        self.state = ConnectionState::Down;
        for (_, message) in self.waiting.drain(..) {
            self.router.resend(message);
        }
    }

    pub(crate) fn connected(&mut self, connected: RedisResult<Connected>) {
        match connected {
            Ok(Connected { said, .. }) if said.is_cluster && !self.endpoint.is_sharded() => self.hand_over(),
            Ok(Connected { connection, heard, said }) => {
                self.context.on_handshake(&self.endpoint, &said);
                if let Some((sent, received, server)) = heard {
                    self.clock.on_reply(sent, received, server);
                }
                self.state = ConnectionState::Up(connection);
                self.heard = Instant::now();
                self.unused_since = Some(self.heard);
                if self.breaker.is_open() {
                    self.probe();
                }
            }
            Err(error) => {
                // Where nothing came back, the server has rested meanwhile.
                self.open_breaker_since(self.connecting_since, unconnected(&error), &error.to_string());
            }
        }
    }

    /// The server closed the connection. Where that cost no call, and a new one takes its place, it is not reported.
    pub(crate) fn closed(&mut self) {
        let too_soon = self.unused_since.is_some_and(|since| since.elapsed() < TOO_SOON);
        self.part(ConnectionState::Down);
        // One that is never used is closed again and again; then the next call connects.
        if !too_soon {
            self.connect();
        }
    }

    /// Probes a failed server with a decision, over all that a call would go through.
    fn probe(&mut self) {
        let ConnectionState::Up(connection) = &self.state else { return };
        let connection = connection.clone();
        let reply = Arc::new(OnceLock::new());
        let tell = reply.clone();
        let done = Box::new(move |_: &Job, answer: Answer| {
            let _ = tell.set(answer.err());
        });
        let request = self.context.probing(self.slot);
        let job = Arc::new(Job::new(request, self.context.timeout(), done).staying());
        self.watch(&job, Instant::now());
        let message = iter::once(Message { job, asking: false });
        let groups = Group::of(message, &self.context, self.endpoint.is_sharded(), &self.clock);
        self.probing = Some(reply);
        self.launch(connection, self.connection_number, groups);
    }

    /// Acts on the result of a probe.
    pub(super) fn probed(&mut self) {
        let Some(answer) = self.probing.as_ref().and_then(|probing| probing.get().copied()) else { return };
        self.probing = None;
        match answer {
            // Of what does not stop others from being decided each call will find out for itself; a node that has
            // another slot's keys is as well as any.
            None | Some(Failure::Moving | Failure::OutOfMemory | Failure::Denied | Failure::Other) => {
                if self.breaker.probe_answered() {
                    self.probe();
                } else if self.breaker.close(Instant::now()) {
                    self.context.closed(&self.endpoint);
                }
            }
            Some(fault @ Failure::Unreplicated) => self.open_breaker(fault, TOO_FEW),
            Some(fault) => self.open_breaker(fault, NO_DECISION),
        }
    }

    /// Opens the breaker if the server has missed too many deadlines.
    pub(super) fn check_health(&mut self, now: Instant) {
        if self.breaker.is_open() {
            return;
        }
        match self.breaker.verdict(now, self.context.timeout()) {
            Some(fault @ Failure::Unreplicated) => self.open_breaker(fault, TOO_FEW),
            Some(fault) => self.open_breaker(fault, NO_ANSWER),
            None => {}
        }
    }

    /// Opens the breaker: nothing is sent any more, and the server is probed after a while. A decision that was sent
    /// may still be answered until its deadline, and is charged if it is not.
    pub(super) fn open_breaker(&mut self, fault: Failure, why: &str) {
        self.open_breaker_since(Instant::now(), fault, why);
    }

    /// The same, where the server was asked last at this instant.
    fn open_breaker_since(&mut self, asked: Instant, fault: Failure, why: &str) {
        let (rest, is_new) = self.breaker.open(Instant::now());
        self.part(ConnectionState::Resting(asked + rest));
        self.probing = None;
        if is_new {
            self.context.opened(&self.endpoint, fault, why);
        }
        for (_, message) in self.waiting.drain(..) {
            message.job.fail(fault);
        }
        self.router.refresh();
    }

    /// Gives the connection up for new decisions.
    pub(super) fn part(&mut self, state: ConnectionState) {
        self.state = state;
        self.connection_number += 1;
        self.parted_until = Some(Instant::now() + self.context.connect_timeout());
    }
}
