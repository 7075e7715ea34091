"""Fixtures for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from calls import AnyLimiter
from server import RedisServer
from tidegate import AsyncLimiter, Limiter


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put those first that take long, so that no worker is left with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(params=[Limiter, AsyncLimiter])
def limiter(request: pytest.FixtureRequest) -> AnyLimiter:
    """A new limiter of each kind."""
    made: AnyLimiter = request.param()
    return made


@pytest.fixture(scope="session")
def fleet() -> Iterator[RedisServer]:
    """A Redis that all tests share, and none of them harms."""
    with RedisServer() as server:
        yield server
