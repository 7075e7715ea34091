"""What HTTP clients meet that scenarios do not: names of hosts, lost callers, authentication and upgrades."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import requests
from yarl import URL

import tidegate.aiohttp
import tidegate.httpx
import tidegate.requests
from test_clients import RATE, InMemory
from tidegate import Limiter


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
