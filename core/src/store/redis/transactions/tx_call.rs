//! One decision of a batch, made in this process on what was seen of its entries.

use std::sync::Arc;

use tokio::time::Instant;

use super::entry_view::EntryView;
use crate::algorithm::{Algorithm as _, Entry, Level, LevelRule, Rule};
use crate::decision::{OpenEntry, Verb};
use crate::inline_vec::InlineVec;
use crate::store::redis::connection::group_reply::Pending;
use crate::store::remote::{Job, Reply, Request};
use crate::time::Micros;

pub(super) struct TxCall {
    pub(super) job: Arc<Job>,
    /// The index, among the views of the batch, of each of the decision's entries.
    pub(super) views: InlineVec<usize>,
    pub(super) outcome: Option<Reply>,
    /// It changes something.
    pub(super) writes: bool,
    /// It has charged already.
    pub(super) charged: bool,
    /// It is denied because of a guess.
    pub(super) doubtful: bool,
}

/// The outcome of a decision, and its effect on its entries.
struct Made {
    outcome: Reply,
    /// Of each entry: what it was, what time made of it, and what the call did; and whether that has to be written.
    levels: InlineVec<([Level; 3], bool)>,
    repairs: InlineVec<bool>,
    /// True for an entry of which the state before is a guess.
    unsettled: InlineVec<bool>,
}

impl TxCall {
    pub(super) fn new(job: Arc<Job>, views: InlineVec<usize>) -> Self {
        Self { job, views, outcome: None, writes: false, charged: false, doubtful: false }
    }

    /// True if its caller still waits for an answer.
    pub(super) fn is_wanted(&self) -> bool {
        !self.job.is_over() && self.job.deadline > Instant::now()
    }

    /// Delivers the outcome now. Where its caller has had another answer, the result gives back what was charged.
    pub(super) fn complete(&mut self) -> Option<Request> {
        self.outcome.take().and_then(|outcome| self.job.reply(outcome))
    }

    /// Takes the outcome, to be reported later.
    pub(super) fn hold(&mut self) -> Option<Pending> {
        self.outcome.take().map(|outcome| Pending::new(self.job.clone(), outcome))
    }

    /// Decides on what the views say, and notes there what is to be done.
    pub(super) fn decide(&mut self, views: &mut [EntryView], server: Option<Micros>) {
        let job = self.job.clone();
        let request = &job.request;
        let verb = request.verb;
        if verb == Verb::Reset {
            for place in &self.views {
                views[*place].forget();
            }
            self.writes = true;
            self.outcome = Some(request.emptied(server));
            return;
        }
        let now = request.instant(server).unwrap_or(0);
        let mut made = self.make(request, verb, views, now);
        if self.charged && verb == Verb::Limit && request.parts.len() == 1 && is_blocked(&made.outcome) {
            // Others came first, and it overfills the bucket.
            made = self.make(request, Verb::Charge, views, now);
        }
        self.writes = made.levels.iter().any(|(_, kept)| *kept);
        for (place, (levels, kept)) in self.views.iter().zip(&made.levels) {
            if *kept {
                views[*place].settle(*levels);
            }
        }
        for part in &request.parts {
            let view = &mut views[self.views[part.entry]];
            if let (true, Some(rule)) = (made.levels[part.entry].1, level_rule(&part.rule)) {
                view.keep(rule, now, request.now.is_some());
                view.changes.repairs |= made.repairs[part.entry];
                view.changes.unsettled |= made.unsettled[part.entry];
            }
        }
        self.doubtful = is_blocked(&made.outcome) && made.unsettled.contains(&true);
        self.outcome = Some(made.outcome);
    }

    fn make(&self, request: &Request, verb: Verb, views: &[EntryView], now: Micros) -> Made {
        let given = request.now.is_some();
        let (mut before, mut unsettled): (InlineVec<Level>, InlineVec<bool>) = (InlineVec::new(), InlineVec::new());
        let mut rules: InlineVec<Option<&LevelRule>> = self.views.iter().map(|_| None).collect();
        for part in request.parts.iter().rev() {
            rules[part.entry] = level_rule(&part.rule);
        }
        for (index, place) in self.views.iter().enumerate() {
            let (level, guessed) =
                rules[index].map_or_else(Default::default, |rule| views[*place].look(rule, now, given));
            before.push(level);
            unsettled.push(guessed);
        }
        let mut repairs: InlineVec<bool> = self.views.iter().map(|place| views[*place].is_untimed()).collect();
        let mut advanced = before.clone();
        for part in &request.parts {
            if let Some(rule) = level_rule(&part.rule) {
                repairs[part.entry] |= rule.advance(&mut advanced[part.entry], now);
            }
        }
        let mut entries: InlineVec<OpenEntry> =
            advanced.iter().map(|level| OpenEntry::new(Entry::Level(*level))).collect();
        let corrupt = self.views.iter().map(|place| u32::from(views[*place].is_corrupt())).sum();
        let outcome = request.reply_on(verb, &mut entries, now, corrupt, repairs.contains(&true));
        let decided = matches!(outcome, Reply::Decided { .. });
        let levels = before.iter().zip(&advanced).zip(&entries).zip(&repairs);
        let levels = levels.map(|(((before, advanced), held), repairs)| {
            let after = if let Entry::Level(level) = &held.entry { *level } else { *advanced };
            let kept = decided && (held.kept_by.is_some() || (*repairs && verb != Verb::Peek));
            ([*before, *advanced, after], kept)
        });
        let levels = levels.collect();
        Made { outcome, levels, repairs, unsettled }
    }
}

fn is_blocked(outcome: &Reply) -> bool {
    matches!(outcome, Reply::Decided { infos, .. } if infos.iter().any(|info| info.blocked))
}

/// Nothing but buckets is kept so.
fn level_rule(rule: &Rule) -> Option<&LevelRule> {
    match rule {
        Rule::Level(level) => Some(level),
        _ => None,
    }
}
