"""Edges of HTTP clients that no scenario has: names of hosts, lost callers, authentication and upgrades."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from aiohttp import web
from requests.auth import HTTPDigestAuth
from yarl import URL

import tidegate.aiohttp
import tidegate.httpx
import tidegate.requests
from test_clients import PARALLEL, RATE, InMemory, Server, left, server
from tidegate import AsyncLimiter, Limiter

__all__ = ["server"]


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """A server on the loop of its clients."""

    async def redirect(_: web.Request) -> web.Response:
        raise web.HTTPFound("/")

    async def echo(request: web.Request) -> web.WebSocketResponse:
        await (socket := web.WebSocketResponse()).prepare(request)
        async for message in socket:
            await socket.send_str(message.data)
        return socket

    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hi")

    app = web.Application()
    app.add_routes([web.get("/", hello), web.get("/redirect", redirect), web.get("/socket", echo)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


HOSTS = [("bücher.example", "xn--bcher-kva.example"), ("[::1]", "::1"), ("LOCALHOST", "localhost")]


@pytest.mark.parametrize(("host", "actor"), HOSTS)
def test_a_host_is_one_actor_whatever_the_client(host: str, actor: str) -> None:
    limiter, url = Limiter(), f"http://{host}:1/"

    async def main() -> None:
        mock = httpx.MockTransport(lambda _: httpx.Response(200))
        with httpx.Client(transport=tidegate.httpx.RateLimitTransport(RATE, limiter=limiter, transport=mock)) as client:
            client.get(url)
        raw = InMemory({"raw": None})
        adapter = tidegate.requests.RateLimitAdapter(RATE, limiter=limiter, adapter=raw)
        adapter.send(requests.Request("GET", url).prepare())
        asked: Any = SimpleNamespace(url=URL(url), method="GET", body=None)

        async def handler(_: object) -> Any:
            return SimpleNamespace(status=200, headers={})

        await tidegate.aiohttp.rate_limit(RATE, limiter=limiter)(asked, handler)

    asyncio.run(main())
    assert limiter.peek(RATE, actor).remaining == 7


class Late(AsyncLimiter):
    """A limiter whose store takes its time to note what a response says, and tells when it begins."""

    noting: asyncio.Event

    async def observe(self, *_: Any, **__: Any) -> Any:
        self.noting.set()
        await asyncio.sleep(10)


def test_a_caller_that_gives_up_while_its_response_is_noted_gives_its_connection_back(server: Server) -> None:
    server.replies = [{"status": 200, "headers": {"X-RateLimit-Remaining": "1"}}]

    async def main() -> None:
        limiter = Late()
        limiter.noting = asyncio.Event()
        one = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1))
        transport = tidegate.httpx.AsyncRateLimitTransport([PARALLEL, RATE], limiter=limiter, transport=one)
        async with httpx.AsyncClient(transport=transport, timeout=5) as client:
            asking = asyncio.ensure_future(client.get(server.url))
            await asyncio.wait_for(limiter.noting.wait(), 10)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert left(limiter._limiter) == (1, 9)
            assert (await client.get(server.url)).text == "hi"

    asyncio.run(main())


def test_a_request_of_an_authentication_waits_for_its_turn_too(server: Server) -> None:
    challenge = {"WWW-Authenticate": 'Digest realm="all", nonce="once", qop="auth"'}
    server.replies = [{"status": 401, "headers": challenge}]
    limiter = Limiter()
    with requests.Session() as session:
        session.mount("http://", tidegate.requests.RateLimitAdapter([PARALLEL, RATE], limiter=limiter, max_wait=0))
        response = session.get(server.url, auth=HTTPDigestAuth("ada", "secret"), timeout=10)
        assert (response.status_code, len(server.got)) == (200, 2)
    assert left(limiter) == (1, 8)


def test_requests_of_aiohttp_one_after_another_never_wait_for_each_other() -> None:
    async def main() -> None:
        limiter = Limiter()
        limit = tidegate.aiohttp.rate_limit([PARALLEL, RATE], limiter=limiter, max_wait=0)
        async with serving() as url, aiohttp.ClientSession(middlewares=[limit]) as session:
            for path in ("/", "/redirect", "/redirect"):
                async with session.get(url + path) as response:
                    assert await response.text() == "hi"
            assert left(limiter) == (1, 5)

    asyncio.run(main())


def test_an_upgrade_of_aiohttp_holds_its_unit_until_its_socket_is_closed() -> None:
    async def main() -> None:
        limiter = Limiter()
        limit = tidegate.aiohttp.rate_limit(PARALLEL, limiter=limiter, max_wait=0)
        async with serving() as url, aiohttp.ClientSession(middlewares=[limit]) as session:
            async with session.ws_connect(f"{url}/socket") as socket:
                await socket.send_str("hi")
                assert (await socket.receive()).data == "hi"
                assert left(limiter)[0] == 0
            assert left(limiter)[0] == 1

    asyncio.run(main())
