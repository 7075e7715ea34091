"""The release of what is held, when a response has been read or closed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Coroutine
from typing import Any

from .._errors import TidegateError
from .._hold import AsyncHeld
from .._tidegate import Held, LimitInfo

_log = logging.getLogger("tidegate")


def release(held: Held) -> None:
    """Releases, once; a failure takes no response away, because the lease gives the units back."""
    try:
        held.release()
    except TidegateError as error:
        _warn(error)


async def release_async(held: AsyncHeld) -> None:
    """The same on an event loop."""
    await _noted(held.release())


def begin_release(held: AsyncHeld) -> Coroutine[Any, Any, None] | None:
    """The same, begun at once; returns what is left to await."""
    try:
        answer = held._end()
    except TidegateError as error:
        _warn(error)
        return None
    return None if isinstance(answer, LimitInfo) else _noted(answer)


async def _noted(answer: Awaitable[object]) -> None:
    try:
        await answer
    except TidegateError as error:
        _warn(error)


def _warn(error: TidegateError) -> None:
    _log.warning("units of an outgoing call wait for the end of their lease: %s", error)
