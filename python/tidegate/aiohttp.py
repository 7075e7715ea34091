"""Limits for calls that aiohttp makes: a client middleware that waits for a turn, and takes over what the server says.

>>> import aiohttp
>>> from tidegate.aiohttp import rate_limit
>>> async def main():
...     async with aiohttp.ClientSession(middlewares=[rate_limit("100/minute", max_wait=30, retries=2)]) as session:
...         ...
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import (
    BytesPayload,
    ClientConnectorError,
    ClientHandlerType,
    ClientMiddlewareType,
    ClientRequest,
    ClientResponse,
    ConnectionTimeoutError,
)

from ._client.drive import run_async
from ._client.ending import begin_release, release_async
from ._client.settings import OutgoingOptions, Settings
from ._web.definitions import Written

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    from ._aio import Unpack

__all__ = ["rate_limit"]


def rate_limit(limits: Written | Sequence[Written], **options: Unpack[OutgoingOptions]) -> ClientMiddlewareType:
    """Return a middleware for ``aiohttp.ClientSession`` that waits for the turn of each request.

    Each redirect is a request, and so is what a middleware before it sends again, such as aiohttp's own for digest
    authentication. A request whose turn does not come within ``max_wait`` seconds raises ``BlockedError`` and is not
    sent. The time of ``ClientTimeout(total=…)`` includes the wait.

    >>> import aiohttp, asyncio
    >>> from tidegate import BlockedError
    >>> from tidegate.aiohttp import rate_limit
    >>> async def main():
    ...     limit = rate_limit([{"key": "api", "type": "bucket", "size": 5}], cost=9, max_wait=1)
    ...     async with aiohttp.ClientSession(middlewares=[limit]) as session:
    ...         await session.get("http://127.0.0.1:1")
    >>> asyncio.run(main())
    Traceback (most recent call last):
    tidegate.LimitError: limit "api": cost must be at most 5, got 9
    """
    settings = Settings.of("rate_limit", limits, options)

    async def middleware(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        response: ClientResponse = await run_async(settings, _Call(request, handler))
        return response

    return middleware


_ending: set[asyncio.Task[None]] = set()


def _with(close: Any, ended: Any) -> Any:
    def called() -> Any:
        ended()
        return close()

    return called


class _Call:
    def __init__(self, request: ClientRequest, handler: ClientHandlerType) -> None:
        self.request, self.method, self.host = request, request.method, request.url.raw_host or ""
        self._handler = handler

    def replayable(self) -> bool:
        return not self.request.body or isinstance(self.request.body, BytesPayload)

    def send(self) -> Any:
        return self._handler(self.request)

    def status(self, response: ClientResponse) -> int:
        return response.status

    def headers(self, response: ClientResponse) -> Iterable[tuple[str, str]]:
        return response.headers.items()

    def discard(self, response: ClientResponse) -> Any:
        response.release()

    def on_end(self, response: ClientResponse, held: Any) -> Any:
        loop = asyncio.get_running_loop()

        def ended() -> None:
            # The loop calls this, and does not wait for it. What is begun at once comes before the next request.
            if loop.is_closed():
                return
            left = begin_release(held) if loop.is_running() else release_async(held)
            if left is not None:
                task = loop.create_task(left)
                _ending.add(task)
                task.add_done_callback(_ending.discard)

        # A connection that is upgraded has no body. It goes on until its WebSocket is closed.
        if response.status != 101:
            response.content.on_eof(ended)
        for name in ("close", "release"):
            setattr(response, name, _with(getattr(response, name), ended))

    def never_sent(self, error: BaseException) -> bool:
        return isinstance(error, ClientConnectorError | ConnectionTimeoutError)
