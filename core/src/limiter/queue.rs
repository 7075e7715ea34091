//! The wait queues of limits that do not reserve, and the number of calls that wait.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::bell::Bell;
use super::line::{Line, Ticket};
use crate::fingerprint::Fingerprint;
use crate::fork::Process;

/// The calls that wait for each entry, in order of arrival.
#[derive(Debug)]
pub(crate) struct WaitQueue {
    process: Process,
    queues: Mutex<Queues>,
    /// The number of bells in all queues of this process, without a lock: nearly always nobody waits.
    bells: AtomicUsize,
    /// The queues of a forked child, whose parent may have held the lock when it forked.
    of_child: OnceLock<Box<Self>>,
}

#[derive(Debug, Default)]
struct Queues {
    waiting: HashMap<u128, Line>,
    /// The bells of calls that wait for units to be released.
    bells: HashMap<Ticket, Bell>,
    next: Ticket,
    /// The calls that have a [`Permit`].
    permits: usize,
}

/// The right of a call to wait, in the process that it waits in.
#[derive(Debug)]
pub(crate) struct Permit(Process);

impl Default for WaitQueue {
    fn default() -> Self {
        Self {
            process: Process::current(),
            queues: Mutex::default(),
            bells: AtomicUsize::new(0),
            of_child: OnceLock::new(),
        }
    }
}

impl WaitQueue {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        let mut own = self;
        while !own.process.is_current() {
            own = own.of_child.get_or_init(Box::default);
        }
        own.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A permit to wait, of which there are at most so many.
    pub(crate) fn enter(&self, most: usize) -> Option<Permit> {
        let mut queues = self.lock();
        (queues.permits < most).then(|| {
            queues.permits += 1;
            Permit(Process::current())
        })
    }

    /// Gives a permit back; one of the parent's is not a child's to give.
    #[expect(clippy::needless_pass_by_value, reason = "it is given back once")]
    pub(crate) fn exit(&self, permit: Permit) {
        if permit.0.is_current() {
            self.lock().permits -= 1;
        }
    }

    /// Joins the queues of these entries, each with the cost that is to be charged there. The bell rings when units of the
    /// entry are released while this call is the first, and when it becomes the first.
    pub(crate) fn join(&self, entries: impl Iterator<Item = (Fingerprint, u64)>, bell: Option<Bell>) -> Ticket {
        let mut queues = self.lock();
        crate::panics::point("queue");
        let ticket = queues.next;
        queues.next += 1;
        for (entry, cost) in entries {
            queues.waiting.entry(entry.0).or_default().push(ticket, cost);
        }
        if let Some(bell) = bell {
            queues.bells.insert(ticket, bell);
            self.bells.fetch_add(1, Ordering::Relaxed);
        }
        ticket
    }

    /// Leaves the queues of these entries.
    pub(crate) fn leave(&self, entries: impl Iterator<Item = Fingerprint>, ticket: Ticket) {
        let mut next = Vec::new();
        let mut queues = self.lock();
        let Queues { waiting, bells, .. } = &mut *queues;
        if bells.remove(&ticket).is_some() {
            self.bells.fetch_sub(1, Ordering::Relaxed);
        }
        for entry in entries {
            let Some(line) = waiting.get_mut(&entry.0) else { continue };
            let was_first = line.first() == Some(ticket);
            line.remove(ticket);
            if line.is_empty() {
                waiting.remove(&entry.0);
            } else if was_first {
                next.extend(line.first().and_then(|first| bells.get(&first).cloned()));
            }
        }
        drop(queues);
        next.iter().for_each(Bell::ring);
    }

    /// Some call waits for units to be released. One that is not seen yet looks after the release: whoever waits joins the
    /// queue before it asks, and asks under the lock under which units are released.
    pub(crate) fn has_bells(&self) -> bool {
        self.bells.load(Ordering::Relaxed) > 0
    }

    /// Rings for the first call that waits for each of these entries, some of whose units were released.
    pub(crate) fn released(&self, entries: impl Iterator<Item = Fingerprint>) {
        if !self.has_bells() {
            return;
        }
        let mut queues = self.lock();
        let Queues { waiting, bells, .. } = &mut *queues;
        let first = |entry: Fingerprint| bells.get(&waiting.get_mut(&entry.0)?.first()?).cloned();
        let bells: Vec<Bell> = entries.filter_map(first).collect();
        drop(queues);
        bells.iter().for_each(Bell::ring);
    }

    /// The same for every entry that is waited for.
    #[cfg(any(test, feature = "remote"))]
    pub(crate) fn all_released(&self) {
        if !self.has_bells() {
            return;
        }
        let mut queues = self.lock();
        let Queues { waiting, bells, .. } = &mut *queues;
        let bells: Vec<Bell> = waiting.values_mut().filter_map(|line| bells.get(&line.first()?).cloned()).collect();
        drop(queues);
        bells.iter().for_each(Bell::ring);
    }

    /// True if the call with this ticket is the first that waits for this entry.
    pub(crate) fn is_first(&self, entry: Fingerprint, ticket: Ticket) -> bool {
        self.lock().waiting.get_mut(&entry.0).is_none_or(|line| line.first() == Some(ticket))
    }

    /// The sum of the costs that those ahead will charge to this entry.
    pub(crate) fn ahead(&self, entry: Fingerprint, ticket: Ticket) -> u64 {
        self.lock().waiting.get(&entry.0).map_or(0, |line| line.ahead(ticket))
    }
}

impl Drop for WaitQueue {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // A thread of the parent may have been changing them when the child was made.
            let queues = self.queues.get_mut().unwrap_or_else(PoisonError::into_inner);
            mem::forget(mem::take(queues));
        }
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
        let first = queue.join([(ENTRY, 3), (OTHER, 5)].into_iter(), None);
        let second = queue.join([(ENTRY, 4)].into_iter(), None);
        let third = queue.join([(ENTRY, u64::MAX), (OTHER, 1)].into_iter(), None);
        assert!(first < second && second < third);
        assert_eq!([first, second, third].map(|ticket| queue.ahead(ENTRY, ticket)), [0, 3, 7]);
        assert_eq!(queue.ahead(OTHER, third), 5);
        let last = queue.join([(ENTRY, 1)].into_iter(), None);
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
    fn the_first_is_woken_and_then_the_next() {
        let (queue, bells) = (WaitQueue::default(), [(); 3].map(|()| Bell::default()));
        let join = |bell: &Bell, entries: &[Fingerprint]| {
            queue.join(entries.iter().map(|entry| (*entry, 1)), Some(bell.clone()))
        };
        let tickets = [join(&bells[0], &[ENTRY]), join(&bells[1], &[ENTRY, OTHER]), join(&bells[2], &[OTHER])];
        let heard = || [0, 1, 2].map(|index: usize| bells[index].heard());
        queue.released([Fingerprint(9)].into_iter());
        assert_eq!(heard(), [false; 3]);
        queue.released([ENTRY].into_iter());
        assert_eq!(heard(), [true, false, false]);
        queue.all_released();
        assert_eq!(heard(), [true, true, false]);
        queue.leave([ENTRY].into_iter(), tickets[0]);
        assert_eq!(heard(), [false, true, false], "it may have left room, and is first now");
        queue.released([ENTRY, OTHER].into_iter());
        assert_eq!(heard(), [false, true, false]);
        queue.leave([OTHER].into_iter(), tickets[2]);
        assert_eq!(heard(), [false; 3], "it was not the first");
        queue.leave([ENTRY, OTHER].into_iter(), tickets[1]);
        queue.released([ENTRY, OTHER].into_iter());
        assert_eq!(heard(), [false; 3]);
        assert!(queue.lock().waiting.is_empty() && queue.lock().bells.is_empty());
    }

    #[test]
    fn only_so_many_calls_have_a_permit() {
        let queue = WaitQueue::default();
        let [first, second] = [queue.enter(2), queue.enter(2)].map(|permit| permit.expect("a permit"));
        assert!(queue.enter(2).is_none() && queue.enter(0).is_none());
        queue.exit(first);
        let third = queue.enter(2).expect("a permit that was given back");
        for permit in [second, third] {
            queue.exit(permit);
        }
        assert_eq!(queue.lock().permits, 0);
    }

    #[test]
    fn a_child_shares_neither_the_queues_nor_the_lock_of_its_parent() {
        let mut queue = WaitQueue::default();
        let parents = queue.join([(ENTRY, 3)].into_iter(), None);
        let permit = Permit(Process::of(0));
        queue.process = Process::of(0);
        let held = queue.queues.lock().expect("a lock");
        let own = queue.join([(ENTRY, 1)].into_iter(), None);
        assert_eq!(queue.ahead(ENTRY, own), 0);
        queue.exit(permit);
        assert_eq!(queue.lock().permits, 0);
        drop(held);
        queue.leave([ENTRY].into_iter(), own);
        assert!(queue.lock().waiting.is_empty());
        assert_eq!(queue.queues.lock().expect("a lock").waiting[&ENTRY.0].ahead(parents + 1), 3);
    }
}
