"""Another limiter for every application of this process, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._aio import AsyncLimiter
from .._tidegate import Limiter, LimitInfo
from .decision import NO_LIMIT
from .guard import Asked
from .store import Store

__all__ = ["StandIn"]

METHODS = ("decide", "decide_async", "peek", "settle", "settle_async")


class StandIn:
    """A limiter in the place of all others, or none; blocks may be nested."""

    _originals: ClassVar[dict[str, Any]] = {name: getattr(Store, name) for name in METHODS}

    def __init__(self, limiter: Limiter | AsyncLimiter | None) -> None:
        self.store = None if limiter is None else Store(limiter)

    def decide(self, checks: Sequence[Asked], observed: Sequence[Asked] = ()) -> LimitInfo:
        """Decides in place of a store."""
        if self.store is None:
            return _unlimited([*checks, *observed])
        answer: LimitInfo = self._originals["decide"](self.store, checks, observed)
        return answer

    async def decide_async(self, checks: Sequence[Asked], observed: Sequence[Asked] = ()) -> LimitInfo:
        """Decides in place of a store."""
        if self.store is None:
            return _unlimited([*checks, *observed])
        answer: LimitInfo = await self._originals["decide_async"](self.store, checks, observed)
        return answer

    def peek(self, check: Asked) -> LimitInfo:
        """Looks in place of a store."""
        if self.store is None:
            return NO_LIMIT
        answer: LimitInfo = self._originals["peek"](self.store, check)
        return answer

    def settle(self, info: LimitInfo, costs: Sequence[int]) -> None:
        """Settles in place of a store."""
        if self.store is not None:
            self._originals["settle"](self.store, info, costs)

    async def settle_async(self, info: LimitInfo, costs: Sequence[int]) -> None:
        """Settles in place of a store."""
        if self.store is not None:
            await self._originals["settle_async"](self.store, info, costs)

    def __enter__(self) -> StandIn:
        self._before = {name: getattr(Store, name) for name in METHODS}
        for name in METHODS:
            setattr(Store, name, _method(getattr(self, name)))
        self._was_stood_in, Store.stood_in = Store.stood_in, True
        return self

    def __exit__(self, *_error: object) -> None:
        for name, method in self._before.items():
            setattr(Store, name, method)
        Store.stood_in = self._was_stood_in


def _unlimited(checks: Sequence[Asked]) -> LimitInfo:
    """The answer to checks that are not asked."""
    if len(checks) == 1:
        return NO_LIMIT
    return LimitInfo(remaining=NO_LIMIT.remaining, quota=NO_LIMIT.quota, checks=[NO_LIMIT for _ in checks])


def _method(function: Any) -> Any:
    """The function as a method of stores, whichever store it is called of."""
    return lambda _store, *arguments: function(*arguments)
