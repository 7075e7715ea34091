//! One server: a connection that is kept well, and the batches that travel over it.
//!
//! A task owns the connection and everything about it. Decisions come in through a queue; those that are under way at
//! the same time travel together. Nothing here waits for longer than a decision's own deadline: the task finishes
//! every job at its deadline whatever the connection does, and a connection that has gone silent is dropped.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use redis::RedisResult;
use redis::aio::MultiplexedConnection;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::batch::{Batch, Exchanged, Group};
use super::context::Context;
use super::job::Job;
use super::layout::Strategy;
use super::line::{Connected, Line};
use super::remedy::Remedy;
use super::replicas::{Acknowledged, Holding, keep_up};
use super::server_clock::ServerClock;
use super::target::Target;
use super::topology::Router;
use crate::failure::Failure;

/// Decisions in one batch: few enough that the server is not held up for longer than a fraction of a millisecond.
const MOST_IN_A_BATCH: usize = 128;
/// Batches on the way at once, so that neither side waits for the other.
const MOST_BATCHES: usize = 2;
/// Deadlines missed in a row before the server counts as failed.
const MOST_MISSED: u32 = 3;
/// Between two looks at a server that has failed.
const PROBE_EVERY: Duration = Duration::from_millis(100);
const TOO_FEW: &str = "too few replicas acknowledge what it writes";

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
            holding: FuturesUnordered::new(),
            clock: ServerClock::default(),
            missed: 0,
            unreplicated: 0,
            slot: None,
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

pub(super) struct Keeper {
    pub(super) target: Target,
    pub(super) context: Arc<Context>,
    pub(super) router: Router,
    open: Arc<AtomicBool>,
    messages: mpsc::UnboundedReceiver<Message>,
    /// Not sent yet.
    pub(super) waiting: VecDeque<Message>,
    /// Everything that is not over, in the order of the deadlines.
    due: VecDeque<Arc<Job>>,
    pub(super) line: Line,
    batches: FuturesUnordered<Batch>,
    /// Decided, and not acknowledged by enough replicas yet.
    pub(super) holding: FuturesUnordered<Holding>,
    pub(super) clock: ServerClock,
    /// Deadlines missed since the last answer, or since replicas last acknowledged one where they did not.
    pub(super) missed: u32,
    /// Decisions that too few replicas acknowledged in time, since the last that enough did.
    pub(super) unreplicated: u32,
    /// Of a sharded server, a slot that it had when it last charged something.
    pub(super) slot: Option<u16>,
}

impl Keeper {
    async fn run(mut self) {
        let mut incoming = Vec::with_capacity(MOST_IN_A_BATCH);
        loop {
            let due = self.due.front().map(|job| job.deadline);
            let next = tokio::select! {
                biased;
                Some(exchanged) = self.batches.next(), if !self.batches.is_empty() => Next::Exchanged(exchanged),
                Some(acknowledged) = self.holding.next(), if !self.holding.is_empty() => {
                    Next::Acknowledged(acknowledged)
                }
                count = self.messages.recv_many(&mut incoming, MOST_IN_A_BATCH) => Next::Received(count),
                connected = self.line.progress() => Next::Connected(connected),
                () = at(due) => Next::Due,
            };
            match next {
                Next::Received(0) => return,
                Next::Received(_) => self.take(&mut incoming),
                Next::Exchanged(exchanged) => self.read(exchanged),
                Next::Acknowledged(acknowledged) => self.acknowledged(acknowledged),
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
        while self.batches.len() + self.holding.len() < self.most_batches() && !self.waiting.is_empty() {
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

    pub(super) fn launch(&mut self, connection: MultiplexedConnection, groups: Vec<Group>) {
        self.context.stats.sent(groups.iter().map(Group::len).sum());
        self.batches.push(Batch::send(connection, groups, &self.context));
    }

    fn connect(&mut self) {
        let (target, context, slot) = (self.target.clone(), self.context.clone(), self.slot);
        let knows_where = slot.is_some() || !target.is_sharded();
        let proves = context.replicas() > 0 && self.open.load(Ordering::Relaxed) && knows_where;
        let timeout = self.context.connect_timeout();
        self.line = Line::Connecting(Box::pin(async move {
            let attempt = async || {
                let mut connected = target.connect().await?;
                connected.keeps_up = !proves || keep_up(&mut connected.connection, &context, slot).await?;
                Ok(connected)
            };
            // A packet that got lost is sent again only after longer than this; a second attempt is quicker.
            let second = async {
                sleep(timeout / 2).await;
                attempt().await
            };
            tokio::select! {
                connected = attempt() => connected,
                connected = second => connected,
                () = sleep(timeout) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
            }
        }));
    }

    fn connected(&mut self, connected: RedisResult<Connected>) {
        match connected {
            Ok(Connected { keeps_up: false, .. }) => self.trip(Failure::Unreplicated, TOO_FEW),
            Ok(Connected { connection, heard, evicts_at_random, .. }) => {
                if evicts_at_random {
                    self.context.evicts_at_random(&self.target);
                }
                if let Some((sent, received, server)) = heard {
                    self.clock.hear(sent, received, server);
                }
                self.line = Line::Up(connection);
                (self.missed, self.unreplicated) = (0, 0);
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
    pub(super) fn trip(&mut self, fault: Failure, why: &str) {
        self.line = Line::Resting(Instant::now() + PROBE_EVERY);
        self.batches.clear();
        self.holding.clear();
        if !self.open.swap(true, Ordering::Relaxed) {
            self.context.opened(&self.target, fault, why);
        }
        self.waiting.clear();
        for job in self.due.drain(..) {
            job.fail(fault);
        }
        self.router.refresh();
    }

    /// Finishes what has reached its deadline.
    fn expire(&mut self) {
        let now = Instant::now();
        while let Some(job) = self.due.front().filter(|job| job.deadline <= now || job.is_over()) {
            job.fail(Failure::Timeout);
            self.forget_first();
        }
        self.judge();
    }

    pub(super) fn forget_finished(&mut self) {
        while self.due.front().is_some_and(|job| job.is_over()) {
            self.forget_first();
        }
    }

    /// A caller's own thread may have noticed first that a deadline was missed.
    fn forget_first(&mut self) {
        match self.due.pop_front().and_then(|job| job.missed()) {
            Some(Failure::Unreplicated) => self.unreplicated += 1,
            Some(_) => self.missed += 1,
            None => {}
        }
    }

    /// Whether the server has failed, going by the deadlines that it missed.
    pub(super) fn judge(&mut self) {
        let missed = self.missed + self.unreplicated;
        // A server that answers nothing for two deadlines is as bad as one that misses three.
        let silent = self.batches.iter().any(|batch| batch.since.elapsed() >= 2 * self.context.timeout());
        if missed < MOST_MISSED && !(missed > 0 && silent) {
            return;
        }
        if self.unreplicated > 0 {
            self.trip(Failure::Unreplicated, TOO_FEW);
        } else {
            self.trip(Failure::Timeout, "no answer in time");
        }
    }
}

enum Next {
    Received(usize),
    Exchanged(Exchanged),
    Acknowledged(Acknowledged),
    /// A connection or an error; none when it is time to try again.
    Connected(Option<RedisResult<Connected>>),
    Due,
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
