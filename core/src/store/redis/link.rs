//! One server: a connection that is kept well, and the batches that travel over it.
//!
//! A task owns the connection and everything about it. Decisions come in through a queue; those that are under way at
//! the same time travel together. Nothing here waits for longer than a decision's own deadline: the task finishes
//! every job at its deadline whatever the connection does, and a connection that has gone silent is dropped.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use redis::RedisResult;
use redis::aio::MultiplexedConnection;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::batch::{Decided, Group, exchange};
use super::context::Context;
use super::job::Job;
use super::layout::Strategy;
use super::remedy::{Remedy, trips};
use super::reply::Outcome;
use super::server_clock::ServerClock;
use super::target::Target;
use super::topology::Router;
use crate::failure::Failure;
use crate::time::Micros;

/// Decisions in one batch: few enough that the server is not held up for longer than a fraction of a millisecond.
const MOST_IN_A_BATCH: usize = 128;
/// Batches on the way at once, so that neither side waits for the other.
const MOST_BATCHES: usize = 2;
/// Deadlines missed in a row before the server counts as failed.
const MOST_MISSED: u32 = 3;
/// Between two looks at a server that has failed.
const PROBE_EVERY: Duration = Duration::from_millis(100);
/// How long after a slot was found in motion it is asked again.
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// A job, and whether it was sent here for this once.
pub(super) struct Message {
    pub(super) job: Arc<Job>,
    pub(super) asking: bool,
}

/// The way to one server.
pub(super) struct Link {
    queue: mpsc::UnboundedSender<Message>,
    /// The server failed and has not been found well since.
    open: Arc<AtomicBool>,
}

impl Link {
    /// Starts the task that keeps the connection; it ends when the link is dropped.
    pub(super) fn start(target: Target, context: Arc<Context>, router: Router) -> Self {
        let (queue, messages) = mpsc::unbounded_channel();
        let open = Arc::new(AtomicBool::new(false));
        let keeper = Keeper {
            target,
            context,
            router,
            open: open.clone(),
            messages,
            waiting: VecDeque::new(),
            due: VecDeque::new(),
            line: Line::Down,
            batches: FuturesUnordered::new(),
            clock: ServerClock::default(),
            missed: 0,
        };
        tokio::spawn(keeper.run());
        Self { queue, open }
    }

    /// Whether the server is not to be asked for now.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// The runtime that drove this link is gone.
    pub(super) fn is_dead(&self) -> bool {
        self.queue.is_closed()
    }

    /// Takes a job over, or says at once why not.
    pub(super) fn send(&self, message: Message) -> Result<(), Failure> {
        if self.is_open() {
            return Err(Failure::Unavailable);
        }
        self.queue.send(message).map_err(|_| Failure::Unreachable)
    }
}

type Connecting = Pin<Box<dyn Future<Output = RedisResult<Connected>> + Send>>;

/// A connection that has just answered.
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    /// What the server said of the time, between two instants of ours.
    pub(super) heard: Option<(Micros, Micros, Micros)>,
    /// When the server is full, it forgets blocked clients as soon as any others.
    pub(super) evicts_at_random: bool,
}

enum Line {
    Down,
    Connecting(Connecting),
    Up(MultiplexedConnection),
    /// Failed; not to be tried again before this instant.
    Resting(Instant),
}

/// What a batch brought back.
pub(super) struct Exchanged {
    pub(super) groups: Vec<Group>,
    pub(super) decided: RedisResult<Vec<RedisResult<Decided>>>,
    pub(super) sent: Micros,
    pub(super) received: Micros,
}

struct Batch {
    since: Instant,
    exchange: Pin<Box<dyn Future<Output = Exchanged> + Send>>,
}

impl Future for Batch {
    type Output = (Instant, Exchanged);

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        let since = self.since;
        self.exchange.as_mut().poll(cx).map(|exchanged| (since, exchanged))
    }
}

struct Keeper {
    target: Target,
    context: Arc<Context>,
    router: Router,
    open: Arc<AtomicBool>,
    messages: mpsc::UnboundedReceiver<Message>,
    /// Not sent yet.
    waiting: VecDeque<Message>,
    /// Everything that is not over, in the order of the deadlines.
    due: VecDeque<Arc<Job>>,
    line: Line,
    batches: FuturesUnordered<Batch>,
    clock: ServerClock,
    /// Deadlines missed since the last answer.
    missed: u32,
}

impl Keeper {
    async fn run(mut self) {
        let mut incoming = Vec::with_capacity(MOST_IN_A_BATCH);
        loop {
            let due = self.due.front().map(|job| job.deadline);
            let next = tokio::select! {
                biased;
                Some((_, exchanged)) = self.batches.next(), if !self.batches.is_empty() => Next::Exchanged(exchanged),
                count = self.messages.recv_many(&mut incoming, MOST_IN_A_BATCH) => Next::Received(count),
                connected = self.line.progress() => Next::Connected(connected),
                () = at(due) => Next::Due,
            };
            match next {
                Next::Received(0) => return,
                Next::Received(_) => self.take(&mut incoming),
                Next::Exchanged(exchanged) => self.read(exchanged),
                Next::Connected(Some(connected)) => self.connected(connected),
                Next::Connected(None) => self.connect(),
                Next::Due => self.expire(),
            }
            self.dispatch();
        }
    }

    fn take(&mut self, incoming: &mut Vec<Message>) {
        for message in incoming.drain(..) {
            if self.open.load(Ordering::Relaxed) {
                message.job.finish(Err(Failure::Unavailable));
                continue;
            }
            // All wait equally long, so the latest comes last; one that was sent on may not, and gets a timer.
            match self.due.back() {
                Some(last) if last.deadline > message.job.deadline => drop(tokio::spawn(message.job.clone().expire())),
                _ => self.due.push_back(message.job.clone()),
            }
            self.waiting.push_back(message);
        }
    }

    /// Sends what can be sent now.
    fn dispatch(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let connection = match &self.line {
            Line::Up(connection) => connection.clone(),
            Line::Down => return self.connect(),
            Line::Connecting(_) | Line::Resting(_) => return,
        };
        while self.batches.len() < self.most_batches() && !self.waiting.is_empty() {
            let several = self.waiting.len().min(MOST_IN_A_BATCH);
            let messages = self.waiting.drain(..several).filter(|message| !message.job.is_over());
            let groups = Group::of(messages, self.context.strategy(), self.target.is_sharded(), &self.clock);
            if !groups.is_empty() {
                self.launch(connection.clone(), groups);
            }
        }
    }

    /// Batches on the way at once. Those of transactions would come in between each other.
    fn most_batches(&self) -> usize {
        match self.context.strategy() {
            Strategy::Script => MOST_BATCHES,
            Strategy::Transactions => 1,
        }
    }

    fn launch(&mut self, connection: MultiplexedConnection, groups: Vec<Group>) {
        self.context.stats.sent(groups.iter().map(Group::len).sum());
        let exchange = Box::pin(exchange(connection, groups, self.context.strategy()));
        self.batches.push(Batch { since: Instant::now(), exchange });
    }

    fn connect(&mut self) {
        let (target, timeout) = (self.target.clone(), self.context.connect_timeout());
        self.line = Line::Connecting(Box::pin(async move {
            match tokio::time::timeout(timeout, target.connect()).await {
                Ok(connected) => connected,
                Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
            }
        }));
    }

    fn connected(&mut self, connected: RedisResult<Connected>) {
        match connected {
            Ok(Connected { connection, heard, evicts_at_random }) => {
                if evicts_at_random {
                    self.context.evicts_at_random(&self.target);
                }
                if let Some((sent, received, server)) = heard {
                    self.clock.hear(sent, received, server);
                }
                self.line = Line::Up(connection);
                self.missed = 0;
                if self.open.swap(false, Ordering::Relaxed) {
                    self.context.closed(&self.target);
                }
            }
            Err(error) => {
                let failure = match Remedy::of(&error) {
                    Remedy::GiveUp(failure @ (Failure::NotReady | Failure::ReadOnly | Failure::Denied)) => failure,
                    // Whatever else kept a connection from being made, there is none.
                    _ => Failure::Unreachable,
                };
                self.trip(failure, &error.to_string());
            }
        }
    }

    /// The server counts as failed: nothing waits for it any more, and it is looked at again in a while.
    fn trip(&mut self, fault: Failure, why: &str) {
        self.line = Line::Resting(Instant::now() + PROBE_EVERY);
        self.batches.clear();
        if !self.open.swap(true, Ordering::Relaxed) {
            self.context.opened(&self.target, fault, why);
        }
        self.waiting.clear();
        for job in self.due.drain(..) {
            job.finish(Err(fault));
        }
        self.router.refresh();
    }

    /// Finishes what has reached its deadline.
    fn expire(&mut self) {
        let now = Instant::now();
        while let Some(job) = self.due.front().filter(|job| job.deadline <= now || job.is_over()) {
            if job.finish(Err(Failure::Timeout)) {
                self.missed += 1;
            }
            self.due.pop_front();
        }
        // A server that answers nothing for two deadlines is as bad as one that misses three.
        let silent = self.batches.iter().any(|batch| now - batch.since >= 2 * self.context.timeout());
        if self.missed >= MOST_MISSED || (self.missed > 0 && silent) {
            self.trip(Failure::Timeout, "no answer in time");
        }
    }

    fn read(&mut self, exchanged: Exchanged) {
        let Exchanged { groups, decided, sent, received } = exchanged;
        let decided = match decided {
            Ok(decided) => decided,
            // The connection broke: what was on its way may have been done, so it is not sent again. What waits may
            // still make it over a new connection.
            Err(error) => {
                for message in groups.into_iter().flat_map(|group| group.messages) {
                    message.job.finish(Err(Failure::Disconnected));
                }
                if matches!(self.line, Line::Up(_)) {
                    self.context.fault(&self.target, Failure::Disconnected, &error.to_string());
                    self.line = Line::Down;
                    self.router.refresh();
                }
                return;
            }
        };
        self.missed = 0;
        for (group, decided) in groups.into_iter().zip(decided) {
            match decided {
                Ok((server, outcomes)) => {
                    if let Some(server) = server {
                        self.clock.hear(sent, received, server);
                    }
                    self.settle(group, outcomes);
                }
                Err(error) => self.remedy(group, &error),
            }
        }
        self.forget_finished();
    }

    fn settle(&mut self, group: Group, outcomes: Vec<Outcome>) {
        for (message, outcome) in group.messages.into_iter().zip(outcomes) {
            // By the server's clock it was too late, by ours it may not be: one of them was set.
            if matches!(outcome, Outcome::Late { .. }) && message.job.deadline > Instant::now() {
                if message.job.may_hop() {
                    self.waiting.push_back(message);
                }
                continue;
            }
            message.job.finish(Ok(outcome));
        }
    }

    fn remedy(&mut self, mut group: Group, error: &redis::RedisError) {
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
                if trips(fault) {
                    self.trip(fault, &error.to_string());
                } else {
                    self.context.fault(&self.target, fault, &error.to_string());
                }
            }
            Remedy::SendScript => {
                self.context.fault(&self.target, Failure::Other, &error.to_string());
                group.fail(Failure::Other);
            }
        }
    }

    fn forget_finished(&mut self) {
        while self.due.front().is_some_and(|job| job.is_over()) {
            self.due.pop_front();
        }
    }
}

enum Next {
    Received(usize),
    Exchanged(Exchanged),
    /// A connection or an error; none when it is time to try again.
    Connected(Option<RedisResult<Connected>>),
    Due,
}

impl Line {
    async fn progress(&mut self) -> Option<RedisResult<Connected>> {
        match self {
            Self::Connecting(connecting) => Some(connecting.await),
            Self::Resting(until) => {
                sleep_until(*until).await;
                None
            }
            Self::Down | Self::Up(_) => pending().await,
        }
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
