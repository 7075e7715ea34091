from asyncio import Future
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, MutableMapping, Sequence
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from threading import Event
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, final, overload

from typing_extensions import Self, Unpack, disjoint_base

from ._drafts import Draft
from ._http import GateOptions
from ._stats import Health, Metric, Statistics, Top
from ._types import Check, Costs, Duration, Limited, LimiterOptions

__version__: Final[str]

# True for mypy alone.
MYPY: Final = False

__all__ = [
    "_APP",
    "_CANDIDATE",
    "CallExplanation",
    "Estimator",
    "Explanation",
    "Held",
    "Limit",
    "LimitInfo",
    "Limiter",
    "_AcquireHandle",
    "_AcquireSteps",
    "_AsyncCalls",
    "_Denials",
    "_Document",
    "_Gate",
    "_Hold",
    "_Names",
    "_Outgoing",
    "_Plan",
    "_Refusal",
    "_Renewals",
    "_Report",
    "_TrialCounts",
    "_Watched",
    "__version__",
    "_after_fork",
    "_command",
    "_counted_twice",
    "_end_log",
    "_exiting",
    "_forget_mistakes",
    "_imported",
    "_info_from_pickle",
    "_key_of",
    "_limits_from_dict",
    "_load_limits",
    "_mistake_page",
    "_mistakes",
    "_option_names",
    "_parse_headers",
    "_read_limits",
    "_request_error",
    "_request_error_parts",
    "_route_name",
    "_take_log_records",
    "_template",
    "_usage_names",
    "client_of",
    "json_schema",
]

@disjoint_base
class Limit:
    """A limit: its type, its parameters, and a key: the name of the limited action.

    The base of all definitions. A definition is checked and compiled when it is made, never changes, and can be
    compared, hashed and pickled. Two definitions with the same key share their entries, whatever their parameters.

    >>> from tidegate import Bucket, Limit
    >>> login = Limit.from_dict({"key": "login", "type": "bucket", "size": 10})
    >>> login == Bucket("login", size=10)
    True
    """

    @staticmethod
    def from_dict(wire: Mapping[str, object], /) -> Limit:
        """Read a definition in the wire form, the JSON that every language shares, with durations in milliseconds.

        Raises ``LimitError`` for a field that is unknown, missing or of the wrong type, and a value out of its bounds.

        >>> from tidegate import Limit
        >>> Limit.from_dict({"key": "api", "type": "token-bucket", "count": 100, "period": 1000})
        TokenBucket('api', count=100, period=1000)
        """
    @property
    def _holds(self) -> bool:
        """Its units are held until they are released or their lease is over."""
    @staticmethod
    def parse(key: str, text: str, /) -> Limit:
        """Read one limit as text, such as ``"100/minute"``, ``"5/15m burst 20"`` or ``"1000/day fixed-window"``.

        A token bucket unless a type follows: ``fixed-window``, ``sliding-window``, ``sliding-counter``,
        ``sliding-log`` or ``calendar-window``. Raises ``LimitError`` for any other text, and says what was expected at
        which character.

        >>> from tidegate import Limit
        >>> Limit.parse("api", "5/15m burst 20")
        TokenBucket('api', count=5, period=900000, burst=20)
        >>> Limit.parse("daily", "1000/day fixed-window")
        FixedWindow('daily', max=1000, period=86400000, anchor='epoch')
        """
    @staticmethod
    def parse_all(key: str, text: str, /) -> list[Limit]:
        """Read a list of limits as text, with ``;`` between them, to be decided together.

        A limit that stands alone has ``key`` as its key; of several, each has ``key``, an ``@`` and its period. No two
        may have the same period. Raises ``LimitError`` as ``parse``.

        >>> from tidegate import Limit
        >>> [limit.key for limit in Limit.parse_all("api", "100/minute; 10/second")]
        ['api@1m', 'api@1s']
        """
    def explain(self, factor: float = 1.0) -> Explanation:
        """Explain what this definition allows an actor with this factor.

        Raises ``LimitError`` for a factor out of bounds.

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
        """The name of the limited action."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

# <generated by `make generate` from core/src/limit>
__all__ += [
    "Bucket",
    "CalendarWindow",
    "Concurrency",
    "Decay",
    "FixedWindow",
    "Legacy",
    "SlidingCounter",
    "SlidingLog",
    "SlidingWindow",
    "Smooth",
    "TokenBucket",
]

@final
class Bucket(Limit):
    """A leaky bucket as a meter: up to ``size`` units at once, then ``drip_size`` more every ``drip_rate``.

    A full bucket admits ``drip_size`` units with each drip. An actor's factor scales the size, or with
    ``factor_scales`` the rate as well. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import Bucket
    >>> Bucket("login", size=10, drip_rate=1000)
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
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def size(self) -> float:
        """Units that fit at once."""
    @property
    def drip_rate(self) -> float:
        """Time from one drip to the next. In milliseconds."""
    @property
    def drip_size(self) -> float:
        """Units that leave with each drip."""
    @property
    def factor_scales(self) -> Literal["size", "size-and-rate"]:
        """Effect of an actor's factor: on the size, or on the size and the rate."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class TokenBucket(Limit):
    """A token bucket, decided as GCRA does: ``count`` tokens per ``period`` at an even pace, up to ``burst`` saved up.

    No rate is rounded. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import TokenBucket
    >>> TokenBucket("api", count=100, period=1000, burst=20)
    TokenBucket('api', count=100, period=1000, burst=20)
    """

    def __new__(
        cls,
        key: str,
        *,
        count: float,
        period: Duration,
        burst: float | None = None,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def count(self) -> float:
        """Tokens that come back in a period."""
    @property
    def period(self) -> float:
        """Span that the count is for. In milliseconds."""
    @property
    def burst(self) -> float | None:
        """Tokens that may be saved up; ``count`` unless given."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class FixedWindow(Limit):
    """At most ``max`` units in each window of a ``period``.

    Where two windows meet, up to twice ``max`` may pass at once. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import FixedWindow
    >>> FixedWindow("daily", max=1000, period=86400000)
    FixedWindow('daily', max=1000, period=86400000, anchor='epoch')
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float,
        period: Duration,
        anchor: Literal["epoch", "first-request"] = "epoch",
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def max(self) -> float:
        """Units in each window."""
    @property
    def period(self) -> float:
        """Span that the count is for. In milliseconds."""
    @property
    def anchor(self) -> Literal["epoch", "first-request"]:
        """The start of windows: at multiples of the period since the Unix epoch, or at an actor's first request."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class SlidingWindow(Limit):
    """At most ``max`` units in a ``period``, counted in slots of a ``resolution``.

    No span of ``period`` less ``resolution`` admits more than ``max``. It keeps a count for each slot in use. Durations
    are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import SlidingWindow
    >>> SlidingWindow("sms", max=5, period=3600000, resolution=600000)
    SlidingWindow('sms', max=5, period=3600000, resolution=600000, count_blocked=False)
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float,
        period: Duration,
        resolution: Duration,
        count_blocked: bool = False,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def max(self) -> float:
        """Units in a period."""
    @property
    def period(self) -> float:
        """Span that the count is for. In milliseconds."""
    @property
    def resolution(self) -> float:
        """Length of a slot, at most the period. In milliseconds."""
    @property
    def count_blocked(self) -> bool:
        """Charges denied attempts too, so that only a pause helps."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class SlidingCounter(Limit):
    """About ``max`` units in a ``period``, from the counts of two windows of which the older one fades out.

    It keeps two numbers. It is an approximation, not a bound: it takes the older window's calls to have been spread
    evenly. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import SlidingCounter
    >>> SlidingCounter("web", max=100, period=60000)
    SlidingCounter('web', max=100, period=60000)
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float,
        period: Duration,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def max(self) -> float:
        """Units in a period, about."""
    @property
    def period(self) -> float:
        """Span that the count is for. In milliseconds."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class SlidingLog(Limit):
    """At most ``max`` units in any span of a ``period``, exactly, and none sooner than ``min_interval`` after the last.

    It keeps an instant for each of up to ``max`` units. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import SlidingLog
    >>> SlidingLog("otp", max=5, period=60000, min_interval=1000)
    SlidingLog('otp', max=5, period=60000, min_interval=1000, count_blocked=False)
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float,
        period: Duration,
        min_interval: Duration = 0,
        count_blocked: bool = False,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def max(self) -> float:
        """Units in any span of a period."""
    @property
    def period(self) -> float:
        """Span that the count is for. In milliseconds."""
    @property
    def min_interval(self) -> float:
        """Least time between two calls. In milliseconds."""
    @property
    def count_blocked(self) -> bool:
        """Charges denied attempts too, so that only a pause helps."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class Decay(Limit):
    """A count of at most ``max`` that is divided by ``decay_factor`` every ``resolution``.

    It keeps one number. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import Decay
    >>> Decay("score", max=5, decay_factor=2, resolution=1000)
    Decay('score', max=5, decay_factor=2, resolution=1000, count_blocked=False)
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float,
        decay_factor: float,
        resolution: Duration,
        count_blocked: bool = False,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def max(self) -> float:
        """Highest count."""
    @property
    def decay_factor(self) -> float:
        """Divisor of the count."""
    @property
    def resolution(self) -> float:
        """Time between two divisions. In milliseconds."""
    @property
    def count_blocked(self) -> bool:
        """Charges denied attempts too, so that only a pause helps."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class Smooth(Limit):
    """``rate`` permits per second at an even pace; unused time is saved up, at most ``max_burst`` of it.

    A call is admitted at once, and the next one waits for what it cost. With a ``warmup``, a limiter that was idle
    starts ``cold_factor`` times as slowly and takes that long to reach its rate. Durations are milliseconds, or a
    ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import Smooth
    >>> Smooth("mailer", rate=5, warmup=3000)
    Smooth('mailer', rate=5, max_burst=1000, warmup=3000, cold_factor=3)
    """

    def __new__(
        cls,
        key: str,
        *,
        rate: float,
        max_burst: Duration = 1000,
        warmup: Duration = 0,
        cold_factor: float = 3,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def rate(self) -> float:
        """Permits per second."""
    @property
    def max_burst(self) -> float:
        """Idle time for which permits are saved up, where there is no warm-up. In milliseconds."""
    @property
    def warmup(self) -> float:
        """Time to reach the rate after a pause. In milliseconds."""
    @property
    def cold_factor(self) -> float:
        """Price of a permit after a long pause, in usual permits."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class CalendarWindow(Limit):
    """At most ``max`` units in each day, week, month or year of a time zone.

    Each window begins at midnight there; a shorter month begins on its last day if it has no other. The rules of time
    zones are those of a database within this library. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import CalendarWindow
    >>> CalendarWindow("plan", max=10000, unit="month", time_zone="Europe/Berlin")
    CalendarWindow('plan', max=10000, unit='month', time_zone='Europe/Berlin')
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float,
        unit: Literal["day", "week", "month", "year"],
        time_zone: str = "UTC",
        starts_on: float | None = None,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def max(self) -> float:
        """Units in each window."""
    @property
    def unit(self) -> Literal["day", "week", "month", "year"]:
        """Length of a window."""
    @property
    def time_zone(self) -> str:
        """Time zone whose midnights count, by its IANA name."""
    @property
    def starts_on(self) -> float | None:
        """First day of a window: of a week 1 (Monday) to 7, of a month 1 to 31; 1 if left out."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class Concurrency(Limit):
    """At most ``max`` units at once, each held until it is released or its ``lease`` is over.

    Who is admitted holds the units of the call, renews them while it works, and releases them. It keeps an instant for
    each of them. Durations are milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds.

    >>> from tidegate import Concurrency
    >>> Concurrency("exports", max=3, lease=60000)
    Concurrency('exports', max=3, lease=60000)
    """

    def __new__(
        cls,
        key: str,
        *,
        max: float,
        lease: Duration,
        block_for: Duration = 0,
        block_growth: float = 1,
        block_max: Duration | None = None,
    ) -> Self: ...
    @property
    def max(self) -> float:
        """Units that are held at once."""
    @property
    def lease(self) -> float:
        """Time after which a unit that nobody renews is free again. In milliseconds."""
    @property
    def block_for(self) -> float:
        """Time for which a denial closes the limit; 0 = it does not. In milliseconds."""
    @property
    def block_growth(self) -> float:
        """Factor by which the next block is longer, if the last one is over for less than its own length."""
    @property
    def block_max(self) -> float | None:
        """Longest block that ``block_growth`` leads to; ``block_for`` unless given. In milliseconds."""

@final
class Legacy(Limit):
    """At most ``max`` units in a ``duration``, or one per ``min_interval``, or both; none of them is no limit.

    The translation ``bucket`` makes one bucket of the fields, as ``SkRateLimiterService`` does: it rounds the rate and
    does not enforce ``min_interval`` beside ``max``. The translation ``exact`` does what the fields say. Durations are
    milliseconds, or a ``timedelta``.

    Raises ``LimitError`` for a value out of its bounds, and for one of ``max`` and ``duration`` without the other.

    >>> from tidegate import Legacy
    >>> Legacy("notes/create", max=300, duration=3600000)
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
        """Units in a duration."""
    @property
    def duration(self) -> float | None:
        """Span in which ``max`` units are admitted; 0 is no limit. In milliseconds."""
    @property
    def min_interval(self) -> float | None:
        """Least time between two calls. In milliseconds."""
    @property
    def factor_scales(self) -> Literal["size", "size-and-rate"]:
        """Effect of an actor's factor: on the size, or on the size and the rate."""
    @property
    def translation(self) -> Literal["bucket", "exact"]:
        """Meaning of the fields: one bucket with its rate rounded, or exactly what they say."""

# </generated>

@final
class LimitInfo:
    """The answer of a limiter: the call was admitted or denied, and what remains. Durations are rounded up.

    >>> from tidegate import Bucket, Limiter
    >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
    >>> info.blocked, info.remaining, info.full_reset_ms
    (False, 9, 1000)

    Limiters make them. A test that replaces a limiter may make one too, with the fields that its code reads:

    >>> from tidegate import LimitInfo
    >>> LimitInfo(blocked=True, reset_ms=1500).headers()["Retry-After"]
    '2'
    """

    # <generated by `make generate` from core/src/info.rs>
    def __new__(
        cls,
        *,
        blocked: bool = False,
        degraded: bool = False,
        remaining: int = ...,
        reset_ms: int = 0,
        full_reset_ms: int = 0,
        wait_ms: int = 0,
        next_ms: int = 0,
        quota: int = ...,
        window_ms: int = 0,
        granted: int = 0,
        key: str = "",
        actor: str = "",
        binding: int = 0,
        checks: Sequence[LimitInfo] = (),
    ) -> Self: ...
    @property
    def blocked(self) -> bool:
        """The call was denied."""
    @property
    def degraded(self) -> bool:
        """The shared store could not decide, and the fallback policy answered."""
    @property
    def remaining(self) -> int:
        """Whole units that would still be admitted now, after this call; 2^53 - 1 where nothing is limited."""
    @property
    def reset_ms(self) -> int:
        """Denied: time until this same call would be admitted.

        Admitted: time until a call of cost 1 would be; 0 = at once. In milliseconds.
        """
    @property
    def full_reset_ms(self) -> int:
        """Time until the entry is empty again; 0 if it is. In milliseconds."""
    @property
    def wait_ms(self) -> int:
        """Time that an ``acquire`` waits for its turn, else 0. In milliseconds."""
    @property
    def next_ms(self) -> int:
        """Time until ``remaining`` grows by one; 0 if it cannot grow. In milliseconds."""
    @property
    def quota(self) -> int:
        """Size of the limit that decided, scaled by the call's factor."""
    @property
    def window_ms(self) -> int:
        """Time that a full entry of the limit that decided takes to drain. In milliseconds."""
    @property
    def granted(self) -> int:
        """Units that were admitted: the cost of the call, or with ``at_least`` as much of it as it got; 0 if denied."""
    @property
    def reset_sec(self) -> int:
        """``reset_ms`` in whole seconds, rounded up."""
    @property
    def full_reset_sec(self) -> int:
        """``full_reset_ms`` in whole seconds, rounded up."""
    # </generated>
    @property
    def allowed(self) -> bool:
        """The call was not denied: the opposite of ``blocked``."""
    # Where this never returns, mypy checks nothing behind a condition. Without it, mypy reports the condition, with the
    # error code ``truthy-bool``. Pyright reports it only if it never returns.
    if not MYPY:  # noqa: PYI002
        def __bool__(self) -> NoReturn: ...
    @property
    def key(self) -> str:
        """The key of the limit that decides."""
    @property
    def actor(self) -> str:
        """The actor of the check that decides: the string of the call."""
    @property
    def observed(self) -> bool:
        """The result of a limit in shadow mode, which is not enforced."""
    @property
    def binding(self) -> int:
        """The index in ``checks`` of the one that decides.

        That is the blocked one with the largest reset, else the one with the least remaining; the first of equals.
        """
    @property
    def checks(self) -> tuple[LimitInfo, ...]:
        """The answer of each check, in order; of a single check, this answer itself."""
    @property
    def _check(self) -> int:
        """The index of the check that it belongs to; a legacy limit can have two answers to one check."""
    @property
    def _lease(self) -> float | None:
        """The seconds until what its call holds is free again unless it is renewed; `None` where it holds nothing."""
    def to_dict(self) -> dict[str, Any]:
        """Return all properties by name, for logs and JSON; ``checks`` only if there were several.

        >>> from tidegate import Bucket, Limiter
        >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
        >>> {name: value for name, value in info.to_dict().items() if name in ("remaining", "key", "actor")}
        {'remaining': 9, 'key': 'login', 'actor': '203.0.113.9'}
        """
    def headers(
        self,
        kind: Literal["x", "common", "ietf", "both", "none"] = "x",
        *,
        draft: Draft = 11,
        reset: Literal["seconds", "epoch"] = "seconds",
    ) -> dict[str, str]:
        """Return the HTTP headers of this answer.

        ``"x"``: ``X-RateLimit-Remaining`` and ``X-RateLimit-Clear``, in a denial ``X-RateLimit-Reset`` and
        ``Retry-After`` too. ``"common"``: ``X-RateLimit-Limit``, ``-Remaining`` and ``-Reset``, which is in seconds or
        an ``"epoch"``, and ``Retry-After``. ``"ietf"``: those of draft-ietf-httpapi-ratelimit-headers, in the form of
        one ``draft`` (6, 7, 11 or ``"editors"``). ``"both"``: ``"x"`` and ``"ietf"``. Or ``"none"``.

        >>> from tidegate import Bucket, Limiter
        >>> info = Limiter().limit(Bucket("login", size=10), "203.0.113.9")
        >>> info.headers()
        {'X-RateLimit-Remaining': '9', 'X-RateLimit-Clear': '1'}
        >>> info.headers("common")
        {'X-RateLimit-Limit': '10', 'X-RateLimit-Remaining': '9', 'X-RateLimit-Reset': '1'}
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
    """The allowance of a definition: in words with ``str()``, in numbers with ``to_dict()``.

    >>> from tidegate import Bucket
    >>> print(Bucket("login", size=10).explain())
    "login" (bucket) admits 10 at once, then 1 per second.
    At most 10 in any second, 69 in any minute, 3,609 in any hour, 86,409 in any day.
    A full entry empties in 10 s.
    """

    def to_dict(self) -> dict[str, Any]:
        """The numbers, under the names that every language shares; ``None`` is no bound.

        >>> from tidegate import Bucket
        >>> Bucket("login", size=10).explain().to_dict()["allowances"][0]["mostInMinute"]
        69
        """
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any: ...

@final
class CallExplanation:
    """The reasons for an answer of a limiter: in words with ``str()``.

    >>> from tidegate import Bucket, Limiter
    >>> limiter, login = Limiter(), Bucket("login", size=10)
    >>> _ = limiter.limit(login, "ada", cost=3, now=0)
    >>> explanation = limiter.explain(login, "ada", now=600)
    >>> print(explanation)
    "login" would admit this call: 7 of 10 units are free, the next comes back in 0.4 s, all of them in 2.4 s.
    >>> explanation.info.remaining
    7
    """

    @property
    def info(self) -> LimitInfo:
        """The answer that ``peek`` would have given."""
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any, /) -> Any: ...

@final
class Limiter:
    """A rate limiter: decides calls against limits, and keeps their state in its store.

    ``url`` names the store. ``"memory://"`` is the memory of this process, with at most ``max_entries`` entries; when
    it is full, clients without an entry are counted together. Limiters in memory share nothing. Any number of threads
    may use one. In a forked child it keeps working, with entries or connections of its own.

    ``"redis://[user:password@]host[:port][/database]"`` is a store that processes share: Redis or Valkey, over TLS with
    ``rediss://``, a socket with ``unix:///path``, ``redis+sentinel://host,…/service`` or ``redis+cluster://host,…``.
    A decision is one round trip, at the server's clock. A call waits for at most ``timeout``, plus the
    time that the machine takes to wake it.

    ``options`` are keywords; ``None`` is the default:

    - ``namespace``: the prefix of all keys (``"tidegate"``)
    - ``timeout``: the longest time for a decision, in seconds or as a ``timedelta`` (0.1)
    - ``on_error``: the fallback where the store does not decide in time. ``"local"`` enforces the limit in this process
      alone, with at most ``max_entries`` entries; ``"allow"`` admits; ``"deny"`` denies for a second; these three set
      ``degraded`` in the answer. ``"raise"`` raises ``StoreError`` (``"local"``)
    - ``max_entries``: the most entries that this process keeps (1,000,000)
    - ``max_waiters``: the most calls of ``acquire`` that wait at the same time in this process; further ones are
      answered as if they could not wait (10,000)
    - ``deny_cache``: the longest time for which a denial is repeated without a call to the store; 0 turns it off (1.0)
    - ``wait_replicas``: the number of replicas that must acknowledge a charge before its call is answered (0)
    - ``strategy``: ``"transactions"`` is for servers that run no scripts (``"script"``)
    - ``layout``: ``"sharkey"`` is for servers that are shared with nodes of Sharkey (``"own"``)
    - ``username`` and ``password``, in place of the URL's; ``sentinel_username`` and ``sentinel_password`` for
      sentinels. A password may be a function that returns it, and so may ``url``; then the limiter can be pickled, with
      the function in the pickle. A limiter that was given a password cannot.
    - ``ssl_ca_certs``, ``ssl_certfile`` and ``ssl_keyfile``: PEM files for TLS: authorities to trust, and this client's
      certificate and key, which may be in one file; ``ssl_cert_reqs="none"`` accepts any certificate, with a warning

    A limiter connects when it is made, and closes its connections when it is dropped. Events of the store are logged
    under ``tidegate``. In memory all options are checked, and those of a shared store have no effect: only the URL has
    to differ between stores.

    ``clock`` is for tests and simulations: a function that returns seconds since the epoch, such as a
    ``tidegate.testing.Clock``. Calls without a ``now`` of their own are then decided at its instant, and ``acquire``
    returns at once.

    ``close()``, or the end of a ``with`` block, closes its connections; later calls raise ``ClosedError``.

    The ``limit`` of a call is a definition, a mapping in the wire form, or a list of them, which are decided together
    for one actor: all are charged or none. It may also be a function that is called with ``context`` and returns any of
    these, for limits that depend on the caller.

    Every call raises ``LimitError`` for a bad definition, cost, factor or time, and then stores nothing.

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
        at_least: int | None = None,
        context: Any = None,
    ) -> LimitInfo:
        """Charge ``cost`` units to ``actor`` if they fit; ``blocked`` if they do not.

        ``factor`` scales the limit for this actor: 0.5 = twice the allowance, 2 = half of it, 0 = no limit. ``now`` is
        milliseconds since the epoch, for replays, tests and simulations.

        With ``at_least``, charge as much of ``cost`` as there is room for, and no less than that; ``granted`` is how
        much. Each of several limits is charged the same units. ``cost`` may be above what they ever admit.

        >>> from tidegate import Bucket, Limiter
        >>> limiter = Limiter()
        >>> limiter.limit(Bucket("login", size=10), "203.0.113.9", cost=4).remaining
        6
        >>> limiter.limit(Bucket("tokens", size=300), "ada", cost=500, at_least=50).granted
        300
        """
    def peek(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        at_least: int | None = None,
        context: Any = None,
    ) -> LimitInfo:
        """Return the answer that ``limit`` would give, and charge nothing.

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
        """Charge ``cost`` units even if they do not fit, for costs that are known afterwards.

        Raises ``LimitError``, and charges nothing, if that would take the level above 2**52 units, or above the units
        that drain in 2**53 microseconds (285 years).

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
        """Give ``cost`` units back, never below empty.

        With an answer of ``limit``, ``charge``, ``acquire`` or ``limit_all`` in place of a limit and an actor, it gives
        back the charge of that call, less the units that have drained since, and never units of a later call. This
        works once. After that, and where nothing was charged, it only peeks.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, login = Limiter(), Bucket("login", size=10)
        >>> limiter.limit(login, "ada").remaining, limiter.refund(login, "ada").remaining
        (9, 10)
        >>> info = limiter.limit(login, "ada", cost=4)
        >>> limiter.refund(info).remaining
        10
        """
    def settle(self, info: LimitInfo, cost: int | Sequence[int], now: float | None = None) -> LimitInfo:
        """Replace the cost of the call of ``info`` by the actual one: give the difference back or charge it, once.

        ``cost`` is the actual cost of each check; a list of costs, in order, where the checks of a ``limit_all`` cost
        differently. Units that have drained since are not given back, as with ``refund``. An additional charge need not
        fit, as with ``charge``. For a call that charged nothing, nothing changes.

        >>> from tidegate import Limiter, TokenBucket
        >>> limiter, tokens = Limiter(), TokenBucket("tokens", count=1000, period=60_000)
        >>> info = limiter.limit(tokens, "ada", cost=500)
        >>> limiter.settle(info, 320).remaining
        680
        """
    def release(self, info: LimitInfo, now: float | None = None) -> LimitInfo:
        """Give back the units that the call of ``info`` holds in limits of type concurrency, and nothing else, once.

        The answer is that of those limits. ``hold`` does this at the end of its block.

        >>> from tidegate import Concurrency, Limiter
        >>> limiter, exports = Limiter(), Concurrency("exports", max=3, lease=60_000)
        >>> info = limiter.limit(exports, "ada")
        >>> info.remaining, limiter.release(info).remaining
        (2, 3)
        """
    def renew(self, info: LimitInfo, now: float | None = None) -> LimitInfo:
        """Hold the units of the call of ``info`` in limits of type concurrency for another lease, if all are held.

        The answer takes the place of ``info``: give it to the next ``renew``, and to ``release``. If it is ``blocked``,
        the place is lost: stop, or ask again. ``hold`` does this every third of a lease.

        >>> from tidegate import Concurrency, Limiter
        >>> limiter, exports = Limiter(), Concurrency("exports", max=3, lease=60_000)
        >>> info = limiter.limit(exports, "ada", now=0)
        >>> info = limiter.renew(info, now=50_000)
        >>> info.blocked, limiter.renew(info, now=110_000).blocked
        (False, True)
        """
    def hold(
        self,
        limit: Limited,
        actor: str,
        *,
        cost: int = 1,
        costs: Sequence[int] | None = None,
        factor: float = 1.0,
        max_wait: float | timedelta | None = None,
        context: Any = None,
    ) -> Held:
        """Hold units for as long as a ``with`` block runs: take them, renew them meanwhile, release them at its end.

        At least one limit is of type concurrency. Others beside it are charged, and keep their charge. ``costs`` is one
        cost for each limit. Where there is no room within ``max_wait`` seconds, or a ``timedelta``, the block raises
        ``BlockedError``; ``None`` is no wait.

        The units are renewed every third of the shortest lease, and released also where the block raises. ``held.lost``
        says that they could not be renewed in time. A child that is forked in the block neither renews nor releases
        them.

        >>> from tidegate import BlockedError, Concurrency, Limiter
        >>> limiter, exports = Limiter(), Concurrency("exports", max=1, lease=60_000)
        >>> with limiter.hold(exports, "ada") as held:
        ...     try:
        ...         with limiter.hold(exports, "ada"):
        ...             pass
        ...     except BlockedError as error:
        ...         print(held.lost, error.info.blocked)
        False True
        >>> limiter.peek(exports, "ada").remaining
        1
        """
    def reset(self, limit: Limited, actor: str, *, context: Any = None) -> None:
        """Remove the entry of this actor; of several limits all at once.

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
        """Wait until the call is admitted, at most ``max_wait`` seconds, or a ``timedelta``; ``None`` is no bound.

        If the wait would be longer, the call is denied immediately; nothing is charged then, unless the limit counts
        denied calls. Calls are admitted in the order in which they were made. If the wait is cancelled or interrupted,
        as by Ctrl-C, the charge is given back, once. With ``now`` or a ``clock`` it returns at once, and ``wait_ms`` is
        the time to wait.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, mail = Limiter(), Bucket("mail", size=1, drip_rate=250)
        >>> [limiter.acquire(mail, "ada", max_wait=5.0).blocked for message in range(3)]
        [False, False, False]
        """
    def observe(
        self,
        limit: Limited,
        actor: str,
        factor: float = 1.0,
        now: float | None = None,
        *,
        remaining: int | None = None,
        retry_after: float | timedelta | None = None,
        context: Any = None,
    ) -> LimitInfo:
        """Take over what an upstream server said of its own limit, for calls of somebody else's service.

        Raises the entry until no more than ``remaining`` units are left, and none before ``retry_after`` seconds are
        over. It never lowers an entry. At least one of both has to be given. Raises ``LimitError`` for a limit that is
        no bucket, token bucket, fixed window or smooth.

        >>> from tidegate import Limiter, TokenBucket
        >>> limiter, upstream = Limiter(), TokenBucket("api.example.com", count=100, period=60_000)
        >>> limiter.observe(upstream, "our key", now=0, remaining=3).remaining
        3
        >>> limiter.observe(upstream, "our key", now=0, retry_after=1.5).reset_ms >= 1500
        True
        """
    def block(
        self,
        limit: Limited,
        actor: str,
        time: float | timedelta,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Deny every call of a limit that has a block for ``time`` seconds, unless it is closed for longer already.

        0 opens it, and the next block is as short as the first one. The units that were used stay used:
        ``reset`` removes both. Raises ``LimitError`` for a limit without ``block_for``.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, login = Limiter(), Bucket("login", size=5, block_for=900_000)
        >>> limiter.block(login, "203.0.113.9", 3600).reset_sec
        3600
        >>> limiter.limit(login, "203.0.113.9").blocked, limiter.block(login, "203.0.113.9", 0).blocked
        (True, False)
        """
    def limit_all(
        self, checks: Sequence[Check], now: float | None = None, *, at_least: int | None = None, context: Any = None
    ) -> LimitInfo:
        """Decide checks for several actors together, all or nothing: ``(limit, actor[, cost[, factor]])`` each.

        With ``at_least``, each is charged the same units, as many as all have room for: see ``limit``. Their costs are
        the same then.

        >>> from tidegate import Bucket, Limiter, TokenBucket
        >>> login, api = Bucket("login", size=10), TokenBucket("api", count=100, period=60_000)
        >>> info = Limiter().limit_all([(login, "203.0.113.9"), (api, "ada", 5)])
        >>> [check.remaining for check in info.checks]
        [9, 95]
        """
    def peek_all(
        self, checks: Sequence[Check], now: float | None = None, *, at_least: int | None = None, context: Any = None
    ) -> LimitInfo:
        """Return the answer that ``limit_all`` would give, and charge nothing.

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
    ) -> CallExplanation:
        """Explain in words the answer that ``limit`` would give now, and charge nothing.

        >>> from tidegate import Bucket, Limiter
        >>> print(Limiter().explain(Bucket("login", size=10), "ada"))
        "login" would admit this call: all 10 units are free.
        """
    def stats(self) -> Statistics:
        """Return counts of the calls of this limiter in this process, and of the work of a shared store.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, login = Limiter(), Bucket("login", size=2)
        >>> blocked = [limiter.limit(login, "ada", now=0).blocked for call in range(3)]
        >>> stats = limiter.stats()
        >>> stats.decisions, stats.admitted, stats.blocked
        (3, 2, 1)
        """
    def metrics(self) -> list[Metric]:
        """Return every metric of this limiter in this process, with its numbers, for programs that export them.

        The first call turns the counts by limit on. Before, nothing is counted by limit, and nothing is spent on it. A
        call of several limits counts for each of them, as denied for those that denied it. The first 256 keys are
        counted apart, all others as the limit ``other``. No label names an actor. ``tidegate.prometheus`` and
        ``tidegate.opentelemetry`` export them.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, login = Limiter(), Bucket("login", size=2)
        >>> _ = limiter.metrics()
        >>> blocked = [limiter.limit(login, "ada", now=0).blocked for call in range(3)]
        >>> limiter.metrics()[0].samples
        ((('login', 'allowed'), 2.0), (('login', 'denied'), 1.0), (('login', 'failed'), 0.0))
        """
    def top(self, count: int = 10) -> Top:
        """Return the actors that this limiter denied and charged most in this process, at most ``count`` of each.

        They cover the last five minutes and the one under way. The first call turns the counts by actor on. Before,
        nothing is counted, and nothing is spent on it. ``limit``, ``acquire`` and ``hold`` count, and ``charge`` as
        charged. Limits in shadow mode never count.

        At most 256 actors are counted apart in each minute. Up to there all counts are exact. Beyond, the true count is
        at most ``count`` and at least ``count - error``; the error is at most 1/256 of what all actors have together,
        and no actor with more than that is missed. Actors may be personal data: do not make metrics of them.

        >>> from tidegate import Bucket, Limiter
        >>> limiter, login = Limiter(), Bucket("login", size=2)
        >>> _ = limiter.top()
        >>> blocked = [limiter.limit(login, "ada", now=0).blocked for call in range(3)]
        >>> limiter.top().denied
        (TopActor(actor='ada', count=1, error=0),)
        """
    def ping(self) -> Health:
        """Check the health of the store with one decision, for the start of a program and for health checks.

        It tests what a bucket needs: the connection, the user's rights, scripts, and replicas if charges wait for them.
        In a cluster it tests every primary. It raises ``StoreError`` with the reason where the store would not decide
        calls, for every ``on_error``. Lesser problems are in its ``warnings``. In memory it always succeeds.

        >>> from tidegate import Limiter
        >>> Limiter().ping().warnings
        ()
        """
    def clear(self) -> int:
        """Remove every entry of this limiter's namespace, for tests and operators, and return the number of keys.

        In memory it removes every entry of the store.

        On a server it uses ``SCAN`` and ``UNLINK``, which its user must be allowed. The more keys there are, of other
        programs too, the longer it takes. With ``layout="sharkey"`` it also removes the entries of Sharkey's own nodes.

        >>> from tidegate import Bucket, Limiter
        >>> limiter = Limiter()
        >>> _ = limiter.limit(Bucket("door", size=1), "ada")
        >>> limiter.clear(), limiter.entries
        (1, 0)
        """
    @property
    def entries(self) -> int:
        """Number of entries of single actors in memory now, including drained ones that have not been dropped yet.

        For a shared store, these are the entries of the ``"local"`` fallback.
        """
    @property
    def evictions(self) -> int:
        """Number of drained entries that were dropped early because the store was full."""
    @property
    def overflowed(self) -> int:
        """Number of calls that were decided by an entry that several actors share, because the store was full.

        While this grows, clients are denied early: ``max_entries`` is too small for the traffic, or a client makes up
        names. A warning is logged too, once a minute.
        """
    def close(self) -> None:
        """Close its connections without waiting; calls under way are still answered.

        Later calls raise ``ClosedError``, except another ``close``. A limiter that is dropped closes itself.

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
    def _closest(self, limits: list[Limit], budget: int, rows: int, /) -> str:
        """Show the actors of the store that are closest to these limits, as the command ``tidegate top`` does."""
    @property
    def _shared(self) -> bool:
        """True over a shared store: a call may have to wait for its reply."""
    @property
    def _clock(self) -> Callable[[], float] | None:
        """The clock in place of the engine's."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def __reduce__(self) -> Any: ...

@final
class _AsyncCalls:
    """The calls of an ``AsyncLimiter``: the verbs of ``Limiter``.

    Each returns its answer if that is known at once, else an object to await it by.
    """

    def __new__(cls, limiter: Limiter, /) -> Self: ...
    # <generated by `make generate` from the class Limiter>
    def limit(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        at_least: int | None = None,
        context: Any = None,
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def peek(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        at_least: int | None = None,
        context: Any = None,
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def charge(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def refund(
        self,
        limit: Any,
        actor: Any = None,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def settle(
        self, info: LimitInfo, cost: int | Sequence[int], now: float | None = None
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def release(self, info: LimitInfo, now: float | None = None) -> LimitInfo | Awaitable[LimitInfo]: ...
    def renew(self, info: LimitInfo, now: float | None = None) -> LimitInfo | Awaitable[LimitInfo]: ...
    def reset(self, limit: Limited, actor: str, *, context: Any = None) -> Awaitable[None] | None: ...
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
    ) -> LimitInfo | _AcquireHandle | _AcquireSteps: ...
    def observe(
        self,
        limit: Limited,
        actor: str,
        factor: float = 1.0,
        now: float | None = None,
        *,
        remaining: int | None = None,
        retry_after: float | timedelta | None = None,
        context: Any = None,
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def block(
        self,
        limit: Limited,
        actor: str,
        time: float | timedelta,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def limit_all(
        self, checks: Sequence[Check], now: float | None = None, *, at_least: int | None = None, context: Any = None
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def peek_all(
        self, checks: Sequence[Check], now: float | None = None, *, at_least: int | None = None, context: Any = None
    ) -> LimitInfo | Awaitable[LimitInfo]: ...
    def explain(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> CallExplanation | Awaitable[CallExplanation]: ...
    # </generated>
    def _enter(
        self, limit: Any, actor: Any, cost: Any, costs: Any, factor: Any, max_wait: Any, context: Any
    ) -> LimitInfo | _AcquireHandle | _AcquireSteps:
        """Take what a hold holds."""

@disjoint_base
class _Hold:
    """The part of a hold that threads and event loops share."""

    def __new__(cls, limiter: Limiter, calls: _AsyncCalls, *arguments: Any) -> Self: ...
    @property
    def info(self) -> LimitInfo:
        """The answer of the call that took the units."""
    @property
    def lost(self) -> bool:
        """True when the units could not be renewed in time: stop the work, others may have them."""
    @property
    def _receipt(self) -> LimitInfo:
        """The answer that has the receipt now."""
    def settle(self, costs: Costs) -> None:
        """Note the actual costs of what is charged beside the units, for the end of the hold, once.

        ``costs`` is the cost of the only limit that holds no units, a list of one cost for each check, or a dictionary
        of costs by the keys of limits or the positions of checks; the others stay as they were charged.
        """
    def _enter(self, renewals: _Renewals) -> Any:
        """Take the units; returns what is to be awaited, if the answer is not known at once."""
    def _start(self, info: LimitInfo, renewals: _Renewals) -> None:
        """Hold what the call of this answer took."""
    def _renew(self) -> Future[LimitInfo] | None:
        """Renew; returns what is to be awaited, if the answer is not known at once."""
    def _renewed(self, info: LimitInfo | None) -> None:
        """Note the answer of a renewal, if it has one."""
    def _leave(self) -> Awaitable[LimitInfo] | None:
        """Begin to release the units, unless that has begun before; returns what is to be awaited."""
    def _release(self) -> LimitInfo | Awaitable[LimitInfo]:
        """The same; returns the answer, if it is known at once."""
    def _lost_event(self, make: Callable[[], Any]) -> Any:
        """The event that is set when the units are lost, made by this function where there is none."""

@final
class Held(_Hold):
    """Units that a block holds: see ``Limiter.hold``.

    >>> from tidegate import Concurrency, Limiter, TokenBucket
    >>> limiter = Limiter()
    >>> exports, rows = Concurrency("exports", max=2, lease=60_000), TokenBucket("rows", count=100, period=60_000)
    >>> with limiter.hold([exports, rows], "ada", costs=[1, 50]) as held:
    ...     held.settle({"rows": 20})
    >>> limiter.peek(exports, "ada").remaining, limiter.peek(rows, "ada").remaining
    (2, 80)
    """

    @staticmethod
    def _of(limiter: Limiter, info: LimitInfo) -> Held:
        """Hold what the call of this answer took just now."""
    @property
    def lost_event(self) -> Event:
        """Set when the units could not be renewed in time: others may have them."""
    def __enter__(self) -> Self: ...
    def release(self) -> LimitInfo:
        """Release the units now; the end of the block, or a second call, then does nothing."""
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def _due(self) -> None:
        """Renew; called by the thread of all renewals."""

@final
class _Renewals:
    """Calls that are due at some time, and whoever makes them: a thread, or an event loop.

    Most are taken back before they are due, so to add one and to take it back costs next to nothing: nobody is woken
    for it unless it is due before all others.
    """

    def __new__(cls, wake: Callable[[float], object], /) -> Self: ...
    def add(self, seconds: float, what: Any, /) -> tuple[int, int]:
        """Call ``_due`` of this object once, after so many seconds; returns its place."""
    def discard(self, place: tuple[int, int], /) -> None:
        """Take back the call of this place."""
    def run(self) -> float | None:
        """Make the calls that are due; returns the seconds until the next one is, if there is any."""
    def clear(self) -> None:
        """Forget all calls."""

@final
class _AcquireSteps:
    """An ``acquire`` whose caller sleeps between its steps."""

    def step(self) -> LimitInfo | float:
        """Take the next step: the answer, or the seconds to sleep before the next one."""
    def on_ring(self, call: Callable[[], object]) -> None:
        """Have this function called, from any thread, whenever a sleep should end before its time."""
    def cancel(self) -> None:
        """Leave the queue and give a reservation back."""

@final
class _AcquireHandle:
    """A handle to an ``acquire`` that goes on by itself."""

    @property
    def future(self) -> Future[LimitInfo]:
        """The future of its answer."""
    def __await__(self) -> Generator[Any, None, LimitInfo]:
        """Wait for its answer; cancel it where that is interrupted."""
    def cancel(self) -> None:
        """Leave the queue, or give back what was charged, once."""

def _option_names() -> list[str]:
    """The names of all options, for a test of their annotations."""

def _take_log_records() -> list[tuple[int, str, dict[str, str | None]] | None]:
    """Take the records of the log queue; ``None`` is the end of it. Call the functions in it."""

def _end_log() -> None:
    """End the thread that logs, and let no other start."""

def _after_fork() -> None:
    """Drop what belongs to the threads and connections of the parent; the first call in a forked child."""

def _exiting() -> None:
    """Have threads that wait stay away from now on, and let in those that are coming; at the end of the program."""

def _imported() -> None:
    """Make now what the library of the bindings keeps in cells of its own; the end of the import."""

def _command(arguments: list[str], /) -> int:
    """Run the command with the arguments behind its name, and return its exit code."""

def json_schema() -> str:
    """The JSON Schema (draft 2020-12) of the wire form, as JSON text, for editors and other validators.

    Its ``$defs`` have a document of named limits, as ``Limits`` reads it, under ``limits``.

    >>> import json
    >>> from tidegate import json_schema
    >>> json.loads(json_schema())["$defs"]["bucket"]["properties"]["dripRate"]["default"]
    1000
    """

@final
class _Document:
    """A document with Python's own objects for its definitions."""

    @property
    def named(self) -> dict[str, Limit]:
        """The limits by their names."""

    @property
    def has_overrides(self) -> bool:
        """There are overrides."""

    def find(self, name: str, actor: str, /) -> tuple[Limit, float]:
        """The definition and the factor of an actor at the limit of this name; ``KeyError`` where there is none."""

    def to_json(self) -> str:
        """The document as JSON text."""

@final
class _Watched:
    """A document that is watched; Python has the thread that looks."""

    def __new__(cls, source: str | PathLike[str], every: float, /) -> Self: ...
    def current(self) -> _Document:
        """The document that holds now."""

    def look(self) -> _Document | None:
        """Looks once; another document, if there is one. Raises ``LimitsError`` once for each that is wrong."""

    def reload(self) -> _Document | None:
        """Reads now; another document, if there is one. Raises ``LimitsError`` where it is wrong."""

    def need(self, name: str, /) -> bool:
        """Refuses documents without a limit of this name; false where there is none now."""

    @property
    def name(self) -> str:
        """The place of the document, without what is secret."""

    @property
    def pause(self) -> float:
        """Seconds until the next look."""

def _limits_from_dict(named: Mapping[str, object], /) -> _Document:
    """The limits in a document that is a dict already."""

def _load_limits(path: str | PathLike[str], /) -> _Document:
    """The limits in a file."""

def _read_limits(text: str, format: str, /) -> _Document:
    """The limits in a document."""

def _info_from_pickle(
    numbers: list[int],
    limit: Limit | None,
    actor: str | None,
    several: tuple[tuple[LimitInfo, ...], int] | None,
    /,
) -> LimitInfo:
    """An equal answer, for ``pickle``."""

@final
class _Gate:
    """The HTTP part of a middleware: the client, the headers, the refusal. Made once, and shared by threads."""

    def __new__(cls, **options: Unpack[GateOptions]) -> Self: ...
    @property
    def forwarded_header(self) -> str:
        """The name of the header whose lines ``client`` takes, in lower case."""

    @property
    def trusts_nobody(self) -> bool:
        """No header is believed."""

    def client(self, peer: str | None, lines: str | bytes | Iterable[str | bytes] | None = (), /) -> str:
        """The client of a request, by its peer and all lines of the forwarded header, in order.

        Raises ``ConfigurationError`` where there is no address.
        """

    def client_of(self, scope: Mapping[str, Any], /) -> str:
        """The same, by the scope that an ASGI server makes of a request."""

    @staticmethod
    def has_left(scope: Mapping[str, Any], /) -> bool:
        """The client of a request of ASGI has reset the connection: its server has only an address of its own.

        Uvicorn asks the system for the client's, which has it no more.
        """

    def limit_client(
        self, limiter: Limiter, limit: Limited, scope: MutableMapping[str, Any], /, cost: int = 1, factor: float = 1.0
    ) -> tuple[str, LimitInfo]:
        """Decides limits for the client of a request of ASGI, and ``show``s the answer; returns both."""

    @staticmethod
    def show(scope: MutableMapping[str, Any], info: LimitInfo, /) -> None:
        """Puts an answer where a request of ASGI has it as ``request.state.rate_limit``."""

    def headers(self, infos: LimitInfo | Iterable[LimitInfo], status: int = 200, /) -> list[tuple[str, str]]:
        """The headers of a response with this status, of one answer or of all that belong to it."""

    def carrying(
        self, message: Mapping[str, Any], infos: LimitInfo | Iterable[LimitInfo], keeps: bool = False, /
    ) -> dict[str, Any]:
        """The start of a response, as ASGI has it, with the headers of its answers.

        These stand in place of its own of the same names, or are left out where it ``keeps`` its own: of two lines with
        one name a client reads neither.
        """

    def refusal(
        self,
        infos: LimitInfo | Iterable[LimitInfo],
        accept: str | bytes | Iterable[str | bytes] | None = None,
        /,
        *,
        detail: str | None = None,
    ) -> _Refusal:
        """The response to a request that is denied, by all lines of its ``Accept``."""

    def rejection(self, name: str, accept: str | bytes | Iterable[str | bytes] | None = None, /) -> _Refusal:
        """The response to a request that cannot be decided, by its error's name and all its ``Accept`` lines."""

    def report(self, code: str, detail: str = "", /) -> bool:
        """A mistake that a middleware found: it is logged once, unless it is silenced. True if it is reported now."""

@final
class _Refusal:
    """The response to a request that is denied."""

    @property
    def status(self) -> int:
        """The status, 429 unless set."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers, with ``Retry-After``, ``Cache-Control`` and ``Content-Type``; no ``Content-Length``."""

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """The same in bytes, with names in lower case, as ASGI takes them."""

    @property
    def body(self) -> bytes:
        """The body in UTF-8; empty if there is none."""

    @property
    def media_type(self) -> str:
        """The value of ``Content-Type``; empty without a body."""

    @property
    def retry_after(self) -> int:
        """The seconds until the request would be admitted, at least 1; 0 where no answer is blocked."""

def _mistakes() -> list[tuple[str, str]]:
    """The sentence of every mistake, by its code."""

def _mistake_page(code: str, /) -> str:
    """The URL of the page of a mistake."""

def _forget_mistakes() -> None:
    """Forgets the mistakes that were reported."""

def _parse_headers(pairs: list[tuple[str, str]], now: float, /) -> tuple[Any, ...]:
    """Reads pairs of name and value; ``now`` is milliseconds since the epoch."""

@final
class _Outgoing:
    """The settings of an HTTP client's calls."""

    def __new__(
        cls,
        limits: Sequence[Limit],
        /,
        *,
        retries: int | None = None,
        retry_methods: Iterable[str] | None = None,
        backoff: float | None = None,
        max_backoff: float | None = None,
        max_wait: float | None = None,
    ) -> Self: ...
    @property
    def observed(self) -> list[int]:
        """The indices of the limits that can be observed."""
    @property
    def holds(self) -> bool:
        """One of the limits is held until the response has been read."""
    @staticmethod
    def stop() -> Bucket:
        """The limit that stops all callers."""
    def judge(
        self,
        status: int,
        headers: list[tuple[str, str]],
        method: str,
        attempt: int,
        replayable: bool,
        left: list[int],
        random: float,
        now: float,
        /,
    ) -> tuple[list[tuple[int, int]], int | None, int | None]:
        """Judges a response; ``now`` is milliseconds since the epoch."""

def client_of(address: str | IPv4Address | IPv6Address, ipv6_prefix: int = 64) -> str:
    """The actor that stands for a client's address: the address marked with ``ip:``, of IPv6 its network.

    Limits without a key count under it, so it is the actor to pass where a client is limited, reset or looked at by
    hand. A port or a zone does not count. A string that is no address is a ``LimitError``.

    >>> from tidegate import client_of
    >>> client_of("203.0.113.9"), client_of("2001:db8:1:2::7")
    ('ip:203.0.113.9', 'ip:2001:db8:1:2::/64')
    """

def _key_of(key: str | float, /) -> str:
    """The actor that stands for a key, which a client may have chosen."""

def _template(path: str, syntax: str, /) -> str:
    """The template of a route, in a syntax: ``braces``, ``angles`` or ``colons``."""

_APP: Final[str]
"""The key of a limit of a whole application."""

_CANDIDATE: Final[str]
"""The end of a candidate's key."""

def _route_name(methods: Iterable[str], template: str, /) -> str:
    """The key of a route's limits: its methods and its template."""

@final
class _Names:
    """The keys of limits: names that were derived, each with its place, and definitions."""

    def __new__(cls) -> Self: ...
    def claim(self, name: str, place: int, /) -> bool:
        """Notes the name of a place; false where another place has it."""

    def define(self, limit: Limit, /) -> str | None:
        """Notes a definition; it and an earlier one with the same key that is another one, in words."""

    def release(self, place: int, /) -> None:
        """Forgets the names of a place."""

def _counted_twice(calls: Sequence[tuple[Limiter, LimitInfo]], /) -> str | None:
    """The key of a limit that two of these calls about one request charge for one actor."""

@final
class _Plan:
    """The decision of a request before it is made, and what its answer means to each place that asks for something."""

    def __new__(cls, places: Sequence[tuple[Sequence[Any], Sequence[Any] | None, Sequence[Any] | None]], /) -> Self: ...
    @property
    def checks(self) -> list[tuple[Any, ...]]:
        """The checks of the decision, each once, as a limiter takes them."""

    @property
    def enforces(self) -> bool:
        """Something is enforced. Where nothing is, a store that fails fails no request."""

    def deciding(self, info: LimitInfo, /) -> int | None:
        """The place whose limit decides."""

    def answer(self, info: LimitInfo, place: int | None = None, /) -> LimitInfo | None:
        """The answer of what is enforced, at one place or at all of them; ``None`` where nothing is."""

    def count(self, info: LimitInfo, counts: _TrialCounts, /) -> list[tuple[int, LimitInfo]]:
        """Counts what is tried.

        Returns the places whose limits in shadow mode would have denied, each with the answer that would.
        """

    def lease(self, info: LimitInfo, /) -> float | None:
        """The seconds until the units that the call holds are free again unless they are renewed.

        ``None`` where it holds nothing.
        """

    def costs(self, paid: Sequence[int | None], /) -> list[int]:
        """The costs that the checks really have, where each place says what it has used; ``None`` = what it asked."""

@final
class _TrialCounts:
    """Counts of limits that are tried."""

    def __new__(cls) -> Self: ...
    def shadow(self) -> list[tuple[str, list[int]]]:
        """The counts of limits in shadow mode, each behind its key."""

    def candidates(self) -> list[tuple[str, list[int]]]:
        """The counts of candidates, each behind the key of the limits that it might replace."""

    def clear(self) -> None:
        """Sets all counts back to nothing."""

def _request_error(field: str, value: str, /) -> str | None:
    """The name of the request's error behind a ``LimitError`` with this field and value."""

def _request_error_parts(name: str, /) -> tuple[int, str]:
    """The status and the sentence of a request's error, by its name."""

@final
class _Denials:
    """A count of denials, which says which may be told."""

    def __new__(cls) -> Self: ...
    def note(self, now_ms: int, /) -> int | None:
        """Notes a denial at this time in milliseconds; where it is to be told, the number before it that were not."""

@final
class Estimator:
    """Estimates the output tokens of a call to a language model.

    An estimate is a percentile of the latest calls to the same model for the same purpose.
    ``max_tokens`` bounds an output, and few outputs come near to it. To reserve it leaves most of a limit unused.

    Of each pair of model and purpose the latest ``window`` calls count, and ``pairs`` pairs are kept: the one that has
    been recorded longest ago makes room. With fewer than ``least`` calls of a pair there is no estimate. It learns in
    this process, and threads may share it.

    >>> from tidegate.llm import Estimator
    >>> estimator = Estimator(percentile=95, least=3)
    >>> estimator.estimate("gpt-5", "summary", most=4096)
    4096
    >>> for output in (180, 220, 190):
    ...     estimator.record("gpt-5", "summary", output)
    >>> estimator.estimate("gpt-5", "summary", most=4096)
    220
    """

    def __new__(cls, *, percentile: float = 95, window: int = 256, least: int = 20, pairs: int = 1000) -> Self: ...
    def record(self, model: str, purpose: str, output: int) -> None:
        """Notes the output tokens of a call that has ended.

        >>> from tidegate.llm import Estimator
        >>> Estimator().record("gpt-5", "summary", 180)
        """

    def estimate(self, model: str, purpose: str, most: int) -> int:
        """The output tokens to reserve for a call: at most ``most``, and ``most`` while too few calls are recorded.

        >>> from tidegate.llm import Estimator
        >>> Estimator().estimate("gpt-5", "summary", most=4096)
        4096
        """

    def __len__(self) -> int:
        """The number of pairs of model and purpose that are kept.

        >>> from tidegate.llm import Estimator
        >>> len(Estimator())
        0
        """

@final
class _Report:
    """The counts of a response, or of the events of a stream, one after another."""

    def __new__(cls) -> Self: ...
    def add(self, field: str, count: object, /) -> None:
        """Notes a count by the name of its field; what is no count is passed over."""

    def usage(self) -> tuple[int, int, int, int] | None:
        """The tokens of input, output and cache, and those of input and output together."""

def _usage_names() -> tuple[list[str], list[str]]:
    """Places where a response has its counts, and the names of the counts; a dot leads into an object inside."""
