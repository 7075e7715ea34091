"""The callers of the steps of a request: one that blocks, and one for event loops."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Any

from .._loop import sleep
from .._tidegate import Limiter
from .._web.store import Store
from .exchange import Call, exchange
from .settings import Settings


def run(settings: Settings, call: Call) -> Any:
    """Takes a request through the limits, and returns its response."""
    limiter = settings.store.limiter(False)
    steps = exchange(settings, call, limiter._clock)
    result, error = None, None
    while True:
        try:
            step = steps.send(result) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        result, error = None, None
        try:
            if callable(step):
                result = step(limiter)
            elif not _advanced(limiter, step):
                time.sleep(step)
        except BaseException as raised:
            error = raised


async def run_async(settings: Settings, call: Call) -> Any:
    """The same without blocking the loop."""
    limiter = (Store.stand_in or settings.store).aio
    steps = exchange(settings, call, limiter._limiter._clock)
    result, error = None, None
    while True:
        try:
            step = steps.send(result) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        result, error = None, None
        try:
            if callable(step):
                result = step(limiter)
                if isinstance(result, Awaitable):
                    result = await result
            elif not _advanced(limiter._limiter, step):
                await sleep(step)
        except BaseException as raised:
            error = raised


def _advanced(limiter: Limiter, seconds: float) -> bool:
    """Advances the clock of a test, in place of waiting."""
    advance = getattr(limiter._clock, "advance", None)
    if advance is None:
        return False
    advance(seconds)
    return True
