"""Code for threads and event loops that is written once: as coroutines, which a loop awaits and a thread runs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in the caller's thread. All that it awaits has to be there already."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError("a function of a limit waits for an event loop, and is called where there is none")


async def value_of(given: Any) -> Any:
    """The value of an awaitable; any other value as it is."""
    return await given if hasattr(given, "__await__") else given


def driven(function: Callable[..., Coroutine[Any, Any, T]], is_async: bool) -> Callable[..., Any]:
    """A coroutine function as it is, or one for threads that runs its coroutines."""
    return function if is_async else lambda *args, **kwargs: run(function(*args, **kwargs))
