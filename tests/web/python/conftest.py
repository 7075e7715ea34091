"""Servers that tests of web frameworks share."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from server import RedisServer


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    """A Redis that all tests share."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Any:
    """The codes of the mistakes that have been told; what a store says, later and from a thread, has no code."""
    caplog.set_level(logging.WARNING, "tidegate")
    return lambda: [record.tidegate_code for record in caplog.records if hasattr(record, "tidegate_code")]


@pytest.fixture(scope="session", params=["memory", "redis"])
def store(request: pytest.FixtureRequest, redis: RedisServer) -> str:
    """The URL of each kind of store."""
    return "memory://" if request.param == "memory" else redis.url
