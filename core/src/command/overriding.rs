//! `tidegate override`: another allowance for an actor, written into a document of limits.

use std::fs;
use std::io::Write as _;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

use clap::{ArgGroup, Args};

use super::output::{Done, Failure, Output};
use super::{FAULTS, FINE};
use crate::config::{Format, edited, is_editable};
use crate::limit::Value;
use crate::limiter::document::Document;

#[derive(Args)]
#[command(group(ArgGroup::new("subject").required(true)), group(ArgGroup::new("effect").required(true)))]
pub(super) struct Options {
    /// A file of limits, .json or .toml, or the URL of a server with the key of one: <redis://localhost:6379/0/limits.toml>
    file: String,
    /// The actor, as the application names it, such as ip:203.0.113.9
    #[arg(long, group = "subject")]
    actor: Option<String>,
    /// A pattern of actors, in which each * stands for any characters
    #[arg(long, group = "subject")]
    pattern: Option<String>,
    /// The name of the limit; all limits unless given
    #[arg(long, value_name = "NAME")]
    limit: Option<String>,
    /// The factor of the actor: 0.5 is twice the allowance
    #[arg(long, group = "effect", allow_negative_numbers = true)]
    factor: Option<f64>,
    /// A limit as text in place of the limit, such as 5000/minute
    #[arg(long, group = "effect", requires = "limit", value_name = "TEXT")]
    definition: Option<String>,
    /// No limit for the actor
    #[arg(long, group = "effect")]
    unlimited: bool,
    /// Removes the override instead
    #[arg(long, group = "effect")]
    remove: bool,
}

impl Options {
    fn subject(&self) -> [(&'static str, Option<&str>); 3] {
        [("actor", self.actor.as_deref()), ("pattern", self.pattern.as_deref()), ("limit", self.limit.as_deref())]
    }

    fn effect(&self) -> Option<(&'static str, Value)> {
        let factor = self.factor.map(|factor| ("factor", Value::Number(factor)));
        let definition = self.definition.clone().map(|text| ("definition", Value::Text(text)));
        factor.or(definition).or(self.unlimited.then_some(("unlimited", Value::Bool(true))))
    }
}

pub(super) fn run(options: &Options, output: &mut Output) -> Done {
    let source = Source::open(&options.file)?;
    let file = source.name();
    let file = file.as_str();
    let Some(format) = Format::of(file).filter(|format| is_editable(*format)) else {
        return Err(Failure::of(file, "must end with .json or .toml: comments of another format would be lost"));
    };
    let text = source.read().map_err(|error| Failure::of(file, format_args!("cannot be read: {error}")))?;
    let (subject, effect) = (options.subject(), options.effect());
    let removes = effect.is_none();
    let mut was_there = false;
    let changed = edited(&text, format, |draft| {
        was_there = draft.remove(&subject);
        if let Some(effect) = effect {
            let given = subject.into_iter().filter_map(|(name, text)| Some((name, Value::Text(text?.to_owned()))));
            draft.put_first(given.chain([effect]).collect());
        }
    });
    let changed = match changed {
        Ok(changed) => changed,
        Err(error) => {
            for fault in error.errors() {
                output.tell(&format!("{file}: {fault}"));
            }
            return Ok(FAULTS);
        }
    };
    let change = match (removes, was_there) {
        (true, false) => return Err(Failure::of(file, "has no such override")),
        (true, true) => "removed",
        (false, true) => "replaced",
        (false, false) => "added",
    };
    source.replace(&text, &changed).map_err(|error| Failure::of(file, format_args!("cannot be written: {error}")))?;
    output.print(&format!("{file}: an override is {change}"))?;
    Ok(FINE)
}

/// The place of a document.
enum Source<'a> {
    File(&'a str),
    Key(Document),
}

impl<'a> Source<'a> {
    fn open(source: &'a str) -> Result<Self, Failure> {
        if !source.contains("://") {
            return Ok(Self::File(source));
        }
        Document::open(source).map(Self::Key).map_err(|error| Failure::Told(error.to_string()))
    }

    fn name(&self) -> String {
        match self {
            Self::File(file) => (*file).to_owned(),
            Self::Key(document) => document.name(),
        }
    }

    fn read(&self) -> Result<String, String> {
        match self {
            Self::File(file) => fs::read_to_string(file).map_err(|error| error.to_string()),
            Self::Key(document) => String::from_utf8(document.read()?).map_err(|_| "it is not UTF-8".to_owned()),
        }
    }

    fn replace(&self, before: &str, after: &str) -> Result<(), String> {
        match self {
            Self::File(file) => written(file, after).map_err(|error| error.to_string()),
            Self::Key(document) => document.replace(before.as_bytes(), after.as_bytes()),
        }
    }
}

/// Writes another file and renames it, so that nobody reads a half-written one.
fn written(file: &str, text: &str) -> std::io::Result<()> {
    // Of a link, the file that it leads to.
    let path = fs::canonicalize(file)?;
    let beside = path.with_file_name(format!(".{}.{}", name_of(&path), std::process::id()));
    let write = || {
        let mut new = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        let old = fs::metadata(&path)?;
        // The program that reads the file may not be whoever changes it, but only root may give a file away.
        #[cfg(unix)]
        let _ = chown(&beside, Some(old.uid()), Some(old.gid()));
        fs::set_permissions(&beside, old.permissions())?;
        fs::rename(&beside, &path)
    };
    let done = write();
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
