"""Places that processes of both languages hold: never more than there are, nearly always all, back after a crash."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from server import RedisServer
from tidegate import AsyncLimiter, Concurrency, Limiter

pytestmark = pytest.mark.clock

HERE = Path(__file__).parent
UNDER_WAY, SECONDS = 64, 10.0
# What holds.py and holds.mjs share.
PLACES, LEASE = 10, 2.0
LIMIT = Concurrency("places", max=PLACES, lease=LEASE * 1000)
COMMANDS = {"Python": [sys.executable, str(HERE / "holds.py")], "Node": ["node", str(HERE / "holds.mjs")]}


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


def started(command: list[str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def most_at_once(inside: list[tuple[float, float]]) -> int:
    """The most that were inside at one instant."""
    changes = sorted([(began, 1) for began, _ in inside] + [(ended, -1) for _, ended in inside])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def test_a_fleet_of_both_languages_uses_all_places_and_no_more(server: RedisServer) -> None:
    limiter = Limiter(server.url, timeout=5, on_error="raise")
    workers = [started(command, server.url, str(UNDER_WAY), str(SECONDS)) for command in [*COMMANDS.values()] * 2]
    used: list[tuple[float, int]] = []
    over = threading.Event()

    def look() -> None:
        # The server says how many places are taken, whenever this process gets to ask.
        while not over.wait(0.005):
            used.append((server.clock(), PLACES - limiter.peek(LIMIT, "everybody").remaining))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        reports = []
        for worker in workers:
            out, err = worker.communicate(timeout=120)
            assert worker.returncode == 0, err
            reports.append(json.loads(out))
    finally:
        over.set()
        looking.join()
    inside = [(began, ended) for report in reports for began, ended in report["inside"]]
    assert most_at_once(inside) == PLACES
    assert sum(report["lost"] for report in reports) == 0
    # While all four have calls that wait.
    first = max(report["first"] for report in reports) + 0.5
    last = min(report["first"] for report in reports) + SECONDS - 0.1
    assert last - first > SECONDS / 2
    looks = [places for at, places in used if first <= at <= last]
    assert len(looks) > 100
    share = sum(looks) / len(looks) / PLACES
    print(f"{share:.2%} of the places in use, over {last - first:.1f} s, {len(inside)} holds")
    assert share >= 0.98
    assert limiter.peek(LIMIT, "everybody").remaining == PLACES, "all were released"


def hold_all_and_die(command: list[str], server: RedisServer, seconds: float) -> None:
    with started(command, server.url) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        time.sleep(seconds)
        holder.kill()


@pytest.mark.parametrize("language", COMMANDS)
def test_the_places_of_a_process_that_is_killed_come_back_when_their_leases_are_over(
    server: RedisServer, language: str
) -> None:
    async def main() -> tuple[float, float, float]:
        limiter = AsyncLimiter(server.url, timeout=5, on_error="raise")
        # Long enough for each place to have been renewed.
        await asyncio.to_thread(hold_all_and_die, COMMANDS[language], server, 1.5 * LEASE)
        at = server.clock()
        # Until the first lease is over, by the server's clock at some time after `at`.
        first = at + (await limiter.peek(LIMIT, "everybody")).reset_ms / 1000
        late = 0.0

        async def be_on_time() -> None:
            nonlocal late
            while True:
                began = time.monotonic()
                await asyncio.sleep(0.005)
                late = max(late, time.monotonic() - began - 0.005)

        timer = asyncio.ensure_future(be_on_time())
        async with limiter.hold(LIMIT, "everybody", max_wait=60):
            granted = server.clock()
        timer.cancel()
        return first, granted, late

    first, granted, late = asyncio.run(main())
    # A time in an answer is rounded up to a millisecond.
    assert granted >= first - 0.001
    assert granted <= first + 0.1 + 2 * late, late


def test_not_before_and_not_later(server: RedisServer) -> None:
    """The same by what the server keeps: at the last microsecond of the last lease, and at the next one."""
    limiter = Limiter(server.url, timeout=5, on_error="raise")
    hold_all_and_die(COMMANDS["Python"], server, 0.0)
    at = server.clock() * 1000
    info = limiter.peek(LIMIT, "everybody", now=at)
    over = at + info.full_reset_ms
    assert limiter.peek(LIMIT, "everybody", now=over - 1).remaining < PLACES
    assert limiter.peek(LIMIT, "everybody", now=over).remaining == PLACES
