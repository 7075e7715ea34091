"""The options of all HTTP clients, read and checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypedDict

from .._errors import refused
from .._tidegate import Limit, _Outgoing
from .._web.definitions import Definitions, Written
from .._web.store import MEMORY, LimiterLike, store_of


class OutgoingOptions(TypedDict, total=False):
    """The options that all HTTP clients have in common; ``None`` counts as not given.

    As ``limiter`` it is an error, because it is nearly always a variable that is not set, and as ``cost`` too.
    """

    limiter: LimiterLike
    """A ``Limiter``, an ``AsyncLimiter`` or the URL of a store; the memory of this process by default."""
    key: Callable[[Any], str] | None
    """The actor of a request; by default the host that it goes to."""
    name: str | None
    """The key of limits that are given as text, ``"outgoing"`` by default."""
    cost: int | Callable[[Any], int]
    """The units that a request costs, 1 by default."""
    max_wait: float | timedelta | None
    """The longest wait for a turn, in seconds: beyond, it is a ``BlockedError``. There is no bound by default."""
    retries: int
    """The most repetitions of a request that the server refuses, with 429 or 503; 0 by default."""
    retry_methods: Iterable[str] | None
    """The methods that may be repeated; by default the idempotent ones."""
    backoff: float | timedelta | None
    """The first wait, in seconds, where the server does not say how long; then twice as long. 1 by default."""
    max_backoff: float | timedelta | None
    """The longest of these waits, in seconds, 30 by default."""


class Settings:
    """The settings of one client."""

    __slots__ = ("cost", "engine", "key", "limits", "max_wait", "stopping", "store")

    @classmethod
    def of(cls, client: str, limits: Written | Sequence[Written], options: OutgoingOptions) -> Settings:
        """Those of a client of this name, which an option that there is not is told of."""
        for name in options:
            if name not in OutgoingOptions.__annotations__:
                raise TypeError(f"{client}() got an unexpected keyword argument {name!r}")
        return cls(limits, **options)

    def __init__(
        self,
        limits: Written | Sequence[Written],
        *,
        limiter: LimiterLike = MEMORY,
        key: Callable[[Any], str] | None = None,
        name: str | None = None,
        cost: int | Callable[[Any], int] = 1,
        max_wait: float | timedelta | None = None,
        retries: int = 0,
        retry_methods: Iterable[str] | None = None,
        backoff: float | timedelta | None = None,
        max_backoff: float | timedelta | None = None,
    ) -> None:
        if key is not None and not callable(key):
            raise refused("key", "must be a function of a request", key)
        if name is not None and not (isinstance(name, str) and name):
            raise refused("name", "must be text that is not empty", name)
        if isinstance(retry_methods, str):
            retry_methods = [retry_methods]
        elif retry_methods is not None and not isinstance(retry_methods, Iterable):
            raise refused("retry_methods", "must be a list of methods", retry_methods)
        self.store = store_of(limiter)
        self.limits = list(Definitions("limits", limits, "outgoing" if name is None else name).checked)
        self.key, self.cost = key, cost
        self.max_wait = _seconds(max_wait)
        self.engine = _Outgoing(
            self.limits,
            retries=retries,
            retry_methods=retry_methods,
            backoff=_seconds(backoff),
            max_backoff=_seconds(max_backoff),
            max_wait=self.max_wait,
        )
        # What one response raises to stop all callers.
        self.stopping: list[Limit] = [STOP, *(self.limits[index] for index in self.engine.observed)]


STOP = _Outgoing.stop()


def _seconds(given: float | timedelta | None) -> float | None:
    return given.total_seconds() if isinstance(given, timedelta) else given
