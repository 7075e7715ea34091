"""Processes of both languages that call a server which limits exactly, through one limit over one Redis server.

For seconds, with bounds that a busy machine keeps; ``make bench-outbound`` measures it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "outbound"))

from outbound import limit_of, run

from server import RedisServer

pytestmark = pytest.mark.clock

COUNT, PERIOD, SECONDS = 100, 1.0, 5.0


@pytest.mark.parametrize("headers", [True, False], ids=["headers", "none"])
@pytest.mark.parametrize("kind", ["fixed-window", "token-bucket"])
def test_the_definition_of_the_server(kind: str, headers: bool) -> None:
    with RedisServer() as redis:
        outcome = run(redis.url, kind, COUNT, PERIOD, headers, limit_of(kind, COUNT, PERIOD), SECONDS)
    # All 64 callers at once may be refused in the first second, and are stopped then.
    assert outcome.refused <= 70, outcome
    assert outcome.used >= 0.5, outcome


def test_a_definition_that_is_too_large() -> None:
    limit = limit_of("token-bucket", 2 * COUNT, PERIOD)
    with RedisServer() as redis:
        outcome = run(redis.url, "token-bucket", COUNT, PERIOD, True, limit, SECONDS)
    # Without a stop nearly half of the requests would be.
    assert 0 < outcome.refused_share < 0.25, outcome
    assert outcome.used >= 0.4, outcome
