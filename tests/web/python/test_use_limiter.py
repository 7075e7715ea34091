"""``tidegate.testing`` for applications: another limiter, or none, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import Depends, FastAPI

from harness import Client
from server import RedisServer, free_port
from tidegate import Bucket, Limiter, LimitError
from tidegate.fastapi import RateLimit, RateLimitMiddleware
from tidegate.testing import Clock, limits_off, use_limiter

DOOR = Bucket("door", size=2, drip_rate=60_000)


@pytest.fixture
def client() -> Client:
    """An application whose store is not there, as in a test on a laptop."""
    options = {"limits": [DOOR, "100/minute"], "charge_on": {500}, "candidate": "5/minute"}
    return Client(RateLimitMiddleware, limiter=f"redis://127.0.0.1:{free_port()}", **options)


def test_a_limiter_on_a_clock(client: Client) -> None:
    clock = Clock()
    limiter = Limiter(clock=clock)
    with use_limiter(limiter):
        client = Client(RateLimitMiddleware, limiter=f"redis://127.0.0.1:{free_port()}", limits=DOOR)
        assert [client.ask().status for _ in range(3)] == [200, 200, 429]
        clock.advance(60)
        assert [client.ask().status for _ in range(2)] == [200, 429]
        limiter.clear()
        assert [client.ask().status for _ in range(3)] == [200, 200, 429]


def test_settlements_go_to_it_too(client: Client) -> None:
    with use_limiter(Limiter()):
        assert [client.ask().status for _ in range(6)] == [200] * 6


@pytest.mark.parametrize("limiter", [None, "memory://"])
def test_what_is_no_limiter_is_refused(limiter: Any) -> None:
    with pytest.raises(LimitError, match="limiter must be a Limiter or an AsyncLimiter, got"), use_limiter(limiter):
        pass


def test_switched_off(client: Client) -> None:
    with limits_off():
        answers = [client.ask() for _ in range(6)]
    assert {answer.status for answer in answers} == {200}
    assert not any("ratelimit" in name for answer in answers for name in answer.headers)


def test_blocks_nest_and_end(redis: RedisServer) -> None:
    client = Client(RateLimitMiddleware, limiter=Limiter(redis.url, namespace="nest", timeout=5), limits=DOOR)
    outer = Limiter()
    with use_limiter(outer):
        assert client.ask().status == 200
        with limits_off():
            assert client.ask().status == 200
        assert client.ask().status == 200
        assert client.ask().status == 429
    assert [client.ask().status for _ in range(3)] == [200, 200, 429]


@pytest.fixture
def off() -> Iterator[None]:
    with limits_off():
        yield


@pytest.mark.usefixtures("off")
def test_dependencies_are_switched_off() -> None:
    app = FastAPI(dependencies=[Depends(RateLimit("1/day", name="all")), Depends(RateLimit("2/day"))])
    app.add_middleware(RateLimitMiddleware)

    @app.get("/")
    async def hello() -> str:
        return "hello"

    client = Client(lambda app: app, app=app)
    assert [client.ask().status for _ in range(4)] == [200] * 4
