//! Limits as the command line names them.

use std::path::Path;

use super::output::Failure;
use crate::check::Check;
use crate::config::{Format, Limits};
use crate::error::{LimitError, shortened};
use crate::limit::{Kind, Limit, period};
use crate::time::{LONGEST, Micros};

/// Limits that hold at the same time.
#[derive(Debug)]
pub(super) struct Set {
    /// The words by which they were given.
    pub(super) name: String,
    pub(super) limits: Vec<Limit>,
}

impl Set {
    /// Reads a file of limits, one limit in the wire form, or limits as text with `;` between them. A limit as text has
    /// the text as its key.
    pub(super) fn read(name: &str) -> Result<Self, Failure> {
        let limits = if name.trim_start().starts_with('{') {
            vec![Limit::from_json(name).map_err(refused)?]
        } else if let Some(limits) = file(name)? {
            limits.iter().map(|(_, limit)| limit.clone()).collect()
        } else {
            let texts = name.split(';').map(str::trim).filter(|text| !text.is_empty());
            texts.map(|text| Limit::parse(text, text)).collect::<Result<Vec<_>, _>>().map_err(refused)?
        };
        if limits.is_empty() { Err(empty(name)) } else { Ok(Self { name: name.to_owned(), limits }) }
    }
}

/// Limits under the keys that the application gives them: a document, or one limit.
pub(super) enum Keyed {
    Document(Limits),
    One(Limit),
}

impl Keyed {
    /// Reads the values of an option that is given as often as needed.
    pub(super) fn read(given: &[String]) -> Result<Vec<Self>, Failure> {
        given.iter().map(|given| Self::of(given)).collect()
    }

    fn of(given: &str) -> Result<Self, Failure> {
        match file(given)? {
            Some(limits) if limits.is_empty() => Err(empty(given)),
            Some(limits) => Ok(Self::Document(limits)),
            None => given.parse::<Limit>().map(Self::One).map_err(refused),
        }
    }

    /// The checks of an actor, by the overrides that it has.
    pub(super) fn checks<'a>(&'a self, actor: &'a str) -> Vec<Check<'a>> {
        match self {
            Self::Document(limits) => limits.checks(actor).collect(),
            Self::One(limit) => vec![Check::new(limit, actor)],
        }
    }

    /// The limits of actors without overrides.
    pub(super) fn limits(&self) -> Vec<Limit> {
        match self {
            Self::Document(limits) => limits.iter().map(|(_, limit)| limit.clone()).collect(),
            Self::One(limit) => vec![limit.clone()],
        }
    }
}

/// The limits of a file, where this is the name of one, whether or not it is there.
fn file(name: &str) -> Result<Option<Limits>, Failure> {
    Format::of(Path::new(name)).map(|_| Limits::load(name).map_err(refused)).transpose()
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Told(error.to_string())
}

fn empty(name: &str) -> Failure {
    Failure::of(&format!("{name:?}"), "has no limits")
}

/// A rate as limits as text have it: so many in a period.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds of a definition")]
pub(super) fn rate(option: &str, text: &str) -> Result<(u64, Micros), Failure> {
    let limit = Limit::parse(option, text).map_err(|error| wrong(option, &error))?;
    match limit.kind() {
        Kind::TokenBucket(bucket) if bucket.burst.is_none() => {
            Ok((bucket.count as u64, (bucket.period * 1000.0) as u64))
        }
        _ => Err(Failure::of(option, "must be a count and a period, and nothing more")),
    }
}

/// A time as the periods of limits have it.
pub(super) fn duration(option: &str, text: &str) -> Result<Micros, Failure> {
    let micros = period(text).map_err(|error| wrong(option, &error))?.saturating_mul(1000);
    if micros > LONGEST {
        return Err(Failure::of(option, format!("must be at most 100 years, got {:?}", shortened(text, 60))));
    }
    Ok(micros)
}

/// The value of an option is no limit, so neither a key nor a field is named.
fn wrong(option: &str, error: &LimitError) -> Failure {
    Failure::of(option, format!("{}, got {}", error.problem(), error.value()))
}
