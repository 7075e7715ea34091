"""The names of django-ratelimit, with the same arguments, over the stores of ``tidegate.django``.

>>> from tidegate.django.ratelimit import ratelimit
>>> @ratelimit(key="ip", rate="5/m")
... def search(request): ...
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypedDict, TypeVar

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.exceptions import BadRequest, ImproperlyConfigured, PermissionDenied
from django.utils.deprecation import MiddlewareMixin
from django.utils.module_loading import import_string

from .._errors import ConfigurationError, LimitError
from .._tidegate import FixedWindow, LimitInfo
from .._web.django.room import DjangoGuard, project, user_of
from .._web.django.serve import begin, decide, find_user, rooms
from .._web.drive import driven, run
from .._web.failure import RequestError, adopted, by_request, of_peer
from .._web.guard import Part
from .._web.room import Marked

__all__ = ["ALL", "UNSAFE", "RatelimitMiddleware", "Ratelimited", "Usage", "get_usage", "is_ratelimited", "ratelimit"]

ALL = (None,)
"""All methods."""
UNSAFE = ("DELETE", "PATCH", "POST", "PUT")
"""The methods that change something."""

RATE = re.compile(r"(\d+)/(\d*)([smhd]?)", re.IGNORECASE)
PERIODS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
# Decorators that stand directly on each other are decided together; this is how one knows another.
NAME = "__tidegate_ratelimit__"

T = TypeVar("T")


class Ratelimited(PermissionDenied):  # type: ignore[misc]
    """A denied request. Django makes a response 403 of it, where no handler makes another.

    >>> from django.core.exceptions import PermissionDenied
    >>> from tidegate.django.ratelimit import Ratelimited
    >>> issubclass(Ratelimited, PermissionDenied)
    True
    """


class Usage(TypedDict):
    """The answer of ``get_usage``."""

    count: int
    """Requests in this window; one more than the limit where this request is denied."""
    limit: int
    """Requests that a window admits."""
    should_limit: bool
    """The request is denied."""
    time_left: int
    """Seconds until the window ends."""


class Rule:
    """The limit of one decorator or call."""

    def __init__(self, group: str, key: Any, rate: Any, method: Any) -> None:
        self.group = group
        self.key = key
        self.rate = rate
        self.methods = None if method == ALL else _methods(method)
        self.guard = DjangoGuard(self.window, key=self.value)

    def counts(self, request: Any) -> tuple[int, int] | None:
        """The requests that a window admits, and its seconds; ``None`` where this one is not limited."""
        if not getattr(settings, "RATELIMIT_ENABLE", True) or not (
            self.methods is None or request.method in self.methods
        ):
            return None
        rate = self.rate
        if isinstance(rate, str) and "." in rate:
            rate = import_string(rate)
        if callable(rate):
            rate = rate(self.group, request)
        return None if rate is None else _split(rate)

    def window(self, request: Any) -> FixedWindow | None:
        """The limit of a request."""
        found = self.counts(request)
        # One that admits nothing is no limit of the engine: `denies` says it.
        return None if found is None or found[0] == 0 else _window(self.group, found, self.methods)

    def denies(self, request: Any) -> bool:
        """The rate is 0."""
        found = self.counts(request)
        return found is not None and found[0] == 0

    def value(self, request: Any) -> str | None:
        """The actor; ``None`` is the client's address."""
        key = self.key
        if not key:
            raise ImproperlyConfigured("a rate limit needs a key")
        if isinstance(key, str) and ":" not in key and "." in key:
            key = import_string(key)
        if callable(key):
            found = key(self.group, request)
        elif key == "ip":
            found = None
        elif key in ("user", "user_or_ip"):
            found = user_of(request)
        else:
            source, _, name = key.partition(":")
            if source in ("get", "post"):
                return str(getattr(request, source.upper()).get(name, ""))
            if source != "header":
                raise ImproperlyConfigured(f"the key of a rate limit cannot be {key!r}")
            found = request.headers.get(name)
        return _address(request) if found is None or found == "" else str(found)


def _methods(method: Any) -> frozenset[str]:
    return frozenset(name.upper() for name in ([method] if isinstance(method, str) else method))


def _split(rate: Any) -> tuple[int, int]:
    if isinstance(rate, tuple):
        count, seconds = rate
    else:
        match = RATE.fullmatch(str(rate))
        if match is None:
            raise ImproperlyConfigured(f"a rate is like '5/m' or '100/2h', got {rate!r}")
        count, seconds = int(match[1]), int(match[2] or 1) * PERIODS[match[3].lower()]
    if seconds <= 0:
        raise ImproperlyConfigured(f"the period of a rate must be greater than 0, got {rate!r}")
    return count, seconds


@functools.lru_cache(4096)
def _window(group: str, rate: tuple[int, int], methods: frozenset[str] | None) -> FixedWindow:
    count, seconds = rate
    names = "" if methods is None else " ".join(["", *sorted(methods)])
    return FixedWindow(f"{group} {count}/{seconds}s{names}", max=count, period=seconds * 1000, anchor="first-request")


def _address(request: Any) -> str | None:
    """The address that ``RATELIMIT_IP_META_KEY`` says; by default the one that the settings of ``TIDEGATE`` say."""
    source = getattr(settings, "RATELIMIT_IP_META_KEY", None)
    if not source:
        return None
    if isinstance(source, str) and "." in source:
        source = import_string(source)
    peer = source(request) if callable(source) else request.META.get(source)
    try:
        return Marked(project().room.gate.client(peer))
    except ConfigurationError as error:
        headers = [value for name, value in request.META.items() if name.startswith("HTTP_")]
        raise of_peer(error, peer, headers) from error


def _group(fn: Any) -> str:
    """The name of a view."""
    if isinstance(fn, functools.partial):
        fn = fn.func
    owner = getattr(fn, "__self__", None)
    return ".".join(filter(None, [fn.__module__, owner and type(owner).__name__, fn.__qualname__]))


def _usage(info: LimitInfo, increment: bool) -> Usage:
    return {
        "count": info.quota - info.remaining + (info.blocked and increment),
        "limit": info.quota,
        "should_limit": info.blocked,
        "time_left": info.full_reset_sec or -(-info.window_ms // 1000),
    }


def get_usage(
    request: Any,
    group: str | None = None,
    fn: Any = None,
    key: Any = None,
    rate: Any = None,
    method: Any = ALL,
    increment: bool = False,
) -> Usage | None:
    """Counts a request, or with ``increment=False`` looks; ``None`` where it is not limited.

    >>> from tidegate.django.ratelimit import get_usage
    >>> def left(request):
    ...     usage = get_usage(request, group="search", key="ip", rate="5/m")
    ...     return usage["limit"] - usage["count"]
    """
    if group is None and fn is None:
        raise ImproperlyConfigured("get_usage needs group or fn")
    rule = Rule(_group(fn) if group is None else group, key, rate, method)
    if rule.denies(request):
        return {"count": 1, "limit": 0, "should_limit": True, "time_left": (rule.counts(request) or (0, 0))[1]}
    begin(request)
    with _bad_requests():
        part = run(_part(request, rule))
        if part is None:
            return None
        info = project().room.decide([part]).info if increment else _looked(part)
    return _usage(info, increment)


def is_ratelimited(
    request: Any,
    group: str | None = None,
    fn: Any = None,
    key: Any = None,
    rate: Any = None,
    method: Any = ALL,
    increment: bool = False,
) -> bool:
    """Counts a request, or with ``increment=False`` looks; true where it is denied."""
    usage = get_usage(request, group, fn, key, rate, method, increment)
    return usage is not None and usage["should_limit"]


def ratelimit(
    group: str | None = None, key: Any = None, rate: Any = None, method: Any = ALL, block: bool = True
) -> Callable[[T], T]:
    """Limits a view, sync or async, with the arguments of django-ratelimit's decorator.

    A denied request raises ``Ratelimited``; with ``block=False`` the view is called, and finds
    ``request.limited``. Decorators that stand directly on each other and block are one decision: a request that one of
    them denies is counted by none.

    >>> from tidegate.django.ratelimit import UNSAFE, ratelimit
    >>> @ratelimit(key="user_or_ip", rate="5/m", method=UNSAFE)
    ... def search(request): ...
    """

    def decorate(fn: Any) -> Any:
        rule = Rule(_group(fn) if group is None else group, key, rate, method)
        inner, rules = getattr(fn, NAME, (None, ()))
        # What `functools.wraps` has carried over some other decorator is not directly below.
        rules = (rule, *rules) if block and inner is fn else (rule,)
        is_async = iscoroutinefunction(fn)

        async def limited(request: Any, *args: Any, **kwargs: Any) -> Any:
            record = begin(request)
            asked = [rule for rule in rules if rule.guard not in record.seen]
            if asked:
                with _bad_requests():
                    if is_async and any(rule.key in ("user", "user_or_ip") for rule in asked):
                        await find_user(request, record)
                    by_store = rooms(record, tuple(rule.guard for rule in asked))
                    denies = any(rule.denies(request) for rule in asked)
                    if block:
                        denies = denies or await decide(request, record, by_store, fn, is_async) is not None
                    elif not denies and (part := await _part(request, rule)):
                        denies = (await project().room.decided([part], is_async)).blocked
                _tell(request, denies, block)
            response = fn(request, *args, **kwargs)
            return await response if is_async else response

        wrapped: Any = functools.wraps(fn)(driven(limited, is_async))
        # One that does not block is asked alone: the others are charged whatever it says.
        setattr(wrapped, NAME, (wrapped if block else None, rules))
        return wrapped

    return decorate


@contextmanager
def _bad_requests() -> Iterator[None]:
    """Raises what Django answers with status 400 for a request that cannot be decided."""
    try:
        yield
    except RequestError as error:
        raise adopted(BadRequest(), error) from error.__cause__


async def _part(request: Any, rule: Rule) -> Part | None:
    return await project().room.part(rule.guard, request, rule.group)


def _looked(part: Part) -> LimitInfo:
    """The answer that a request would get, which is counted by nobody."""
    try:
        info: LimitInfo = project().room.store.limiter(False).peek(*part.checks[0])
    except LimitError as error:
        raise by_request(error, False) from error.__cause__
    return info


def _tell(request: Any, limited: bool, block: bool) -> None:
    """Tells the view, or raises in its place."""
    request.limited = limited or getattr(request, "limited", False)
    if limited and block:
        error = getattr(settings, "RATELIMIT_EXCEPTION_CLASS", Ratelimited)
        raise (import_string(error) if isinstance(error, str) else error)()


class RatelimitMiddleware(MiddlewareMixin):  # type: ignore[misc]
    """Has the view that ``RATELIMIT_VIEW`` names make the responses to denied requests.

    >>> MIDDLEWARE = ["tidegate.django.ratelimit.RatelimitMiddleware"]
    >>> RATELIMIT_VIEW = "shop.views.slow_down"
    """

    def process_exception(self, request: Any, exception: Exception) -> Any:
        """Responds where the exception is ``Ratelimited``."""
        if not isinstance(exception, Ratelimited):
            return None
        return import_string(settings.RATELIMIT_VIEW)(request, exception)
