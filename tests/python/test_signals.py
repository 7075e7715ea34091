"""A program that waits still hears its signals, and an event loop that is answered at once still runs its timers."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import trio
import uvloop

from server import RedisServer
from tidegate import AsyncLimiter, Bucket, Limiter, SlidingLog

LOGIN = Bucket("login", size=10, drip_rate=3_600_000)
LOG = SlidingLog("log", max=10, period=3_600_000)

# What a busy machine may add to the tenth of a second in which a signal is heard; unheard, it waits for the timeout.
BUSY = 2

pytestmark = [
    pytest.mark.clock,
    pytest.mark.skipif(sys.platform == "win32", reason="signals that are timed"),
]


class Rang(BaseException):
    """The error that the handler raises."""


@pytest.fixture
def alarm() -> Iterator[Callable[[float], object]]:
    """Has a signal come after so many seconds."""

    def ring(*_: object) -> None:
        raise Rang

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def drive(limiter: Limiter) -> None:
    """Calls, one soon after the other, until they read their answers themselves."""
    for _ in range(50):
        limiter.peek(LOGIN, "warm")


CALLS: dict[str, Callable[[Limiter], object]] = {
    "limit": lambda limiter: limiter.limit(LOGIN, "ada"),
    "several": lambda limiter: limiter.limit_all([(LOGIN, "ada"), (LOG, "eve")]),
    "acquire": lambda limiter: limiter.acquire(LOGIN, "ada"),
    "acquire in line": lambda limiter: limiter.acquire(LOG, "ada"),
    "reset": lambda limiter: limiter.reset(LOGIN, "ada"),
    "explain": lambda limiter: limiter.explain(LOGIN, "ada"),
    "ping": lambda limiter: limiter.ping(),
    "clear": lambda limiter: limiter.clear(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_signal_is_heard_while_the_store_is_silent(server: RedisServer, alarm: Any, call: str) -> None:
    limiter = Limiter(server.url, timeout=20)
    drive(limiter)
    server.pause()
    alarm(0.2)
    began = time.monotonic()
    with pytest.raises(Rang):
        CALLS[call](limiter)
    assert 0.2 <= time.monotonic() - began < 0.2 + 0.1 + BUSY
    server.resume()
    assert not limiter.limit(LOGIN, "eve").degraded, "the limiter goes on"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Has Ctrl-C raise KeyboardInterrupt, which shells turn off in what they run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_heard(server: RedisServer) -> None:
    limiter = Limiter(server.url, timeout=20)
    drive(limiter)
    server.pause()
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        limiter.limit(LOGIN, "ada")
    assert time.monotonic() - began < 0.2 + 0.1 + BUSY
    timer.join()
    server.resume()


def test_a_handler_that_raises_nothing_ends_no_wait(server: RedisServer, alarm: Any) -> None:
    heard: list[int] = []
    signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
    limiter = Limiter(server.url, timeout=20)
    limiter.limit(LOGIN, "ada")
    server.pause()
    alarm(0.1)
    resume = threading.Timer(0.4, server.resume)
    resume.start()
    info = limiter.limit(LOGIN, "ada")
    assert heard == [signal.SIGALRM]
    assert (info.degraded, info.remaining) == (False, 8)
    resume.join()


def test_an_acquire_that_is_interrupted_gives_its_turn_back(server: RedisServer, alarm: Any) -> None:
    limiter, other = Limiter(server.url, timeout=20), Limiter(server.url, timeout=20)
    limiter.limit(LOGIN, "ada")
    other.peek(LOGIN, "ada")
    server.pause()
    alarm(0.1)
    with pytest.raises(Rang):
        limiter.acquire(LOGIN, "ada")
    server.resume()
    until = time.monotonic() + 10
    while other.peek(LOGIN, "ada").remaining < 9 and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    assert other.peek(LOGIN, "ada").remaining == 9


LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop, uvloop.new_event_loop]


def lateness(call: Callable[[], Awaitable[object]], new_loop: Callable[[], asyncio.AbstractEventLoop]) -> float:
    """The longest delay of a timer of a millisecond, in processor time of this thread, while ten thousand ran."""

    async def main() -> float:
        worst, over = 0.0, False

        async def beat() -> None:
            nonlocal worst
            while not over:
                began = time.thread_time()
                await asyncio.sleep(0.001)
                worst = max(worst, time.thread_time() - began - 0.001)

        heart = asyncio.ensure_future(beat())
        await asyncio.sleep(0)
        for _ in range(10_000):
            await call()
        over = True
        await heart
        return worst

    loop = new_loop()
    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


@pytest.mark.parametrize("new_loop", LOOPS, ids=["asyncio", "uvloop"])
def test_answers_in_memory_leave_the_loop_its_timers(new_loop: Any) -> None:
    limiter = AsyncLimiter()
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: limiter.limit(LOGIN, "ada"),
        lambda: limiter.peek(LOGIN, "ada"),
        lambda: limiter.charge(LOGIN, "eve", 0),
        lambda: limiter.refund(LOGIN, "eve"),
        lambda: limiter.acquire(LOGIN, "ada", max_wait=0),
        lambda: limiter.limit_all([(LOGIN, "ada"), (LOG, "ada")]),
        lambda: limiter.peek_all([(LOGIN, "ada"), (LOG, "ada")]),
        lambda: limiter.reset(LOGIN, "zoe"),
    ]
    for call in calls:
        assert min(lateness(call, new_loop) for _ in range(3)) < 0.01


@pytest.mark.parametrize("new_loop", LOOPS, ids=["asyncio", "uvloop"])
def test_denials_that_are_remembered_leave_the_loop_its_timers(fleet: RedisServer, new_loop: Any) -> None:
    limiter, full = AsyncLimiter(fleet.url, timeout=10, deny_cache=60), Bucket("full", size=1, drip_rate=3_600_000)
    assert min(lateness(lambda: limiter.limit(full, "ada"), new_loop) for _ in range(3)) < 0.01
    assert limiter.stats().deny_cache_hits > 20_000


def test_no_loop_is_needed_in_memory_however_many_calls() -> None:
    limiter = AsyncLimiter()
    for _ in range(1000):
        with pytest.raises(StopIteration) as stopped:
            limiter.limit(LOGIN, "ada").send(None)
        assert stopped.value.value.quota == 10


def test_trio_runs_one_in_memory() -> None:
    mail, log = Bucket("mail", size=1, drip_rate=20), SlidingLog("log", max=1, period=20)

    async def main() -> None:
        limiter = AsyncLimiter()
        for _ in range(1000):
            await limiter.limit(LOGIN, "ada")
        for limit in (mail, log):
            assert [(await limiter.acquire(limit, "ada")).wait_ms > 0 for _ in range(3)] == [False, True, True]
        slow = Bucket("slow", size=1, drip_rate=60_000)
        await limiter.limit(slow, "ada")
        with trio.move_on_after(0.05) as scope:
            await limiter.acquire(slow, "ada")
        assert scope.cancelled_caught
        assert (await limiter.peek(slow, "ada")).full_reset_ms <= 60_000
        async with limiter:
            pass

    trio.run(main)


def test_trio_is_told_that_it_cannot_share(fleet: RedisServer) -> None:
    made_outside = AsyncLimiter(fleet.url)

    async def main() -> None:
        with pytest.raises(RuntimeError, match="does not support trio"):
            AsyncLimiter(fleet.url)
        with pytest.raises(RuntimeError, match="does not support trio"):
            await made_outside.limit(LOGIN, "ada")
        with pytest.raises(RuntimeError, match="does not support trio"):
            await made_outside.acquire(LOGIN, "ada")
        # What the message advises.
        info = await trio.to_thread.run_sync(Limiter(fleet.url, timeout=10).limit, LOGIN, "trio")
        assert info.allowed

    trio.run(main)
