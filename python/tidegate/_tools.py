"""Limits on calls of a function, such as a tool of an agent."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, ExitStack
from typing import Any, TypeVar

from ._errors import LimitError
from ._hold import AsyncHeld, BlockedError
from ._tidegate import Held, LimitInfo
from ._types import Check
from ._web.store import LimiterLike, Store, store_of

__all__ = ["limit_tool"]

Tool = TypeVar("Tool", bound=Callable[..., Any])


def limit_tool(
    limiter: LimiterLike,
    checks: Callable[..., Iterable[Check]],
    *,
    denied: Callable[[BlockedError], Any] | None = None,
) -> Callable[[Tool], Tool]:
    """A decorator that limits calls of a function, such as a tool of an agent: per user and session, or as you like.

    ``checks`` gets the arguments of a call and returns its checks, as ``Limiter.limit_all`` takes them. They are one
    decision. Units of a ``Concurrency`` are held until the function has returned. A call that is denied raises
    ``BlockedError``, whose message says when to retry. With ``denied`` it returns what that function makes of the
    error, such as a sentence for the model. The function may be sync or async, and keeps its signature, from which
    agents read the parameters of a tool.

    >>> from tidegate import BlockedError, Limiter, TokenBucket
    >>> from tidegate.llm import limit_tool
    >>> by_user = TokenBucket("search-user", count=100, period=3_600_000)
    >>> by_session = TokenBucket("search-session", count=1, period=60_000)
    >>> @limit_tool(Limiter(), lambda user, session, query: [(by_user, user), (by_session, session)])
    ... def search(user: str, session: str, query: str) -> str:
    ...     return f"nothing about {query}"
    >>> search("ada", "s1", "tides")
    'nothing about tides'
    >>> try:
    ...     search("ada", "s1", "moons")
    ... except BlockedError as error:
    ...     print(error.info.key)
    search-session
    """
    store = store_of(limiter)

    def deny(info: LimitInfo) -> Any:
        error = BlockedError(info)
        if denied is None:
            raise error
        return denied(error)

    def decorate(tool: Tool) -> Tool:
        if inspect.isasyncgenfunction(tool) or inspect.isgeneratorfunction(tool):
            message = f"tool must return a value or be a coroutine function, got {tool!r}"
            raise LimitError(message, "", "tool", repr(tool))
        # Of an object that can be called, the method says it.
        if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None)):  # noqa: B004

            @functools.wraps(tool)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                limiter = (Store.stand_in or store).aio
                answer = limiter.limit_all(list(checks(*args, **kwargs)))
                info = answer if isinstance(answer, LimitInfo) else await answer
                if info.blocked:
                    denial = deny(info)
                    return await denial if inspect.isawaitable(denial) else denial
                if info._lease is None:
                    return await tool(*args, **kwargs)
                async with AsyncExitStack() as stack:
                    stack.push_async_exit(AsyncHeld._of(limiter, info))
                    return await tool(*args, **kwargs)

            return call_async  # type: ignore[return-value]

        @functools.wraps(tool)
        def call(*args: Any, **kwargs: Any) -> Any:
            limiter = store.limiter(False)
            info = limiter.limit_all(list(checks(*args, **kwargs)))
            if info.blocked:
                return deny(info)
            if info._lease is None:
                return tool(*args, **kwargs)
            with ExitStack() as stack:
                stack.push(Held._of(limiter, info))
                return tool(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate
