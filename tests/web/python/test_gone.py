"""Clients that have reset the connection before their server asked for their address."""

from __future__ import annotations

import asyncio
import importlib
import socket
import struct
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import Depends, FastAPI

from harness import hello
from serving import ask, over_uvicorn
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.fastapi import RateLimitMiddleware as FromFastAPI

sys.path.insert(0, str(Path(__file__).parent / "apps"))
importlib.import_module("site_of_django")

from django.core.asgi import get_asgi_application  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import override_settings  # noqa: E402
from django.urls import path  # noqa: E402


def behind_a_dependency(**options: Any) -> Any:
    app = FastAPI()
    app.add_middleware(FromFastAPI, **options)
    app.get("/", dependencies=[Depends(RateLimit("9/hour"))])(lambda: "hello")
    return app


@pytest.mark.parametrize("proxies", [None, "unix"])
@pytest.mark.parametrize(
    "made",
    [
        lambda **options: RateLimitMiddleware(hello, limits="9/hour", **options),
        lambda **options: RateLimitMiddleware(hello, limits="9/hour", key=lambda _request: None, **options),
        behind_a_dependency,
    ],
    ids=["middleware", "key", "dependency"],
)
def test_a_client_that_resets_the_connection_behind_its_request_has_no_address(
    made: Callable[..., Any], proxies: str | None
) -> None:
    """Uvicorn asks the system for it, which has it no more; a proxy over a Unix socket has none either."""
    app, statuses = made(trusted_proxies=proxies), list[int]()
    is_blocked, is_reset, is_over = threading.Event(), threading.Event(), threading.Event()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/block":
            # Of the whole loop, so that the next connection is reset before the server has accepted it.
            is_blocked.set()
            is_reset.wait(60)
            await hello(scope, receive, send)
            return

        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            await app(scope, receive, noted)
        finally:
            is_over.set()

    with over_uvicorn(watched) as port, ThreadPoolExecutor() as pool:
        blocking = pool.submit(ask, port, "/block")
        assert is_blocked.wait(60)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n")
        is_reset.set()
        assert is_over.wait(60)
        assert blocking.result().status == 200
    assert statuses == [400]


@pytest.mark.parametrize(
    ("server", "status"),
    [(("127.0.0.1", 80), 400), (("fe80::1%eth0", 80), 400), (("/run/app.sock", None), 200), (None, 200)],
    ids=str,
)
def test_only_a_server_with_an_address_of_its_own_tells_that_a_client_has_left(server: Any, status: int) -> None:
    project = {"default": {"LOCATION": "memory://"}, "LIMITS": "9/hour", "TRUSTED_PROXIES": "unix"}
    middleware = ["tidegate.django.RateLimitMiddleware"]
    urls = type("Urls", (), {"urlpatterns": [path("", lambda _request: HttpResponse())]})
    limited = RateLimitMiddleware(hello, limits="9/hour", trusted_proxies="unix")
    headers = [(b"host", b"localhost"), (b"x-forwarded-for", b"203.0.113.9")]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers, "server": server}

    async def status_of(app: Any) -> Any:
        sent: list[Any] = []
        asked = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            return asked.pop() if asked else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await app({**scope, "client": None}, receive, send)
        return sent[0]["status"]

    with override_settings(TIDEGATE=project, MIDDLEWARE=middleware, ROOT_URLCONF=urls, ALLOWED_HOSTS=["*"]):
        assert [asyncio.run(status_of(app)) for app in (limited, get_asgi_application())] == [status, status]
