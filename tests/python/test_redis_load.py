"""A store under load and away: the event loop goes on, and little is said."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
import uvloop

from server import RedisServer
from test_redis import PATIENT, namespace
from tidegate import AsyncLimiter, Bucket, Limiter

pytestmark = pytest.mark.clock

LOGIN = Bucket("login", size=5)
IN_FLIGHT, SECONDS = 512, 2.5


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_the_loop_goes_on_with_512_calls_in_flight(
    fleet: RedisServer, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    limiter = AsyncLimiter(fleet.url, namespace=namespace(), **PATIENT)
    done, beats = 0, [0]

    async def main() -> None:
        end = time.perf_counter() + SECONDS

        async def ask(caller: int) -> None:
            nonlocal done
            turn = 0
            while time.perf_counter() < end:
                turn += 1
                await limiter.limit(LOGIN, f"{caller} {turn}")
                done += 1

        async def beat() -> None:
            while time.perf_counter() < end:
                await asyncio.sleep(0.002)
                beats.append(done)

        await asyncio.gather(beat(), *(ask(caller) for caller in range(IN_FLIGHT)))

    loop = new_loop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    most = max(after - before for before, after in pairwise(beats))
    print(f"{limiter.stats().decisions} decisions, {len(beats)} beats, {most} calls between two of them at most")
    assert limiter.stats().degraded == 0
    assert len(beats) > 20
    # As many as are in flight go on together, while the loop wakes up for the beat, and while that waits for its turn.
    assert most <= 4 * IN_FLIGHT


EVENTS = ("breaker-open", "failure", "degraded", "breaker-close", "recovered")


@pytest.mark.parametrize("fault", ["pause", "kill"])
def test_an_outage_of_three_seconds_says_little(
    server: RedisServer, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    limiter = Limiter(server.url, timeout=0.1)
    limiter.limit(LOGIN, "ada")
    over = threading.Event()
    degraded = 0

    def call() -> None:
        nonlocal degraded
        while not over.wait(0.002):
            degraded += limiter.limit(LOGIN, "ada").degraded

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    try:
        getattr(server, fault)()
        time.sleep(3)
        (server.resume if fault == "pause" else server.start)()
        time.sleep(0.7)
    finally:
        over.set()
        for caller in callers:
            caller.join()
    records = [vars(record) for record in caplog.records if record.name == "tidegate"]
    said = [(record["event"], record["failure"]) for record in records]
    print(f"{degraded} calls were answered by the policy; {said}")
    assert degraded > 100
    # That it failed and is well again, and what became of calls: nothing twice, however many there were.
    events = [event for event, _ in said]
    assert len(set(said)) == len(said), said
    assert {"breaker-open", "degraded", "breaker-close"} <= set(events) <= {*EVENTS}, said
    assert len(said) <= len(EVENTS), said
