"""Limits as text have the template of their route, in whatever way a client writes its path."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, WebSocket
from fastapi.testclient import TestClient

from tidegate import LimitInfo
from tidegate._web.asgi.template import template
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
    assert answers[0].json() == "GET /t/{tenant}/api/items 2/day"


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


def test_only_whole_segments_are_parameters() -> None:
    assert template("/t/a/api", {"tenant": "a"}) == "/t/{tenant}/api"
    assert template("/t/1/10", {"tenant": 1}) == "/t/{tenant}/10"
    assert template("/t/a/b/c", {"rest": "a/b"}) == "/t/{rest}/c"
    assert template("/t/x", {}) == "/t/x"
