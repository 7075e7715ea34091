//! The calls that wait for one entry.

/// A position in the wait queues: the lower, the earlier.
pub(crate) type Ticket = u64;

/// Calls in order of arrival, with the sum of the costs before any of them, in a time that grows with the logarithm of
/// their number: a Fenwick tree over their places.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: Vec<Waiting>,
    /// The calls that have not left.
    len: usize,
    /// No place before this one has a call that has not left.
    first: usize,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: Ticket,
    /// Nothing once it has left.
    cost: Option<u64>,
    /// The sum of the costs of as many places, up to this one, as the lowest bit of its number says.
    sum: u128,
}

/// The number of places that the sum of the place with this number, counted from one, is about.
const fn span(number: usize) -> usize {
    number & number.wrapping_neg()
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ticket of the call that came first.
    pub(super) fn first(&mut self) -> Option<Ticket> {
        while self.waiting.get(self.first).is_some_and(|waiting| waiting.cost.is_none()) {
            self.first += 1;
        }
        self.waiting.get(self.first).map(|waiting| waiting.ticket)
    }

    /// Adds a call behind all others; its ticket is no lower than theirs.
    pub(super) fn push(&mut self, ticket: Ticket, cost: u64) {
        let number = self.waiting.len() + 1;
        let (mut sum, mut before) = (u128::from(cost), number - 1);
        while before > number - span(number) {
            sum += self.waiting[before - 1].sum;
            before -= span(before);
        }
        self.waiting.push(Waiting { ticket, cost: Some(cost), sum });
        self.len += 1;
    }

    /// Removes the call with this ticket from every place that it has.
    pub(super) fn remove(&mut self, ticket: Ticket) {
        let mut number = self.place(ticket) + 1;
        while let Some(waiting) = self.waiting.get_mut(number - 1).filter(|waiting| waiting.ticket == ticket) {
            if let Some(cost) = waiting.cost.take() {
                self.len -= 1;
                self.subtract(number, cost);
            }
            number += 1;
        }
        // Amortized, each call is moved once or twice.
        if self.len * 2 < self.waiting.len() {
            for Waiting { ticket, cost, .. } in std::mem::take(self).waiting {
                if let Some(cost) = cost {
                    self.push(ticket, cost);
                }
            }
        }
    }

    /// The sum of the costs of those with a lower ticket.
    pub(super) fn ahead(&self, ticket: Ticket) -> u64 {
        let (mut sum, mut number) = (0, self.place(ticket));
        while number > 0 {
            sum += self.waiting[number - 1].sum;
            number -= span(number);
        }
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    /// The number of places with a lower ticket.
    fn place(&self, ticket: Ticket) -> usize {
        self.waiting.partition_point(|waiting| waiting.ticket < ticket)
    }

    fn subtract(&mut self, mut number: usize, cost: u64) {
        while let Some(waiting) = self.waiting.get_mut(number - 1) {
            waiting.sum -= u128::from(cost);
            number += span(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_a_list() {
        let (mut line, mut list) = (Line::default(), Vec::new());
        let mut random = 1_u64;
        for step in 0..5000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if random >> 62 < 3 && step < 4000 {
                let cost = random >> 40;
                // A call of several checks may be twice in a line.
                for _ in 0..=(random >> 33 & 1) {
                    line.push(step, cost);
                    list.push((step, cost));
                }
            } else if !list.is_empty() {
                let (gone, _) = list[usize::try_from(random >> 33).expect("31 bits") % list.len()];
                line.remove(gone);
                line.remove(gone);
                list.retain(|(ticket, _)| *ticket != gone);
            }
            assert_eq!((line.len, line.is_empty()), (list.len(), list.is_empty()));
            assert_eq!(line.first(), list.first().map(|(ticket, _)| *ticket));
            assert!(line.waiting.len() <= 2 * line.len, "those who have left take no room");
            for ticket in [0, step / 2, step, step + 1] {
                let ahead: u64 = list.iter().take_while(|(other, _)| *other < ticket).map(|(_, cost)| cost).sum();
                assert_eq!(line.ahead(ticket), ahead, "{step} {ticket}");
            }
        }
        assert!(!list.is_empty());
    }

    #[test]
    fn a_call_looks_at_few_of_those_ahead() {
        let mut line = Line::default();
        for ticket in 0..1 << 17 {
            line.push(ticket, 1);
        }
        // As a list, this would be nine thousand million steps.
        for ticket in 0..1 << 17 {
            assert_eq!(line.ahead(ticket), ticket);
        }
        for ticket in (0..1 << 17).rev() {
            line.remove(ticket);
        }
        assert!(line.is_empty() && line.waiting.is_empty());
    }
}
