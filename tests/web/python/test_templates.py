"""Limits as text have the template of their route, in whatever way a client writes its path."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, WebSocket
from fastapi.testclient import TestClient

from harness import hello
from tidegate import Limiter, LimitInfo
from tidegate._web.asgi.record import Record
from tidegate.fastapi import MessageLimit, RateLimit, RateLimitMiddleware

UUID = "abcdefab-1234-1234-1234-1234567890ab"
WRITTEN = [
    ("int", ["7", "07", "007"]),
    ("float", ["1.5", "1.50", "01.5"]),
    ("uuid", [UUID, UUID.upper(), UUID.replace("-", "")]),
    ("str", ["a", "ap", "api-less"]),
    ("path", ["a", "a/b", "a//b"]),
]


@pytest.mark.parametrize(("convertor", "values"), WRITTEN, ids=[name for name, _ in WRITTEN])
def test_a_mount_with_a_parameter(convertor: str, values: list[str]) -> None:
    inner, app = FastAPI(), FastAPI()

    @inner.get("/items")
    async def items(info: Annotated[LimitInfo, Depends(RateLimit("2/day"))]) -> str:
        return info.key

    app.add_middleware(RateLimitMiddleware)
    app.mount(f"/t/{{tenant:{convertor}}}/api", inner)
    client = TestClient(app)
    answers = [client.get(f"/t/{value}/api/items") for value in values]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].json() == "GET /t/{tenant}/api/items"


@pytest.mark.parametrize(("convertor", "values"), WRITTEN[:3], ids=[name for name, _ in WRITTEN[:3]])
def test_messages_of_a_route_with_a_parameter(convertor: str, values: list[str]) -> None:
    app = FastAPI()
    messages = MessageLimit("2/day")

    @app.websocket(f"/rooms/{{room:{convertor}}}")
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_json((await messages.limit(socket)).blocked)
        await socket.close()

    app.add_middleware(RateLimitMiddleware)
    client = TestClient(app)
    told = []
    for value in values:
        with client.websocket_connect(f"/rooms/{value}") as socket:
            told.append(socket.receive_json())
    assert told == [False, False, True]


def test_a_client_cannot_choose_the_name_of_a_mount() -> None:
    """A value that looks like another segment leaves the template as it is."""
    inner, app = FastAPI(), FastAPI()
    inner.get("/items", dependencies=[Depends(RateLimit("2/day"))])(lambda: "items")
    app.add_middleware(RateLimitMiddleware)
    app.mount("/t/{tenant}", inner)
    client = TestClient(app)
    assert [client.get(f"/t/{value}/items").status_code for value in ("t", "a", "{tenant}")] == [200, 200, 429]


def test_nested_mounts() -> None:
    inner, middle, app = FastAPI(), FastAPI(), FastAPI()

    @inner.get("/items/{item:path}")
    async def items(item: str, info: Annotated[LimitInfo, Depends(RateLimit("2/day"))]) -> str:
        return f"{item} {info.key}"

    middle.mount("/in", inner)
    app.add_middleware(RateLimitMiddleware)
    app.mount("/t/{tenant}", middle)
    answer = TestClient(app).get("/t/acme/in/items/a/b")
    assert answer.json() == "a/b GET /t/{tenant}/in/items/{item}"


def test_messages_of_an_application_without_templates() -> None:
    """Not the path, of which a client can make up any number."""
    messages = MessageLimit("2/day")
    room = RateLimitMiddleware(hello, limiter := Limiter()).room

    async def talk() -> list[bool]:
        told = []
        for number in range(100):
            scope: Any = {"type": "websocket", "path": f"/{number}", "client": ("203.0.113.9", 1), "headers": []}
            scope["tidegate"] = Record(room)
            told.append((await messages.limit(scope)).blocked)
        return told

    assert asyncio.run(talk()) == [False, False] + [True] * 98
    assert limiter.entries == 1
    assert len(room.known) == 1
