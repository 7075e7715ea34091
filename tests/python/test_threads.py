"""Many threads on the same objects at once, with a global lock and without.

``STRESS`` makes each test run for so many seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from children import in_a_child
from server import RedisServer
from tidegate import AsyncLimiter, Bucket, ClosedError, Limit, Limiter, LimitError, LimitInfo, SlidingLog

SECONDS = float(os.environ.get("STRESS", "0.2"))
THREADS = 8
PATIENT: dict[str, Any] = {"timeout": 60, "on_error": "raise", "deny_cache": 0}
HOURS = timedelta(hours=1)
NAMESPACES = itertools.count()


def in_threads(work: Callable[[int], None], seconds: float = SECONDS, least: int = 1) -> None:
    """Repeats the work in all threads, and raises what any of them raises."""
    barrier = threading.Barrier(THREADS)
    end = time.monotonic() + seconds
    errors: list[BaseException] = []

    def run(thread: int) -> None:
        barrier.wait()
        try:
            for turn in itertools.count():
                if errors or (turn >= least and time.monotonic() >= end):
                    break
                work(thread)
        except BaseException as error:  # a panic is no Exception
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture(params=["memory", "redis"])
def limiter(request: pytest.FixtureRequest, fleet: RedisServer) -> Limiter:
    if request.param == "memory":
        return Limiter()
    return Limiter(fleet.url, namespace=f"threads-{next(NAMESPACES)}", **PATIENT)


def test_they_are_admitted_up_to_the_limit_and_no_further(limiter: Limiter) -> None:
    def work(thread: int) -> None:
        if thread == 0:
            rounds.append(Bucket(f"round-{len(rounds)}", size=50, drip_rate=HOURS))
        limit = rounds[-1]
        if not limiter.limit(limit, "ada").blocked:
            admitted.setdefault(limit.key, []).append(thread)

    rounds: list[Limit] = [Bucket("first", size=50, drip_rate=HOURS)]
    admitted: dict[str, list[int]] = {}
    in_threads(work)
    counts = {limit.key: len(admitted.get(limit.key, [])) for limit in rounds}
    assert all(count <= 50 for count in counts.values()), counts
    for limit in rounds:
        assert limiter.peek(limit, "ada").remaining == 50 - counts[limit.key], limit


def test_a_thousand_of_one_bucket(limiter: Limiter) -> None:
    limit = Bucket("thousand", size=1000, drip_rate=HOURS)
    admitted = [0] * THREADS

    def work(thread: int) -> None:
        for _ in range(150):
            admitted[thread] += not limiter.limit(limit, "ada").blocked

    in_threads(work, 0)
    assert sum(admitted) == 1000


def test_dicts_that_another_thread_changes_are_one_definition_or_the_other(limiter: Limiter) -> None:
    sizes = [3.0, 5.0, 7.0]
    shared: dict[str, object] = {"key": "changed", "type": "bucket", "size": sizes[0], "dripRate": 3_600_000}
    turns = itertools.count()
    refused: list[str] = []

    def work(thread: int) -> None:
        turn = next(turns)
        if thread == 0:
            shared["size"] = sizes[turn % len(sizes)]
        elif thread == 1:
            shared[f"unknown{turn % 3}"] = turn
            for name in ("unknown0", "unknown1", "unknown2"):
                shared.pop(name, None)
        else:
            try:
                info = limiter.peek(shared, f"actor-{thread}")
            except LimitError as error:
                refused.append(error.field)
            else:
                assert info.remaining in sizes, info

    in_threads(work)
    assert {field[:7] for field in refused} <= {"unknown"}


def test_dicts_are_known_again_in_all_threads(limiter: Limiter) -> None:
    dicts = [{"key": f"k{size}", "type": "bucket", "size": size, "dripRate": 3_600_000} for size in range(1, 600)]

    def work(thread: int) -> None:
        for definition in dicts[thread :: THREADS - 1][:40]:
            assert limiter.peek(definition, "ada").remaining == definition["size"]

    in_threads(work)


def test_a_receipt_is_given_back_once(limiter: Limiter) -> None:
    limit = SlidingLog("receipts", max=THREADS, period=HOURS)
    barrier = threading.Barrier(THREADS)
    receipts: list[LimitInfo] = []

    def work(thread: int) -> None:
        if thread == 0:
            receipts.append(limiter.limit(limit, "ada", 2))
            assert receipts[-1].remaining == THREADS - 2
        barrier.wait()
        limiter.refund(receipts[-1])
        barrier.wait()
        if thread == 0:
            assert limiter.peek(limit, "ada").remaining == THREADS
        barrier.wait()

    for _ in range(20):
        in_threads(work, 0)


def test_definitions_and_answers_are_read_by_all(limiter: Limiter) -> None:
    def work(thread: int) -> None:
        if thread == 0:
            made = Bucket("read", size=10, drip_rate=HOURS)
            shared[:] = [(made, limiter.limit_all([(made, "ada"), (Bucket("other", size=5), "eve", 2)]))]
        limit, info = shared[0]
        assert limit.to_dict()["size"] == 10
        assert repr(limit).startswith("Bucket('read', size=10")
        assert limit == Limit.from_dict(limit.to_dict())
        assert hash(limit) == hash(Limit.from_dict(limit.to_dict()))
        assert [check.key for check in info.checks] == ["read", "other"]
        assert info.headers()
        assert info.to_dict()["key"] == info.key

    first = Bucket("read", size=10, drip_rate=HOURS)
    shared: list[tuple[Limit, LimitInfo]] = [
        (first, limiter.limit_all([(first, "bob"), (Bucket("other", size=5), "bob")]))
    ]
    in_threads(work)


def test_turns_of_one_queue(limiter: Limiter) -> None:
    limit = SlidingLog("turns", max=1000, period=1000, min_interval=1)
    lock, admitted = threading.Lock(), [0]

    def work(_thread: int) -> None:
        blocked = limiter.acquire(limit, "ada", max_wait=0.05).blocked
        limiter.stats()
        with lock:
            admitted[0] += not blocked

    began = time.monotonic()
    in_threads(work)
    assert 0 < admitted[0] <= (time.monotonic() - began) * 1000 + 1


def test_a_limiter_that_is_closed_meanwhile(fleet: RedisServer) -> None:
    limit = Bucket("closed", size=1_000_000, drip_rate=timedelta(seconds=1))

    def work(thread: int) -> None:
        if thread == 0:
            limiters.append(Limiter(fleet.url, namespace="closed", **PATIENT))
            limiters[-2].close()
        with contextlib.suppress(ClosedError):
            limiters[-1].limit(limit, "ada")

    limiters = [Limiter(fleet.url, namespace="closed", **PATIENT)]
    in_threads(work)
    for limiter in limiters:
        limiter.close()


async def burst(limiter: AsyncLimiter, limit: Limit, actor: str) -> list[bool]:
    infos = await asyncio.gather(*(limiter.limit(limit, actor) for _ in range(6)))
    return [info.blocked for info in infos]


def test_an_event_loop_in_each_thread(fleet: RedisServer) -> None:
    limiter = AsyncLimiter(fleet.url, namespace=f"threads-{next(NAMESPACES)}", **PATIENT)
    limit = Bucket("loops", size=4, drip_rate=HOURS)
    turns = itertools.count()

    def work(thread: int) -> None:
        # A loop of its own each time: the registry of loops grows and shrinks meanwhile.
        blocked = asyncio.run(burst(limiter, limit, f"actor-{thread}-{next(turns)}"))
        assert sorted(blocked) == [False] * 4 + [True] * 2

    in_threads(work)


# A worker of pytest-xdist has a thread of its own, beside which such a child may wait for ever.
@pytest.mark.clock
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_of_busy_threads_find_no_lock_taken(fleet: RedisServer) -> None:
    memory, limiter = Limiter(), Limiter(fleet.url, namespace="forks", **PATIENT)
    shared = AsyncLimiter(fleet.url, namespace=f"threads-{next(NAMESPACES)}", **PATIENT)
    dicts = [{"key": f"k{size}", "type": "bucket", "size": size, "dripRate": 3_600_000} for size in range(1, 40)]
    wide = Bucket("wide", size=1_000_000, drip_rate=timedelta(seconds=1))

    def decides() -> bool:
        read = all(memory.peek(definition, "ada").remaining == definition["size"] for definition in dicts)
        both = asyncio.run(burst(shared, wide, "child")) == [False] * 6
        return read and both and not limiter.limit(wide, "child").blocked

    def work(thread: int) -> None:
        if thread == 0:
            assert in_a_child(decides) == 0
        elif thread < 4:
            for definition in dicts:
                memory.peek(dict(definition), "ada")
        elif thread < 6:
            asyncio.run(burst(shared, wide, f"actor-{thread}"))
        else:
            limiter.limit(wide, f"actor-{thread}")

    # asyncio takes a lock of its own at the first run in a process.
    asyncio.run(asyncio.sleep(0))
    in_threads(work, least=3)
