"""Rate limiting for Django: a middleware, a decorator for views, and system checks.

In the settings, ``TIDEGATE`` names the stores and the limits of every view:

>>> MIDDLEWARE = ["tidegate.django.RateLimitMiddleware"]
>>> INSTALLED_APPS = ["tidegate.django"]
>>> TIDEGATE = {"default": {"LOCATION": "redis://localhost:6379/0"}, "LIMITS": "100/minute"}
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction
from django.utils.decorators import method_decorator

from .._aio import AsyncLimiter
from .._errors import LimitError
from .._tidegate import Limiter, LimitInfo
from .._web.django.middleware import RateLimitMiddleware
from .._web.django.room import DEFAULT, OWNER, DjangoGuard, DjangoRoom, project, record_of
from .._web.django.serve import begin, fail, finish, limit, rate_limited, rooms
from .._web.drive import run
from .._web.guard import GuardOptions, Limits, Unpack
from .._web.places import EXEMPT, NAME, mark

__all__ = [
    "RateLimitMiddleware",
    "async_limiter",
    "exempt",
    "info",
    "limiter",
    "rate_limit",
    "rate_limited",
    "settle",
]

T = TypeVar("T")


class ViewOptions(GuardOptions[Any], total=False):
    """Options of a view's limits."""

    using: str
    """The name of the store in the settings."""


def rate_limit(limits: Limits[Any], **options: Unpack[ViewOptions]) -> Callable[[T], T]:
    """Limits a view: a function or a class, sync or async, or with ``method_decorator`` one of its methods.

    It adds to ``TIDEGATE["LIMITS"]``, or with ``override=True`` replaces them. ``using`` names the store. ``key`` may
    be ``"user_or_ip"`` too.

    >>> from tidegate.django import rate_limit
    >>> @rate_limit("5/minute", key="user_or_ip")
    ... def search(request): ...
    """
    guard: DjangoGuard = DjangoRoom.guard(limits, **options)

    def decorate(view: T) -> T:
        decorated: T = _decorated(guard, decorate, view)
        return decorated

    return decorate


def _decorated(guard: DjangoGuard, decorate: Any, view: Any) -> Any:
    if isinstance(view, type):
        _check_async(guard, getattr(view, "view_is_async", False))
        return _of_class(decorate, view, guard)
    if not callable(view):
        raise LimitError(f"rate_limit is for a view, got {view!r}", "", "limits", repr(view))
    if isinstance(view, FunctionType):
        name = view.__qualname__
        if next(iter(inspect.signature(view).parameters), "") == "self":
            message = f"rate_limit is for a view, got the method {name}: put method_decorator(rate_limit(…)) on it"
            raise LimitError(message, "", "limits", name)
        # Django's own tries a decorator of methods with a function that is never called.
        _check_async(guard, iscoroutinefunction(view) or name.startswith("_update_method_wrapper"))

    # Both say the same: a view that is called within a coroutine takes a tenth longer of all that limits add to it.
    def limited(request: Any, *args: Any, **kwargs: Any) -> Any:
        record = begin(request)
        if guard in record.seen:
            # The middleware has decided, and finishes the response.
            return view(request, *args, **kwargs)
        response = run(limit(request, record, rooms(record, (guard,)), view, False))
        try:
            response = view(request, *args, **kwargs) if response is None else response
        except Exception as error:
            fail(record, error)
            raise
        finally:
            if not record.is_carried and (response is None or finish(record, response)):
                record.close()
        return response

    async def limited_later(request: Any, *args: Any, **kwargs: Any) -> Any:
        record = begin(request)
        if guard in record.seen:
            return await view(request, *args, **kwargs)
        response = await limit(request, record, rooms(record, (guard,)), view, True)
        try:
            response = await view(request, *args, **kwargs) if response is None else response
        except Exception as error:
            fail(record, error)
            raise
        finally:
            if not record.is_carried and (response is None or finish(record, response)):
                await record.end(True)
        return response

    wrapped: Any = functools.wraps(view)(limited_later if _is_async(view) else limited)
    mark(OWNER, wrapped, guard)
    return wrapped


def _of_class(decorator: Any, view: Any, new: object) -> Any:
    """Decorates a class; to its own limits, those that it inherits are of an outer place."""
    inherited = getattr(getattr(super(view, view), "dispatch", None), NAME, ())
    found = getattr(getattr(view, "dispatch", None), NAME, ())
    outer = [one for one in found if one in inherited]
    decorated = method_decorator(decorator, name="dispatch")(view)
    # It has put the marks of what it wraps in place of the new one.
    setattr(decorated.dispatch, NAME, (*outer, (OWNER, new), *found[len(outer) :]))
    return decorated


def _check_async(guard: DjangoGuard, is_async: bool) -> None:
    if guard.is_async and not is_async:
        raise LimitError("a coroutine function needs an async view", "", "limits", str(guard))


def _is_async(view: Any) -> bool:
    """A coroutine function, or the bound ``dispatch`` of a class whose methods are such."""
    owner = getattr(getattr(view, "func", view), "__self__", None)
    return iscoroutinefunction(view) or getattr(owner, "view_is_async", False)


def exempt(view: T) -> T:
    """Takes a view, a function or a class, out of all limits.

    >>> from tidegate.django import exempt
    >>> @exempt
    ... def health(request): ...
    """
    if isinstance(view, type):
        decorated: T = method_decorator(exempt, name="dispatch")(view)
        return decorated
    mark(OWNER, view, EXEMPT)
    return view


def limiter(using: str = DEFAULT) -> Limiter:
    """The limiter of a store that the settings name, to look at limits or reset them.

    >>> from tidegate import Bucket, client_of
    >>> from tidegate.django import limiter
    >>> def forgive(address):
    ...     limiter().reset(Bucket("login", size=5), client_of(address))
    """
    return project().named(using).store.sync


def async_limiter(using: str = DEFAULT) -> AsyncLimiter:
    """The same for async code."""
    return project().named(using).store.aio


def info(request: Any) -> LimitInfo | None:
    """The latest answer about a request, also ``request.rate_limit``; ``None`` where nothing limited it."""
    record = record_of(request)
    return None if record is None else record.latest


def settle(request: Any, cost: int) -> bool:
    """Notes what a request really cost; the difference is charged or given back at the end of its response.

    Call it as often as you know better, also from a stream; the latest number counts. False says that no limit was
    given a ``cost``.
    """
    record = record_of(request)
    return record is not None and record.settle(cost)
