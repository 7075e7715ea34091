"""Another limiter for every application of this process, for tests."""

from __future__ import annotations

from .._aio import AsyncLimiter
from .._tidegate import Limiter, LimitInfo
from .decision import NO_LIMIT
from .store import Store

__all__ = ["StandIn"]


class StandIn:
    """A limiter in the place of all others, or none; blocks may be nested."""

    def __init__(self, limiter: Limiter | AsyncLimiter | None) -> None:
        self._store = _NoStore() if limiter is None else Store(limiter)

    def __enter__(self) -> StandIn:
        self._before, Store.stand_in = Store.stand_in, self._store
        return self

    def __exit__(self, *_error: object) -> None:
        Store.stand_in = self._before


class _NoLimiter:
    """Limits nothing."""

    def limit(self, *_check: object) -> LimitInfo:
        return NO_LIMIT

    limit_all = peek = limit

    def settle(self, *_charge: object) -> None:
        pass


class _NoStore:
    """A store that is never asked. What is there already is nothing to wait for."""

    sync = aio = _NoLimiter()
