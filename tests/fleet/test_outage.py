"""Processes of both languages whose server is away for a while: each process goes on by itself, and all come back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from server import RedisServer
from steady_fleet import COMMANDS, DEADLINE, SLACK, Worker

pytestmark = pytest.mark.clock

WELL, AWAY, SETTLED = 1.5, 5.0, 2.0
SIZE = 100
HOUR_MS = 3_600_000


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


# One limit where no more than what is free at once makes a difference, and one that goes on to admit.
@pytest.mark.parametrize(("fault", "drip_ms"), [("hangs", 10), ("is gone", HOUR_MS)])
def test_each_process_enforces_the_limit_by_itself(server: RedisServer, fault: str, drip_ms: int) -> None:
    started = time.monotonic()
    workers = [Worker(command, server.url, WELL + AWAY + SETTLED, SIZE, drip_ms) for command in COMMANDS * 2]
    time.sleep(WELL)
    away = time.monotonic()
    if fault == "hangs":
        server.pause()
        time.sleep(AWAY)
        server.resume()
    else:
        server.kill()
        time.sleep(AWAY)
        server.start()
    healed = time.monotonic()
    reports = [worker.report() for worker in workers]
    ended = time.monotonic()

    # A server that was killed comes back without its memory, so that there is one full allowance more.
    forgotten = SIZE if fault == "is gone" else 0
    together = SIZE + (ended - started) * 1000 / drip_ms + forgotten
    # Until it has noticed that the server is back, a process goes on by itself.
    alone = SIZE + (healed - away + 1) * 1000 / drip_ms
    admitted = sum(report.admitted() for report in reports)
    print(f"{fault}: {admitted} admitted, of at most {together:.0f} together and 4 x {alone:.0f} alone")
    assert admitted <= together + len(workers) * alone
    for report in reports:
        by_itself = [call for call in report.calls if call.degraded]
        back = report.back_after(healed)
        print(f"slowest {report.slowest:.3f} s, back {back:.3f} s, timers late by {report.late:.3f} s; {report.log}")
        assert not any(call.degraded for call in report.calls if call.ended < away)
        assert not all(call.blocked for call in by_itself), "a process alone admits"
        assert sum(not call.blocked for call in by_itself) <= alone
        assert report.slowest <= DEADLINE + SLACK + report.late
        assert back <= (0.2 if fault == "hangs" else 0.5) + report.late
        # Python logs what it has nobody else to tell; Node has events, and nobody listens.
        assert len(report.log) <= AWAY, report.log
