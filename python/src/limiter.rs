//! The front door.
//!
//! In memory no call gives up the interpreter's lock: a decision takes a fraction of what handing it over and back does.
//! So no other thread of Python's can hold a lock of the store when this process forks. Over a shared store every call
//! waits without the lock.
//!
//! All methods of a class stand in one block here, most of it what `help()` shows, because to gather several costs a
//! registry that is filled before `main`. What they do is in the modules below.

mod decide;
mod read;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwapOption, Guard};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tidegate::Call;

pub(crate) use self::read::Question;
use crate::args::{self, Arg};
use crate::asked::{Part, first_key};
use crate::bridge::About;
use crate::errors::closed;
use crate::explain::Standing;
use crate::green::Hub;
use crate::info::LimitInfo;
use crate::literals::Literals;
use crate::receipt::{Asked, Owner};
use crate::stats;
use crate::store::{self, Recipe};
use crate::turn::Turn;
use crate::waiting::Waiting;

/// Decides calls against limits, and keeps what has to be kept in its store.
///
/// ``url`` says where: ``"memory://"`` is this process's memory, at most ``max_entries`` entries of it; when full, clients
/// without an entry are counted together. Limiters in memory share nothing. Any number of threads may use one, and in a
/// forked child it keeps working, with entries or connections of its own.
///
/// ``"redis://[user:password@]host[:port][/database]"`` is a store that a fleet shares: Redis or Valkey, over TLS with
/// ``rediss://``, a socket with ``unix:///path``, ``redis+sentinel://host,…/service`` or ``redis+cluster://host,…``.
/// One decision is one round trip, at the server's clock. No call waits for it for longer than ``timeout``.
///
/// ``options``, all of them keywords; ``None`` is as if one were not given:
///
/// - ``namespace``: what the names of all keys begin with (``"tidegate"``)
/// - ``timeout``: how long a decision may take, in seconds or as a ``timedelta`` (0.1)
/// - ``on_error``: what a call is answered that the store cannot decide by then: ``"local"`` enforces the limit in this
///   process alone, with at most ``max_entries`` entries; ``"allow"`` admits; ``"deny"`` denies for a second;
///   ``"raise"`` raises ``StoreError``. The first three say ``degraded`` in the answer (``"local"``)
/// - ``max_entries``: how many entries this process keeps at most (1,000,000)
/// - ``deny_cache``: for how long a call that was denied is denied again without asking; 0 always asks (1.0)
/// - ``wait_replicas``: how many replicas have to acknowledge a charge before its call is answered (0)
/// - ``strategy``: ``"transactions"`` is for servers that run no scripts (``"script"``)
/// - ``layout``: ``"sharkey"`` is for servers that are shared with nodes of Sharkey (``"own"``)
/// - ``username`` and ``password``, in place of the URL's; ``sentinel_username`` and ``sentinel_password``, with which
///   sentinels are asked. A password may be a function that returns it, and so may ``url``; then the limiter can be
///   pickled, with the function in the pickle. One that was given a password cannot.
/// - ``ssl_ca_certs``, ``ssl_certfile`` and ``ssl_keyfile``: PEM files for TLS: whom to trust, and this client's
///   certificate and key, which may be in one file; ``ssl_cert_reqs="none"`` trusts everybody, and is warned of
///
/// A limiter begins to connect when it is made, and one that is dropped ends its connections. What happens to a
/// store is logged under ``tidegate``. In memory all options are checked, and those of a shared store change nothing:
/// only the URL has to differ between stores.
///
/// ``clock`` is for tests and simulations: a function that returns seconds since the epoch, such as a
/// ``tidegate.testing.Clock``. Each call without a ``now`` of its own is then decided at the instant that it tells, and
/// ``acquire`` answers at once.
///
/// ``close()``, or the end of a ``with`` block, ends its connections; later calls raise ``ClosedError``.
///
/// Wherever a call takes a limit, it may be a definition, a mapping in the wire form, or a list of them, which are then
/// decided together for one actor: all are charged or none. It may also be a function that is called with ``context``
/// and returns any of these, for limits that depend on who asks.
///
/// Every call raises ``LimitError`` for a definition, cost, factor or time that cannot be, and stores nothing then.
///
/// >>> from tidegate import Bucket, Limiter
/// >>> limiter = Limiter()
/// >>> login = Bucket("login", size=2)
/// >>> [limiter.limit(login, "203.0.113.9").blocked for attempt in range(3)]
/// [False, False, True]
#[pyclass(frozen, weakref, module = "tidegate")]
pub(crate) struct Limiter {
    /// Tells its answers from those of others.
    pub(crate) owner: Owner,
    /// Until it is closed.
    engine: ArcSwapOption<tidegate::Limiter>,
    /// The same one where nobody shares it: there is nothing to end, and a flag is quicker to look at.
    memory: Option<tidegate::Limiter>,
    closed: AtomicBool,
    literals: Literals,
    /// Only where others share its store.
    recipe: Option<Recipe>,
    /// Tells seconds since the epoch, instead of the engine's own.
    clock: Option<Py<PyAny>>,
}

/// The engine of a limiter for the time of a call, if it was open then.
pub(crate) type Opened = Guard<Option<Arc<tidegate::Limiter>>>;

#[pymethods]
impl Limiter {
    #[new]
    #[pyo3(signature = (url = Arg(None), **options), text_signature = "(url='memory://', **options)")]
    fn new(py: Python<'_>, url: Arg<'_, '_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let clock = options.map_or(Ok(None), |options| options.get_item("clock"))?;
        let clock = args::clock(Arg(clock.as_ref().map(Bound::as_borrowed)))?;
        let (engine, recipe) = store::engine(py, url, options)?;
        let memory = if recipe.is_none() { Some(engine.clone()) } else { None };
        let (engine, closed) = (ArcSwapOption::from_pointee(engine), AtomicBool::new(false));
        Ok(Self { owner: Owner::new(), engine, memory, closed, literals: Literals::default(), recipe, clock })
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
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None), *, context = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None, *, context=None)"
    )]
    fn limit(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
        context: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.decide(Call::Limit, &Question { limit, actor, cost, factor, context }, now)
    }

    /// What ``limit`` would say; charges nothing.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter = Limiter()
    /// >>> limiter.peek(Bucket("login", size=10), "203.0.113.9").remaining
    /// 10
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None), *, context = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None, *, context=None)"
    )]
    fn peek(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
        context: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.decide(Call::Peek, &Question { limit, actor, cost, factor, context }, now)
    }

    /// Charges ``cost`` units even where they do not fit, as for use that is paid afterwards.
    ///
    /// Nothing is charged, and the call is an error, where that would take the level above 2**52 units, or above what
    /// drains in 2**53 microseconds (285 years).
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> info = Limiter().charge(Bucket("rows", size=10), "ada", cost=25)
    /// >>> info.blocked, info.reset_ms
    /// (False, 16000)
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None), *, context = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None, *, context=None)"
    )]
    fn charge(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
        context: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.decide(Call::Charge, &Question { limit, actor, cost, factor, context }, now)
    }

    /// Gives ``cost`` units back, never below empty.
    ///
    /// Given an answer of ``limit``, ``charge``, ``acquire`` or ``limit_all`` instead of a limit and an actor, it gives
    /// back what that very call was charged, less what has drained since, however late: never what a later call was
    /// charged. It does so once; then, and where nothing was charged, it says how things stand and changes nothing.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter, login = Limiter(), Bucket("login", size=10)
    /// >>> limiter.limit(login, "ada").remaining, limiter.refund(login, "ada").remaining
    /// (9, 10)
    /// >>> info = limiter.limit(login, "ada", cost=4)
    /// >>> limiter.refund(info).remaining
    /// 10
    #[pyo3(
        signature = (
            limit, actor = Arg(None), cost = Arg(None), factor = Arg(None), now = Arg(None), *, context = Arg(None)
        ),
        text_signature = "($self, limit, actor=None, cost=1, factor=1.0, now=None, *, context=None)"
    )]
    fn refund(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: Arg<'_, '_>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
        context: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        if let Ok(info) = limit.cast::<LimitInfo>() {
            Self::alone(info.get().key(), actor, cost, factor)?;
            return self.settle_info(info, None, now);
        }
        let actor = actor.0.map_or_else(|| limit.py().None().into_bound(limit.py()), pyo3::Borrowed::to_owned);
        self.decide(Call::Refund, &Question { limit, actor: &actor, cost, factor, context }, now)
    }

    /// Makes of what the call of ``info`` was charged what was used: gives the difference back or charges it, once.
    ///
    /// ``cost`` is what each check really cost; a list of costs, in order, where the checks of a ``limit_all`` cost
    /// differently. What is given back is at most what has not drained since, as with ``refund``; what is charged may
    /// not fit, as with ``charge``. Nothing is changed of a call that was denied without being charged.
    ///
    /// >>> from tidegate import Limiter, TokenBucket
    /// >>> limiter, tokens = Limiter(), TokenBucket("tokens", count=1000, period=60_000)
    /// >>> info = limiter.limit(tokens, "ada", cost=500)
    /// >>> limiter.settle(info, 320).remaining
    /// 680
    #[pyo3(signature = (info, cost, now = Arg(None)), text_signature = "($self, info, cost, now=None)")]
    fn settle(&self, info: &Bound<'_, PyAny>, cost: &Bound<'_, PyAny>, now: Arg<'_, '_>) -> PyResult<LimitInfo> {
        self.settle_info(info, Some(cost), now)
    }

    /// Removes what was charged to this actor; of several limits all at once.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter, door = Limiter(), Bucket("door", size=1)
    /// >>> _ = limiter.limit(door, "ada")
    /// >>> limiter.reset(door, "ada")
    /// >>> limiter.limit(door, "ada").blocked
    /// False
    #[pyo3(
        signature = (limit, actor, *, context = Arg(None)),
        text_signature = "($self, limit, actor, *, context=None)"
    )]
    fn reset(&self, limit: &Bound<'_, PyAny>, actor: &Bound<'_, PyAny>, context: Arg<'_, '_>) -> PyResult<()> {
        let parts = self.parts(&Question { limit, actor, cost: Arg(None), factor: Arg(None), context })?;
        let checks: Vec<_> = parts.iter().map(Part::check).collect();
        self.ask(limit.py(), Call::Reset, &checks, None).map(drop)
    }

    /// Waits for its turn, at most ``max_wait`` seconds, or a ``timedelta``; ``None`` is however long it takes.
    ///
    /// Where that is not enough it is blocked, at once and uncharged. Turns come in the order in which they were asked
    /// for. A wait that is interrupted, as by Ctrl-C, is refunded. With ``now`` or a ``clock`` it answers at once, and
    /// ``wait_ms`` says how long to wait: the caller owns the time.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter, mail = Limiter(), Bucket("mail", size=1, drip_rate=20)
    /// >>> [limiter.acquire(mail, "ada", max_wait=1.0).blocked for message in range(3)]
    /// [False, False, False]
    #[pyo3(
        signature = (
            limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None),
            *, max_wait = Arg(None), context = Arg(None)
        ),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None, *, max_wait=None, context=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "as many as Python's")]
    fn acquire(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
        max_wait: Arg<'_, '_>,
        context: Arg<'_, '_>,
    ) -> PyResult<Py<LimitInfo>> {
        let py = limit.py();
        let owns_time = !now.is_none() || self.clock.is_some();
        if !owns_time && self.recipe.is_none() {
            return Py::new(py, self.start_acquire(limit, actor, cost, factor, max_wait, context)?.wait(py)?);
        }
        let parts = self.parts(&Question { limit, actor, cost, factor, context })?;
        let max_wait = max_wait.max_wait(first_key(&parts))?;
        if owns_time {
            return Py::new(py, self.decide_several(py, Call::Acquire { max_wait }, &parts, now)?);
        }
        match Hub::current(py)? {
            Some(hub) => {
                let engine = self.opened();
                let engine = engine.as_deref().ok_or_else(closed)?;
                let checks: Vec<_> = parts.iter().map(Part::check).collect();
                let about = About::Turn(self.owner, Asked::of(&parts)?);
                let waiting = Waiting::begin(py, self, engine.start_acquire(&checks, max_wait), about, &hub.bridge()?)?;
                let info = hub.wait(waiting.future.bind(py)).inspect_err(|_| waiting.give_up())?;
                Ok(info.cast_into::<LimitInfo>()?.unbind())
            }
            None => Py::new(py, self.turn(&parts, max_wait)?.wait(py)?),
        }
    }

    /// Decides checks for several actors together, all or nothing: ``(limit, actor[, cost[, factor]])`` each.
    ///
    /// >>> from tidegate import Bucket, Limiter, TokenBucket
    /// >>> login, api = Bucket("login", size=10), TokenBucket("api", count=100, period=60_000)
    /// >>> info = Limiter().limit_all([(login, "203.0.113.9"), (api, "ada", 5)])
    /// >>> [check.remaining for check in info.checks]
    /// [9, 95]
    #[pyo3(
        signature = (checks, now = Arg(None), *, context = Arg(None)),
        text_signature = "($self, checks, now=None, *, context=None)"
    )]
    fn limit_all(&self, checks: &Bound<'_, PyAny>, now: Arg<'_, '_>, context: Arg<'_, '_>) -> PyResult<LimitInfo> {
        self.decide_checks(Call::Limit, checks, now, context)
    }

    /// What ``limit_all`` would say; charges nothing.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> Limiter().peek_all([(Bucket("login", size=10), "203.0.113.9", 3)]).remaining
    /// 10
    #[pyo3(
        signature = (checks, now = Arg(None), *, context = Arg(None)),
        text_signature = "($self, checks, now=None, *, context=None)"
    )]
    fn peek_all(&self, checks: &Bound<'_, PyAny>, now: Arg<'_, '_>, context: Arg<'_, '_>) -> PyResult<LimitInfo> {
        self.decide_checks(Call::Peek, checks, now, context)
    }

    /// Why ``limit`` would answer what it would now, in words; charges nothing.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> print(Limiter().explain(Bucket("login", size=10), "ada"))
    /// "login" would admit this call: all 10 units are free.
    #[pyo3(
        signature = (limit, actor, cost = Arg(None), factor = Arg(None), now = Arg(None), *, context = Arg(None)),
        text_signature = "($self, limit, actor, cost=1, factor=1.0, now=None, *, context=None)"
    )]
    fn explain(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        now: Arg<'_, '_>,
        context: Arg<'_, '_>,
    ) -> PyResult<Standing> {
        let parts = self.parts(&Question { limit, actor, cost, factor, context })?;
        let checks: Vec<_> = parts.iter().map(Part::check).collect();
        let now = self.now(limit.py(), first_key(&parts), now)?;
        let info = self.ask(limit.py(), Call::Peek, &checks, now)?;
        Standing::of(limit.py(), self.owner, Asked::of(&parts)?, info)
    }

    /// What it has done with a shared store in this process; of one in memory nothing is counted.
    ///
    /// >>> from tidegate import Limiter
    /// >>> stats = Limiter().stats()
    /// >>> stats.decisions, stats.breaker
    /// (0, 'closed')
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        stats::of(py, &self.opened().as_deref().ok_or_else(closed)?.stats())
    }

    /// Has the store decide once and says how fit it is, for the start of a program and for health checks.
    ///
    /// It tries what a bucket needs: the connection, the user's rights, scripts, replicas where some are waited for; of
    /// a cluster every primary is asked. Whatever ``on_error`` says, it raises ``StoreError`` where calls would not be
    /// decided, which says what is wrong; what is not as it should be otherwise is among the ``warnings``. In memory
    /// there is nothing that could be wrong.
    ///
    /// >>> from tidegate import Limiter
    /// >>> Limiter().ping().warnings
    /// ()
    fn ping<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        stats::health(py, &self.aside(py, tidegate::Limiter::ping_sync)?)
    }

    /// Removes every entry of this limiter's namespace, for tests and operators, and says how many keys there were.
    ///
    /// In memory it removes every entry of the store.
    ///
    /// A server is asked in steps, with ``SCAN`` and ``UNLINK``, which its user must be allowed; so it takes longer the
    /// more keys there are, of others too. With ``layout="sharkey"`` it takes the entries of Sharkey's own nodes along.
    ///
    /// >>> from tidegate import Bucket, Limiter
    /// >>> limiter = Limiter()
    /// >>> _ = limiter.limit(Bucket("door", size=1), "ada")
    /// >>> limiter.clear(), limiter.entries
    /// (1, 0)
    fn clear(&self, py: Python<'_>) -> PyResult<u64> {
        self.aside(py, tidegate::Limiter::clear_sync)
    }

    /// How many entries actors have of their own now, drained ones that have not been dropped yet included.
    ///
    /// Of a shared store these are those of the time in which it could not decide.
    #[getter]
    fn entries(&self) -> PyResult<usize> {
        Ok(self.opened().as_deref().ok_or_else(closed)?.memory().len())
    }

    /// How many entries that had drained were dropped at once because the store was full.
    #[getter]
    fn evictions(&self) -> PyResult<u64> {
        Ok(self.opened().as_deref().ok_or_else(closed)?.memory().evictions())
    }

    /// Ends its connections; calls under way are still answered.
    ///
    /// Any later call raises ``ClosedError``, but for another ``close``. A limiter that is dropped needs none.
    ///
    /// >>> from tidegate import Limiter
    /// >>> limiter = Limiter()
    /// >>> limiter.close()
    /// >>> limiter
    /// <Limiter closed>
    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        drop(self.engine.swap(None));
    }

    fn __enter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        this.get().opened().as_deref().ok_or_else(closed)?;
        Ok(this.clone())
    }

    #[pyo3(signature = (kind, error, trace, /))]
    fn __exit__(&self, kind: &Bound<'_, PyAny>, error: &Bound<'_, PyAny>, trace: &Bound<'_, PyAny>) {
        let _ = (kind, error, trace);
        self.close();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.recipe.as_ref().map_or(Ok(()), |recipe| recipe.traverse(&visit))?;
        visit.call(&self.clock)
    }

    /// How many calls were decided by an entry that is shared with others, because the store was full.
    ///
    /// Where this grows, clients are denied early: ``max_entries`` is too small for the traffic, or somebody makes
    /// names up. A warning says so too, once a minute.
    #[getter]
    fn overflowed(&self) -> PyResult<u64> {
        Ok(self.opened().as_deref().ok_or_else(closed)?.memory().overflowed())
    }

    fn __repr__(&self) -> String {
        match (self.opened().as_deref(), &self.recipe) {
            (None, _) => "<Limiter closed>".to_owned(),
            (Some(engine), None) => format!("<Limiter memory:// entries={}>", engine.memory().len()),
            (Some(engine), Some(_)) => format!("<Limiter {}>", engine.url()),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        self.recipe()?.reduce(py)
    }

    /// The limiter itself: there is nothing in it that a copy could change.
    fn __copy__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.recipe()?;
        Ok(slf)
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__<'py>(slf: PyRef<'py, Self>, memo: &Bound<'py, PyAny>) -> PyResult<PyRef<'py, Self>> {
        let _ = memo;
        Self::__copy__(slf)
    }

    /// Whether others share its store, so that a call may have to wait for an answer.
    #[getter(_shared)]
    fn is_shared(&self) -> bool {
        self.recipe.is_some()
    }

    /// Whether a clock of the caller's decides when a call happens.
    #[getter(_clocked)]
    fn is_clocked(&self) -> bool {
        self.clock.is_some()
    }

    /// Begins an ``acquire``, for a caller with a way of its own to sleep.
    #[pyo3(
        name = "_start_acquire",
        signature = (limit, actor, cost, factor, max_wait, context = Arg(None)),
        text_signature = "($self, limit, actor, cost, factor, max_wait, context=None)"
    )]
    fn start_acquire(
        &self,
        limit: &Bound<'_, PyAny>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
        max_wait: Arg<'_, '_>,
        context: Arg<'_, '_>,
    ) -> PyResult<Turn> {
        let parts = self.parts(&Question { limit, actor, cost, factor, context })?;
        let max_wait = max_wait.max_wait(first_key(&parts))?;
        self.turn(&parts, max_wait)
    }
}

impl Limiter {
    fn recipe(&self) -> PyResult<&Recipe> {
        let problem = "a Limiter in memory cannot be pickled or copied: make one in each process";
        self.recipe.as_ref().ok_or_else(|| PyTypeError::new_err(problem))
    }

    #[inline]
    pub(crate) fn opened(&self) -> Opened {
        self.engine.load()
    }
}
