//! Decisions by transactions under optimistic locking, for servers that run no scripts.
//!
//! An entry is two integers, as `SkRateLimiterService` keeps them: how much is in a bucket, and the millisecond from
//! which its drips count. What a call comes to is computed here, on what was read; what it changes is sent as
//! differences, so that nothing is lost of what others do meanwhile:
//!
//! 1. Read both numbers, and the time. Denials end here.
//! 2. Drip: move the tick and lower the counter by what time has done. Reading the tick once more in that same
//!    transaction shows if another process has dripped in between;
//! 3. then that is undone, by the inverse differences.
//! 4. Charge, with a new look at the entry. Where others have charged as well since it was read, a single check
//!    overfills the bucket and its answer says how long that takes to drain.
//!
//! Several checks, and a place in line that turns out to be too far back, are given back instead; and keys that would
//! end before what others have charged has drained live longer: that is one transaction more.
//!
//! Until a drip is undone, others see a tick that is ahead of the clock. They know from it how much was dripped twice,
//! and where that denies a call they read again, for by then it is undone.
//!
//! The decisions of a batch share these transactions and see each other's effects, and a process has one batch on its
//! way at a time: it never comes in between itself. Each step is for those that are still in time, and no step is ever
//! sent again.

mod entry_view;
mod tx_call;
mod wire;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use self::entry_view::{Changes, Drip, EntryView, Seen};
use self::tx_call::TxCall;
use self::wire::{Kept, Replies, Transaction};
use super::connection::group_reply::{GroupReply, Pending};
use super::connection::message::Message;
use super::protocol::keys::both;
use crate::decision::Verb;
use crate::store::remote::{Key, Request};
use crate::time::Micros;

/// Uses every right on these keys that a decision needs, and leaves none of them.
pub(super) async fn probe(connection: &mut MultiplexedConnection, keys: impl Iterator<Item = Key>) -> RedisResult<()> {
    let mut all = Transaction::begin();
    all.time();
    for key in keys {
        all.get(&key);
        all.set(&key, 0, 1, true);
        all.change(&key, 1);
        all.change(&key, -1);
        all.expire(&key, 0);
    }
    all.send(connection).await?.all_well()
}

/// Decides, and answers each call as soon as its outcome is known; what was charged is held instead, where it is to
/// wait for replicas.
pub(super) async fn decide(
    connection: &mut MultiplexedConnection,
    messages: &[Message],
    holds: bool,
) -> RedisResult<GroupReply> {
    let mut batch = TxBatch::of(messages);
    let mut server = batch.read(connection).await?;
    batch.decide(server);
    for _ in 0..MOST_LOOKS {
        if !batch.is_in_doubt() {
            break;
        }
        server = batch.read(connection).await?;
        batch.decide(server);
    }
    batch.complete_unchanged();
    if batch.drip(connection).await? {
        batch.decide(server);
        batch.complete_unchanged();
    }
    if batch.add(connection).await? {
        batch.decide_charged(server);
        if !holds {
            batch.complete_all();
        }
        batch.repair(connection).await?;
    }
    let held = if holds { batch.hold_all() } else { Vec::new() };
    batch.complete_all();
    Ok(GroupReply { server, outcomes: Vec::new(), held, undone: batch.undone })
}

/// Further reads before a denial that is due to a drip which another process is about to undo.
const MOST_LOOKS: usize = 2;

/// Decisions that are made together.
struct TxBatch {
    calls: Vec<TxCall>,
    views: Vec<EntryView>,
    /// The changes that were sent, if they have to be compared again.
    sent: Vec<Changes>,
    /// The requests that give back what was charged too late.
    undone: Vec<Request>,
}

impl TxBatch {
    fn of(messages: &[Message]) -> Self {
        let mut batch =
            Self { calls: Vec::with_capacity(messages.len()), views: Vec::new(), sent: Vec::new(), undone: Vec::new() };
        for message in messages {
            let request = &message.job.request;
            let views = request.entries.iter().map(|entry| batch.view(both(entry))).collect();
            batch.calls.push(TxCall::new(message.job.clone(), views));
        }
        batch
    }

    fn view(&mut self, keys: [Key; 2]) -> usize {
        let known = self.views.iter().position(|view| keys[0] == view.counter);
        known.unwrap_or_else(|| {
            self.views.push(EntryView::new(keys));
            self.views.len() - 1
        })
    }

    /// Looks at everything once, all of it at one instant.
    async fn read(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<Option<Micros>> {
        if self.calls.iter().all(|call| call.job.request.verb == Verb::Reset) {
            return Ok(None);
        }
        let mut transaction = Transaction::begin();
        let time = transaction.time();
        let places: Vec<_> =
            self.views.iter().map(|view| (transaction.get(&view.counter), transaction.get(&view.tick))).collect();
        let replies = transaction.send(connection).await?;
        for (view, (counter, tick)) in self.views.iter_mut().zip(places) {
            view.seen = Seen { counter: replies.kept(counter)?, tick: replies.kept(tick)? };
        }
        replies.time(time).map(Some)
    }

    /// Makes the decisions of those who still wait.
    fn decide(&mut self, server: Option<Micros>) {
        self.calls.retain(TxCall::is_wanted);
        self.decide_again(server);
    }

    fn is_in_doubt(&self) -> bool {
        self.calls.iter().any(|call| call.doubtful)
    }

    /// Answers the decisions that change nothing.
    fn complete_unchanged(&mut self) {
        self.calls.retain_mut(|call| {
            if !call.writes {
                self.undone.extend(call.complete());
            }
            call.writes
        });
    }

    fn decide_again(&mut self, server: Option<Micros>) {
        for view in &mut self.views {
            view.changes = Changes::default();
        }
        for call in &mut self.calls {
            call.decide(&mut self.views, server);
        }
    }

    /// Does what time has done to the entries that are to be changed; true where there was anything to do.
    async fn drip(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<bool> {
        let mut transaction = Transaction::begin();
        let mut dripping = Vec::new();
        for (index, view) in self.views.iter().enumerate() {
            if let Some(drip) = view.drip() {
                let canary = transaction.get(&view.tick);
                dripping.push((index, drip, canary, change(&mut transaction, view, drip.moved, -drip.drained)));
            }
        }
        if transaction.is_empty() {
            return Ok(false);
        }
        let replies = transaction.send(connection).await?;
        let mut undo = Transaction::begin();
        let mut undoing = Vec::new();
        for (index, drip, canary, places) in dripping {
            let view = &mut self.views[index];
            if replies.kept(canary)? == Kept::Number(drip.canary) {
                view.seen = places.seen(&replies, view.seen)?;
            } else {
                let Drip { moved, drained, .. } = drip;
                undoing.push((index, change(&mut undo, view, -moved, drained)));
            }
        }
        if !undo.is_empty() {
            let replies = undo.send(connection).await?;
            for (index, places) in undoing {
                let view = &mut self.views[index];
                view.seen = places.seen(&replies, view.seen)?;
            }
        }
        Ok(true)
    }

    /// Charges, gives back and forgets; true where others have changed a counter since it was looked at.
    async fn add(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<bool> {
        let mut transaction = Transaction::begin();
        let mut added = Vec::new();
        for (index, view) in self.views.iter().enumerate() {
            if let Some(places) = add(&mut transaction, view) {
                added.push((index, places));
            }
        }
        if transaction.is_empty() {
            return Ok(false);
        }
        let replies = transaction.send(connection).await?;
        replies.all_well()?;
        self.sent = self.views.iter().map(|view| view.changes.clone()).collect();
        let mut moved = false;
        for (index, (tick, counter)) in added {
            let view = &mut self.views[index];
            let before = replies.number(counter)? - view.due();
            if !view.changes.forgets && before != view.seen.counter.number().unwrap_or(0) {
                view.seen = Seen { counter: Kept::Number(before), tick: replies.kept(tick)? };
                moved = true;
            }
        }
        Ok(moved)
    }

    /// Looks at the decisions once more, now that they are charged for.
    fn decide_charged(&mut self, server: Option<Micros>) {
        for call in &mut self.calls {
            call.charged = true;
        }
        self.decide_again(server);
    }

    /// Gives back what was charged in vain, and lengthens what does not live long enough.
    async fn repair(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        let mut transaction = Transaction::begin();
        for (view, sent) in self.views.iter().zip(&self.sent) {
            let more = view.changes.charged - sent.charged;
            if more != 0 {
                transaction.change(&view.counter, more);
            }
            let seconds = view.changes.seconds();
            if more != 0 || seconds > sent.seconds() {
                let seconds = seconds.max(sent.seconds());
                transaction.expire(&view.counter, seconds);
                transaction.expire(&view.tick, seconds);
            }
        }
        if transaction.is_empty() {
            return Ok(());
        }
        transaction.send(connection).await?.all_well()
    }

    fn hold_all(&mut self) -> Vec<Pending> {
        self.calls.iter_mut().filter_map(TxCall::hold).collect()
    }

    fn complete_all(&mut self) {
        self.undone.extend(self.calls.iter_mut().filter_map(TxCall::complete));
    }
}

/// The places of the replies with the new values of two numbers.
struct Changed {
    tick: Option<usize>,
    counter: Option<usize>,
}

impl Changed {
    fn seen(&self, replies: &Replies, before: Seen) -> RedisResult<Seen> {
        let after =
            |place: Option<usize>, before| place.map_or(Ok(before), |place| replies.number(place).map(Kept::Number));
        Ok(Seen { counter: after(self.counter, before.counter)?, tick: after(self.tick, before.tick)? })
    }
}

/// Moves the tick of an entry and changes its counter. Neither is ever left without a time to live, and the counter
/// goes no later than the tick.
fn change(transaction: &mut Transaction, view: &EntryView, moved: i64, more: i64) -> Changed {
    let seconds = view.changes.seconds();
    let tick = (moved != 0).then(|| transaction.change(&view.tick, moved));
    let counter = (more != 0).then(|| transaction.change(&view.counter, more));
    transaction.expire(&view.counter, seconds);
    transaction.expire(&view.tick, seconds);
    Changed { tick, counter }
}

/// Adds the commands that change an entry; returns the places of the replies with its tick and its counter.
fn add(transaction: &mut Transaction, view: &EntryView) -> Option<(usize, usize)> {
    let (changes, seen, due, seconds) = (&view.changes, view.seen, view.due(), view.changes.seconds());
    if changes.forgets {
        for key in [&view.counter, &view.tick] {
            transaction.expire(key, 0);
        }
    }
    let untimed = changes.forgets || seen.tick().is_none();
    if changes.is_none() || (due == 0 && !(changes.repairs && untimed)) {
        return None;
    }
    if seen.counter == Kept::Foreign && !changes.forgets {
        transaction.set(&view.counter, 0, seconds, false);
    }
    if untimed {
        let only_if_absent = changes.forgets || seen.tick == Kept::Nothing;
        transaction.set(&view.tick, view.since(), seconds, only_if_absent);
    }
    let tick = transaction.get(&view.tick);
    let counter = (due != 0).then(|| transaction.change(&view.counter, due));
    transaction.expire(&view.counter, seconds);
    transaction.expire(&view.tick, seconds);
    counter.map(|counter| (tick, counter))
}
