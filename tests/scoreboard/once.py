"""Measures once for the scoreboard, in a process of its own, in milliseconds: python once.py WHAT URL."""

import asyncio
import itertools
import json
import math
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from tidegate import AsyncLimiter, Bucket, Limiter, LimitInfo

LIMIT = Bucket("once", size=1_000_000_000, drip_rate=1)
# Linux stops whoever has a real-time priority for the rest of a second in which it had 0.95 s.
IN_FLIGHT, ROUNDS, SECONDS, REST = 512, 4, 0.6, 0.5
STEPS_AT_ONCE = 250
FORKS, CHARGES, NAMES, ENTRIES, VICTIMS = 100, 1000, 10_000_000, 1_000_000, 200


def since(instant: float) -> float:
    return (time.perf_counter() - instant) * 1000


def first_call(limiter: Limiter | AsyncLimiter) -> tuple[float, bool]:
    """Its duration, and whether the store answers it."""
    began = time.perf_counter()
    call = limiter.limit(LIMIT, "ada")
    info = call if isinstance(call, LimitInfo) else asyncio.run(call)
    return since(began), not info.degraded


def refused(kind: type[Limiter] | type[AsyncLimiter], url: str) -> list[float]:
    """The time to make a limiter where nobody listens, and to get its first answer."""
    began = time.perf_counter()
    limiter = kind(url, timeout=0.1, on_error="local")
    made = since(began)
    took, is_decided = first_call(limiter)
    assert not is_decided
    return [made, took]


def forks(kind: type[Limiter] | type[AsyncLimiter], url: str) -> list[float]:
    """The slowest first call of a child, and how many children and parents the store did not answer."""
    limiter = kind(url, timeout=0.1, on_error="local")
    time.sleep(0.2)
    slowest, _ = first_call(limiter)
    lost = 0
    for _ in range(FORKS):
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, json.dumps(first_call(limiter)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as said:
            took, is_decided = json.load(said)
        os.wait()
        slowest = max(slowest, took)
        lost += not is_decided
        lost += not first_call(limiter)[1]
    return [slowest, lost]


def replicas(kind: type[Limiter] | type[AsyncLimiter], url: str) -> list[float]:
    """Median of the time that waiting for a replica adds to a charge."""
    limiters = [kind(url, timeout=1, on_error="raise", wait_replicas=number) for number in (0, 1)]
    took: list[list[float]] = [[], []]

    async def ask() -> None:
        for number in range(2 * CHARGES):
            began = time.perf_counter()
            call = limiters[number % 2].limit(LIMIT, "ada")
            if not isinstance(call, LimitInfo):
                await call
            took[number % 2].append(since(began))

    asyncio.run(ask())
    without, waiting = map(statistics.median, took)
    return [waiting - without]


def lag(new_loop: Callable[[], asyncio.AbstractEventLoop], url: str) -> list[float]:
    """The delay of the event loop's timers: the longest, and the longest but for the latest hundredth."""
    limiter = AsyncLimiter(url, timeout=5, on_error="raise")
    late: list[float] = []
    names = itertools.count()

    async def round() -> None:
        end = time.perf_counter() + SECONDS

        async def ask() -> None:
            while time.perf_counter() < end:
                await limiter.limit(LIMIT, str(next(names)))

        async def beat() -> None:
            while (began := time.perf_counter()) < end:
                await asyncio.sleep(0.002)
                late.append(since(began) - 2)

        await asyncio.gather(beat(), *(ask() for _ in range(IN_FLIGHT)))

    async def main() -> None:
        await limiter.peek(LIMIT, "warm")
        for _ in range(ROUNDS):
            await asyncio.sleep(REST)
            await round()

    new_loop().run_until_complete(main())
    late.sort()
    return [late[-1], late[len(late) * 99 // 100]]


def gil(url: str) -> list[float]:
    """The delay of a thread's timer while eight others wait for a server that hangs."""
    limiter = Limiter(url, timeout=1, on_error="local")
    callers = [threading.Thread(target=limiter.limit, args=(LIMIT, "ada")) for _ in range(8)]
    for caller in callers:
        caller.start()
    late = 0.0
    while any(caller.is_alive() for caller in callers):
        began = time.perf_counter()
        time.sleep(0.001)
        late = max(late, since(began) - 1)
    return [late]


def flood() -> list[float]:
    """Memory in MiB that ten times as many names as entries take, the slowest call, and the victims set free."""
    limit = Bucket("flood", size=5, drip_rate=3_600_000)
    # What the store does is as slow each time; what the machine does is not.
    slowest = [math.inf] * (NAMES // 1000)
    victims = [f"victim {number}" for number in range(VICTIMS)]
    most, freed = 0.0, 0
    for turn in range(2):
        before, limiter = resident(), Limiter(max_entries=ENTRIES)
        for victim in victims:
            limiter.limit(limit, victim, cost=5)
        for step in range(len(slowest)):
            if step % STEPS_AT_ONCE == 0:
                time.sleep(REST)
            late = 0.0
            for number in range(1000):
                name = f"hostile {step} {number}"
                began = time.perf_counter()
                limiter.limit(limit, name)
                late = max(late, since(began))
            slowest[step] = min(slowest[step], late)
        freed += sum(not limiter.limit(limit, victim).blocked for victim in victims)
        if turn == 0:
            most = resident() - before
    return [most, max(slowest), freed]


def resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


MEASURES: dict[str, Callable[[str], list[float]]] = {
    "refused asyncio": lambda url: refused(AsyncLimiter, url),
    "refused threads": lambda url: refused(Limiter, url),
    "replicas asyncio": lambda url: replicas(AsyncLimiter, url),
    "replicas threads": lambda url: replicas(Limiter, url),
    "forks asyncio": lambda url: forks(AsyncLimiter, url),
    "forks threads": lambda url: forks(Limiter, url),
    "lag asyncio": lambda url: lag(asyncio.new_event_loop, url),
    "lag uvloop": lambda url: lag(uvloop.new_event_loop, url),
    "gil threads": gil,
    "flood threads": lambda _: flood(),
}

print(json.dumps(MEASURES[sys.argv[1]](sys.argv[2])))
