//! The front door.
//!
//! No call gives up the interpreter's lock: a decision takes a fraction of what handing it over and back does. So no
//! other thread of Python's can hold a lock of the store when this process forks.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use tidegate::{Call, Check, Memory, Micros};

use crate::args::{self, Arg};
use crate::asked::{Part, checks_of, is_list};
use crate::errors::call_error;
use crate::info::LimitInfo;
use crate::limits::Limit;
use crate::literals::Literals;
use crate::turn::Turn;
use crate::value;

/// Decides calls against limits, and keeps what has to be kept in its store.
///
/// ``url`` says where: ``"memory://"`` is this process's memory, at most ``max_entries`` entries of it; when full, the
/// one closest to empty makes room. Limiters share nothing. Any number of threads may use one, and in a forked child
/// it keeps working, with entries of its own.
///
/// Wherever a call takes a limit, it may be a definition, a mapping in the wire form, or a list of them, which are then
/// decided together for one actor: all are charged or none.
///
/// Every call raises ``LimitError`` for a definition, cost, factor or time that cannot be, and stores nothing then.
///
/// >>> from tidegate import Bucket, Limiter
/// >>> limiter = Limiter()
/// >>> login = Bucket("login", size=2)
/// >>> [limiter.limit(login, "203.0.113.9").blocked for attempt in range(3)]
/// [False, False, True]
#[pyclass(frozen, module = "tidegate")]
pub(crate) struct Limiter {
    engine: tidegate::Limiter,
    literals: Literals,
}

#[pymethods]
impl Limiter {
    #[new]
    #[pyo3(
        signature = (url = Arg(None), *, namespace = Arg(None), max_entries = Arg(None)),
        text_signature = "(url='memory://', *, namespace='tidegate', max_entries=1000000)"
    )]
    fn new(url: Arg<'_, '_>, namespace: Arg<'_, '_>, max_entries: Arg<'_, '_>) -> PyResult<Self> {
        url.0.map_or(Ok(()), |url| check_url(&args::text("url", &url)?))?;
        let memory = max_entries.0.map_or(Ok(Memory::new()), |most| memory(&most))?;
        let engine = tidegate::Limiter::new(memory);
        let engine = match namespace.0 {
            None => engine,
            Some(name) => engine.namespace(&args::text("namespace", &name)?),
        };
        Ok(Self { engine, literals: Literals::default() })
    }

    /// Charges ``cost`` units to ``actor`` if they fit, and says so.
    ///
    /// ``factor`` scales the limit for this actor: 0.5 = twice the allowance, 2 = half of it, 0 = no limit. ``now`` is
    /// milliseconds since the epoch, for replays, tests and simulations.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> Limiter().limit(Bucket("login", size=10), "203.0.113.9", cost=4).remaining
    /// 6
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None)"
    )]
    fn limit(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.decide(Call::Limit, &Asked { limit, actor, cost, factor }, now)
    }

    /// What ``limit`` would say; charges nothing.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter = Limiter()
    /// >>> limiter.peek(Bucket("login", size=10), "203.0.113.9").remaining
    /// 10
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None)"
    )]
    fn peek(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.decide(Call::Peek, &Asked { limit, actor, cost, factor }, now)
    }

    /// Charges ``cost`` units even where they do not fit, as for use that is paid afterwards.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> info = Limiter().charge(Bucket("rows", size=10), "ada", cost=25)
    /// >>> info.blocked, info.reset_ms
    /// (False, 16000)
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None)"
    )]
    fn charge(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.decide(Call::Charge, &Asked { limit, actor, cost, factor }, now)
    }

    /// Gives ``cost`` units back, never below empty.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter, login = Limiter(), Bucket("login", size=10)
    /// >>> limiter.limit(login, "ada").remaining, limiter.refund(login, "ada").remaining
    /// (9, 10)
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None)"
    )]
    fn refund(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.decide(Call::Refund, &Asked { limit, actor, cost, factor }, now)
    }

    /// Forgets what was charged to this actor.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter, door = Limiter(), Bucket("door", size=1)
    /// >>> _ = limiter.limit(door, "ada")
    /// >>> limiter.reset(door, "ada")
    /// >>> limiter.limit(door, "ada").blocked
    /// False
    #[pyo3(signature = (limit, actor))]
    fn reset(&self, limit: &Bound<'_, PyAny>, actor: &Bound<'_, PyAny>) -> PyResult<()> {
        let limits = self.read_all(limit)?;
        for limit in &limits {
            let limit = &limit.get().0;
            self.engine.reset_sync(limit, &args::actor(limit.key(), actor)?).map_err(call_error)?;
        }
        Ok(())
    }

    /// Waits for its turn, at most ``max_wait`` seconds, or a ``timedelta``; ``None`` is however long it takes.
    ///
    /// Where that is not enough it is blocked, at once and uncharged. Turns come in the order in which they were asked
    /// for. A wait that is interrupted, as by Ctrl-C, is refunded. With ``now`` given it answers at once, and
    /// ``wait_ms`` says how long to wait: the caller owns the time.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter, mail = Limiter(), Bucket("mail", size=1, drip_rate=20)
    /// >>> [limiter.acquire(mail, "ada", max_wait=1.0).blocked for message in range(3)]
    /// [False, False, False]
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None), *, max_wait = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None, *, max_wait=None)"
    )]
    fn acquire(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
        max_wait: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        if now.is_none() {
            return self.start_acquire(limit, actor, cost, factor, max_wait)?.wait(limit.py());
        }
        let first = self.read_all(limit)?.into_iter().next();
        let max_wait = max_wait.max_wait(first.as_ref().map_or("", |limit| limit.get().0.key()))?;
        self.decide(Call::Acquire { max_wait }, &Asked { limit, actor, cost, factor }, now)
    }

    /// Decides checks for several actors together, all or nothing: ``(limit, actor[, cost[, factor]])`` each.
    ///
    /// >>> from tidegate import Bucket, Limiter, TokenBucket
    /// >>> login, api = Bucket("login", size=10), TokenBucket("api", count=100, period=60_000)
    /// >>> info = Limiter().limit_all([(login, "203.0.113.9"), (api, "ada", 5)])
    /// >>> [check.remaining for check in info.checks]
    /// [9, 95]
    #[pyo3(
        signature = (checks, now = Arg(None)),
        text_signature = "($self, checks, now=None)"
    )]
    fn limit_all(&self, checks: &Bound<'_, PyAny>, now: Arg<'_, '_>) -> PyResult<LimitInfo> {
        self.decide_checks(Call::Limit, checks, now)
    }

    /// What ``limit_all`` would say; charges nothing.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> Limiter().peek_all([(Bucket("login", size=10), "203.0.113.9", 3)]).remaining
    /// 10
    #[pyo3(
        signature = (checks, now = Arg(None)),
        text_signature = "($self, checks, now=None)"
    )]
    fn peek_all(&self, checks: &Bound<'_, PyAny>, now: Arg<'_, '_>) -> PyResult<LimitInfo> {
        self.decide_checks(Call::Peek, checks, now)
    }

    /// How many entries are kept now, drained ones that have not been dropped yet included.
    #[getter]
    fn entries(&self) -> usize {
        self.engine.memory().len()
    }

    /// How many entries were given up because the store was full.
    #[getter]
    fn evictions(&self) -> u64 {
        self.engine.memory().evictions()
    }

    fn __repr__(&self) -> String {
        format!("<Limiter memory:// entries={}>", self.entries())
    }

    #[expect(clippy::unused_self, reason = "a method to Python")]
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Limiter in memory cannot be pickled or copied: make one in each process"))
    }

    /// Begins an ``acquire``, for a caller with a way of its own to sleep.
    #[pyo3(name = "_start_acquire", signature = (limit, actor, cost, factor, max_wait))]
    fn start_acquire(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        max_wait: Arg<'_, '_>,
    ) -> PyResult<Turn> {
        let parts = self.parts(&Asked { limit, actor, cost, factor })?;
        let max_wait = max_wait.max_wait(parts.first().map_or("", |part| part.limit.get().0.key()))?;
        let checks: Vec<_> = parts.iter().map(Part::check).collect();
        Ok(Turn::new(self.engine.start_acquire(&checks, max_wait), &parts))
    }
}

/// What a call is about, as it was given.
struct Asked<'a, 'py> {
    limit: &'a Bound<'py, PyAny>,
    actor: &'a Bound<'py, PyAny>,
    cost: Arg<'a, 'py>,
    factor: Arg<'a, 'py>,
}

impl Limiter {
    #[inline]
    fn decide(&self, call: Call, asked: &Asked<'_, '_>, now: Arg<'_, '_>) -> PyResult<LimitInfo> {
        if let Ok(limit) = asked.limit.cast::<Limit>() {
            return self.decide_one(call, limit, asked, now);
        }
        if !is_list(asked.limit) {
            return self.decide_one(call, &self.read(asked.limit)?, asked, now);
        }
        self.decide_several(asked.limit.py(), call, &self.parts(asked)?, now)
    }

    fn parts<'a, 'py>(&self, asked: &Asked<'a, 'py>) -> PyResult<Vec<Part<'a, 'py>>> {
        let limits = self.read_all(asked.limit)?.into_iter();
        limits.map(|limit| Part::new(limit, asked.actor, asked.cost, asked.factor)).collect()
    }

    /// The definitions that a call was given.
    fn read_all<'py>(&self, limit: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, Limit>>> {
        if is_list(limit) {
            limit.try_iter()?.map(|limit| self.read(&limit?)).collect()
        } else {
            Ok(vec![self.read(limit)?])
        }
    }

    #[inline]
    fn decide_one(
        &self,
        call: Call,
        limit: &Bound<'_, Limit>,
        asked: &Asked<'_, '_>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        let definition = &limit.get().0;
        let key = definition.key();
        let actor = args::actor(key, asked.actor)?;
        let (cost, factor) = (asked.cost.cost(key)?, asked.factor.factor(key)?);
        let check = Check::new(definition, &actor).cost(cost).factor(factor);
        let info = self.ask(call, &[check], now.now(key)?)?;
        LimitInfo::of(limit.py(), &[(limit, factor)], info)
    }

    fn decide_checks<'py>(&self, call: Call, checks: &Bound<'py, PyAny>, now: Arg<'_, 'py>) -> PyResult<LimitInfo> {
        let given = checks_of(checks)?;
        let parts = given.iter().map(|given| {
            let optional = |at: usize| Arg(given.get(at).map(Bound::as_borrowed));
            Part::new(self.read(&given[0])?, &given[1], optional(2), optional(3))
        });
        self.decide_several(checks.py(), call, &parts.collect::<PyResult<Vec<_>>>()?, now)
    }

    fn decide_several(
        &self,
        py: Python<'_>,
        call: Call,
        parts: &[Part<'_, '_>],
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        let key = parts.first().map_or("", |part| part.limit.get().0.key());
        let checks: Vec<_> = parts.iter().map(Part::check).collect();
        let info = self.ask(call, &checks, now.now(key)?)?;
        let asked: Vec<_> = parts.iter().map(|part| (&part.limit, part.factor)).collect();
        LimitInfo::of(py, &asked, info)
    }

    #[inline]
    fn ask(&self, call: Call, checks: &[Check<'_>], now: Option<Micros>) -> PyResult<tidegate::LimitInfo> {
        match now {
            None => self.engine.decide_sync(checks, call),
            Some(now) => self.engine.decide_sync_at(checks, call, now),
        }
        .map_err(call_error)
    }

    fn read<'py>(&self, limit: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Limit>> {
        if let Ok(limit) = limit.cast::<Limit>() {
            return Ok(limit.clone());
        }
        match limit.cast::<PyDict>() {
            Ok(dict) => self.literals.read(dict),
            Err(_) => Limit::from_wire(limit),
        }
    }
}

fn check_url(url: &str) -> PyResult<()> {
    if url == "memory://" {
        return Ok(());
    }
    // The rest of an address may hold a password.
    let scheme = url.split_once(':').map_or("one without a scheme", |(scheme, _)| scheme);
    Err(PyValueError::new_err(format!("url must be \"memory://\", the only store yet, got {scheme:.20}")))
}

fn memory(max_entries: &Bound<'_, PyAny>) -> PyResult<Memory> {
    match max_entries.cast::<PyBool>().is_err().then(|| max_entries.extract::<usize>()) {
        Some(Ok(most)) if most > 0 => Ok(Memory::with_max_entries(most)),
        _ => {
            let given = value::read(max_entries)?;
            Err(PyValueError::new_err(format!("max_entries must be a whole number of at least 1, got {given}")))
        }
    }
}
