"""The release of what is held, when a response has been read or closed."""

from __future__ import annotations

import logging

from .._errors import TidegateError
from .._hold import AsyncHeld
from .._tidegate import Held

_log = logging.getLogger("tidegate")


def release(held: Held) -> None:
    """Releases, once; a failure takes no response away, because the lease gives the units back."""
    try:
        held.release()
    except TidegateError as error:
        _log.warning("units of an outgoing call wait for the end of their lease: %s", error)


async def release_async(held: AsyncHeld) -> None:
    """The same on an event loop."""
    try:
        await held.release()
    except TidegateError as error:
        _log.warning("units of an outgoing call wait for the end of their lease: %s", error)
