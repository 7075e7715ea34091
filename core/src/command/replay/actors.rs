//! The actors of a log, each with a number and the count of its requests.

use std::collections::HashMap;

/// Names in one text, so that a million of them are no million allocations.
#[derive(Default)]
pub(super) struct Actors {
    names: String,
    /// The end of each name.
    ends: Vec<u32>,
    requests: Vec<u32>,
    /// By the digest of a name: its number. The few whose digests are equal follow one another.
    numbers: HashMap<u64, u32, ahash::RandomState>,
    hasher: ahash::RandomState,
}

impl Actors {
    /// Counts a request of this actor, and returns its number; none for more actors than can be numbered.
    pub(super) fn count(&mut self, name: &str) -> Option<u32> {
        let mut digest = self.hasher.hash_one(name);
        let number = loop {
            match self.numbers.get(&digest) {
                Some(number) if self.name(*number) == name => break *number,
                Some(_) => digest = digest.wrapping_add(1),
                None => {
                    let number = u32::try_from(self.ends.len()).ok()?;
                    let end = u32::try_from(self.names.len() + name.len()).ok()?;
                    self.names.push_str(name);
                    self.ends.push(end);
                    self.requests.push(0);
                    self.numbers.insert(digest, number);
                    break number;
                }
            }
        };
        let requests = self.requests.get_mut(number as usize)?;
        *requests = requests.saturating_add(1);
        Some(number)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(number).copied().unwrap_or(start);
        self.names.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The requests of each actor, by their numbers.
    pub(super) fn requests(&self) -> &[u32] {
        &self.requests
    }
}

#[cfg(test)]
mod tests {
    use super::Actors;

    #[test]
    fn an_actor_keeps_its_number() {
        let mut actors = Actors::default();
        let numbers: Vec<_> = ["ada", "bob", "ada", "", "bob"].iter().map(|name| actors.count(name)).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(0), Some(2), Some(1)]);
        assert_eq!((actors.name(0), actors.name(1), actors.name(2), actors.name(3)), ("ada", "bob", "", ""));
        assert_eq!(actors.requests(), [2, 2, 1]);
    }
}
