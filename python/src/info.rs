//! The answer, as Python sees it.

#![expect(clippy::doc_link_with_quotes, reason = "Python in the examples")]

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use tidegate::headers::{Policy, Style};
use tidegate::http::style_of;
use tidegate::{Charge, Value};

use crate::args::{self, Arg};
use crate::errors::limit_error;
use crate::limits::Limit;
use crate::numbers::Numbers;
use crate::receipt::Receipt;
use crate::value;

/// What a limiter answers: whether the call may pass, and what is left. Durations are rounded up.
///
/// >>> from tidegate import Bucket, Limiter
/// >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
/// >>> info.blocked, info.remaining, info.full_reset_ms
/// (False, 9, 1000)
///
/// Limiters make them; a test that stands in for one may too, of what the code that it tests looks at:
///
/// >>> from tidegate import LimitInfo
/// >>> LimitInfo(blocked=True, reset_ms=1500).headers()["Retry-After"]
/// '2'
#[pyclass(frozen, weakref, module = "tidegate")]
pub(crate) struct LimitInfo {
    /// Numbers only: the answers of several checks are beside it, where they know their keys.
    pub(crate) info: tidegate::LimitInfo,
    /// The one that decides, where the receipt does not tell.
    limit: Option<Py<Limit>>,
    /// The answers of the checks, and which of them decides; present only when there was more than one.
    several: Option<(Py<PyTuple>, usize)>,
    /// Only in the answer that a call gave, not in its parts: else a charge could be given back twice.
    pub(crate) receipt: Option<Receipt>,
}

#[pymethods]
impl LimitInfo {
    #[new]
    #[pyo3(
        signature = (
            *, blocked = Arg(None), remaining = Arg(None), reset_ms = Arg(None), full_reset_ms = Arg(None),
            wait_ms = Arg(None), next_ms = Arg(None), quota = Arg(None), window_ms = Arg(None), degraded = Arg(None),
            key = Arg(None), binding = Arg(None), checks = Arg(None)
        ),
        text_signature = "(*, blocked=False, remaining=0, reset_ms=0, full_reset_ms=0, wait_ms=0, next_ms=0, quota=1, \
                          window_ms=0, degraded=False, key='', binding=0, checks=())"
    )]
    #[expect(clippy::too_many_arguments, reason = "as many as there are numbers")]
    fn new(
        py: Python<'_>,
        blocked: Arg<'_, '_>,
        remaining: Arg<'_, '_>,
        reset_ms: Arg<'_, '_>,
        full_reset_ms: Arg<'_, '_>,
        wait_ms: Arg<'_, '_>,
        next_ms: Arg<'_, '_>,
        quota: Arg<'_, '_>,
        window_ms: Arg<'_, '_>,
        degraded: Arg<'_, '_>,
        key: Arg<'_, '_>,
        binding: Arg<'_, '_>,
        checks: Arg<'_, '_>,
    ) -> PyResult<Self> {
        let mut info = tidegate::LimitInfo::default();
        info.blocked = blocked.flag("blocked")?;
        info.degraded = degraded.flag("degraded")?;
        info.remaining = remaining.count("remaining", 0)?;
        info.reset_ms = reset_ms.count("reset_ms", 0)?;
        // An entry that still denies is not empty.
        info.full_reset_ms = full_reset_ms.count("full_reset_ms", 0)?.max(info.reset_ms);
        info.wait_ms = wait_ms.count("wait_ms", 0)?;
        info.next_ms = next_ms.count("next_ms", 0)?;
        info.quota = quota.count("quota", 1)?;
        info.window_ms = window_ms.count("window_ms", 0)?;
        let checks: Vec<Py<Self>> = match checks.0 {
            None => Vec::new(),
            Some(checks) => checks.extract()?,
        };
        let binding = usize::try_from(binding.count("binding", 0)?).unwrap_or(usize::MAX);
        if binding >= checks.len().max(1) {
            return Err(args::refused("", "binding", "must be an index in checks", binding));
        }
        let several = if checks.len() > 1 { Some((PyTuple::new(py, checks)?.unbind(), binding)) } else { None };
        let key = key.0.as_deref().map_or(Ok(Cow::Borrowed("")), |key| args::text("key", key))?;
        let named = [("key".to_owned(), Value::Text(key.clone().into_owned()))];
        let limit = match key.as_ref() {
            "" => None,
            _ => Some(Limit::object(py, tidegate::Limit::from_fields(named).map_err(limit_error)?)?.unbind()),
        };
        Ok(Self { info, limit, several, receipt: None })
    }

    /// The call was denied.
    #[getter]
    fn blocked(&self) -> bool {
        self.info.blocked
    }

    /// The call was not denied: the opposite of ``blocked``.
    #[getter]
    fn allowed(&self) -> bool {
        !self.info.blocked
    }

    #[expect(clippy::unused_self, reason = "whatever the answer is")]
    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("an answer is neither true nor false: look at its .blocked or .allowed"))
    }

    /// Whole units that would still be admitted now, after this call.
    #[getter]
    fn remaining(&self) -> u64 {
        self.info.remaining
    }

    /// Denied: milliseconds until this same call would be admitted. Admitted: until one of cost 1 would be.
    #[getter]
    fn reset_ms(&self) -> u64 {
        self.info.reset_ms
    }

    /// ``reset_ms`` in whole seconds, rounded up.
    #[getter]
    fn reset_sec(&self) -> u64 {
        self.info.reset_sec()
    }

    /// Milliseconds until the entry is empty again; 0 = it is.
    #[getter]
    fn full_reset_ms(&self) -> u64 {
        self.info.full_reset_ms
    }

    /// ``full_reset_ms`` in whole seconds, rounded up.
    #[getter]
    fn full_reset_sec(&self) -> u64 {
        self.info.full_reset_sec()
    }

    /// Milliseconds that an ``acquire`` had to wait for its turn, else 0.
    #[getter]
    fn wait_ms(&self) -> u64 {
        self.info.wait_ms
    }

    /// Milliseconds until ``remaining`` grows by one; 0 = it cannot grow.
    #[getter]
    fn next_ms(&self) -> u64 {
        self.info.next_ms
    }

    /// Milliseconds in which a full entry of the limit that decides drains.
    #[getter]
    fn window_ms(&self) -> u64 {
        self.info.window_ms
    }

    /// The shared store could not decide, and this is what was answered without it, as ``on_error`` says.
    #[getter]
    fn degraded(&self) -> bool {
        self.info.degraded
    }

    /// The key of the limit that decides.
    #[getter]
    pub(crate) fn key(&self) -> &str {
        self.limit().map_or("", |limit| limit.get().0.key())
    }

    /// The size of the limit that decides, scaled by the call's factor.
    #[getter]
    fn quota(&self) -> u64 {
        self.info.quota
    }

    /// The index in ``checks`` of the one that decides.
    ///
    /// That is the blocked one with the largest reset, else the one with the least remaining; the first of equals.
    #[getter]
    fn binding(&self) -> usize {
        self.several.as_ref().map_or(0, |(_, binding)| *binding)
    }

    /// The answer of each check, in order; of a single check, this answer itself.
    #[getter]
    pub(crate) fn checks<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        match &this.get().several {
            Some((checks, _)) => Ok(checks.bind(this.py()).clone()),
            None => PyTuple::new(this.py(), [this]),
        }
    }

    /// All of it by the names of its properties, for logs and JSON; ``checks`` only where there were several.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
    /// >>> {name: value for name, value in info.to_dict().items() if name in ("allowed", "remaining", "key")}
    /// {'allowed': True, 'remaining': 9, 'key': 'login'}
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("blocked", self.blocked())?;
        dict.set_item("allowed", self.allowed())?;
        let numbers = [
            ("remaining", self.remaining()),
            ("reset_ms", self.reset_ms()),
            ("reset_sec", self.reset_sec()),
            ("full_reset_ms", self.full_reset_ms()),
            ("full_reset_sec", self.full_reset_sec()),
            ("wait_ms", self.wait_ms()),
            ("next_ms", self.next_ms()),
            ("window_ms", self.window_ms()),
            ("quota", self.quota()),
        ];
        for (name, number) in numbers {
            dict.set_item(name, number)?;
        }
        dict.set_item("degraded", self.degraded())?;
        dict.set_item("key", self.key())?;
        dict.set_item("binding", self.binding())?;
        if let Some((checks, _)) = &self.several {
            let checks = checks.bind(py).iter().map(|check| check.cast_into::<Self>()?.get().to_dict(py));
            dict.set_item("checks", checks.collect::<PyResult<Vec<_>>>()?)?;
        }
        Ok(dict)
    }

    /// The HTTP fields that go with this answer.
    ///
    /// ``"x"``: ``X-RateLimit-Remaining`` and ``X-RateLimit-Clear``, in a denial ``X-RateLimit-Reset`` and
    /// ``Retry-After`` too. ``"common"``: ``X-RateLimit-Limit``, ``-Remaining`` and ``-Reset``, which is in seconds or
    /// an ``"epoch"``, and ``Retry-After``. ``"ietf"``: those of draft-ietf-httpapi-ratelimit-headers, in the form of
    /// one ``draft`` (6, 7, 11 or ``"editors"``). ``"both"``: ``"x"`` and ``"ietf"``. Or ``"none"``.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
    /// >>> info.headers()
    /// {'X-RateLimit-Remaining': '9', 'X-RateLimit-Clear': '1'}
    /// >>> info.headers("common")
    /// {'X-RateLimit-Limit': '10', 'X-RateLimit-Remaining': '9', 'X-RateLimit-Reset': '1'}
    /// >>> info.headers("ietf")
    /// {'RateLimit-Policy': '"login";q=10;w=10', 'RateLimit': '"login";r=9;t=1'}
    #[pyo3(
        signature = (kind = Arg(None), *, draft = Arg(None), reset = Arg(None)),
        text_signature = "($self, kind='x', *, draft=11, reset='seconds')"
    )]
    fn headers<'py>(
        this: &Bound<'py, Self>,
        kind: Arg<'_, 'py>,
        draft: Arg<'_, 'py>,
        reset: Arg<'_, 'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let read = |given: Arg<'_, 'py>| given.0.map(|given| value::read(&given)).transpose();
        let style = match (read(kind)?, read(draft)?, read(reset)?) {
            (None, None, None) => Style::X,
            (kind, draft, reset) => {
                let kind = kind.unwrap_or_else(|| Value::Text("x".to_owned()));
                style_of("kind", kind, draft, reset).map_err(limit_error)?
            }
        };
        let info = &this.get().info;
        let headers = if style == Style::X {
            style.fields(info, &[], 0)
        } else {
            let checks = Self::checks_with_costs(this)?;
            let policies: Vec<_> = checks.iter().map(|(check, cost)| check.get().policy(*cost)).collect();
            style.fields(info, &policies, this.get().binding())
        };
        let fields = PyDict::new(this.py());
        for (name, value) in headers {
            fields.set_item(PyString::intern(this.py(), name), value)?;
        }
        Ok(fields)
    }

    /// How pydantic reads and writes it.
    #[classmethod]
    #[pyo3(signature = (source, handler, /))]
    fn __get_pydantic_core_schema__<'py>(
        cls: &Bound<'py, PyType>,
        source: &Bound<'py, PyAny>,
        handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (source, handler);
        value::pydantic_schema(cls)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tidegate::LimitInfo { remaining, reset_ms, full_reset_ms, wait_ms, quota, .. } = self.info;
        let binding = self.binding();
        let spelled = |fact| if fact { "True" } else { "False" };
        let (blocked, degraded) = (spelled(self.info.blocked), spelled(self.info.degraded));
        let key = self.key().into_pyobject(py)?.repr()?;
        Ok(format!(
            "LimitInfo(blocked={blocked}, remaining={remaining}, reset_ms={reset_ms}, full_reset_ms={full_reset_ms}, \
             wait_ms={wait_ms}, key={key}, quota={quota}, binding={binding}, \
             degraded={degraded})"
        ))
    }

    fn __eq__(this: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = this.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let (one, two) = (this.get(), other.get());
        let same_checks = || match (&one.several, &two.several) {
            (Some((one, _)), Some((two, _))) => one.bind(py).as_any().eq(two),
            (one, two) => Ok(one.is_none() && two.is_none()),
        };
        let same = one.info == two.info && one.key() == two.key() && one.binding() == two.binding() && same_checks()?;
        Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key(), self.info.numbers()).hash(&mut hasher);
        hasher.finish()
    }

    /// This very answer, which never changes: a copy would be a second receipt.
    fn __copy__<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.clone()
    }

    fn __deepcopy__<'py>(this: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        this.clone()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let py = this.py();
        let remake = py.import("tidegate._tidegate")?.getattr("_info")?;
        let Self { info, several, .. } = this.get();
        let limit = this.get().limit().map(|limit| limit.clone_ref(py));
        let several = several.as_ref().map(|(checks, binding)| (checks.clone_ref(py), *binding));
        Ok((remake, (info.numbers(), limit, several)))
    }
}

/// What an answer is pickled as.
type Parts = (Numbers, Option<Py<Limit>>, Option<(Py<PyTuple>, usize)>);

/// What ``pickle`` makes an equal answer with.
#[pyfunction]
#[pyo3(name = "_info", signature = (numbers, limit, several, /))]
pub(crate) fn remake(numbers: Numbers, limit: Option<Py<Limit>>, several: Option<(Py<PyTuple>, usize)>) -> LimitInfo {
    LimitInfo { info: tidegate::LimitInfo::from_numbers(numbers), limit, several, receipt: None }
}

impl LimitInfo {
    /// The answers of the checks, with what each cost, where that is known.
    pub(crate) fn checks_with_costs<'py>(this: &Bound<'py, Self>) -> PyResult<Vec<(Bound<'py, Self>, Option<u64>)>> {
        let checks: Vec<Bound<'py, Self>> = Self::checks(this)?.extract()?;
        let asked = this.get().receipt.as_ref().map_or(&[][..], |receipt| receipt.asked.all());
        // A legacy limit can have two answers.
        let known = asked.len() == checks.len();
        Ok(checks.into_iter().enumerate().map(|(at, check)| (check, known.then(|| asked[at].cost))).collect())
    }

    /// The answer of one check for its headers.
    pub(crate) fn policy(&self, cost: Option<u64>) -> Policy<'_> {
        let policy = Policy::new(self.key(), &self.info);
        cost.map_or(policy, |units| policy.cost(units))
    }

    /// What a call of a single check cost.
    pub(crate) fn cost(&self) -> Option<u64> {
        match self.receipt.as_ref()?.asked.all() {
            [one] => Some(one.cost),
            _ => None,
        }
    }

    /// It has an answer for each of several checks.
    pub(crate) fn is_several(&self) -> bool {
        self.several.is_some()
    }

    /// The one that decides; there is none where nothing was asked.
    fn limit(&self) -> Option<&Py<Limit>> {
        self.limit.as_ref().or_else(|| match self.receipt.as_ref()?.asked.all() {
            [one] => Some(&one.limit),
            _ => None,
        })
    }

    /// The engine's answer to what was asked.
    #[inline]
    pub(crate) fn of(py: Python<'_>, receipt: Receipt, info: tidegate::LimitInfo) -> PyResult<Self> {
        match receipt.asked.all() {
            [_] if info.checks().len() == 1 => Ok(Self { info, limit: None, several: None, receipt: Some(receipt) }),
            _ => Self::several(py, receipt, &info),
        }
    }

    /// The charge that this answer names, with the instants of its checks where they differ.
    pub(crate) fn charge(&self, py: Python<'_>) -> Charge {
        let mut charge = Charge::from(&self.info);
        if let Some((checks, _)) = &self.several {
            let checks = checks.bind(py).iter().filter_map(|check| check.cast_into::<Self>().ok());
            charge.date(checks.map(|check| (check.get().info.check_index(), check.get().info.at)));
        }
        charge
    }

    fn several(py: Python<'_>, receipt: Receipt, info: &tidegate::LimitInfo) -> PyResult<Self> {
        let limit = |info: &tidegate::LimitInfo| {
            receipt.asked.all().get(info.check_index()).map(|asked| asked.limit.clone_ref(py))
        };
        let several = match info.checks() {
            [_] => None,
            checks => {
                let part = |info: &tidegate::LimitInfo| {
                    Bound::new(py, Self { info: info.clone(), limit: limit(info), several: None, receipt: None })
                };
                let checks = checks.iter().map(part).collect::<PyResult<Vec<_>>>()?;
                Some((PyTuple::new(py, checks)?.unbind(), info.binding()))
            }
        };
        let (merged, limit) = (tidegate::LimitInfo::from_numbers(info.numbers()), limit(info));
        Ok(Self { info: merged, limit, several, receipt: Some(receipt) })
    }
}
