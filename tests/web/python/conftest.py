"""Servers that tests of web frameworks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server import RedisServer


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    """A Redis that all tests share."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session", params=["memory", "redis"])
def store(request: pytest.FixtureRequest, redis: RedisServer) -> str:
    """The URL of each kind of store."""
    return "memory://" if request.param == "memory" else redis.url
