"""Limits for calls that httpx makes: transports that wait for a turn, and take over what the server says.

>>> import httpx
>>> from tidegate.httpx import RateLimitTransport
>>> client = httpx.Client(transport=RateLimitTransport("100/minute", max_wait=30, retries=2))
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import httpx

from ._client.drive import run, run_async
from ._client.ending import release, release_async
from ._client.settings import OutgoingOptions, Settings
from ._hold import AsyncHeld
from ._web.definitions import Written

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    from ._aio import Unpack

__all__ = ["AsyncRateLimitTransport", "RateLimitTransport"]

# Errors from before anything is sent. By name, because a transport may be that of a fork of httpx.
NEVER_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"}


class RateLimitTransport(httpx.BaseTransport):
    """A transport of ``httpx.Client`` that waits for the turn of each request.

    ``transport`` sends the requests, ``httpx.HTTPTransport()`` by default. Each redirect is a request. A request whose
    turn does not come within ``max_wait`` seconds raises ``BlockedError`` and is not sent.

    >>> import httpx
    >>> from tidegate import BlockedError
    >>> from tidegate.httpx import RateLimitTransport
    >>> server = httpx.MockTransport(lambda request: httpx.Response(200))
    >>> client = httpx.Client(transport=RateLimitTransport("2/minute", transport=server, max_wait=1))
    >>> [client.get("https://api.example.com").status_code for call in range(2)]
    [200, 200]
    >>> try:
    ...     client.get("https://api.example.com")
    ... except BlockedError as error:
    ...     print(error.info.key, error.info.reset_sec)
    outgoing 30
    """

    def __init__(
        self,
        limits: Written | Sequence[Written],
        *,
        transport: httpx.BaseTransport | None = None,
        **options: Unpack[OutgoingOptions],
    ) -> None:
        self._settings = Settings.of(type(self).__name__, limits, options)
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request when its turn has come."""
        response: httpx.Response = run(self._settings, _Call(request, self._transport.handle_request, "close"))
        return response

    def close(self) -> None:
        """Closes the transport below."""
        self._transport.close()


class AsyncRateLimitTransport(httpx.AsyncBaseTransport):
    """The same for ``httpx.AsyncClient``; ``httpx.AsyncHTTPTransport()`` sends by default.

    >>> import asyncio, httpx
    >>> from tidegate.httpx import AsyncRateLimitTransport
    >>> async def main():
    ...     server = httpx.MockTransport(lambda request: httpx.Response(200))
    ...     transport = AsyncRateLimitTransport("1000/minute", transport=server, max_wait=1)
    ...     async with httpx.AsyncClient(transport=transport) as client:
    ...         return (await client.get("https://api.example.com")).status_code
    >>> asyncio.run(main())
    200
    """

    def __init__(
        self,
        limits: Written | Sequence[Written],
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        **options: Unpack[OutgoingOptions],
    ) -> None:
        self._settings = Settings.of(type(self).__name__, limits, options)
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request when its turn has come."""
        call = _Call(request, self._transport.handle_async_request, "aclose")
        response: httpx.Response = await run_async(self._settings, call)
        return response

    async def aclose(self) -> None:
        """Closes the transport below."""
        await self._transport.aclose()


class _Call:
    def __init__(self, request: httpx.Request, handle: Any, close: str) -> None:
        self.request, self.method, self.host = request, request.method, request.url.raw_host.decode("ascii")
        self._handle, self._close = handle, close

    def replayable(self) -> bool:
        try:
            _ = self.request.content
        except Exception:
            # RequestNotRead, of httpx or of a fork: the body comes from a stream.
            return False
        return True

    def send(self) -> Any:
        return self._handle(self.request)

    def status(self, response: httpx.Response) -> int:
        return response.status_code

    def headers(self, response: httpx.Response) -> Iterable[tuple[str, str]]:
        return response.headers.multi_items()

    def discard(self, response: httpx.Response) -> Any:
        return getattr(response, self._close)()

    def on_end(self, response: httpx.Response, held: Any) -> Any:
        # Not by a stream of our own, which has to be of the client's class: a client may be that of a fork of httpx.
        stream: Any = response.stream
        close = getattr(stream, self._close)

        def closed() -> None:
            try:
                close()
            finally:
                release(held)

        async def aclosed() -> None:
            try:
                await close()
            finally:
                await release_async(held)

        is_async = isinstance(held, AsyncHeld)
        setattr(stream, self._close, aclosed if is_async else closed)
        # A body that came with its response, as that of a mock, is not read.
        if not response.is_closed:
            return None
        return release_async(held) if is_async else release(held)

    def never_sent(self, error: BaseException) -> bool:
        return any(kind.__name__ in NEVER_SENT for kind in type(error).__mro__)
