//! Where a limiter keeps what it has to keep, as it is asked for.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use tidegate::{ErrorKind, Layout, Memory, OnError, Redis, Strategy, Value};

use crate::args::{self, Arg};
use crate::errors::{limit_error, wrong_type};
use crate::notes;
use crate::value;

/// What a limiter is made of, as given.
pub(crate) struct Options<'a, 'py> {
    pub(crate) url: Arg<'a, 'py>,
    pub(crate) namespace: Arg<'a, 'py>,
    pub(crate) timeout: Arg<'a, 'py>,
    pub(crate) on_error: Arg<'a, 'py>,
    pub(crate) max_entries: Arg<'a, 'py>,
    pub(crate) deny_cache: Arg<'a, 'py>,
    pub(crate) wait_replicas: Arg<'a, 'py>,
    pub(crate) strategy: Arg<'a, 'py>,
    pub(crate) layout: Arg<'a, 'py>,
    pub(crate) ssl_ca_certs: Arg<'a, 'py>,
    pub(crate) ssl_certfile: Arg<'a, 'py>,
    pub(crate) ssl_keyfile: Arg<'a, 'py>,
    pub(crate) clock: Arg<'a, 'py>,
}

/// How to make a limiter over the same shared store once more. The URL may hold a password.
pub(crate) struct Recipe {
    url: String,
    options: Py<PyDict>,
}

/// The same options, read.
struct Settings {
    namespace: Option<String>,
    timeout: Option<Duration>,
    on_error: Option<OnError>,
    max_entries: Option<usize>,
    deny_cache: Option<Duration>,
    wait_replicas: Option<u32>,
    strategy: Strategy,
    layout: Layout,
    authority: Option<PathBuf>,
    /// A certificate and its key.
    identity: Option<(PathBuf, PathBuf)>,
}

/// Seconds in an hour: nobody waits for longer, or remembers a denial for longer.
const LONGEST: f64 = 3600.0;

impl Options<'_, '_> {
    /// The engine, and a recipe where others share its store. All options are looked at, whatever the store.
    pub(crate) fn engine(&self, py: Python<'_>) -> PyResult<(tidegate::Limiter, Option<Recipe>)> {
        let url = self.url.0.as_deref().map(|url| args::text("url", url)).transpose()?;
        let url = url.as_deref().unwrap_or(MEMORY);
        check_url(url)?;
        let settings = self.settings()?;
        if url == MEMORY {
            return Ok((settings.memory(), None));
        }
        let engine = tidegate::Limiter::new(settings.redis(url)?);
        notes::listen(py)?;
        Ok((engine, Some(Recipe { url: url.to_owned(), options: self.given(py, &settings)?.unbind() })))
    }

    fn settings(&self) -> PyResult<Settings> {
        let certificate = path("ssl_certfile", self.ssl_certfile)?;
        let key = path("ssl_keyfile", self.ssl_keyfile)?;
        let identity = match (certificate, key) {
            (None, None) => None,
            (Some(both), None) => Some((both.clone(), both)),
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, Some(key)) => {
                return Err(refused("ssl_keyfile", "must go with an ssl_certfile", key.display()));
            }
        };
        Ok(Settings {
            namespace: self.namespace.0.map(|name| args::text("namespace", &name).map(Into::into)).transpose()?,
            timeout: seconds("timeout", self.timeout, f64::MIN_POSITIVE, "must be above 0 and at most 3600 seconds")?,
            on_error: self.on_error.0.map(|policy| on_error(&policy)).transpose()?,
            max_entries: self.max_entries.0.map(|most| max_entries(&most)).transpose()?,
            deny_cache: seconds("deny_cache", self.deny_cache, 0.0, "must be at least 0 and at most 3600 seconds")?,
            wait_replicas: self.wait_replicas.0.map(|replicas| wait_replicas(&replicas)).transpose()?,
            strategy: named("strategy", self.strategy, Strategy::named, "must be \"script\" or \"transactions\"")?,
            layout: named("layout", self.layout, Layout::named, "must be \"own\" or \"sharkey\"")?,
            authority: path("ssl_ca_certs", self.ssl_ca_certs)?,
            identity,
        })
    }

    /// The options that were given, in a form that can be pickled.
    fn given<'py>(&self, py: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
        let given = PyDict::new(py);
        let as_given = [
            ("namespace", self.namespace),
            ("timeout", self.timeout),
            ("on_error", self.on_error),
            ("max_entries", self.max_entries),
            ("deny_cache", self.deny_cache),
            ("wait_replicas", self.wait_replicas),
            ("strategy", self.strategy),
            ("layout", self.layout),
            ("clock", self.clock),
        ];
        for (name, value) in as_given {
            value.0.filter(|value| !value.is_none()).map_or(Ok(()), |value| given.set_item(name, value))?;
        }
        if let Some(file) = &settings.authority {
            given.set_item("ssl_ca_certs", file)?;
        }
        if let Some((certificate, key)) = &settings.identity {
            given.set_item("ssl_certfile", certificate)?;
            given.set_item("ssl_keyfile", key)?;
        }
        Ok(given)
    }
}

impl Settings {
    fn memory(self) -> tidegate::Limiter {
        let memory = self.max_entries.map_or_else(Memory::new, Memory::with_max_entries).listener(notes::log);
        let engine = tidegate::Limiter::new(memory);
        self.namespace.map_or(engine.clone(), |name| engine.namespace(&name))
    }

    fn redis(&self, url: &str) -> PyResult<Redis> {
        let mut redis = Redis::open(url).map_err(limit_error)?.listener(notes::tell);
        redis = redis.strategy(self.strategy).and_then(|redis| redis.layout(self.layout)).map_err(limit_error)?;
        // Where Sharkey's keys are used, nothing is put before them unless somebody asks for it.
        let own_keys = self.strategy == Strategy::Script && self.layout == Layout::Own;
        if let Some(namespace) = self.namespace.as_ref().filter(|name| own_keys || *name != NAMESPACE) {
            redis = redis.namespace(namespace);
        }
        if let Some(timeout) = self.timeout {
            redis = redis.timeout(timeout);
        }
        if let Some(policy) = self.on_error {
            redis = redis.on_error(policy);
        }
        if let Some(most) = self.max_entries {
            redis = redis.max_entries(most);
        }
        if let Some(age) = self.deny_cache {
            redis = redis.deny_cache(age);
        }
        if let Some(replicas) = self.wait_replicas {
            redis = redis.wait_replicas(replicas);
        }
        if let Some(file) = &self.authority {
            redis = redis.certificate_authority(&read("ssl_ca_certs", file)?).map_err(limit_error)?;
        }
        if let Some((certificate, key)) = &self.identity {
            let (certificate, key) = (read("ssl_certfile", certificate)?, read("ssl_keyfile", key)?);
            redis = redis.client_certificate(&certificate, &key).map_err(limit_error)?;
        }
        Ok(redis)
    }
}

impl Recipe {
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.options)
    }

    /// The URL without what it may keep secret.
    pub(crate) fn place(&self) -> String {
        let Some((scheme, rest)) = self.url.split_once("://") else { return "…".to_owned() };
        let place = rest.split('?').next().unwrap_or_default();
        match place.rsplit_once('@') {
            Some((_, hosts)) => format!("{scheme}://…@{hosts}"),
            None => format!("{scheme}://{place}"),
        }
    }

    /// What ``pickle`` makes a limiter over the same store with.
    pub(crate) fn reduce<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let class = py.get_type::<crate::limiter::Limiter>();
        let make = py.import("functools")?.getattr("partial")?.call((class,), Some(self.options.bind(py)))?;
        Ok((make, (self.url.clone(),)))
    }
}

const MEMORY: &str = "memory://";
const NAMESPACE: &str = "tidegate";
const SCHEMES: [&str; 10] = [
    "redis",
    "rediss",
    "valkey",
    "valkeys",
    "unix",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
    "memory",
];

/// Only what is surely a URL is shown in an error, and of others only the scheme: the rest may hold a password.
fn check_url(url: &str) -> PyResult<()> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if url == MEMORY || scheme.is_some_and(|scheme| scheme != "memory" && SCHEMES.contains(&scheme)) {
        return Ok(());
    }
    let given = match url.split_once(':') {
        Some((scheme, _)) if SCHEMES.contains(&scheme) => format!("another one with {scheme}"),
        Some(_) => "one with another scheme".to_owned(),
        None => "one without a scheme".to_owned(),
    };
    let problem =
        "must be memory://, or begin with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://";
    Err(refused("url", problem, given))
}

fn refused(name: &str, problem: &str, given: impl std::fmt::Display) -> PyErr {
    limit_error(tidegate::LimitError::new(ErrorKind::Range, "", name, problem, given))
}

/// Seconds, or a `timedelta`.
fn seconds(name: &str, given: Arg<'_, '_>, least: f64, problem: &str) -> PyResult<Option<Duration>> {
    let Some(object) = given.0 else { return Ok(None) };
    let seconds = match value::milliseconds(&object)? {
        Some(millis) => millis / 1000.0,
        None => match value::read(&object)? {
            Value::Number(seconds) => seconds,
            other => return Err(wrong_type("", name, "must be a number of seconds", other)),
        },
    };
    if !(least..=LONGEST).contains(&seconds) {
        return Err(refused(name, problem, seconds));
    }
    // What is not nothing must not become it.
    let shortest = if seconds > 0.0 { Duration::from_micros(1) } else { Duration::ZERO };
    Ok(Some(Duration::from_secs_f64(seconds).max(shortest)))
}

fn on_error(given: &Bound<'_, PyAny>) -> PyResult<OnError> {
    const PROBLEM: &str = "must be \"local\", \"allow\", \"deny\" or \"raise\"";
    match value::read(given)? {
        Value::Text(name) => OnError::named(&name).ok_or_else(|| refused("on_error", PROBLEM, format!("{name:?}"))),
        other => Err(wrong_type("", "on_error", PROBLEM, other)),
    }
}

/// A choice by its name; the usual one where none is given.
fn named<T: Default>(field: &str, given: Arg<'_, '_>, choose: fn(&str) -> Option<T>, problem: &str) -> PyResult<T> {
    let Some(object) = given.0 else { return Ok(T::default()) };
    match value::read(&object)? {
        Value::Text(name) => choose(&name).ok_or_else(|| refused(field, problem, format!("{name:?}"))),
        other => Err(wrong_type("", field, problem, other)),
    }
}

fn max_entries(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    match given.cast::<PyBool>().is_err().then(|| given.extract::<usize>()) {
        Some(Ok(most)) if most > 0 => Ok(most),
        _ => Err(refused("max_entries", "must be a whole number of at least 1", value::read(given)?)),
    }
}

fn wait_replicas(given: &Bound<'_, PyAny>) -> PyResult<u32> {
    if let Some(Ok(replicas)) = given.cast::<PyBool>().is_err().then(|| given.extract()) {
        return Ok(replicas);
    }
    let problem = format!("must be a whole number from 0 to {}", u32::MAX);
    Err(refused("wait_replicas", &problem, value::read(given)?))
}

/// The path of a file; `None` is none.
fn path(name: &str, given: Arg<'_, '_>) -> PyResult<Option<PathBuf>> {
    let Some(object) = given.0.filter(|object| !object.is_none()) else { return Ok(None) };
    match object.extract() {
        Ok(path) => Ok(Some(path)),
        Err(_) => Err(wrong_type("", name, "must be the path of a file", value::read(&object)?)),
    }
}

fn read(name: &str, file: &PathBuf) -> PyResult<Vec<u8>> {
    fs::read(file).map_err(|error| refused(name, &format!("must be a file that can be read ({error})"), file.display()))
}
