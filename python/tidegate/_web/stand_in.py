"""Another limiter for every application of this process, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._aio import AsyncLimiter
from .._tidegate import Limiter, LimitInfo
from .decision import NO_LIMIT
from .store import Store


@contextmanager
def stand_in(limiter: Limiter | AsyncLimiter | None) -> Iterator[None]:
    """Puts a limiter in the place of all others, or none; blocks may be nested."""
    before, Store.stand_in = Store.stand_in, _NoStore() if limiter is None else Store(limiter)
    try:
        yield
    finally:
        Store.stand_in = before


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
