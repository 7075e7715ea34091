//! The limits of a document in one decision: for an actor without overrides, and for those that have some.

use std::fmt::Write as _;

use super::{prove, subject, worst};
use crate::check::Check;
use crate::command::output::Failure;
use crate::config::{Limits, Override};

/// More sets of limits, or actors of one, would hide what is to be seen.
const MOST_SETS: usize = 20;
const MOST_SUBJECTS: usize = 3;

/// The limits that overrides make, and those for whom they hold.
struct Set<'a> {
    checks: Vec<Check<'a>>,
    subjects: Vec<String>,
}

/// All that is certain of the limits together.
pub(super) fn sentences(limits: &Limits) -> Result<String, Failure> {
    let usual: Vec<_> = limits.iter().map(|(_, limit)| Check::new(limit, "")).filter(is_spent).collect();
    if usual.is_empty() {
        return Ok("\n  No limit counts calls, so there is nothing to take together.\n".to_owned());
    }
    let mut text = paragraph("one actor", &usual)?;
    let mut sets: Vec<Set<'_>> = Vec::new();
    for (number, one) in limits.overrides().iter().enumerate() {
        let who = subject(one);
        if let Some(earlier) = hidden_by(limits, number, one) {
            let _ = writeln!(text, "\n  {who}: never used, because {} come first.", lowercase(&subject(earlier)));
            continue;
        }
        let checks: Vec<_> = limits.checks(text_of(one)).filter(is_spent).collect();
        if same(&checks, &usual) {
            let _ = writeln!(text, "\n  {who}: as actors without an override.");
            continue;
        }
        let who = lowercase(&who);
        match sets.iter_mut().find(|set| same(&set.checks, &checks)) {
            // An actor may have an override for each limit.
            Some(set) if set.subjects.last() == Some(&who) => {}
            Some(set) => set.subjects.push(who),
            None => sets.push(Set { checks, subjects: vec![who] }),
        }
    }
    for set in sets.iter().take(MOST_SETS) {
        text += &paragraph(&named(&set.subjects), &set.checks)?;
    }
    if let Some(more) = sets.len().checked_sub(MOST_SETS).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n  Overrides make {more} more sets of limits, which are not shown.");
    }
    Ok(text)
}

fn paragraph(whom: &str, checks: &[Check<'_>]) -> Result<String, Failure> {
    let mut text = format!("\n  Together, in one decision for {whom}:\n");
    let mut sentences = prove::sentences(checks);
    // Where all limits are lifted, there is no worst.
    if checks.iter().any(|check| check.factor > 0.0) {
        sentences.append(&mut worst::sentences(checks)?);
    }
    for sentence in sentences {
        let _ = writeln!(text, "  {sentence}");
    }
    Ok(text)
}

/// Units that are held bound no span.
fn is_spent(check: &Check<'_>) -> bool {
    !check.holds()
}

/// The earlier override that leaves this one nothing, for any limit that it concerns.
fn hidden_by<'a>(limits: &'a Limits, number: usize, one: &Override) -> Option<&'a Override> {
    let concerned = limits.iter().filter(|(name, _)| one.limit().is_none_or(|limit| limit == *name));
    let found: Vec<_> = concerned.filter_map(|(name, _)| limits.overriding(name, text_of(one))).collect();
    let is_used = found.iter().any(|(found, _)| *found == number);
    if is_used { None } else { limits.overrides().get(found.first()?.0) }
}

/// An actor of an override. The text of a pattern stands for its actors: its own pattern matches it, and so does each
/// that has all of them.
fn text_of(one: &Override) -> &str {
    one.actor().or(one.pattern()).unwrap_or_default()
}

fn same(some: &[Check<'_>], others: &[Check<'_>]) -> bool {
    let is_same = |(one, other): (&Check<'_>, &Check<'_>)| {
        one.limit == other.limit && one.factor.to_bits() == other.factor.to_bits()
    };
    some.len() == others.len() && some.iter().zip(others).all(is_same)
}

fn named(subjects: &[String]) -> String {
    let shown = subjects.iter().take(MOST_SUBJECTS).map(String::as_str).collect::<Vec<_>>().join(", ");
    match subjects.len().saturating_sub(MOST_SUBJECTS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A sentence's beginning within another one.
fn lowercase(text: &str) -> String {
    text.replacen('A', "a", 1)
}
