//! Overrides: other allowances for single actors, beside the limits of a document.

use std::collections::HashMap;

use super::definition::definition;
use super::entry::Entry;
use super::error::Fault;
use super::path::join;
use super::pattern::Pattern;
use crate::limit::{Limit, Value};

/// The most overrides of a document.
pub(crate) const MOST_OVERRIDES: usize = 10_000;
/// Every pattern is tried for every actor, where none of the earlier overrides is the actor's own.
const MOST_PATTERNS: usize = 256;

/// An entry of `overrides`: an actor or a pattern, and what holds for it in place of a limit.
#[derive(Clone, Debug)]
pub struct Override {
    subject: Subject,
    /// The number and the name of the limit; none = all limits.
    limit: Option<(usize, String)>,
    effect: Effect,
}

#[derive(Clone, Debug)]
enum Subject {
    Actor(String),
    Pattern(Pattern),
}

#[derive(Clone, Debug)]
enum Effect {
    Factor(f64),
    Definition(Limit),
    Unlimited,
}

impl Override {
    /// The actor, unless it is a [pattern](Self::pattern).
    #[must_use]
    pub fn actor(&self) -> Option<&str> {
        match &self.subject {
            Subject::Actor(actor) => Some(actor),
            Subject::Pattern(_) => None,
        }
    }

    /// The pattern of actors: text in which each `*` stands for any characters, or none.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        match &self.subject {
            Subject::Actor(_) => None,
            Subject::Pattern(pattern) => Some(pattern.as_str()),
        }
    }

    /// The name of the limit; none = all limits of the document.
    #[must_use]
    pub fn limit(&self) -> Option<&str> {
        self.limit.as_ref().map(|(_, name)| name.as_str())
    }

    /// The definition in place of the limit. It has the key of the limit, so it reads the same entries, or those of its
    /// own shape.
    #[must_use]
    pub fn definition(&self) -> Option<&Limit> {
        match &self.effect {
            Effect::Definition(limit) => Some(limit),
            Effect::Factor(_) | Effect::Unlimited => None,
        }
    }

    /// The factor of the actor: 0.5 = twice the allowance, 0 = no limit; 1 beside a definition.
    #[must_use]
    pub const fn factor(&self) -> f64 {
        match &self.effect {
            Effect::Factor(factor) => *factor,
            Effect::Definition(_) => 1.0,
            Effect::Unlimited => 0.0,
        }
    }

    /// Written as `unlimited`, not as a factor of 0.
    pub(super) const fn is_unlimited(&self) -> bool {
        matches!(self.effect, Effect::Unlimited)
    }

    fn concerns(&self, limit: usize) -> bool {
        self.limit.as_ref().is_none_or(|(number, _)| *number == limit)
    }
}

/// The overrides of a document; the first that concerns a limit and an actor holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    each: Vec<Override>,
    /// The numbers of those of one actor, in their order: at most one for each limit, and one for all.
    exact: HashMap<String, Vec<usize>>,
    /// The numbers of those with a pattern, in their order.
    patterns: Vec<usize>,
}

/// The limits of a document, as overrides see them.
pub(super) struct Known<'a> {
    pub(super) named: &'a [(String, Limit)],
    pub(super) indices: &'a HashMap<String, usize>,
}

impl Overrides {
    /// Reads the entries of the list.
    pub(super) fn read(entries: Vec<Entry>, known: &Known<'_>) -> Result<Self, Vec<Fault>> {
        if entries.len() > MOST_OVERRIDES {
            return Err(vec![Fault::new("overrides".to_owned(), format!("must be at most {MOST_OVERRIDES}"))]);
        }
        let (mut overrides, mut faults) = (Self::default(), Vec::new());
        // The numbers of the sound ones in the document, which counts wrong ones as well.
        let mut places = Vec::new();
        for (number, entry) in entries.into_iter().enumerate() {
            let path = format!("overrides[{number}]");
            match Reading::of(&path, entry).and_then(|reading| reading.read(known)) {
                Ok(one) => match overrides.push(path, one, &places) {
                    Some(fault) => faults.push(fault),
                    None => places.push(number),
                },
                Err(mut wrong) => faults.append(&mut wrong),
            }
        }
        if faults.is_empty() { Ok(overrides) } else { Err(faults) }
    }

    fn push(&mut self, path: String, one: Override, places: &[usize]) -> Option<Fault> {
        let number = self.each.len();
        match &one.subject {
            Subject::Actor(actor) => {
                let numbers = self.exact.entry(actor.clone()).or_default();
                let earlier = |number: &&usize| self.each.get(**number).is_some_and(|earlier| hides(earlier, &one));
                let earlier = numbers.iter().find(earlier).and_then(|number| places.get(*number));
                if let Some(earlier) = earlier {
                    return Some(Fault::new(path, format!("is never used: overrides[{earlier}] has the same actor")));
                }
                numbers.push(number);
            }
            Subject::Pattern(_) if self.patterns.len() >= MOST_PATTERNS => {
                return Some(Fault::new(
                    join(&path, "pattern"),
                    format!("must be one of at most {MOST_PATTERNS} patterns"),
                ));
            }
            Subject::Pattern(_) => self.patterns.push(number),
        }
        self.each.push(one);
        None
    }

    /// All of them, in the order of the document.
    pub(super) fn each(&self) -> &[Override] {
        &self.each
    }

    /// The number of the first that concerns this limit and actor.
    pub(super) fn find(&self, limit: usize, actor: &str) -> Option<usize> {
        let concerns = |number: &usize| self.each.get(*number).is_some_and(|one| one.concerns(limit));
        let exact = self.exact.get(actor).and_then(|numbers| numbers.iter().copied().find(concerns));
        let earlier = self.patterns.iter().take_while(|number| exact.is_none_or(|exact| **number < exact));
        let matches = |number: &&usize| match self.each.get(**number).map(|one| &one.subject) {
            Some(Subject::Pattern(pattern)) => concerns(number) && pattern.matches(actor),
            _ => false,
        };
        let mut earlier = earlier.filter(matches);
        earlier.next().copied().or(exact)
    }
}

/// True if the earlier one of two overrides of an actor leaves nothing to the later one.
fn hides(earlier: &Override, later: &Override) -> bool {
    earlier.limit.is_none() || earlier.limit == later.limit
}

const FIELDS: [&str; 6] = ["actor", "pattern", "limit", "factor", "definition", "unlimited"];

/// The fields of one entry.
struct Reading {
    path: String,
    fields: Vec<(&'static str, Entry)>,
    faults: Vec<Fault>,
}

impl Reading {
    fn of(path: &str, entry: Entry) -> Result<Self, Vec<Fault>> {
        let members = match entry {
            Entry::Table(members) => members,
            other => return Err(vec![Fault::new(path.to_owned(), format!("must be a table, got {other}"))]),
        };
        let (mut fields, mut faults) = (Vec::<(&str, Entry)>::new(), Vec::new());
        for (name, entry) in members.into_iter().take(2 * FIELDS.len()) {
            let inside = join(path, &name);
            match FIELDS.into_iter().find(|field| *field == name) {
                None => faults.push(Fault::new(inside, format!("is not a field, which are: {}", FIELDS.join(", ")))),
                Some(field) if fields.iter().any(|(known, _)| *known == field) => {
                    faults.push(Fault::new(inside, "is given twice"));
                }
                Some(field) => fields.push((field, entry)),
            }
        }
        Ok(Self { path: path.to_owned(), fields, faults })
    }

    fn take(&mut self, name: &str) -> Option<Entry> {
        let index = self.fields.iter().position(|(field, _)| *field == name)?;
        Some(self.fields.remove(index).1)
    }

    fn wrong(&mut self, field: &str, problem: impl Into<String>) {
        self.faults.push(Fault::new(join(&self.path, field), problem));
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Entry::Value(Value::Text(text)) => return Some(text),
            other => self.wrong(name, format!("must be text, got {other}")),
        }
        None
    }

    /// Exactly one of these fields is given; else the fault of the entry.
    fn one_of(&mut self, names: &[&str]) {
        let given = names.iter().filter(|name| self.fields.iter().any(|(field, _)| field == *name)).count();
        if given != 1 {
            let problem = format!("must have one of {}, got {given}", names.join(", "));
            self.faults.push(Fault::new(self.path.clone(), problem));
        }
    }

    fn read(mut self, known: &Known<'_>) -> Result<Override, Vec<Fault>> {
        self.one_of(&["actor", "pattern"]);
        self.one_of(&["factor", "definition", "unlimited"]);
        let subject = self.subject();
        let limit = self.limit(known);
        let effect = self.effect(known, limit.as_ref());
        match (subject, effect) {
            (Some(subject), Some(effect)) if self.faults.is_empty() => Ok(Override { subject, limit, effect }),
            _ => Err(self.faults),
        }
    }

    fn subject(&mut self) -> Option<Subject> {
        let actor = self.text("actor").map(Subject::Actor);
        let pattern = self.text("pattern").and_then(|text| {
            let pattern = Pattern::of(&text);
            if pattern.is_none() {
                let text = crate::error::excerpt(&text);
                self.wrong("pattern", format!("must have a *, got \"{text}\"; a single one is an actor"));
            }
            pattern.map(Subject::Pattern)
        });
        actor.or(pattern)
    }

    fn limit(&mut self, known: &Known<'_>) -> Option<(usize, String)> {
        let name = self.text("limit")?;
        let number = known.indices.get(&name).copied();
        if number.is_none() {
            self.wrong("limit", format!("must be the name of a limit, got \"{}\"", crate::error::excerpt(&name)));
        }
        number.map(|number| (number, name))
    }

    fn effect(&mut self, known: &Known<'_>, limit: Option<&(usize, String)>) -> Option<Effect> {
        match self.take("unlimited") {
            None => {}
            Some(Entry::Value(Value::Bool(true))) => return Some(Effect::Unlimited),
            Some(other) => self.wrong("unlimited", format!("must be true, got {other}")),
        }
        match self.take("factor") {
            None => {}
            Some(Entry::Value(Value::Number(factor))) => return self.factor(known, limit, factor),
            Some(other) => self.wrong("factor", format!("must be a number, got {other}")),
        }
        let given = self.take("definition")?;
        let Some((number, _)) = limit else {
            if !self.faults.iter().any(|fault| fault.path() == join(&self.path, "limit")) {
                self.wrong("limit", "must be given: the limit that the definition replaces");
            }
            return None;
        };
        // Of a limit that is wrong itself, no definition can take the place.
        let (_, limit) = known.named.get(*number)?;
        self.definition(limit, given)
    }

    /// A factor that every limit can take.
    fn factor(&mut self, known: &Known<'_>, limit: Option<&(usize, String)>, factor: f64) -> Option<Effect> {
        let concerned = known.named.iter().enumerate().filter(|(at, _)| limit.is_none_or(|(number, _)| number == at));
        if !(factor >= 0.0 && factor.is_finite()) {
            self.wrong("factor", format!("must be at least 0 and finite, got {factor}"));
            return None;
        }
        let path = join(&self.path, "factor");
        let errors = concerned.filter_map(|(_, (_, limit))| limit.rules(factor).err());
        self.faults.extend(errors.map(|error| Fault::of_limit(path.clone(), error)));
        Some(Effect::Factor(factor))
    }

    /// A definition in place of the limit, with its key.
    fn definition(&mut self, limit: &Limit, given: Entry) -> Option<Effect> {
        let path = join(&self.path, "definition");
        if let Entry::Table(members) = &given
            && members.iter().any(|(name, _)| name == "key")
        {
            self.faults.push(Fault::new(join(&path, "key"), "must not be given: it is the limit's"));
            return None;
        }
        match definition(&path, limit.key(), given) {
            Ok(made) if made.key() != limit.key() => {
                self.wrong(
                    "definition",
                    format!("must have the key of the limit, \"{}\"", crate::error::excerpt(limit.key())),
                );
            }
            // Units are held or spent by different calls.
            Ok(made) if made.holds() != limit.holds() => {
                let kind = if limit.holds() { "must be" } else { "must not be" };
                self.wrong("definition", format!("{kind} of type concurrency, as the limit"));
            }
            Ok(made) => return Some(Effect::Definition(made)),
            Err(mut faults) => self.faults.append(&mut faults),
        }
        None
    }
}
