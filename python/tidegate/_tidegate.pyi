from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, final, overload

from typing_extensions import Self, Unpack, disjoint_base

from ._stats import Health, Statistics
from ._types import Check, Duration, Limited, LimiterOptions

__version__: Final[str]

__all__ = [
    "Bucket",
    "Decay",
    "Explanation",
    "FixedWindow",
    "Legacy",
    "Limit",
    "LimitInfo",
    "Limiter",
    "SlidingCounter",
    "SlidingLog",
    "SlidingWindow",
    "Smooth",
    "Standing",
    "TokenBucket",
    "_Bridge",
    "_Turn",
    "_Waiting",
    "__version__",
    "_after_fork",
    "_begin",
    "_begin_acquire",
    "_begin_all",
    "_begin_explain",
    "_begin_refund",
    "_begin_reset",
    "_begin_settle",
    "_end_notes",
    "_info",
    "_limits_from_dict",
    "_load_limits",
    "_notes",
    "_option_names",
    "_read_limits",
    "json_schema",
]

@disjoint_base
class Limit:
    """What is limited: a type, its parameters, and a key that names the resource.

    The base of all definitions. A definition is checked and compiled when it is made, never changes, and can be
    compared, hashed and pickled. Two definitions with the same key share their entries, whatever their parameters.

    >>> from tidegate import Bucket, Limit
    >>> login = Limit.from_dict({"key": "login", "type": "bucket", "size": 10})
    >>> login == Bucket("login", size=10)
    True
    """

    @staticmethod
    def from_dict(wire: Mapping[str, object], /) -> Limit:
        """Reads a definition in the wire form, the JSON that every language shares, with durations in milliseconds.

        Raises ``LimitError`` for a field that is unknown, missing or of the wrong type, and a value out of its bounds.

        >>> from tidegate import Limit
        >>> Limit.from_dict({"key": "api", "type": "token-bucket", "count": 100, "period": 1000})
        TokenBucket('api', count=100, period=1000)
        """
    @staticmethod
    def parse(key: str, text: str, /) -> Limit:
        """Reads one limit as text, such as ``"100/minute"``, ``"5/15m burst 20"`` or ``"1000/day fixed-window"``.

        A token bucket unless a type follows: ``fixed-window``, ``sliding-window``, ``sliding-counter`` or
        ``sliding-log``. Raises ``LimitError`` for any other text, and says what was expected at which character.

        >>> from tidegate import Limit
        >>> Limit.parse("api", "5/15m burst 20")
        TokenBucket('api', count=5, period=900000, burst=20)
        >>> Limit.parse("daily", "1000/day fixed-window")
        FixedWindow('daily', max=1000, period=86400000, anchor='epoch')
        """
    @staticmethod
    def parse_all(key: str, text: str, /) -> list[Limit]:
        """Reads a list of limits as text, with ``;`` between them, to be decided together.

        A limit that stands alone has ``key`` as its key; of several, each has ``key``, an ``@`` and its period. No two
        may have the same period. Raises ``LimitError`` as ``parse``.

        >>> from tidegate import Limit
        >>> [limit.key for limit in Limit.parse_all("api", "100/minute; 10/second")]
        ['api@1m', 'api@1s']
        """
    def explain(self, factor: float = 1.0) -> Explanation:
        """What this definition allows an actor with this factor.

        Raises ``LimitError`` for a factor that cannot be.

        >>> from tidegate import Bucket
        >>> explanation = Bucket("login", size=10).explain()
        >>> print(str(explanation).splitlines()[0])
        "login" (bucket) admits 10 at once, then 1 per second.
        """
    def to_dict(self) -> dict[str, str | float | bool]:
        """The definition in the wire form.

        >>> from tidegate import Bucket
        >>> Bucket("login", size=10).to_dict()
        {'key': 'login', 'type': 'bucket', 'size': 10, 'dripRate': 1000, 'dripSize': 1, 'factorScales': 'size'}
        """
    @property
    def key(self) -> str:
        """The name of what is limited."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]: ...

@final
class Bucket(Limit):
    """A leaky bucket as a meter: up to ``size`` units at once, and ``drip_size`` more every ``drip_rate``.

    Durations are milliseconds, or a ``timedelta``; counts and durations with a fraction are rounded up.
    ``factor_scales`` says what an actor's factor scales: the ``"size"`` alone, or ``"size-and-rate"``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from datetime import timedelta
    >>> from tidegate import Bucket
    >>> Bucket("login", size=10, drip_rate=timedelta(seconds=1))
    Bucket('login', size=10, drip_rate=1000, drip_size=1, factor_scales='size')
    """

    def __new__(
        cls,
        key: str,
        *,
        size: float,
        drip_rate: Duration = 1000,
        drip_size: float = 1,
        factor_scales: Literal["size", "size-and-rate"] = "size",
    ) -> Self: ...
    @property
    def size(self) -> float:
        """How many units fit at once."""
    @property
    def drip_rate(self) -> float:
        """How often it drips, in milliseconds."""
    @property
    def drip_size(self) -> float:
        """How many units leave with each drip."""
    @property
    def factor_scales(self) -> Literal["size", "size-and-rate"]:
        """What an actor's factor scales."""

@final
class TokenBucket(Limit):
    """A token bucket, decided as GCRA does: ``count`` per ``period`` at an even pace, up to ``burst`` saved up.

    The period is milliseconds, or a ``timedelta``; ``burst=None`` is ``count``. No rate is ever rounded.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import TokenBucket
    >>> TokenBucket("api", count=100, period=1000, burst=20)
    TokenBucket('api', count=100, period=1000, burst=20)
    """

    def __new__(cls, key: str, *, count: float, period: Duration, burst: float | None = None) -> Self: ...
    @property
    def count(self) -> float:
        """How many tokens come back in a period."""
    @property
    def period(self) -> float:
        """The period, in milliseconds."""
    @property
    def burst(self) -> float | None:
        """How many tokens may be saved up; ``None`` is ``count``."""

@final
class FixedWindow(Limit):
    """At most ``max`` units in each window of a ``period``.

    The period is milliseconds, or a ``timedelta``. Windows begin at multiples of the period since the Unix epoch
    (``anchor="epoch"``), or each at an actor's first request (``"first-request"``).

    Raises ``LimitError`` for a value out of its bounds.

    >>> from datetime import timedelta
    >>> from tidegate import FixedWindow
    >>> FixedWindow("daily", max=1000, period=timedelta(days=1))
    FixedWindow('daily', max=1000, period=86400000, anchor='epoch')
    """

    def __new__(
        cls, key: str, *, max: float, period: Duration, anchor: Literal["epoch", "first-request"] = "epoch"
    ) -> Self: ...
    @property
    def max(self) -> float:
        """How many units each window admits."""
    @property
    def period(self) -> float:
        """How long a window is, in milliseconds."""
    @property
    def anchor(self) -> Literal["epoch", "first-request"]:
        """Where the windows begin."""

@final
class Legacy(Limit):
    """At most ``max`` units in a ``duration``, or one per ``min_interval``, or both; none of them is no limit.

    Durations are milliseconds, or a ``timedelta``. ``translation="bucket"`` makes one bucket of the fields, as
    ``SkRateLimiterService`` does, which rounds the rate and does not enforce ``min_interval`` beside ``max``;
    ``"exact"`` does what the fields say. ``factor_scales`` is as for a ``Bucket``.

    Raises ``LimitError`` for a value out of its bounds, and for one of ``max`` and ``duration`` without the other.

    >>> from tidegate import Legacy
    >>> Legacy("notes/create", max=300, duration=3_600_000)
    Legacy('notes/create', max=300, duration=3600000, factor_scales='size', translation='bucket')
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float | None = None,
        duration: Duration | None = None,
        min_interval: Duration | None = None,
        factor_scales: Literal["size", "size-and-rate"] = "size",
        translation: Literal["bucket", "exact"] = "bucket",
    ) -> Self: ...
    @property
    def max(self) -> float | None:
        """How many units in a ``duration``, or ``None``."""
    @property
    def duration(self) -> float | None:
        """The span in which ``max`` units are admitted, in milliseconds, or ``None``."""
    @property
    def min_interval(self) -> float | None:
        """The least time between two calls, in milliseconds, or ``None``."""
    @property
    def factor_scales(self) -> Literal["size", "size-and-rate"]:
        """What an actor's factor scales."""
    @property
    def translation(self) -> Literal["bucket", "exact"]:
        """How the fields are understood."""

@final
class SlidingWindow(Limit):
    """At most ``max`` units in any span of about a ``period``, counted in slots of a ``resolution``.

    The period and the resolution are milliseconds, or a ``timedelta``. No span of ``period - resolution`` admits more
    than ``max``. With ``count_blocked``, denied attempts are charged as well, so that only a pause helps.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import SlidingWindow
    >>> SlidingWindow("sms", max=5, period=3_600_000, resolution=600_000)
    SlidingWindow('sms', max=5, period=3600000, resolution=600000, count_blocked=False)
    """

    def __new__(
        cls, key: str, *, max: float, period: Duration, resolution: Duration, count_blocked: bool = False
    ) -> Self: ...
    @property
    def max(self) -> float:
        """How many units in a period."""
    @property
    def period(self) -> float:
        """The period, in milliseconds."""
    @property
    def resolution(self) -> float:
        """How long a slot is, in milliseconds."""
    @property
    def count_blocked(self) -> bool:
        """Whether denied attempts are charged too."""

@final
class SlidingCounter(Limit):
    """About ``max`` units in a ``period``, from the counts of two windows of which the older one fades out.

    The period is milliseconds, or a ``timedelta``. Two numbers are all that is kept. It is an approximation, not a
    bound: it takes the older window's calls to have been spread evenly.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import SlidingCounter
    >>> SlidingCounter("web", max=100, period=60_000)
    SlidingCounter('web', max=100, period=60000)
    """

    def __new__(cls, key: str, *, max: float, period: Duration) -> Self: ...
    @property
    def max(self) -> float:
        """How many units in a period."""
    @property
    def period(self) -> float:
        """The period, in milliseconds."""

@final
class SlidingLog(Limit):
    """At most ``max`` units in any span of a ``period``, exactly, and none sooner than ``min_interval`` after the last.

    Durations are milliseconds, or a ``timedelta``. It keeps an instant for each of ``max`` units. With
    ``count_blocked``, denied attempts are charged as well, so that only a pause helps.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import SlidingLog
    >>> SlidingLog("otp", max=5, period=60_000, min_interval=1000)
    SlidingLog('otp', max=5, period=60000, min_interval=1000, count_blocked=False)
    """

    def __new__(
        cls, key: str, *, max: float, period: Duration, min_interval: Duration = 0, count_blocked: bool = False
    ) -> Self: ...
    @property
    def max(self) -> float:
        """How many units in a period."""
    @property
    def period(self) -> float:
        """The period, in milliseconds."""
    @property
    def min_interval(self) -> float:
        """The least time between two calls, in milliseconds."""
    @property
    def count_blocked(self) -> bool:
        """Whether denied attempts are charged too."""

@final
class Decay(Limit):
    """A count of at most ``max`` that is divided by ``decay_factor`` every ``resolution``.

    The resolution is milliseconds, or a ``timedelta``. One number is all that is kept. With ``count_blocked``, denied
    attempts are charged as well, so that only a pause helps.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import Decay
    >>> Decay("score", max=5, decay_factor=2, resolution=1000)
    Decay('score', max=5, decay_factor=2, resolution=1000, count_blocked=False)
    """

    def __new__(
        cls, key: str, *, max: float, decay_factor: float, resolution: Duration, count_blocked: bool = False
    ) -> Self: ...
    @property
    def max(self) -> float:
        """How large the count may be."""
    @property
    def decay_factor(self) -> float:
        """What the count is divided by."""
    @property
    def resolution(self) -> float:
        """How often it is divided, in milliseconds."""
    @property
    def count_blocked(self) -> bool:
        """Whether denied attempts are charged too."""

@final
class Smooth(Limit):
    """``rate`` permits per second at an even pace, of which ``max_burst`` of idle time may be saved up.

    With a ``warmup``, a limiter that was idle starts ``cold_factor`` times as slowly and takes that long to come up to
    its rate. Durations are milliseconds, or a ``timedelta``. A call is paid for by the one after it.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import Smooth
    >>> Smooth("mailer", rate=5, warmup=3000)
    Smooth('mailer', rate=5, max_burst=1000, warmup=3000, cold_factor=3)
    """

    def __new__(
        cls, key: str, *, rate: float, max_burst: Duration = 1000, warmup: Duration = 0, cold_factor: float = 3
    ) -> Self: ...
    @property
    def rate(self) -> float:
        """How many permits come in a second."""
    @property
    def max_burst(self) -> float:
        """For how much idle time permits are saved up, in milliseconds."""
    @property
    def warmup(self) -> float:
        """How long it takes to come up to its rate, in milliseconds."""
    @property
    def cold_factor(self) -> float:
        """How many times dearer a permit is after a long pause."""

@final
class LimitInfo:
    """What a limiter answers: whether the call may pass, and what is left. Durations are rounded up.

    >>> from tidegate import Bucket, Limiter
    >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
    >>> info.blocked, info.remaining, info.full_reset_ms
    (False, 9, 1000)

    Limiters make them; a test that stands in for one may too, of what the code that it tests looks at:

    >>> from tidegate import LimitInfo
    >>> LimitInfo(blocked=True, reset_ms=1500).headers()["Retry-After"]
    '2'
    """

    def __new__(
        cls,
        *,
        blocked: bool = False,
        remaining: int = 0,
        reset_ms: int = 0,
        full_reset_ms: int = 0,
        wait_ms: int = 0,
        next_ms: int = 0,
        quota: int = 1,
        window_ms: int = 0,
        degraded: bool = False,
        key: str = "",
        binding: int = 0,
        checks: Sequence[LimitInfo] = (),
    ) -> Self: ...
    @property
    def blocked(self) -> bool:
        """The call was denied."""
    @property
    def allowed(self) -> bool:
        """The call was not denied: the opposite of ``blocked``."""
    def __bool__(self) -> NoReturn: ...
    @property
    def remaining(self) -> int:
        """Whole units that would still be admitted now, after this call."""
    @property
    def reset_ms(self) -> int:
        """Denied: milliseconds until this same call would be admitted. Admitted: until one of cost 1 would be."""
    @property
    def reset_sec(self) -> int:
        """``reset_ms`` in whole seconds, rounded up."""
    @property
    def full_reset_ms(self) -> int:
        """Milliseconds until the entry is empty again; 0 = it is."""
    @property
    def full_reset_sec(self) -> int:
        """``full_reset_ms`` in whole seconds, rounded up."""
    @property
    def wait_ms(self) -> int:
        """Milliseconds that an ``acquire`` had to wait for its turn, else 0."""
    @property
    def next_ms(self) -> int:
        """Milliseconds until ``remaining`` grows by one; 0 = it cannot grow."""
    @property
    def window_ms(self) -> int:
        """Milliseconds in which a full entry of the limit that decides drains."""
    @property
    def degraded(self) -> bool:
        """The shared store could not decide, and this is what was answered without it, as ``on_error`` says."""
    @property
    def key(self) -> str:
        """The key of the limit that decides."""
    @property
    def quota(self) -> int:
        """The size of the limit that decides, scaled by the call's factor."""
    @property
    def binding(self) -> int:
        """The index in ``checks`` of the one that decides.

        That is the blocked one with the largest reset, else the one with the least remaining; the first of equals.
        """
    @property
    def checks(self) -> tuple[LimitInfo, ...]:
        """The answer of each check, in order; of a single check, this answer itself."""
    def to_dict(self) -> dict[str, Any]:
        """All of it by the names of its properties, for logs and JSON; ``checks`` only where there were several.

        >>> from tidegate import Bucket, Limiter
        >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
        >>> {name: value for name, value in info.to_dict().items() if name in ("allowed", "remaining", "key")}
        {'allowed': True, 'remaining': 9, 'key': 'login'}
        """
    def headers(self, kind: Literal["x", "ietf", "both"] = "x", *, draft: Literal[6, 7, 11] = 11) -> dict[str, str]:
        """The HTTP fields that go with this answer.

        ``"x"``: ``X-RateLimit-Remaining`` and ``X-RateLimit-Clear``, in a denial ``X-RateLimit-Reset`` and
        ``Retry-After`` too. ``"ietf"``: those of draft-ietf-httpapi-ratelimit-headers, in the form of one ``draft``
        (6, 7 or 11). Or ``"both"``.

        >>> from tidegate import Bucket, Limiter
        >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
        >>> info.headers()
        {'X-RateLimit-Remaining': '9', 'X-RateLimit-Clear': '1'}
        >>> info.headers("ietf")
        {'RateLimit-Policy': '"login";q=10;w=10', 'RateLimit': '"login";r=9;t=1'}
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Explanation:
    """What a definition allows: ``str()`` says it in words, ``to_dict()`` in numbers.

    >>> from tidegate import Bucket
    >>> print(Bucket("login", size=10).explain())
    "login" (bucket) admits 10 at once, then 1 per second.
    At most 11 in any second, 70 in any minute, 3,610 in any hour, 86,410 in any day.
    A full one that is left alone is as new after 10 s.
    """

    def to_dict(self) -> dict[str, Any]:
        """The numbers, under the names that every language shares; ``None`` is no bound.

        >>> from tidegate import Bucket
        >>> Bucket("login", size=10).explain().to_dict()["allowances"][0]["mostInMinute"]
        70
        """
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any: ...

@final
class Standing:
    """Why a limiter would answer what it would: ``str()`` says it in words.

    >>> from tidegate import Bucket, Limiter
    >>> limiter, login = Limiter(), Bucket("login", size=10)
    >>> _ = limiter.limit(login, "ada", cost=3, now=0)
    >>> standing = limiter.explain(login, "ada", now=600)
    >>> print(standing)
    "login" would admit this call: 7 of 10 units are free, the next comes back in 0.4 s, all of them in 2.4 s.
    >>> standing.info.remaining
    7
    """

    @property
    def info(self) -> LimitInfo:
        """What ``peek`` would have answered."""
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any: ...

@final
class Limiter:
    """Decides calls against limits, and keeps what has to be kept in its store.

    ``url`` says where: ``"memory://"`` is this process's memory, at most ``max_entries`` entries of it; when full, the
    one closest to empty makes room. Limiters in memory share nothing. Any number of threads may use one, and in a
    forked child it keeps working, with entries or connections of its own.

    ``"redis://[user:password@]host[:port][/database]"`` is a store that a fleet shares: Redis or Valkey, over TLS with
    ``rediss://``, a socket with ``unix:///path``, ``redis+sentinel://host,…/service`` or ``redis+cluster://host,…``.
    One decision is one round trip, at the server's clock. No call waits for it for longer than ``timeout``.

    ``options``, all of them keywords; ``None`` is as if one were not given:

    - ``namespace``: what the names of all keys begin with (``"tidegate"``)
    - ``timeout``: how long a decision may take, in seconds or as a ``timedelta`` (0.1)
    - ``on_error``: what a call is answered that the store cannot decide by then: ``"local"`` enforces the limit in this
      process alone, with at most ``max_entries`` entries; ``"allow"`` admits; ``"deny"`` denies for a second;
      ``"raise"`` raises ``StoreError``. The first three say ``degraded`` in the answer (``"local"``)
    - ``max_entries``: how many entries this process keeps at most (1,000,000)
    - ``deny_cache``: for how long a call that was denied is denied again without asking; 0 always asks (1.0)
    - ``wait_replicas``: how many replicas have to acknowledge a charge before its call is answered (0)
    - ``strategy``: ``"transactions"`` is for servers that run no scripts (``"script"``)
    - ``layout``: ``"sharkey"`` is for servers that are shared with nodes of Sharkey (``"own"``)
    - ``username`` and ``password``, in place of the URL's; ``sentinel_username`` and ``sentinel_password``, with which
      sentinels are asked. A password may be a function that returns it, and so may ``url``; then the limiter can be
      pickled, with the function in the pickle. One that was given a password cannot.
    - ``ssl_ca_certs``, ``ssl_certfile`` and ``ssl_keyfile``: PEM files for TLS: whom to trust, and this client's
      certificate and key, which may be in one file; ``ssl_cert_reqs="none"`` trusts everybody, and is warned of

    A limiter begins to connect when it is made, and one that is dropped ends its connections. What happens to a
    store is logged under ``tidegate``. In memory all options are checked, and those of a shared store change nothing:
    only the URL has to differ between stores.

    ``clock`` is for tests and simulations: a function that returns seconds since the epoch, such as a
    ``tidegate.testing.Clock``. Each call without a ``now`` of its own is then decided at the instant that it tells, and
    ``acquire`` answers at once.

    ``close()``, or the end of a ``with`` block, ends its connections; later calls raise ``ClosedError``.

    Wherever a call takes a limit, it may be a definition, a mapping in the wire form, or a list of them, which are then
    decided together for one actor: all are charged or none. It may also be a function that is called with ``context``
    and returns any of these, for limits that depend on who asks.

    Every call raises ``LimitError`` for a definition, cost, factor or time that cannot be, and stores nothing then.

    >>> from tidegate import Bucket, Limiter
    >>> limiter = Limiter()
    >>> login = Bucket("login", size=2)
    >>> [limiter.limit(login, "203.0.113.9").blocked for attempt in range(3)]
    [False, False, True]
    """

    def __new__(cls, url: str | Callable[[], str] = "memory://", **options: Unpack[LimiterOptions]) -> Self: ...
    def limit(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Charges ``cost`` units to ``actor`` if they fit, and says so.

        ``factor`` scales the limit for this actor: 0.5 = twice the allowance, 2 = half of it, 0 = no limit. ``now`` is
        milliseconds since the epoch, for replays, tests and simulations.

        >>> from tidegate import Bucket, Limiter
        >>> Limiter().limit(Bucket("login", size=10), "203.0.113.9", cost=4).remaining
        6
        """
    def peek(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """What ``limit`` would say; charges nothing.

        >>> from tidegate import Bucket, Limiter
        >>> limiter = Limiter()
        >>> limiter.peek(Bucket("login", size=10), "203.0.113.9").remaining
        10
        """
    def charge(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Charges ``cost`` units even where they do not fit, as for use that is paid afterwards.

        >>> from tidegate import Bucket, Limiter
        >>> info = Limiter().charge(Bucket("rows", size=10), "ada", cost=25)
        >>> info.blocked, info.reset_ms
        (False, 16000)
        """
    @overload
    def refund(self, limit: LimitInfo, actor: None = None, *, now: float | None = None) -> LimitInfo: ...
    @overload
    def refund(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Gives ``cost`` units back, never below empty.

        Given an answer of ``limit``, ``charge``, ``acquire`` or ``limit_all`` instead of a limit and an actor, it gives
        back what that very call was charged, less what has drained since, however late: never what a later call was
        charged. It does so once; then, and where nothing was charged, it says how things stand and changes nothing.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, login = Limiter(), Bucket("login", size=10)
        >>> limiter.limit(login, "ada").remaining, limiter.refund(login, "ada").remaining
        (9, 10)
        >>> info = limiter.limit(login, "ada", cost=4)
        >>> limiter.refund(info).remaining
        10
        """
    def settle(self, info: LimitInfo, cost: int | Sequence[int], now: float | None = None) -> LimitInfo:
        """Makes of what the call of ``info`` was charged what was used: gives the difference back or charges it, once.

        ``cost`` is what each check really cost; a list of costs, in order, where the checks of a ``limit_all`` cost
        differently. What is given back is at most what has not drained since, as with ``refund``; what is charged may
        not fit, as with ``charge``. Nothing is changed of a call that was denied without being charged.

        >>> from tidegate import Limiter, TokenBucket
        >>> limiter, tokens = Limiter(), TokenBucket("tokens", count=1000, period=60_000)
        >>> info = limiter.limit(tokens, "ada", cost=500)
        >>> limiter.settle(info, 320).remaining
        680
        """
    def reset(self, limit: Limited, actor: str, *, context: Any = None) -> None:
        """Removes what was charged to this actor; of several limits all at once.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, door = Limiter(), Bucket("door", size=1)
        >>> _ = limiter.limit(door, "ada")
        >>> limiter.reset(door, "ada")
        >>> limiter.limit(door, "ada").blocked
        False
        """
    def acquire(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        max_wait: float | timedelta | None = None,
        context: Any = None,
    ) -> LimitInfo:
        """Waits for its turn, at most ``max_wait`` seconds, or a ``timedelta``; ``None`` is however long it takes.

        Where that is not enough it is blocked, at once and uncharged. Turns come in the order in which they were asked
        for. A wait that is interrupted, as by Ctrl-C, is refunded. With ``now`` or a ``clock`` it answers at once, and
        ``wait_ms`` says how long to wait: the caller owns the time.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, mail = Limiter(), Bucket("mail", size=1, drip_rate=20)
        >>> [limiter.acquire(mail, "ada", max_wait=1.0).blocked for message in range(3)]
        [False, False, False]
        """
    def limit_all(self, checks: Sequence[Check], now: float | None = None, *, context: Any = None) -> LimitInfo:
        """Decides checks for several actors together, all or nothing: ``(limit, actor[, cost[, factor]])`` each.

        >>> from tidegate import Bucket, Limiter, TokenBucket
        >>> login, api = Bucket("login", size=10), TokenBucket("api", count=100, period=60_000)
        >>> info = Limiter().limit_all([(login, "203.0.113.9"), (api, "ada", 5)])
        >>> [check.remaining for check in info.checks]
        [9, 95]
        """
    def peek_all(self, checks: Sequence[Check], now: float | None = None, *, context: Any = None) -> LimitInfo:
        """What ``limit_all`` would say; charges nothing.

        >>> from tidegate import Bucket, Limiter
        >>> Limiter().peek_all([(Bucket("login", size=10), "203.0.113.9", 3)]).remaining
        10
        """
    def explain(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> Standing:
        """Why ``limit`` would answer what it would now, in words; charges nothing.

        >>> from tidegate import Bucket, Limiter
        >>> print(Limiter().explain(Bucket("login", size=10), "ada"))
        "login" would admit this call: all 10 units are free.
        """
    def stats(self) -> Statistics:
        """What it has done with a shared store in this process; of one in memory nothing is counted.

        >>> from tidegate import Limiter
        >>> stats = Limiter().stats()
        >>> stats.decisions, stats.breaker
        (0, 'closed')
        """
    def ping(self) -> Health:
        """Has the store decide once and says how fit it is, for the start of a program and for health checks.

        It tries what a bucket needs: the connection, the user's rights, scripts, replicas where some are waited for; of
        a cluster every primary is asked. Whatever ``on_error`` says, it raises ``StoreError`` where calls would not be
        decided, which says what is wrong; what is not as it should be otherwise is among the ``warnings``. In memory
        there is nothing that could be wrong.

        >>> from tidegate import Limiter
        >>> Limiter().ping().warnings
        ()
        """

    def clear(self) -> int:
        """Removes every entry of this limiter's namespace, for tests and operators, and says how many keys there were.

        In memory it removes every entry of the store.

        A server is asked in steps, with ``SCAN`` and ``UNLINK``, which its user must be allowed; so it takes longer the
        more keys there are, of others too. With ``layout="sharkey"`` it takes the entries of Sharkey's own nodes along.

        >>> from tidegate import Bucket, Limiter
        >>> limiter = Limiter()
        >>> _ = limiter.limit(Bucket("door", size=1), "ada")
        >>> limiter.clear(), limiter.entries
        (1, 0)
        """

    @property
    def entries(self) -> int:
        """How many entries actors have of their own now, drained ones that have not been dropped yet included.

        Of a shared store these are those of the time in which it could not decide.
        """
    @property
    def evictions(self) -> int:
        """How many entries that had drained were dropped at once because the store was full."""
    @property
    def overflowed(self) -> int:
        """How many calls were decided by an entry that is shared with others, because the store was full.

        Where this grows, clients are denied early: ``max_entries`` is too small for the traffic, or somebody makes
        names up. A warning says so too, once a minute.
        """
    def close(self) -> None:
        """Ends its connections; calls under way are still answered.

        Any later call raises ``ClosedError``, but for another ``close``. A limiter that is dropped needs none.

        >>> from tidegate import Limiter
        >>> limiter = Limiter()
        >>> limiter.close()
        >>> limiter
        <Limiter closed>
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def _start_acquire(
        self,
        limit: Limited,
        actor: str,
        cost: int,
        factor: float,
        max_wait: float | timedelta | None,
        context: Any = None,
    ) -> _Turn:
        """Begins an ``acquire``, for a caller with a way of its own to sleep."""
    @property
    def _shared(self) -> bool:
        """Whether others share its store, so that a call may have to wait for an answer."""
    @property
    def _clocked(self) -> bool:
        """Whether a clock of the caller's decides when a call happens."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def __reduce__(self) -> Any: ...

@final
class _Turn:
    """An ``acquire`` under way."""

    def step(self) -> LimitInfo | float:
        """The answer, or how many seconds to sleep before the next step."""
    def give_up(self) -> None:
        """Leaves the line and gives a reservation back."""

@final
class _Waiting:
    """An ``acquire`` that the engine's own thread goes on with."""

    @property
    def future(self) -> Future[LimitInfo]:
        """What to await."""
    def give_up(self) -> None:
        """Leaves the line, or gives back what was charged, once."""

@final
class _Bridge:
    """The way from the stores' threads to one event loop. It lives as long as the loop watches its socket."""

    def deliver(self) -> None:
        """Hands over what has come."""

def _begin(
    limiter: Limiter,
    call: Literal["limit", "peek", "charge", "refund"],
    limit: Limited,
    actor: str,
    cost: int,
    factor: float,
    now: float | None,
    context: Any,
    /,
) -> LimitInfo | Future[LimitInfo]:
    """Begins ``limit``, ``peek``, ``charge`` or ``refund``."""

def _begin_all(
    limiter: Limiter, call: Literal["limit", "peek"], checks: Sequence[Check], now: float | None, context: Any, /
) -> LimitInfo | Future[LimitInfo]:
    """Begins ``limit_all`` or ``peek_all``."""

def _begin_explain(
    limiter: Limiter,
    limit: Limited,
    actor: str,
    cost: int,
    factor: float,
    now: float | None,
    context: Any,
    /,
) -> Standing | Future[Standing]:
    """Begins ``explain``."""

def _begin_reset(limiter: Limiter, limit: Limited, actor: str, context: Any, /) -> Future[None] | None:
    """Begins ``reset``: all of the limits together."""

def _begin_settle(
    limiter: Limiter, info: LimitInfo, cost: int | Sequence[int], now: float | None, /
) -> LimitInfo | Future[LimitInfo]:
    """Begins ``settle``."""

def _begin_refund(
    limiter: Limiter, info: LimitInfo, actor: str | None, cost: int, factor: float, now: float | None, /
) -> LimitInfo | Future[LimitInfo]:
    """Begins the ``refund`` of an answer."""

def _begin_acquire(
    limiter: Limiter,
    limit: Limited,
    actor: str,
    cost: int,
    factor: float,
    now: float | None,
    max_wait: float | timedelta | None,
    context: Any,
    /,
) -> _Waiting:
    """Begins to wait for a turn; with a ``now``, to ask for one."""

def _option_names() -> list[str]:
    """The names of all options, for the test that holds the annotations against them."""

def _notes() -> list[tuple[int, str, dict[str, str | None]] | None]:
    """What has been noted: records for the log, or ``None`` once it is over. Wakes who is to be woken."""

def _end_notes() -> None:
    """Ends the thread, and makes sure that no other begins."""

def _after_fork() -> None:
    """What a forked child does first: nothing of its parent's threads and connections is its own."""

def json_schema() -> str:
    """The JSON Schema (draft 2020-12) of the wire form, as JSON text, for editors and other validators.

    Its ``$defs`` have a document of named limits, as ``Limits`` reads it, under ``limits``.

    >>> import json
    >>> from tidegate import json_schema
    >>> json.loads(json_schema())["$defs"]["bucket"]["properties"]["dripRate"]["default"]
    1000
    """

def _limits_from_dict(named: Mapping[str, object], /) -> dict[str, Limit]:
    """The limits in a document that is a dict already, by their names."""

def _load_limits(path: str | PathLike[str], /) -> dict[str, Limit]:
    """The limits in a file, by their names."""

def _read_limits(text: str, format: str, /) -> dict[str, Limit]:
    """The limits in a document, by their names."""

def _info(
    blocked: bool,
    numbers: tuple[int, int, int, int, int, int, int, int],
    limit: Limit | None,
    several: tuple[tuple[LimitInfo, ...], int] | None,
    degraded: bool = False,
    /,
) -> LimitInfo:
    """What ``pickle`` makes an equal answer with."""
