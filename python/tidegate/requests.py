"""Limits for calls that requests makes: an adapter that waits for a turn, and takes over what the server says.

>>> import requests
>>> from tidegate.requests import RateLimitAdapter
>>> session = requests.Session()
>>> session.mount("https://api.example.com", RateLimitAdapter("100/minute", max_wait=30, retries=2))
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError

from ._client.drive import run
from ._client.ending import release
from ._client.settings import OutgoingOptions, Settings
from ._web.definitions import Written

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    from ._aio import Unpack

__all__ = ["RateLimitAdapter"]


class RateLimitAdapter(BaseAdapter):
    """An adapter for ``Session.mount`` that waits for the turn of each request.

    ``adapter`` sends the requests, ``HTTPAdapter()`` by default. Each redirect is a request. A request whose turn does
    not come within ``max_wait`` seconds raises ``BlockedError`` and is not sent.

    >>> import requests
    >>> from tidegate import Limiter
    >>> from tidegate.requests import RateLimitAdapter
    >>> session, limiter = requests.Session(), Limiter()
    >>> session.mount("http://", RateLimitAdapter("100/minute", limiter=limiter, max_wait=1))
    >>> try:
    ...     session.get("http://127.0.0.1:1")
    ... except requests.ConnectionError:
    ...     print("nothing is charged for a request that was never sent")
    nothing is charged for a request that was never sent
    """

    def __init__(
        self,
        limits: Written | Sequence[Written],
        *,
        adapter: BaseAdapter | None = None,
        **options: Unpack[OutgoingOptions],
    ) -> None:
        super().__init__()
        self._settings = Settings.of(type(self).__name__, limits, options)
        self._adapter = adapter or HTTPAdapter()

    def send(
        self,
        request: requests.PreparedRequest,
        *arguments: Any,
        **options: Any,
    ) -> requests.Response:
        """Sends a request when its turn has come."""
        call = _Call(request, lambda: self._adapter.send(request, *arguments, **options))
        response: requests.Response = run(self._settings, call)
        # By this an authentication such as `HTTPDigestAuth` sends its own request.
        if getattr(response, "connection", None) is self._adapter:
            response.connection = self  # type: ignore[assignment]
        return response

    def close(self) -> None:
        """Closes the adapter below."""
        self._adapter.close()


class _Call:
    def __init__(self, request: requests.PreparedRequest, send: Any) -> None:
        self.request, self.method, self.send = request, request.method or "", send
        self.host = urlsplit(request.url or "").hostname or ""

    def replayable(self) -> bool:
        return self.request.body is None or isinstance(self.request.body, str | bytes | bytearray)

    def status(self, response: requests.Response) -> int:
        return response.status_code

    def headers(self, response: requests.Response) -> Iterable[tuple[str, str]]:
        return response.headers.items()

    def discard(self, response: requests.Response) -> Any:
        response.close()

    def on_end(self, response: requests.Response, held: Any) -> None:
        # A body without a connection is in memory already, as that of an adapter for tests: nobody may close it.
        if getattr(response.raw, "connection", None) is None:
            release(held)
            return
        # The connection goes back when the body has been read, or is closed with the response.
        for of, name in ((response.raw, "release_conn"), (response.raw, "close"), (response, "close")):
            setattr(of, name, _with_release(getattr(of, name, None), held))

    def never_sent(self, error: BaseException) -> bool:
        if isinstance(error, requests.exceptions.ConnectTimeout):
            return True
        cause = error.args[0] if isinstance(error, requests.ConnectionError) and error.args else None
        reason = cause.reason if isinstance(cause, MaxRetryError) else cause
        return isinstance(reason, NewConnectionError | ConnectTimeoutError)


def _with_release(call: Any, held: Any) -> Any:
    def called(*arguments: Any, **options: Any) -> Any:
        try:
            return call and call(*arguments, **options)
        finally:
            release(held)

    return called
