"""The scenarios of HTTP clients, played by each client against a server on loopback, with a clock that is advanced."""

from __future__ import annotations

import asyncio
import doctest
import io
import json
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

import tidegate.aiohttp
import tidegate.httpx
import tidegate.requests
from tidegate import BlockedError, Concurrency, Limit, Limiter, TokenBucket
from tidegate.testing import Clock

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "client.json").read_text())


class Loopback(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that closes its connection early is no error here."""


class Server:
    """A server that sends the replies it is given, and counts what it got."""

    def __init__(self) -> None:
        server = self
        self.replies: list[dict[str, Any]] = []
        self.got: list[bytes] = []
        self.slow: threading.Event | None = None
        """Without this, no body."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self) -> None:
                server.got.append(self.body())
                reply: Any = server.replies.pop(0) if server.replies else {"status": 200, "headers": {}}
                # Not `send_response`, which adds a date.
                self.send_response_only(reply["status"])
                for name, value in reply["headers"].items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "2")
                self.end_headers()
                if server.slow is not None:
                    server.slow.wait(10)
                self.wfile.write(b"hi")

            def body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            do_GET = do_POST = do_PUT = reply  # noqa: N815

            def log_message(self, *_: object) -> None: ...

        self._server = Loopback(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


Send = Callable[[str, str, "str | None"], Any]


def with_httpx(limits: Any, options: Any) -> tuple[Send, Callable[[], Any]]:
    client = httpx.Client(transport=tidegate.httpx.RateLimitTransport(limits, **options))

    def send(method: str, url: str, body: str | None) -> int:
        content: Any = iter([b"part"]) if body == "stream" else body
        return client.request(method, url, content=content).status_code

    return send, client.close


def with_httpx_async(limits: Any, options: Any) -> tuple[Send, Callable[[], Any]]:
    client = httpx.AsyncClient(transport=tidegate.httpx.AsyncRateLimitTransport(limits, **options))

    async def parts() -> AsyncIterator[bytes]:
        yield b"part"

    async def send(method: str, url: str, body: str | None) -> int:
        content: Any = parts() if body == "stream" else body
        return (await client.request(method, url, content=content)).status_code

    return send, client.aclose


def with_requests(limits: Any, options: Any) -> tuple[Send, Callable[[], Any]]:
    session = requests.Session()
    session.mount("http://", tidegate.requests.RateLimitAdapter(limits, **options))

    def send(method: str, url: str, body: str | None) -> int:
        data: Any = iter([b"part"]) if body == "stream" else body
        return session.request(method, url, data=data, timeout=10).status_code

    return send, session.close


def with_aiohttp(limits: Any, options: Any) -> tuple[Send, Callable[[], Any]]:
    session = aiohttp.ClientSession(middlewares=[tidegate.aiohttp.rate_limit(limits, **options)])

    async def parts() -> AsyncIterator[bytes]:
        yield b"part"

    async def send(method: str, url: str, body: str | None) -> int:
        async with session.request(method, url, data=parts() if body == "stream" else body) as response:
            await response.read()
            return response.status

    return send, session.close


CLIENTS = [with_httpx, with_httpx_async, with_requests, with_aiohttp]
UNREACHABLE = (httpx.ConnectError, requests.ConnectionError, aiohttp.ClientConnectorError)
NAMES = {
    "maxWaitMs": "max_wait",
    "retryMethods": "retry_methods",
    "maxBackoffMs": "max_backoff",
    "backoffMs": "backoff",
}


def options_of(case: Any) -> dict[str, Any]:
    """The options of a case, as Python names them: times in seconds."""
    options = case["options"].items()
    return {NAMES.get(name, name): at / 1000 if name.endswith("Ms") else at for name, at in options}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("case", VECTORS["scenarios"], ids=lambda case: case["says"])
def test_scenarios(client: Any, case: Any, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)
    clock = Clock(VECTORS["now"] / 1000)
    limiter = Limiter(clock=clock)
    asyncio.run(play(client, case, server, clock, limiter))
    for limit, left in zip(case["limits"], case.get("left", [])):
        info = limiter.peek(Limit.from_dict(limit), "127.0.0.1")
        assert {"remaining": info.remaining, "resetMs": info.reset_ms} == left


async def play(client: Any, case: Any, server: Server, clock: Clock, limiter: Limiter) -> None:
    send, close = client(case["limits"], {"limiter": limiter, **options_of(case)})

    async def outcome(request: Any) -> Any:
        url = "http://127.0.0.1:1/" if request["want"] == "unreachable" else server.url
        try:
            status = send(request.get("method", "GET"), url, request.get("body"))
            return status if isinstance(status, int) else await status
        except BlockedError as error:
            return "blocked" if error.info.blocked and error.retry_after == error.info.reset_ms / 1000 else error
        except UNREACHABLE:
            return "unreachable"

    for request in case["requests"]:
        clock.advance(request.get("advance", 0) / 1000)
        server.replies, server.got, before = list(request.get("replies", [])), [], clock()
        assert await outcome(request) == request["want"], request
        assert (len(server.got), round((clock() - before) * 1000)) == (request["sent"], request["waited"]), request
        body = {"stream": b"part", None: b""}.get(request.get("body"), b"text")
        assert all(got == body for got in server.got)
    closing = close()
    if closing is not None:
        await closing


PARALLEL = Concurrency("parallel", max=1, lease=60_000)
RATE = TokenBucket("rate", count=10, period=3_600_000)
FIXED = type("Fixed", (), {"__slots__": (), "connection": 1})()


def left(limiter: Limiter) -> tuple[int, int]:
    return limiter.peek(PARALLEL, "127.0.0.1").remaining, limiter.peek(RATE, "127.0.0.1").remaining


def test_units_are_held_until_the_body_is_read_by_httpx(server: Server) -> None:
    limiter = Limiter()
    transport = tidegate.httpx.RateLimitTransport([PARALLEL, RATE], limiter=limiter, max_wait=0, retries=1)
    with httpx.Client(transport=transport) as client:
        with client.stream("GET", server.url) as response:
            assert left(limiter) == (0, 9)
            with pytest.raises(BlockedError):
                client.get(server.url)
            assert response.read() == b"hi"
            assert left(limiter) == (1, 9)
        with client.stream("GET", server.url):
            assert left(limiter) == (0, 8)
        assert left(limiter) == (1, 8)
        with pytest.raises(httpx.ConnectError):
            client.get("http://127.0.0.1:1")
        assert left(limiter) == (1, 8)
        assert client.get(server.url).text == "hi"
    assert left(limiter) == (1, 7)


def test_a_body_that_came_with_its_response_is_over() -> None:
    limiter = Limiter()
    mock = httpx.MockTransport(lambda _: httpx.Response(200, text="hi"))
    transport = tidegate.httpx.RateLimitTransport(PARALLEL, limiter=limiter, transport=mock)
    with httpx.Client(transport=transport) as client:
        assert [client.get("http://127.0.0.1").text for _ in range(3)] == ["hi"] * 3
    assert left(limiter)[0] == 1


def test_units_are_held_until_the_body_is_read_by_httpx_on_a_loop(server: Server) -> None:
    async def main() -> None:
        limiter = Limiter()
        transport = tidegate.httpx.AsyncRateLimitTransport([PARALLEL, RATE], limiter=limiter, max_wait=0)
        async with httpx.AsyncClient(transport=transport) as client:
            async with client.stream("GET", server.url) as response:
                assert left(limiter) == (0, 9)
                assert await response.aread() == b"hi"
                assert left(limiter) == (1, 9)
            async with client.stream("GET", server.url):
                assert left(limiter) == (0, 8)
            assert left(limiter) == (1, 8)
            with pytest.raises(httpx.ConnectError):
                await client.get("http://127.0.0.1:1")
            assert left(limiter) == (1, 8)

    asyncio.run(main())


def test_units_are_held_until_the_body_is_read_by_requests(server: Server) -> None:
    limiter = Limiter()
    with requests.Session() as session:
        adapter = tidegate.requests.RateLimitAdapter([PARALLEL, RATE], limiter=limiter, max_wait=0)
        session.mount("http://", adapter)
        response = session.get(server.url, stream=True, timeout=10)
        assert left(limiter) == (0, 9)
        assert response.text == "hi"
        assert left(limiter) == (1, 9)
        with session.get(server.url, stream=True, timeout=10):
            assert left(limiter) == (0, 8)
        assert left(limiter) == (1, 8)
        with pytest.raises(requests.ConnectionError):
            session.get("http://127.0.0.1:1", timeout=10)
        assert left(limiter) == (1, 8)
        assert session.get(server.url, timeout=10).text == "hi"
    assert left(limiter) == (1, 7)


class InMemory(HTTPAdapter):
    def __init__(self, fields: Any) -> None:
        self.fields = fields

    def send(self, *_: Any, **__: Any) -> requests.Response:
        vars(response := requests.Response()).update(status_code=200, **self.fields)
        return response


def test_units_of_a_response_without_a_connection_are_released_at_once() -> None:
    for raw in (None, io.BytesIO(b"hi"), HTTPResponse(io.BytesIO(b"hi"), preload_content=False)):
        limiter = Limiter()
        adapter = tidegate.requests.RateLimitAdapter(PARALLEL, limiter=limiter, adapter=InMemory({"raw": raw}))
        assert adapter.send(requests.Request("GET", "http://127.0.0.1").prepare()).content == (b"hi" if raw else None)
        assert left(limiter)[0] == 1


@pytest.mark.parametrize("fields", [{"headers": None}, {"raw": FIXED}])
def test_units_of_a_response_that_cannot_be_read_are_released(fields: Any) -> None:
    limiter = Limiter()
    adapter = tidegate.requests.RateLimitAdapter(PARALLEL, limiter=limiter, adapter=InMemory(fields))
    with pytest.raises(AttributeError):
        adapter.send(requests.Request("GET", "http://127.0.0.1").prepare())
    assert left(limiter)[0] == 1


def test_units_are_held_until_the_body_is_read_by_aiohttp(server: Server) -> None:
    async def released(limiter: Limiter, rate: int) -> None:
        # By a task that the end of a response begins.
        for _ in range(3):
            await asyncio.sleep(0)
        assert left(limiter) == (1, rate)

    async def main() -> None:
        limiter = Limiter()
        middleware = tidegate.aiohttp.rate_limit([PARALLEL, RATE], limiter=limiter, max_wait=0)
        server.slow = threading.Event()
        async with aiohttp.ClientSession(middlewares=[middleware]) as session:
            async with session.get(server.url) as response:
                assert left(limiter) == (0, 9)
                server.slow.set()
                assert await response.text() == "hi"
                await released(limiter, 9)
            server.slow.clear()
            async with session.get(server.url):
                assert left(limiter) == (0, 8)
            await released(limiter, 8)
            server.slow.set()
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get("http://127.0.0.1:1")
            assert left(limiter) == (1, 8)

    asyncio.run(main())


def test_judged() -> None:
    from tidegate._tidegate import _Outgoing

    assert VECTORS["judged"]
    for case in VECTORS["judged"]:
        reply, want = case["reply"], case["want"]
        remaining, stop_ms, retry_in_ms = _Outgoing(
            [Limit.from_dict(limit) for limit in case["limits"]], **options_of(case)
        ).judge(
            reply["status"],
            list(reply["headers"].items()),
            reply.get("method", "GET"),
            reply.get("attempt", 0),
            reply.get("replayable", True),
            reply.get("left", []),
            reply.get("random", 0.0),
            VECTORS["now"],
        )
        assert [list(pair) for pair in remaining] == want["remaining"], case
        assert (stop_ms, retry_in_ms) == (want.get("stopMs"), want.get("retryInMs")), case


@pytest.mark.parametrize("module", [tidegate.httpx, tidegate.requests, tidegate.aiohttp], ids=lambda of: of.__name__)
def test_examples(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module, optionflags=doctest.FAIL_FAST | doctest.IGNORE_EXCEPTION_DETAIL)
    assert failed == 0
    assert tried > 4


def test_a_key_of_the_request(server: Server) -> None:
    limiter = Limiter(clock=Clock())
    key = lambda request: request.headers["authorization"]  # noqa: E731
    transport = tidegate.httpx.RateLimitTransport("2/minute", limiter=limiter, key=key, name="api", max_wait=0)
    with httpx.Client(transport=transport) as client:
        for token in ("a", "b", "a", "b"):
            assert client.get(server.url, headers={"authorization": token}).status_code == 200
        with pytest.raises(BlockedError):
            client.get(server.url, headers={"authorization": "a"})
    assert limiter.peek(Limit.parse("api", "2/minute"), "b").remaining == 0


def test_a_cancelled_wait_gives_its_charge_back(server: Server) -> None:
    async def main() -> None:
        limit = tidegate.aiohttp.rate_limit("2/hour", limiter=limiter)
        async with aiohttp.ClientSession(middlewares=[limit]) as session:
            for _ in range(2):
                async with session.get(server.url) as response:
                    await response.read()
            waiting = asyncio.ensure_future(session.get(server.url))
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    limiter = Limiter()
    asyncio.run(main())
    assert len(server.got) == 2
    # A third charge would take twice as long.
    assert 1790 < limiter.peek(Limit.parse("outgoing", "2/hour"), "127.0.0.1").reset_sec <= 1800


def test_a_header_that_is_no_text_says_nothing() -> None:
    from tidegate._tidegate import _Outgoing

    outgoing = _Outgoing([Limit.parse("api", "5/second")])
    headers = [("X-RateLimit-Remaining", "\udcff"), ("Retry-After", "3")]
    assert outgoing.judge(429, headers, "GET", 0, True, [], 0.0, 0.0) == ([], 3000, None)
