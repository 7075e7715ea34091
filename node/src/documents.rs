//! Files and texts of named limits.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::{AsyncTask, Either, Either3, Unknown};
use napi::{Env, Task};
use napi_derive::napi;
use tidegate::config::{Change, Format, Limits, LimitsError, Watch};
use tidegate::ffi::{self, Entry};

use crate::errors::{Answered, Failure};
use crate::limits::Made;
use crate::registry;
use crate::text::text;
use crate::units::string;
use crate::value::value;

/// A document.
#[napi]
pub(crate) struct Document(Arc<Limits>);

/// The definitions of a document, in its order.
#[napi(object, object_from_js = false)]
pub(crate) struct Contents {
    /// The names.
    pub names: Vec<String>,
    /// The limits, one for each name.
    pub limits: Vec<Made>,
    /// There are overrides.
    pub overrides: bool,
    /// The numbers of the overrides that have a definition.
    pub overriding: Vec<f64>,
    /// Their definitions.
    pub definitions: Vec<Made>,
}

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Document {
    /// The definitions, each with a number that is JavaScript's to give back.
    #[napi(catch_unwind)]
    pub fn contents(&self) -> Contents {
        let definition = |(at, one): (usize, &tidegate::config::Override)| Some((at, Made::new(one.definition()?)));
        let (overriding, definitions) =
            self.0.overrides().iter().enumerate().filter_map(definition).map(|(at, made)| (at as f64, made)).unzip();
        Contents {
            names: self.0.names().map(str::to_owned).collect(),
            limits: self.0.iter().map(|(_, limit)| Made::new(limit)).collect(),
            overrides: !self.0.overrides().is_empty(),
            overriding,
            definitions,
        }
    }

    /// The number of the override of this limit and actor, and its factor; empty where there is none.
    #[napi(catch_unwind)]
    pub fn overriding(&self, name: String, actor: String) -> Vec<f64> {
        self.0.overriding(&name, &actor).map_or_else(Vec::new, |(at, factor)| vec![at as f64, factor])
    }

    /// The document as JSON text.
    #[napi(catch_unwind)]
    pub fn json(&self) -> String {
        self.0.to_json()
    }
}

/// Every fault of a document.
#[napi(object, object_from_js = false)]
pub(crate) struct DocumentFailure {
    /// The whole text.
    pub message: String,
    /// Each error, in the order of the document.
    pub errors: Vec<Fault>,
}

/// A fault of a document.
#[napi(object, object_from_js = false)]
pub(crate) struct Fault {
    /// The place inside the document, or empty.
    pub path: String,
    /// The problem.
    pub message: String,
    /// The line of a syntax error, counted from 1.
    pub line: Option<f64>,
    /// The column of a syntax error, counted from 1.
    pub column: Option<f64>,
}

/// Reads a file.
#[napi(catch_unwind)]
pub(crate) fn load_limits(path: Unknown<'_>) -> Either3<Document, DocumentFailure, Failure> {
    match text(&path, "", "path") {
        Ok(path) => answer(Limits::load(path)),
        Err(failure) => Either3::C(*failure),
    }
}

/// Reads a text in the format that a file with this ending would have.
#[napi(catch_unwind)]
pub(crate) fn read_limits(document: Unknown<'_>, format: Unknown<'_>) -> Either3<Document, DocumentFailure, Failure> {
    let read = || -> Answered<_> {
        let document = text(&document, "", "text")?;
        let format = text(&format, "", "format")?.parse::<Format>()?;
        Ok(Limits::from_str(&document, format))
    };
    read().map_or_else(|failure| Either3::C(*failure), answer)
}

/// Reads a document that JavaScript has taken apart: each entry before what it holds, with its name, its value, and how
/// many entries it holds itself (-1: none, it is a value; -2: none, it is the number of a limit; from -3 on: a list of one
/// less for each further step).
#[napi(catch_unwind)]
pub(crate) fn limits_from_entries(
    names: Vec<Unknown<'_>>,
    values: Vec<Unknown<'_>>,
    counts: Vec<i32>,
) -> napi::Result<Either3<Document, DocumentFailure, Failure>> {
    let Some(names) = names.iter().map(string).collect::<Option<Vec<_>>>() else {
        return Ok(Either3::C(*Box::<Failure>::from(ffi::malformed_name())));
    };
    let mut flat = names.into_iter().zip(values).zip(counts);
    let Some((_, document)) = entry(&mut flat)? else { return Ok(Either3::C(*Failure::internal("no entries"))) };
    Ok(answer(Limits::from_entry(document)))
}

/// The count of an empty list; one of more items has a smaller count.
const LIST: i32 = -3;

fn entry<'a>(flat: &mut impl Iterator<Item = ((String, Unknown<'a>), i32)>) -> napi::Result<Option<(String, Entry)>> {
    let Some(((name, given), count)) = flat.next() else { return Ok(None) };
    let given = value(&given)?;
    let limit = match given {
        tidegate::limits::Value::Number(handle) if count == -2 => {
            registry::with(|registry| registry.limits.get(handle).cloned())
        }
        _ => None,
    };
    if let Some(limit) = limit {
        return Ok(Some((name, Entry::Limit(limit))));
    }
    if let -2 | -1 = count {
        return Ok(Some((name, Entry::Value(given))));
    }
    if count <= LIST {
        let items = (0..LIST - count).map_while(|_| entry(flat).transpose());
        let items = items.map(|item| item.map(|(_, item)| item)).collect::<napi::Result<_>>()?;
        return Ok(Some((name, Entry::List(items))));
    }
    // Four levels at most: JavaScript takes nothing apart below a definition's fields.
    let members = (0..count).map_while(|_| entry(flat).transpose()).collect::<napi::Result<_>>()?;
    Ok(Some((name, Entry::Table(members))))
}

fn answer(read: Result<Limits, LimitsError>) -> Either3<Document, DocumentFailure, Failure> {
    match read {
        Ok(limits) => Either3::A(Document(Arc::new(limits))),
        Err(error) => Either3::B(error.into()),
    }
}

impl From<LimitsError> for DocumentFailure {
    fn from(error: LimitsError) -> Self {
        let fault = |fault: &tidegate::config::Fault| Fault {
            path: fault.path().to_owned(),
            message: fault.message(),
            line: fault.line().map(|line| line as f64),
            column: fault.column().map(|column| column as f64),
        };
        Self { message: error.to_string(), errors: error.errors().iter().map(fault).collect() }
    }
}

/// One look at a document.
pub(crate) struct Look(tidegate::config::Watched);

impl Task for Look {
    type Output = Option<Change>;
    type JsValue = Either<bool, DocumentFailure>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(self.0.look())
    }

    fn resolve(&mut self, _: Env, change: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match change {
            Some(Change::Wrong(error)) => Either::B(error.into()),
            change => Either::A(change.is_some()),
        })
    }
}

/// The first look at a document.
pub(crate) struct FirstLook {
    source: Answered<String>,
    every: Duration,
}

impl Task for FirstLook {
    type Output = Answered<Result<tidegate::config::Watched, LimitsError>>;
    type JsValue = Either3<Watched, DocumentFailure, Failure>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let source = std::mem::replace(&mut self.source, Ok(String::new()));
        // JavaScript tells of changes itself.
        let begin = |source: String| Ok(Watch::open(&source)?.every(self.every).on_change(|_| {}).by_hand());
        Ok(source.and_then(begin))
    }

    fn resolve(&mut self, _: Env, read: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match read {
            Ok(Ok(watched)) => Either3::A(Watched(watched)),
            Ok(Err(error)) => Either3::B(error.into()),
            Err(failure) => Either3::C(*failure),
        })
    }
}

/// One look that finds every mistake anew.
pub(crate) struct Reload(tidegate::config::Watched);

impl Task for Reload {
    type Output = Result<bool, LimitsError>;
    type JsValue = Either<bool, DocumentFailure>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(self.0.reload())
    }

    fn resolve(&mut self, _: Env, read: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(read.map_or_else(|error| Either::B(error.into()), Either::A))
    }
}

/// A document that is watched; JavaScript has the timer.
#[napi]
pub(crate) struct Watched(tidegate::config::Watched);

/// Reads a document that will be looked at again, so many milliseconds apart, on a thread beside.
#[napi(catch_unwind)]
pub(crate) fn watch_limits(source: Unknown<'_>, every: f64) -> AsyncTask<FirstLook> {
    let every = Duration::try_from_secs_f64(every / 1000.0).unwrap_or(Duration::MAX);
    AsyncTask::new(FirstLook { source: text(&source, "", "source"), every })
}

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Watched {
    /// The document that holds now.
    #[napi(catch_unwind)]
    pub fn current(&self) -> Document {
        Document(self.0.current())
    }

    /// Looks once, on a thread beside: true if other limits hold, or the faults of a document that is wrong, each once.
    #[napi(catch_unwind)]
    pub fn look(&self) -> AsyncTask<Look> {
        AsyncTask::new(Look(self.0.clone()))
    }

    /// Reads now, on a thread beside: true if other limits hold, or the faults of the document.
    #[napi(catch_unwind)]
    pub fn reload(&self) -> AsyncTask<Reload> {
        AsyncTask::new(Reload(self.0.clone()))
    }

    /// Refuses documents without a limit of this name.
    #[napi(catch_unwind)]
    pub fn need(&self, name: String) -> bool {
        self.0.need(&name)
    }

    /// Milliseconds until the next look.
    #[napi(catch_unwind)]
    pub fn pause(&self) -> f64 {
        self.0.pause().as_secs_f64() * 1000.0
    }
}
