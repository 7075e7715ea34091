//! The results of limits that are tried.

use std::collections::BTreeMap;

use super::plan::{AskedCheck, Plan, Role};

/// The result of limits that are tried: one in shadow mode, or the candidates of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trial {
    /// The place that tries them.
    pub place: usize,
    /// The keys of the limits under which it is counted: of a candidate those that it might replace, which are in shadow
    /// mode where its place enforces none; or its own, beside none at all.
    pub key: String,
    /// Of a candidate: the limits that it might replace denied the request, or would have in shadow mode.
    pub live: Option<bool>,
    /// The limits on trial would have denied it.
    pub denied: bool,
    /// The index of the check that would have, where it was decided.
    pub denied_by: Option<usize>,
}

/// Keys that are counted; a function of the request may make any number of them.
const MOST_KEYS: usize = 10_000;

/// Counts of the results of limits that are tried, by the keys under which they are counted.
///
/// ```
/// use tidegate::http::{Asked, Plan, Role, TrialCounts};
/// use tidegate::{Check, Limit};
///
/// let strict = Limit::bucket("strict", 5).build()?;
/// let plan = Plan::new(&[Asked::new(0, Check::new(&strict, "ada")).role(Role::Shadow)]);
/// let mut counts = TrialCounts::new();
/// for denied in [false, false, true] {
///     assert_eq!(counts.note(plan.trials(|_| denied)).len(), usize::from(denied));
/// }
/// assert_eq!(counts.shadow().collect::<Vec<_>>(), [("strict", [2, 1])]);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TrialCounts {
    shadow: BTreeMap<String, [u64; 2]>,
    candidates: BTreeMap<String, [u64; 4]>,
}

impl TrialCounts {
    /// No counts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts the results of a decision; keeps those of limits in shadow mode that would have denied, to be told of.
    #[must_use]
    pub fn note(&mut self, mut trials: Vec<Trial>) -> Vec<Trial> {
        for trial in &trials {
            self.count(trial);
        }
        trials.retain(|trial| trial.live.is_none() && trial.denied);
        trials
    }

    fn count(&mut self, trial: &Trial) {
        match trial.live {
            None => count(&mut self.shadow, &trial.key, usize::from(trial.denied)),
            Some(live) => {
                let index = [[0, 3], [2, 1]][usize::from(live)][usize::from(trial.denied)];
                count(&mut self.candidates, &trial.key, index);
            }
        }
    }

    /// The limits in shadow mode: requests that each would have admitted, and denied.
    pub fn shadow(&self) -> impl Iterator<Item = (&str, [u64; 2])> {
        self.shadow.iter().map(|(key, counts)| (key.as_str(), *counts))
    }

    /// The candidates, by the keys of the limits that they might replace: requests that both admitted, that both denied,
    /// that only those limits denied, and that only the candidate would have denied.
    pub fn candidates(&self) -> impl Iterator<Item = (&str, [u64; 4])> {
        self.candidates.iter().map(|(key, counts)| (key.as_str(), *counts))
    }
}

fn count<const N: usize>(counts: &mut BTreeMap<String, [u64; N]>, key: &str, index: usize) {
    if !counts.contains_key(key) {
        if counts.len() >= MOST_KEYS {
            return;
        }
        counts.insert(key.to_owned(), [0; N]);
    }
    if let Some(counts) = counts.get_mut(key) {
        counts[index] += 1;
    }
}

impl Plan {
    /// The results of what is tried. `is_blocked` says of each planned check that it denied, or would have.
    pub fn trials(&self, is_blocked: impl Fn(usize) -> bool) -> Vec<Trial> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        let would_deny = |part: &AskedCheck| part.at.is_none_or(&is_blocked);
        let shadow = |(index, part): (usize, &AskedCheck)| {
            let denied = would_deny(part);
            let denied_by = part.at.filter(|_| denied);
            Trial { place: part.place, key: self.keys[index].clone(), live: None, denied, denied_by }
        };
        let of_role = |role| self.asked.iter().enumerate().filter(move |(_, part)| part.role == role);
        let mut trials: Vec<Trial> = of_role(Role::Shadow).map(shadow).collect();
        let mut places: Vec<usize> = of_role(Role::Candidate).map(|(_, part)| part.place).collect();
        places.dedup();
        for place in places {
            let of_place = |role| of_role(role).filter(move |(_, part)| part.place == place);
            let replaced = [Role::Enforced, Role::Shadow].into_iter().find(|role| of_place(*role).next().is_some());
            let named = of_place(replaced.unwrap_or(Role::Candidate));
            let mut keys: Vec<&str> = named.map(|(index, _)| self.keys[index].as_str()).collect();
            keys.dedup();
            let key = keys.join(", ");
            let live = replaced.is_some_and(|role| of_place(role).any(|(_, part)| would_deny(part)));
            let mut denying = of_place(Role::Candidate).filter(|(_, part)| would_deny(part)).peekable();
            let is_denied = denying.peek().is_some();
            let denied_by = denying.find_map(|(_, part)| part.at);
            trials.push(Trial { place, key, live: Some(live), denied: is_denied, denied_by });
        }
        trials
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Asked;
    use crate::{Check, Limit};

    #[test]
    fn a_candidate_has_the_name_of_what_it_might_replace_also_in_shadow_mode_and_else_its_own() {
        let [live, tried, candidate] =
            ["live", "tried", "candidate"].map(|key| Limit::bucket(key, 9).build().expect("a bucket"));
        let of = |limit, role| Asked::new(0, Check::new(limit, "ada")).role(role);
        let candidate = of(&candidate, Role::Candidate);
        let last = |asked: &[Asked<'_>], denied: usize| {
            let trial = Plan::new(asked).trials(|at| at == denied).pop().expect("a trial");
            (trial.key, trial.live, trial.denied)
        };
        let shadow = of(&tried, Role::Shadow);
        let enforced = of(&live, Role::Enforced);
        assert_eq!(last(&[shadow, enforced, candidate], 0), ("live".to_owned(), Some(false), false));
        assert_eq!(last(&[shadow, candidate], 0), ("tried".to_owned(), Some(true), false));
        assert_eq!(last(&[shadow, candidate], 1), ("tried".to_owned(), Some(false), true));
        assert_eq!(last(&[candidate], 0), ("candidate".to_owned(), Some(false), true));
    }

    fn trial(key: &str, live: Option<bool>, denied: bool) -> Trial {
        Trial { place: 0, key: key.to_owned(), live, denied, denied_by: None }
    }

    #[test]
    fn a_candidate_is_counted_by_both_outcomes() {
        let mut counts = TrialCounts::new();
        for (live, denied, times) in [(false, false, 1), (true, true, 2), (true, false, 3), (false, true, 4)] {
            for _ in 0..times {
                assert_eq!(counts.note(vec![trial("api", Some(live), denied)]), []);
            }
        }
        assert_eq!(counts.candidates().collect::<Vec<_>>(), [("api", [1, 2, 3, 4])]);
        assert_eq!(counts.shadow().count(), 0);
    }

    #[test]
    fn a_flood_of_keys_is_not_counted() {
        let mut counts = TrialCounts::new();
        for key in 0..20_000 {
            let shadowed = trial(&key.to_string(), None, true);
            assert_eq!(counts.note(vec![shadowed.clone()]), [shadowed]);
        }
        assert_eq!(counts.note(vec![trial("7", None, false)]), []);
        assert_eq!(counts.shadow().count(), MOST_KEYS);
        assert!(counts.shadow().any(|found| found == ("7", [1, 1])), "those that are known are still counted");
    }
}
