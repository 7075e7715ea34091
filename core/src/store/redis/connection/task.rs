//! The connection to one server, and the batches that travel over it.
//!
//! A task owns the connection and everything about it. Decisions come in through a queue; those that are under way at
//! the same time travel together. Nothing here waits for longer than a decision's own deadline: the task finishes
//! every job at its deadline whatever the connection does, and a connection that has gone silent is dropped.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::batch::{self, Batch, BatchReply, Group};
use super::breaker::Breaker;
use super::dial::Transport;
use super::message::Message;
use super::queue::{Received, Receiver, Sender, queue};
use super::server_clock::ServerClock;
use super::state::{ConnectionState, Progress};
use super::underway::{Back, begin, next_back};
use crate::failure::Failure;
use crate::store::redis::context::Context;
use crate::store::redis::protocol::layout::Strategy;
use crate::store::redis::settings::endpoint::Endpoint;
use crate::store::redis::topology::replicas::{Acknowledged, Holding};
use crate::store::redis::topology::reroute::Reroute;
use crate::store::remote::{Job, task};

/// Decisions in one batch: few enough that the server is not held up for longer than a fraction of a millisecond.
const MOST_IN_A_BATCH: usize = 128;
/// Batches on the way at once while no job waits long, so that neither side waits for the other.
const BATCHES: usize = 2;
/// The time for which what was last read from the server is recent.
const RECENT: Duration = Duration::from_millis(1);

/// The handle to the connection of one server: the queue into its task, and its breaker.
pub(crate) struct Connection {
    queue: Sender<Message>,
    /// True while the breaker of the server is open.
    open: Arc<AtomicBool>,
}

impl Connection {
    /// Starts the task that keeps the connection, which begins to connect. When this is dropped, the task finishes
    /// what it has, and ends.
    pub(crate) fn start(endpoint: Endpoint, context: Arc<Context>, router: Arc<dyn Reroute>) -> Self {
        let (sender, receiver) = queue();
        let breaker = Breaker::new();
        let open = breaker.flag();
        let idle = Arc::<AtomicBool>::default();
        let may_stand_still = context.session.may_stand_still();
        let task = ConnectionTask {
            endpoint,
            context,
            router,
            breaker,
            queue: receiver,
            idle: idle.clone(),
            leaves_by: None,
            waiting: VecDeque::new(),
            due: VecDeque::new(),
            state: ConnectionState::Down,
            connection_number: 0,
            connecting_since: Instant::now(),
            unused_since: None,
            heard: Instant::now(),
            looked: Instant::now(),
            may_stand_still,
            parted_until: None,
            batches: Vec::new(),
            holding: Vec::new(),
            round_trip: Duration::ZERO,
            clock: ServerClock::default(),
            slot: None,
            probing: None,
        };
        task::spawn(idle, task.run());
        Self { queue: sender, open }
    }

    /// True if the server must not be asked now.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// The runtime that drove its task is gone.
    pub(crate) fn is_dead(&self) -> bool {
        self.queue.is_closed()
    }

    /// Takes a job over, or says at once why not.
    pub(crate) fn send(&self, message: Message) -> Result<(), Failure> {
        if self.is_open() {
            return Err(Failure::Unavailable);
        }
        self.queue.send(message).map_err(|_| Failure::Unreachable)
    }
}

pub(super) struct ConnectionTask {
    pub(super) endpoint: Endpoint,
    pub(super) context: Arc<Context>,
    pub(super) router: Arc<dyn Reroute>,
    pub(super) breaker: Breaker,
    queue: Receiver<Message>,
    /// True while the next call can be sent at once, and waits for no other.
    idle: Arc<AtomicBool>,
    /// The instant until which the rest is finished, once all senders are gone.
    leaves_by: Option<Instant>,
    /// Not sent yet, and since when.
    pub(super) waiting: VecDeque<(Instant, Message)>,
    /// Jobs that are not over, in the order of their deadlines.
    due: VecDeque<Arc<Job>>,
    pub(super) state: ConnectionState,
    /// The number of the connection, which changes when it is given up.
    pub(super) connection_number: u64,
    /// The instant at which the last attempt to make one began.
    pub(super) connecting_since: Instant,
    /// The instant at which it was made, until a call goes over it.
    pub(super) unused_since: Option<Instant>,
    /// The instant of the last answer over it.
    pub(super) heard: Instant,
    /// The instant at which the queue was last read.
    looked: Instant,
    /// The runtime may stand still between two calls.
    may_stand_still: bool,
    /// The instant until which replies over connections that were given up may come.
    pub(super) parted_until: Option<Instant>,
    pub(super) batches: Vec<Batch>,
    /// Decided, and not acknowledged by enough replicas yet.
    pub(super) holding: Vec<Holding>,
    /// The average time that a batch takes.
    pub(super) round_trip: Duration,
    pub(super) clock: ServerClock,
    /// Of a sharded server, a slot that it had when it last decided something.
    pub(super) slot: Option<u16>,
    /// The result of the probe that is on its way.
    pub(super) probing: Option<Arc<OnceLock<Option<Failure>>>>,
}

impl ConnectionTask {
    async fn run(mut self) {
        let mut incoming = Vec::new();
        let mut timer = pin!(sleep_until(Instant::now()));
        let mut armed: Option<Instant> = None;
        self.connect();
        while !self.is_done() {
            // One that rings too early is set anew then; most never have to.
            if let Some(next) = self.next_instant()
                && armed.is_none_or(|armed| next < armed)
            {
                timer.as_mut().reset(next);
                armed = Some(next);
            }
            self.idle.store(self.is_idle(), Ordering::Relaxed);
            let next = tokio::select! {
                biased;
                batch = poll_fn(|context| next_back(&mut self.batches, context)) => Next::Batch(batch),
                acknowledged = poll_fn(|context| next_back(&mut self.holding, context)) => Next::Acknowledged(acknowledged),
                // Before a call is sent over what is closed.
                progress = self.state.progress() => Next::Progress(progress),
                received = poll_fn(|context| self.queue.poll(context, &mut incoming)), if self.leaves_by.is_none() && !self.is_full() => {
                    Next::Received(received)
                }
                () = timer.as_mut(), if armed.is_some() => Next::Due,
            };
            match next {
                Next::Received(Received::Messages) => {
                    self.take(&mut incoming, Instant::now());
                    self.catch_up().await;
                }
                Next::Received(Received::Nothing) => self.leaves_by = Some(Instant::now() + self.context.timeout()),
                Next::Batch(batch) => {
                    if batch.what.is_well() {
                        self.look(&mut incoming, Instant::now());
                        self.send_ahead().await;
                    }
                    self.read(batch);
                }
                Next::Acknowledged(acknowledged) => self.acknowledged(acknowledged),
                Next::Progress(Progress::Connected(connected)) => self.connected(connected),
                Next::Progress(Progress::Rested) => self.connect(),
                Next::Progress(Progress::Closed) => self.closed(),
                Next::Due => {
                    armed = None;
                    self.expire();
                    if self.is_full() {
                        // Some may have come right after the last look.
                        self.look(&mut incoming, self.looked);
                    }
                }
            }
            self.probed();
            self.dispatch();
            // Others on this thread have to come in between, those who read the socket above all.
            consume_budget().await;
        }
    }

    /// True while a new job has to wait for a batch to come back, or until it has waited for long enough. Then the queue
    /// is only looked into: callers need not wake this task, each with a call of the system.
    fn is_full(&self) -> bool {
        self.leaves_by.is_none() && self.under_way() >= self.batches_at_once() && self.patience().is_some()
    }

    /// True while the connection is up, and nothing waits or is under way.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.is_quiet()
    }

    /// True while the connection is up, and nothing is under way.
    fn is_quiet(&self) -> bool {
        self.batches.is_empty() && self.holding.is_empty() && matches!(self.state, ConnectionState::Up(_))
    }

    /// True once all senders are gone and no caller waits. A job that is left is answered as it is dropped.
    fn is_done(&self) -> bool {
        self.leaves_by.is_some_and(|leaves_by| {
            let idle = self.waiting.is_empty() && self.batches.is_empty() && self.holding.is_empty();
            idle || Instant::now() >= leaves_by
        })
    }

    /// The next instant at which there is work that no message announces.
    fn next_instant(&self) -> Option<Instant> {
        let due = self.due.front().map(|job| job.deadline);
        let since = match (&self.state, self.waiting.front()) {
            (ConnectionState::Up(_), Some((since, _))) => Some(*since),
            _ => self.is_full().then_some(self.looked),
        };
        let sent_by = since.and_then(|since| Some(since + self.patience()?));
        [due, sent_by, self.parted_until, self.leaves_by].into_iter().flatten().min()
    }

    /// Takes what is in the queue, if anything, as what has waited since then.
    fn look(&mut self, incoming: &mut Vec<Message>, since: Instant) {
        if self.leaves_by.is_none() {
            self.queue.take(incoming);
            self.take(incoming, since);
        }
    }

    fn take(&mut self, incoming: &mut Vec<Message>, since: Instant) {
        let now = Instant::now();
        self.looked = now;
        for message in incoming.drain(..) {
            if self.breaker.is_open() {
                message.job.finish(Err(Failure::Unavailable));
                continue;
            }
            self.watch(&message.job, now);
            self.waiting.push_back((since, message));
        }
    }

    /// Has a runtime that stood still read what has come meanwhile, so that no call is sent over what is closed.
    async fn catch_up(&mut self) {
        if self.may_stand_still && self.is_quiet() && self.heard.elapsed() > RECENT {
            yield_now().await;
            if let ConnectionState::Up(connection) = &self.state
                && connection.is_closed()
            {
                self.closed();
            }
        }
    }

    /// Makes sure that a job is over at its deadline.
    pub(super) fn watch(&mut self, job: &Arc<Job>, now: Instant) {
        if job.deadline > now + self.context.timeout() * 2 {
            // No caller waits for it.
            return;
        }
        // All wait equally long, so the latest comes last; one that was sent on may not, and gets a timer.
        match self.due.back() {
            Some(last) if last.deadline > job.deadline => drop(tokio::spawn(job.clone().expire())),
            _ => self.due.push_back(job.clone()),
        }
    }

    /// Sends what can be sent now.
    fn dispatch(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        if self.leaves_by.is_some() && self.router.has_others() {
            return self.waiting.drain(..).for_each(|(_, message)| self.router.resend(message));
        }
        let connection = match &self.state {
            ConnectionState::Up(connection) => connection.clone(),
            ConnectionState::Down => return self.connect(),
            ConnectionState::Connecting(_) | ConnectionState::Resting(_) => return,
        };
        while let Some((since, _)) = self.waiting.front() {
            let has_waited = |patience: Duration| since.elapsed() >= patience;
            if self.under_way() >= self.batches_at_once() && !self.patience().is_some_and(has_waited) {
                return;
            }
            let several = self.waiting.len().min(MOST_IN_A_BATCH);
            let messages = self.waiting.drain(..several).map(|(_, message)| message);
            let messages = messages.filter(|message| !message.job.is_over());
            let groups = Group::of(messages, &self.context, self.endpoint.is_sharded(), &self.clock);
            if !groups.is_empty() {
                self.unused_since = None;
                self.context.session.sent(groups.iter().map(Group::len).sum());
                self.launch(connection.clone(), self.connection_number, groups);
            }
        }
    }

    /// Sends what waits before the callers of a batch that is back are answered. Else two batches whose replies came
    /// together would be followed by two that are sent together, and so on: the server would rest while callers run,
    /// and they while it works.
    async fn send_ahead(&mut self) {
        let before = self.batches.len();
        self.dispatch();
        if self.batches.len() > before {
            poll_fn(|context| begin(&mut self.batches, context)).await;
            // The one who writes to the socket comes first.
            yield_now().await;
        }
    }

    /// Batches on the way over this connection.
    fn under_way(&self) -> usize {
        let batches = self.batches.iter().filter(|batch| batch.was_sent_over(self.connection_number)).count();
        batches + self.holding.iter().filter(|holding| holding.was_sent_over(self.connection_number)).count()
    }

    /// Batches on the way at once, as long as no job waits long. Batches of transactions would interfere with each
    /// other.
    fn batches_at_once(&self) -> usize {
        match self.context.strategy() {
            Strategy::Script => BATCHES,
            Strategy::Transactions => 1,
        }
    }

    /// The time that a job waits for batches to come back before it travels in one more: an eighth of its deadline, or
    /// less if a round trip leaves no more. Behind a batch that waits for replicas, one more would wait as well.
    fn patience(&self) -> Option<Duration> {
        if self.context.strategy() == Strategy::Transactions || self.context.replicas() > 0 {
            return None;
        }
        let deadline = self.context.timeout();
        let left = deadline.saturating_sub(self.round_trip);
        Some((left / 4).clamp(deadline / 64, deadline / 8))
    }

    /// Sends these over one of the connections.
    pub(super) fn launch(&mut self, connection: Transport, number: u64, groups: Vec<Group>) {
        self.batches.push(batch::send(connection, number, groups, &self.context));
    }

    /// Finishes what has reached its deadline.
    fn expire(&mut self) {
        let now = Instant::now();
        while let Some(job) = self.due.front().filter(|job| job.deadline <= now || job.is_over()) {
            job.fail(Failure::Timeout);
            self.due.pop_front();
        }
        if self.parted_until.is_some_and(|until| until <= now) {
            self.parted_until = None;
            let number = self.connection_number;
            self.batches.retain(|batch| batch.was_sent_over(number));
            self.holding.retain(|holding| holding.was_sent_over(number));
        }
        let of_this = |since: Option<Instant>, is_present: bool| since.filter(|_| is_present);
        for batch in &mut self.batches {
            if let Some(since) = of_this(batch.newly_missed(now), batch.was_sent_over(self.connection_number)) {
                self.breaker.missed(since, Failure::Timeout);
            }
        }
        for holding in &mut self.holding {
            if let Some(since) = of_this(holding.newly_missed(now), holding.was_sent_over(self.connection_number)) {
                self.breaker.missed(since, Failure::Unreplicated);
            }
        }
        self.check_health(now);
    }

    pub(super) fn forget_finished(&mut self) {
        while self.due.front().is_some_and(|job| job.is_over()) {
            self.due.pop_front();
        }
    }
}

enum Next {
    Received(Received),
    Batch(Back<BatchReply>),
    Acknowledged(Back<Acknowledged>),
    Progress(Progress),
    Due,
}
