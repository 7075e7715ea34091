//! The answer, as Python sees it.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tidegate::headers::{self, Draft, Policy};
use tidegate::{Call, State, Value};

use crate::args::{self, Arg};
use crate::limits::Limit;
use crate::receipt::{Receipt, Wanted};
use crate::value;

/// What a limiter answers: whether the call may pass, and what is left. Durations are rounded up.
///
/// >>> from tidegate import Bucket, Limiter
/// >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
/// >>> info.blocked, info.remaining, info.full_reset_ms
/// (False, 9, 1000)
#[pyclass(frozen, module = "tidegate")]
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
    /// The call was denied.
    #[getter]
    fn blocked(&self) -> bool {
        self.info.blocked
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
    fn checks<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        match &this.get().several {
            Some((checks, _)) => Ok(checks.bind(this.py()).clone()),
            None => PyTuple::new(this.py(), [this]),
        }
    }

    /// The HTTP fields that go with this answer.
    ///
    /// ``"x"``: ``X-RateLimit-Remaining`` and ``X-RateLimit-Clear``, in a denial ``X-RateLimit-Reset`` and
    /// ``Retry-After`` too. ``"ietf"``: those of draft-ietf-httpapi-ratelimit-headers, in the form of one ``draft``
    /// (6, 7 or 11). Or ``"both"``.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
    /// >>> info.headers()
    /// {'X-RateLimit-Remaining': '9', 'X-RateLimit-Clear': '1'}
    /// >>> info.headers("ietf")
    /// {'RateLimit-Policy': '"login";q=10;w=10', 'RateLimit': '"login";r=9;t=1'}
    #[pyo3(signature = (kind = Arg(None), *, draft = Arg(None)), text_signature = "($self, kind='x', *, draft=11)")]
    fn headers<'py>(this: &Bound<'py, Self>, kind: Arg<'_, 'py>, draft: Arg<'_, 'py>) -> PyResult<Bound<'py, PyDict>> {
        let kind = kind.0.as_deref().map_or(Ok(Cow::Borrowed("x")), |kind| args::text("kind", kind))?;
        let (x, ietf) = match kind.as_ref() {
            "x" => (true, false),
            "ietf" => (false, true),
            "both" => (true, true),
            _ => return Err(PyValueError::new_err(format!("kind must be \"x\", \"ietf\" or \"both\", got {kind:?}"))),
        };
        let draft = draft.0.map_or(Ok(Draft::default()), |given| read_draft(&given))?;
        let fields = PyDict::new(this.py());
        if x {
            for (name, value) in headers::x(&this.get().info) {
                fields.set_item(name, value)?;
            }
        }
        if ietf {
            for (name, value) in Self::ietf(this, draft)? {
                fields.set_item(name, value)?;
            }
        }
        Ok(fields)
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
        (self.key(), numbers(&self.info)).hash(&mut hasher);
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
        Ok((remake, (info.blocked, numbers(info), limit, several, info.degraded)))
    }
}

fn read_draft(given: &Bound<'_, PyAny>) -> PyResult<Draft> {
    let number = value::read(given)?;
    let draft = match number {
        Value::Number(number) => {
            (0..=99_u32).find(|draft| f64::from(*draft).total_cmp(&number).is_eq()).and_then(Draft::from_number)
        }
        _ => None,
    };
    draft.ok_or_else(|| PyValueError::new_err(format!("draft must be 6, 7 or 11, got {number}")))
}

/// `remaining`, `reset_ms`, `full_reset_ms`, `wait_ms`, `next_ms`, `quota`, `window_ms`, `at`.
type Numbers = (u64, u64, u64, u64, u64, u64, u64, u64);

/// What an answer is pickled as.
type Parts = (bool, Numbers, Option<Py<Limit>>, Option<(Py<PyTuple>, usize)>, bool);

fn numbers(info: &tidegate::LimitInfo) -> Numbers {
    (info.remaining, info.reset_ms, info.full_reset_ms, info.wait_ms, info.next_ms, info.quota, info.window_ms, info.at)
}

fn of_numbers(blocked: bool, degraded: bool, numbers: Numbers) -> tidegate::LimitInfo {
    let mut info = tidegate::LimitInfo::default();
    (info.blocked, info.degraded) = (blocked, degraded);
    (
        info.remaining,
        info.reset_ms,
        info.full_reset_ms,
        info.wait_ms,
        info.next_ms,
        info.quota,
        info.window_ms,
        info.at,
    ) = numbers;
    info
}

/// What ``pickle`` makes an equal answer with.
#[pyfunction]
#[pyo3(name = "_info", signature = (blocked, numbers, limit, several, degraded = false, /))]
pub(crate) fn remake(
    blocked: bool,
    numbers: Numbers,
    limit: Option<Py<Limit>>,
    several: Option<(Py<PyTuple>, usize)>,
    degraded: bool,
) -> LimitInfo {
    LimitInfo { info: of_numbers(blocked, degraded, numbers), limit, several, receipt: None }
}

impl LimitInfo {
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

    fn several(py: Python<'_>, receipt: Receipt, info: &tidegate::LimitInfo) -> PyResult<Self> {
        let asked = receipt.asked.all();
        let one_each = info.checks().len() == asked.len();
        let answers = |one: &Wanted| if one_each { 1 } else { answers(&one.limit, one.factor) };
        let limits: Vec<_> = asked.iter().flat_map(|one| std::iter::repeat_n(&one.limit, answers(one))).collect();
        let binding = info.binding();
        let limit = limits.get(binding).map(|limit| limit.clone_ref(py));
        let several = if limits.len() > 1 {
            let part = |(limit, info): (&&Py<Limit>, &tidegate::LimitInfo)| {
                let limit = Some(limit.clone_ref(py));
                Bound::new(py, Self { info: info.clone(), limit, several: None, receipt: None })
            };
            let checks = limits.iter().zip(info.checks()).map(part).collect::<PyResult<Vec<_>>>()?;
            Some((PyTuple::new(py, checks)?.unbind(), binding))
        } else {
            None
        };
        let numbers = of_numbers(info.blocked, info.degraded, numbers(info));
        Ok(Self { info: numbers, limit, several, receipt: Some(receipt) })
    }

    fn ietf(this: &Bound<'_, Self>, draft: Draft) -> PyResult<Vec<headers::Header>> {
        let checks: Vec<Bound<'_, Self>> = Self::checks(this)?.extract()?;
        let policies: Vec<_> =
            checks.iter().map(|check| Policy { key: check.get().key(), info: &check.get().info }).collect();
        Ok(headers::ietf(&policies, this.get().binding(), draft))
    }
}

/// How many answers the engine gives to a check of this limit: a legacy limit can be two.
fn answers(limit: &Py<Limit>, factor: f64) -> usize {
    let alone = limit.get().0.decide_with(State::default(), 0, Call::Peek, 1, factor);
    alone.map_or(1, |(info, _)| info.checks().len())
}
