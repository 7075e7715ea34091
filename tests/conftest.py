"""Fixtures for the tests of every folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server import RedisServer


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A Redis for this test alone."""
    with RedisServer() as server:
        yield server
