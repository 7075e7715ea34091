//! Decisions by transactions under optimistic locking, for servers that run no scripts.
//!
//! An entry is two integers, as `SkRateLimiterService` keeps them: how much is in a bucket, and the millisecond from
//! which its drips count. What a call comes to is computed here, on what was read; what it changes is sent as
//! differences, so that nothing is lost of what others do meanwhile:
//!
//! 1. Read both numbers, and the time. Denials end here.
//! 2. Drip: move the tick and lower the counter by what time has done. Reading the tick once more in that same
//!    transaction tells whether somebody else has dripped in between;
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

mod account;
mod turn;
mod wire;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use self::account::{Account, Changes, Drip, Seen};
use self::turn::Turn;
use self::wire::{Kept, Replies, Transaction};
use super::group_reply::{GroupReply, Pending};
use super::keys::{Key, both};
use super::message::Message;
use crate::decision::Verb;
use crate::time::Micros;

/// Decides, and tells everyone what came of it as soon as it is known; what was charged is held instead, where it is to
/// wait for replicas.
pub(super) async fn decide(
    connection: &mut MultiplexedConnection,
    messages: &[Message],
    holds: bool,
) -> RedisResult<GroupReply> {
    let mut round = Round::of(messages);
    let mut server = round.read(connection).await?;
    round.play(server);
    for _ in 0..MOST_LOOKS {
        if !round.is_in_doubt() {
            break;
        }
        server = round.read(connection).await?;
        round.play(server);
    }
    round.tell_the_idle();
    if round.drip(connection).await? {
        round.play(server);
        round.tell_the_idle();
    }
    if round.add(connection).await? {
        round.play_on(server);
        if !holds {
            round.tell_all();
        }
        round.mend(connection).await?;
    }
    let held = if holds { round.hold_all() } else { Vec::new() };
    round.tell_all();
    Ok(GroupReply { server, outcomes: Vec::new(), held })
}

/// Further reads before a denial that is due to a drip which another process is about to undo.
const MOST_LOOKS: usize = 2;

/// Decisions that are made together.
struct Round {
    turns: Vec<Turn>,
    accounts: Vec<Account>,
    /// The changes that were sent, if they have to be compared again.
    sent: Vec<Changes>,
}

impl Round {
    fn of(messages: &[Message]) -> Self {
        let mut round = Self { turns: Vec::with_capacity(messages.len()), accounts: Vec::new(), sent: Vec::new() };
        for message in messages {
            let decision = &message.job.decision;
            let accounts = decision.entries.iter().map(|entry| round.account(both(entry))).collect();
            round.turns.push(Turn::new(message.job.clone(), accounts));
        }
        round
    }

    fn account(&mut self, keys: [Key; 2]) -> usize {
        let known = self.accounts.iter().position(|account| keys[0] == account.counter);
        known.unwrap_or_else(|| {
            self.accounts.push(Account::new(keys));
            self.accounts.len() - 1
        })
    }

    /// Looks at everything once, all of it at one instant.
    async fn read(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<Option<Micros>> {
        if self.turns.iter().all(|turn| turn.job.decision.verb == Verb::Reset) {
            return Ok(None);
        }
        let mut transaction = Transaction::begin();
        let time = transaction.time();
        let places: Vec<_> = self
            .accounts
            .iter()
            .map(|account| (transaction.get(&account.counter), transaction.get(&account.tick)))
            .collect();
        let replies = transaction.send(connection).await?;
        for (account, (counter, tick)) in self.accounts.iter_mut().zip(places) {
            account.seen = Seen { counter: replies.kept(counter)?, tick: replies.kept(tick)? };
        }
        replies.time(time).map(Some)
    }

    /// Makes the decisions of those who still wait.
    fn play(&mut self, server: Option<Micros>) {
        self.turns.retain(Turn::is_wanted);
        self.replay(server);
    }

    fn is_in_doubt(&self) -> bool {
        self.turns.iter().any(|turn| turn.doubtful)
    }

    /// Answers the decisions that change nothing.
    fn tell_the_idle(&mut self) {
        self.turns.retain_mut(|turn| {
            if !turn.writes {
                turn.tell();
            }
            turn.writes
        });
    }

    fn replay(&mut self, server: Option<Micros>) {
        for account in &mut self.accounts {
            account.changes = Changes::default();
        }
        for turn in &mut self.turns {
            turn.play(&mut self.accounts, server);
        }
    }

    /// Does what time has done to the entries that are to be changed; true where there was anything to do.
    async fn drip(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<bool> {
        let mut transaction = Transaction::begin();
        let mut dripping = Vec::new();
        for (index, account) in self.accounts.iter().enumerate() {
            if let Some(drip) = account.drip() {
                let canary = transaction.get(&account.tick);
                dripping.push((index, drip, canary, change(&mut transaction, account, drip.moved, -drip.drained)));
            }
        }
        if transaction.is_empty() {
            return Ok(false);
        }
        let replies = transaction.send(connection).await?;
        let mut undo = Transaction::begin();
        let mut undoing = Vec::new();
        for (index, drip, canary, places) in dripping {
            let account = &mut self.accounts[index];
            if replies.kept(canary)? == Kept::Number(drip.canary) {
                account.seen = places.seen(&replies, account.seen)?;
            } else {
                let Drip { moved, drained, .. } = drip;
                undoing.push((index, change(&mut undo, account, -moved, drained)));
            }
        }
        if !undo.is_empty() {
            let replies = undo.send(connection).await?;
            for (index, places) in undoing {
                let account = &mut self.accounts[index];
                account.seen = places.seen(&replies, account.seen)?;
            }
        }
        Ok(true)
    }

    /// Charges, gives back and forgets; true where others have changed a counter since it was looked at.
    async fn add(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<bool> {
        let mut transaction = Transaction::begin();
        let mut added = Vec::new();
        for (index, account) in self.accounts.iter().enumerate() {
            if let Some(places) = add(&mut transaction, account) {
                added.push((index, places));
            }
        }
        if transaction.is_empty() {
            return Ok(false);
        }
        let replies = transaction.send(connection).await?;
        replies.all_well()?;
        self.sent = self.accounts.iter().map(|account| account.changes.clone()).collect();
        let mut moved = false;
        for (index, (tick, counter)) in added {
            let account = &mut self.accounts[index];
            let before = replies.number(counter)? - account.due();
            if !account.changes.forgets && before != account.seen.counter.number().unwrap_or(0) {
                account.seen = Seen { counter: Kept::Number(before), tick: replies.kept(tick)? };
                moved = true;
            }
        }
        Ok(moved)
    }

    /// Looks at the decisions once more, now that they are charged for.
    fn play_on(&mut self, server: Option<Micros>) {
        for turn in &mut self.turns {
            turn.charged = true;
        }
        self.replay(server);
    }

    /// Gives back what was charged in vain, and lengthens what does not live long enough.
    async fn mend(&mut self, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        let mut transaction = Transaction::begin();
        for (account, sent) in self.accounts.iter().zip(&self.sent) {
            let more = account.changes.charged - sent.charged;
            if more != 0 {
                transaction.change(&account.counter, more);
            }
            let seconds = account.changes.seconds();
            if more != 0 || seconds > sent.seconds() {
                let seconds = seconds.max(sent.seconds());
                transaction.expire(&account.counter, seconds);
                transaction.expire(&account.tick, seconds);
            }
        }
        if transaction.is_empty() {
            return Ok(());
        }
        transaction.send(connection).await?.all_well()
    }

    fn hold_all(&mut self) -> Vec<Pending> {
        self.turns.iter_mut().filter_map(Turn::hold).collect()
    }

    fn tell_all(&mut self) {
        self.turns.iter_mut().for_each(Turn::tell);
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
fn change(transaction: &mut Transaction, account: &Account, moved: i64, more: i64) -> Changed {
    let seconds = account.changes.seconds();
    let tick = (moved != 0).then(|| transaction.change(&account.tick, moved));
    let counter = (more != 0).then(|| transaction.change(&account.counter, more));
    transaction.expire(&account.counter, seconds);
    transaction.expire(&account.tick, seconds);
    Changed { tick, counter }
}

/// Adds the commands that change an entry; returns the places of the replies with its tick and its counter.
fn add(transaction: &mut Transaction, account: &Account) -> Option<(usize, usize)> {
    let (changes, seen, due, seconds) = (&account.changes, account.seen, account.due(), account.changes.seconds());
    if changes.forgets {
        for key in [&account.counter, &account.tick] {
            transaction.expire(key, 0);
        }
    }
    let untimed = changes.forgets || seen.tick().is_none();
    if changes.is_none() || (due == 0 && !(changes.mends && untimed)) {
        return None;
    }
    if seen.counter == Kept::Foreign && !changes.forgets {
        transaction.set(&account.counter, 0, seconds, false);
    }
    if untimed {
        let only_if_absent = changes.forgets || seen.tick == Kept::Nothing;
        transaction.set(&account.tick, account.since(), seconds, only_if_absent);
    }
    let tick = transaction.get(&account.tick);
    let counter = (due != 0).then(|| transaction.change(&account.counter, due));
    transaction.expire(&account.counter, seconds);
    transaction.expire(&account.tick, seconds);
    counter.map(|counter| (tick, counter))
}
