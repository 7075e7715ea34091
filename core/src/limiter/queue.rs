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
    /// The process that they belong to: no call waits in the queues that a forked process inherits.
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

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: Fingerprint = Fingerprint(7);
    const OTHER: Fingerprint = Fingerprint(8);

    #[test]
    fn those_ahead_are_those_who_came_before_and_whoever_leaves_leaves_nothing() {
        let queue = WaitQueue::default();
        let first = queue.join([(ENTRY, 3), (OTHER, 5)].into_iter());
        let second = queue.join([(ENTRY, 4)].into_iter());
        let third = queue.join([(ENTRY, u64::MAX), (OTHER, 1)].into_iter());
        assert!(first < second && second < third);
        assert_eq!([first, second, third].map(|ticket| queue.ahead(ENTRY, ticket)), [0, 3, 7]);
        assert_eq!(queue.ahead(OTHER, third), 5);
        let last = queue.join([(ENTRY, 1)].into_iter());
        assert_eq!(queue.ahead(ENTRY, last), u64::MAX, "a sum has its bound");
        queue.leave([ENTRY, OTHER].into_iter(), first);
        assert_eq!((queue.ahead(ENTRY, third), queue.ahead(OTHER, third)), (4, 0));
        queue.leave([ENTRY, OTHER].into_iter(), third);
        for ticket in [second, last] {
            queue.leave([ENTRY].into_iter(), ticket);
        }
        assert!(queue.lock().waiting.is_empty(), "nothing is kept of an entry that nobody waits for");
    }

    #[test]
    fn nobody_waits_in_the_queues_that_a_child_inherits() {
        let queue = WaitQueue::default();
        queue.join([(ENTRY, 3)].into_iter());
        queue.0.lock().expect("a lock").process = 0;
        let own = queue.join([(ENTRY, 1)].into_iter());
        assert_eq!(queue.ahead(ENTRY, own), 0);
    }
}
