//! The wait queues of limits that do not reserve.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fingerprint::Fingerprint;

/// A position in the wait queues: the lower, the earlier.
pub(crate) type Ticket = u64;

/// The calls that wait for each entry, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct WaitQueue(Mutex<Queues>);

#[derive(Debug, Default)]
struct Queues {
    waiting: HashMap<u128, VecDeque<Waiting>>,
    next: Ticket,
    /// The process that they belong to: nobody waits in the queues that a forked process inherits.
    process: u32,
}

#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    cost: u64,
}

impl WaitQueue {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if queues.process != process {
            queues.process = process;
            queues.waiting.clear();
        }
        queues
    }

    /// Joins the queues of these entries, each with the cost that is to be charged there.
    pub(crate) fn join(&self, entries: impl Iterator<Item = (Fingerprint, u64)>) -> Ticket {
        let mut queues = self.lock();
        crate::panics::point("queue");
        let ticket = queues.next;
        queues.next += 1;
        for (entry, cost) in entries {
            queues.waiting.entry(entry.0).or_default().push_back(Waiting { ticket, cost });
        }
        ticket
    }

    /// Leaves the queues of these entries.
    pub(crate) fn leave(&self, entries: impl Iterator<Item = Fingerprint>, ticket: Ticket) {
        let mut queues = self.lock();
        for entry in entries {
            if let Some(queue) = queues.waiting.get_mut(&entry.0) {
                queue.retain(|waiting| waiting.ticket != ticket);
                if queue.is_empty() {
                    queues.waiting.remove(&entry.0);
                }
            }
        }
    }

    /// The sum of the costs that those ahead will charge to this entry.
    pub(crate) fn ahead(&self, entry: Fingerprint, ticket: Ticket) -> u64 {
        let queues = self.lock();
        let queue = queues.waiting.get(&entry.0).into_iter().flatten();
        queue
            .take_while(|waiting| waiting.ticket < ticket)
            .fold(0, |sum: u64, waiting| sum.saturating_add(waiting.cost))
    }
}
