//! Something that was sent, and has not come back yet.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::future::{MaybeDone, maybe_done};
use tokio::time::Instant;

/// Decisions that were sent together, and what is waited for.
pub(crate) struct Underway<T> {
    since: Instant,
    /// The latest deadline of the callers.
    until: Instant,
    /// The number of the connection that it was sent over.
    number: u64,
    /// Bytes that may come back.
    weight: u64,
    /// It was not back by then, and was counted.
    missed: bool,
    coming: MaybeDone<Pin<Box<dyn Future<Output = T> + Send>>>,
}

/// A result that has come back.
pub(super) struct Back<T> {
    pub(crate) what: T,
    pub(crate) since: Instant,
    pub(crate) number: u64,
    pub(super) missed: bool,
}

impl<T> Underway<T> {
    pub(crate) fn new(
        until: Instant,
        number: u64,
        weight: u64,
        coming: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        Self { since: Instant::now(), until, number, weight, missed: false, coming: maybe_done(Box::pin(coming)) }
    }

    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    pub(super) fn was_sent_over(&self, number: u64) -> bool {
        self.number == number
    }

    /// The instant at which it was sent, at the first call after its deadline.
    pub(super) fn newly_missed(&mut self, now: Instant) -> Option<Instant> {
        let newly = !self.missed && self.until <= now;
        self.missed |= newly;
        newly.then_some(self.since)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Back<T>> {
        let Self { since, number, missed, .. } = *self;
        let mut coming = Pin::new(&mut self.coming);
        ready!(coming.as_mut().poll(context));
        coming.take_output().map_or(Poll::Pending, |what| Poll::Ready(Back { what, since, number, missed }))
    }
}

/// Sends those of these that have not been sent: nothing is before it is polled. What is back already is kept.
pub(crate) fn begin<T>(several: &mut [Underway<T>], context: &mut Context<'_>) -> Poll<()> {
    for one in several {
        let _ = Pin::new(&mut one.coming).poll(context);
    }
    Poll::Ready(())
}

/// The first of these that is back.
pub(super) fn next_back<T>(several: &mut Vec<Underway<T>>, context: &mut Context<'_>) -> Poll<Back<T>> {
    for index in 0..several.len() {
        if let Poll::Ready(back) = several[index].poll(context) {
            several.remove(index);
            return Poll::Ready(back);
        }
    }
    Poll::Pending
}

/// The instant at which the last of the callers with these deadlines is gone.
pub(crate) fn last(deadlines: impl Iterator<Item = Instant>) -> Instant {
    deadlines.max().unwrap_or_else(Instant::now)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Waker;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_batch_is_waited_for_until_the_last_of_its_callers_is_gone() {
        let now = Instant::now();
        let in_so_many_seconds = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(last([1, 3, 2].into_iter().map(in_so_many_seconds)), in_so_many_seconds(3));
    }

    #[test]
    fn a_batch_is_sent_once_and_one_that_fails_at_once_is_back_all_the_same() {
        let polls = Arc::<AtomicUsize>::default();
        let counted = polls.clone();
        let until = Instant::now() + Duration::from_secs(1);
        let sent = Underway::new(until, 1, 0, async move {
            counted.fetch_add(1, Ordering::Relaxed);
            pending::<()>().await;
        });
        let mut several = vec![sent, Underway::new(until, 2, 0, ready(()))];
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(polls.load(Ordering::Relaxed), 0, "nothing is sent before it is polled");
        assert!(begin(&mut several, &mut context).is_ready() && begin(&mut several, &mut context).is_ready());
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        assert!(matches!(next_back(&mut several, &mut context), Poll::Ready(Back { number: 2, .. })));
        assert!(next_back(&mut several, &mut context).is_pending() && several.len() == 1);
    }

    #[test]
    fn a_batch_is_missed_once_and_says_so_when_it_comes_back() {
        let until = Instant::now() + Duration::from_secs(1);
        let before = Instant::now();
        let mut batch = Underway::new(until, 7, 100, pending::<()>());
        assert_eq!(batch.newly_missed(until - Duration::from_millis(1)), None, "not yet");
        let sent = batch.newly_missed(until).expect("missed");
        assert!(sent >= before && sent < until, "counted from the instant at which it was sent");
        assert_eq!(batch.newly_missed(until + Duration::from_secs(1)), None, "but once");
        assert!(batch.was_sent_over(7) && !batch.was_sent_over(8));
        let mut several = vec![batch, Underway::new(until, 7, 100, pending())];
        let mut context = Context::from_waker(Waker::noop());
        assert!(next_back(&mut several, &mut context).is_pending() && several.len() == 2);

        let mut late = Underway::new(until, 7, 100, ready(()));
        late.newly_missed(until);
        let mut several = vec![Underway::new(until, 7, 100, pending()), late, Underway::new(until, 8, 100, ready(()))];
        let missed = |several: &mut Vec<_>, context: &mut Context<'_>| match next_back(several, context) {
            Poll::Ready(Back { number, missed, .. }) => Some((number, missed)),
            Poll::Pending => None,
        };
        assert_eq!(missed(&mut several, &mut context), Some((7, true)));
        assert_eq!(missed(&mut several, &mut context), Some((8, false)));
        assert_eq!(missed(&mut several, &mut context), None);
        assert_eq!(several.len(), 1);
    }
}
