//! The calls, over one check or several.

use serde_json::{Value, json};

use super::block::Block;
use super::definition::models;
use super::{Model, Name, Oracle, State, Time, up};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Asked {
    Limit,
    Peek,
    Charge,
    Refund,
    /// With the longest wait.
    Acquire(Time),
    /// For this time.
    Block(Time),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Check<'a> {
    pub(crate) wire: &'a Value,
    pub(crate) actor: &'a str,
    pub(crate) cost: u64,
    pub(crate) factor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) blocked: bool,
    pub(crate) remaining: i128,
    pub(crate) reset_ms: i128,
    pub(crate) full_reset_ms: i128,
    pub(crate) wait_ms: i128,
}

impl Answer {
    const UNLIMITED: Self =
        Self { blocked: false, remaining: (1 << 53) - 1, reset_ms: 0, full_reset_ms: 0, wait_ms: 0 };

    /// As the vectors write it.
    pub(crate) fn to_json(self) -> Value {
        json!({
            "blocked": self.blocked, "remaining": self.remaining as u64, "waitMs": self.wait_ms as u64,
            "resetMs": self.reset_ms as u64, "resetSec": up(self.reset_ms, 1000) as u64,
            "fullResetMs": self.full_reset_ms as u64, "fullResetSec": up(self.full_reset_ms, 1000) as u64,
        })
    }
}

/// The merged answer, and one for each rule of each check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decided {
    pub(crate) merged: Answer,
    /// Of each rule of each check.
    pub(crate) each: Vec<Answer>,
    /// The one that decides.
    pub(crate) binding: usize,
}

/// The cost is above what the limit ever admits, or the limit knows no such call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Refused;

/// One rule of one check, with its entry as it is now.
struct Part {
    model: Box<dyn Model>,
    entry: Name,
    cost: i128,
    fits: bool,
    wait: Time,
    block: Option<Block>,
    /// The block denies the call.
    closed: bool,
}

impl Oracle {
    pub(crate) fn decide(&mut self, checks: &[Check<'_>], call: Asked, now: Time) -> Result<Decided, Refused> {
        let mut parts: Vec<Option<Part>> = Vec::new();
        // Where the answers of each check are.
        let mut answered: Vec<Vec<usize>> = Vec::new();
        for (index, check) in checks.iter().enumerate() {
            let is_same = |other: &Check<'_>| other.actor == check.actor && other.wire["key"] == check.wire["key"];
            let first = checks.iter().position(is_same).unwrap_or(index);
            if first < index {
                answered.push(answered[first].clone());
                continue;
            }
            if matches!(call, Asked::Block(_)) && Block::of(check.wire).is_none() {
                return Err(Refused);
            }
            // What is asked for again is asked for with the sum of its costs.
            let cost = checks.iter().filter(|other| is_same(other)).map(|other| i128::from(other.cost)).sum();
            let models = models(check.wire, check.factor);
            let before = parts.len();
            if models.is_empty() {
                parts.push(None);
            }
            for (index, model) in models.into_iter().enumerate() {
                let shape = if index == 0 { model.name() } else { "interval" };
                let entry = (check.actor.to_owned(), check.wire["key"].to_string(), shape);
                let block = Block::of(check.wire);
                let part = Part { model, entry, cost, fits: true, wait: 0, block, closed: false };
                parts.push(Some(self.judge(part, call, now)?));
            }
            answered.push((before..parts.len()).collect());
        }
        let admitted = parts.iter().flatten().all(|part| part.fits && !part.closed);
        let each: Vec<_> = parts
            .iter()
            .map(|part| {
                part.as_ref().map_or((Answer::UNLIMITED, false), |part| self.carry_out(part, call, now, admitted))
            })
            .collect();
        let each: Vec<_> = answered.into_iter().flatten().map(|part| each[part]).collect();
        let (blocked, counted): (Vec<_>, Vec<_>) =
            each.iter().map(|(answer, counted)| (answer.blocked, *counted)).unzip();
        let each: Vec<_> = each.into_iter().map(|(answer, _)| answer).collect();
        let decides = |index: usize| blocked[index] || counted[index] || !blocked.contains(&true);
        Ok(Decided { merged: merge(&each, decides), binding: binding(&each), each })
    }

    /// The entry as it is at `now`, and what it is kept as where it had to be mended.
    fn look(&self, part: &Part, now: Time) -> (State, Option<State>) {
        let kept = self.entries.get(&part.entry).cloned().unwrap_or_else(|| part.model.absent(now));
        let mended = part.model.mended(&kept, now);
        let mut state = mended.clone().unwrap_or(kept);
        part.model.at(&mut state, now);
        (state, mended)
    }

    fn judge(&self, part: Part, call: Asked, now: Time) -> Result<Part, Refused> {
        let (state, _) = self.look(&part, now);
        let is_too_much =
            matches!(call, Asked::Limit | Asked::Peek | Asked::Acquire(_)) && part.cost > part.model.most();
        if is_too_much || call == Asked::Charge && part.model.holds() {
            return Err(Refused);
        }
        let (fits, wait) = match call {
            Asked::Charge | Asked::Refund | Asked::Block(_) => (true, 0),
            Asked::Acquire(max_wait) if part.model.reserves() => {
                let wait = part.model.until(&state, now, part.cost);
                (wait <= max_wait, wait)
            }
            _ => (part.model.fits(&state, now, part.cost), 0),
        };
        let asks = part.cost > 0 && matches!(call, Asked::Limit | Asked::Peek | Asked::Acquire(_));
        let closed = asks && part.block.is_some() && self.block_at(&part.entry, now).until > now;
        Ok(Part { fits, wait, closed, ..part })
    }

    /// Writes what has to be written, and describes the entry; says whether a denied call was charged.
    fn carry_out(&mut self, part: &Part, call: Asked, now: Time, admitted: bool) -> (Answer, bool) {
        let model = &part.model;
        let (mut state, mended) = self.look(part, now);
        let charged = match call {
            Asked::Peek | Asked::Refund | Asked::Block(_) => false,
            Asked::Charge => true,
            Asked::Limit | Asked::Acquire(_) => admitted || model.counts_blocked() && !part.closed,
        };
        let refuses = part.cost > 0
            && match call {
                Asked::Limit | Asked::Acquire(_) => !part.fits,
                Asked::Charge => !model.fits(&state, now, part.cost),
                _ => false,
            };
        if part.cost > 0 && (charged || call == Asked::Refund) {
            if charged {
                model.charge(&mut state, now, part.cost);
            } else {
                model.refund(&mut state, now, part.cost);
            }
            if model.is_empty(&state, now) {
                self.entries.remove(&part.entry);
            } else {
                self.entries.insert(part.entry.clone(), state.clone());
            }
        } else if let Some(mended) = mended.filter(|_| call != Asked::Peek) {
            // A smooth entry that is full to this definition may not be to the one that wrote it: it only moves.
            if mended == model.absent(now) && !matches!(mended, State::Smooth { .. }) {
                self.entries.remove(&part.entry);
            } else {
                self.entries.insert(part.entry.clone(), mended);
            }
        }
        let (blocked, asked) = match call {
            Asked::Refund | Asked::Block(_) => (!model.fits(&state, now, 1), 1),
            Asked::Limit | Asked::Charge | Asked::Acquire(_) if admitted => (false, 1),
            // What a denied call was charged for is in the state already.
            _ if charged => (!part.fits, part.cost),
            _ => (!model.fits(&state, now, part.cost), part.cost),
        };
        let mut answer = Answer {
            blocked,
            remaining: model.remaining(&state, now),
            reset_ms: up(model.until(&state, now, asked), 1000),
            full_reset_ms: up(model.full(&state, now), 1000),
            wait_ms: if admitted { up(part.wait, 1000) } else { 0 },
        };
        if let Some(block) = &part.block {
            self.leave_block(block, &part.entry, call, now, refuses);
            let after = self.block_at(&part.entry, now);
            if after.until > now {
                let would_deny = asked > 0 && !matches!(call, Asked::Charge) && !(admitted && call != Asked::Peek);
                answer.blocked |= would_deny || matches!(call, Asked::Refund | Asked::Block(_));
                answer.remaining = 0;
                if asked > 0 {
                    answer.reset_ms = answer.reset_ms.max(up(after.until - now, 1000));
                }
            }
            answer.full_reset_ms = answer.full_reset_ms.max(up(block.full(after, now), 1000));
        }
        (answer, charged && !admitted)
    }
}

/// The blocked one with the largest reset, else the one with the least remaining; the first of equals.
fn binding(each: &[Answer]) -> usize {
    let blocked = each.iter().any(|answer| answer.blocked);
    let rank = |answer: &Answer| if blocked { -answer.reset_ms } else { answer.remaining };
    let among = each.iter().enumerate().filter(|(_, answer)| answer.blocked == blocked);
    among.min_by_key(|(_, answer)| rank(answer)).map_or(0, |(index, _)| index)
}

fn merge(each: &[Answer], decides: impl Fn(usize) -> bool) -> Answer {
    let deciding = each.iter().enumerate().filter(|(index, _)| decides(*index));
    Answer {
        blocked: each.iter().any(|answer| answer.blocked),
        remaining: each.iter().map(|answer| answer.remaining).min().unwrap_or(Answer::UNLIMITED.remaining),
        reset_ms: deciding.map(|(_, answer)| answer.reset_ms).max().unwrap_or(0),
        full_reset_ms: each.iter().map(|answer| answer.full_reset_ms).max().unwrap_or(0),
        wait_ms: each.iter().map(|answer| answer.wait_ms).max().unwrap_or(0),
    }
}
