//! The results of limits that are tried.

use super::plan::{Part, Plan, Role};

/// The result of limits that are tried: one in shadow mode, or the candidates of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trial {
    /// The place that tries them.
    pub place: usize,
    /// The keys of the limits under which it is counted: of a candidate those that it might replace.
    pub key: String,
    /// Of a candidate: the limits that it might replace denied the request.
    pub live: Option<bool>,
    /// The limits on trial would have denied it.
    pub denied: bool,
    /// The index of the check that would have, where it was decided.
    pub denied_by: Option<usize>,
}

impl Plan {
    /// The results of what is tried. `is_blocked` says of each planned check that it denied, or would have.
    pub fn trials(&self, is_blocked: impl Fn(usize) -> bool) -> Vec<Trial> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        let would_deny = |part: &Part| part.at.is_none_or(&is_blocked);
        let shadow = |(index, part): (usize, &Part)| {
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
            let mut keys: Vec<&str> = of_place(Role::Enforced).map(|(index, _)| self.keys[index].as_str()).collect();
            keys.dedup();
            let key = keys.join(", ");
            let live = of_place(Role::Enforced).any(|(_, part)| would_deny(part));
            let mut denying = of_place(Role::Candidate).filter(|(_, part)| would_deny(part)).peekable();
            let is_denied = denying.peek().is_some();
            let denied_by = denying.find_map(|(_, part)| part.at);
            trials.push(Trial { place, key, live: Some(live), denied: is_denied, denied_by });
        }
        trials
    }
}
