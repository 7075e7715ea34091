//! One definition of a document, with all that is wrong with it.

use super::entry::Entry;
use super::error::Fault;
use super::path::join;
use crate::limit::{Kind, Legacy, Limit, Value};

/// More fields than any type has, by far: looking for what is given twice must not take its time.
const MOST_FIELDS: usize = 64;

/// One definition under a path; `name` is its key unless it says another.
pub(super) fn definition(path: &str, name: &str, entry: Entry) -> Result<Limit, Vec<Fault>> {
    let members = match entry {
        Entry::Limit(limit) => return Ok(limit),
        Entry::Value(Value::Text(text)) => {
            return Limit::parse(name, &text).map_err(|error| vec![Fault::of_limit(path.to_owned(), error)]);
        }
        Entry::Value(value @ Value::Malformed) => {
            return Err(vec![Fault::of_limit(path.to_owned(), value.not_text(name, "definition"))]);
        }
        other @ (Entry::Value(_) | Entry::List(_)) => {
            return Err(vec![Fault::new(path.to_owned(), format!("must be text or a table, got {other}"))]);
        }
        Entry::Table(members) if members.len() > MOST_FIELDS => {
            return Err(vec![Fault::new(path.to_owned(), format!("must have at most {MOST_FIELDS} fields"))]);
        }
        Entry::Table(members) => members,
    };
    let (mut fields, mut faults) = (Vec::<(String, Value)>::with_capacity(members.len() + 1), Vec::new());
    for (field, entry) in members {
        if fields.iter().any(|(known, _)| *known == field) {
            faults.push(Fault::new(join(path, &field), "is given twice"));
        } else {
            fields.push((field, entry.into()));
        }
    }
    let given: Vec<_> = fields.iter().map(|(field, _)| field.clone()).collect();
    if !given.iter().any(|field| field == "key") {
        fields.push(("key".to_owned(), Value::Text(name.to_owned())));
    }
    match Limit::from_fields_checked(fields) {
        Ok(limit) if faults.is_empty() && says_nothing(limit.kind()) => Err(vec![Fault::new(
            path.to_owned(),
            "limits nothing: must have a type, or max and duration, or minInterval",
        )]),
        Ok(limit) if faults.is_empty() => Ok(limit),
        Ok(_) => Err(faults),
        Err(errors) => {
            faults.extend(errors.into_iter().map(|error| {
                // A field that is missing has no value; another that is not there comes of a default or a translation,
                // and then it is the definition that is at fault.
                let known = error.value() == "none" || given.iter().any(|field| field == error.field());
                let path = if known { join(path, error.field()) } else { path.to_owned() };
                Fault::of_limit(path, error)
            }));
            Err(faults)
        }
    }
}

/// Without any field that limits: in a file that is something left out, not a decision to limit nothing.
fn says_nothing(kind: &Kind) -> bool {
    matches!(kind, Kind::Legacy(Legacy { max: None, duration: None, min_interval: None, .. }))
}
