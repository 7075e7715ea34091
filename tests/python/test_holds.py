"""Holds: units that are taken for a block, renewed meanwhile and released at its end."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from server import RedisServer
from tidegate import AsyncLimiter, BlockedError, ClosedError, Concurrency, Limiter, LimitError, TokenBucket

EXPORTS = Concurrency("exports", max=1, lease=60_000)
SHORT = Concurrency("short", max=1, lease=600)
ROWS = TokenBucket("rows", count=100, period=3_600_000)


@pytest.fixture(params=["memory", "redis"])
def limiter(request: pytest.FixtureRequest) -> Iterator[Limiter]:
    if request.param == "memory":
        yield Limiter()
        return
    fleet: RedisServer = request.getfixturevalue("fleet")
    with Limiter(fleet.url, namespace=request.node.name, timeout=10, on_error="raise") as limiter:
        yield limiter


@pytest.fixture
def later(limiter: Limiter) -> AsyncLimiter:
    """The same for an event loop."""
    return AsyncLimiter._over(limiter)


def free(limiter: Limiter, limit: Any = EXPORTS) -> int:
    return limiter.peek(limit, "ada").remaining


def test_what_is_held_is_released_at_the_end_of_the_block(limiter: Limiter) -> None:
    with limiter.hold([EXPORTS, ROWS], "ada", costs=[1, 40]) as held:
        assert len(held.info.checks) == 2
        assert not held.lost
        with pytest.raises(BlockedError) as denied, limiter.hold(EXPORTS, "ada"):
            pass
        assert denied.value.info.blocked
        assert 59 < denied.value.retry_after <= 60
        assert pickle.loads(pickle.dumps(denied.value)).info == denied.value.info
    assert (free(limiter), free(limiter, ROWS)) == (1, 60)
    with pytest.raises(RuntimeError, match="begun before"), held:
        pass


def test_a_block_that_fails_releases_too(limiter: Limiter) -> None:
    with pytest.raises(KeyError), limiter.hold(EXPORTS, "ada"):
        raise KeyError("failed")
    assert free(limiter) == 1
    with limiter.hold(EXPORTS, "ada") as held:
        held.release()
        assert free(limiter) == 1
        limiter.limit(EXPORTS, "ada")
        held.release()
    assert free(limiter) == 0, "what another one took since is not ours to release"


def test_the_actual_costs_are_settled_at_the_end(limiter: Limiter) -> None:
    for number, (costs, left) in enumerate([(15, 85), ([9, 25], 75), ({"rows": 35}, 65), ({1: 45}, 55)]):
        actor = f"ada {number}"
        with limiter.hold([EXPORTS, ROWS], actor, costs=[1, 40]) as held:
            held.settle(7)
            held.settle(costs)  # type: ignore[arg-type]
            assert limiter.peek(ROWS, actor).remaining == 60, "not before the end"
        assert (limiter.peek(EXPORTS, actor).remaining, limiter.peek(ROWS, actor).remaining) == (1, left)


def test_what_is_held_is_renewed_with_all_that_its_receipt_gives_back(limiter: Limiter) -> None:
    with limiter.hold([SHORT, ROWS], "ada", costs=[1, 40]) as held:
        time.sleep(1.5)
        assert not held.lost
        assert free(limiter, SHORT) == 0
        held.settle({"rows": 10})
    assert (free(limiter, SHORT), free(limiter, ROWS)) == (1, 90)


def test_a_hold_says_when_it_is_lost(limiter: Limiter) -> None:
    with limiter.hold(SHORT, "ada") as held:
        limiter.reset(SHORT, "ada")
        assert held.lost_event.wait(10)
        assert held.lost
    with limiter.hold(SHORT, "ada") as held:
        limiter.reset(SHORT, "ada")
        deadline = time.monotonic() + 10
        while not held.lost and time.monotonic() < deadline:
            time.sleep(0.01)
        assert held.lost_event.is_set(), "one that is asked for late"


def test_a_short_lease_is_renewed_beside_a_long_one(limiter: Limiter, later: AsyncLimiter) -> None:
    async def main() -> None:
        async with later.hold(EXPORTS, "bob"), later.hold(SHORT, "bob") as held:
            await asyncio.sleep(1.5)
            assert not held.lost
            assert (await later.peek(SHORT, "bob")).blocked

    with limiter.hold(EXPORTS, "ada"), limiter.hold(SHORT, "ada") as held:
        asyncio.run(main())
        assert not held.lost
        assert free(limiter, SHORT) == 0


def test_a_hold_that_was_denied_may_be_tried_again(limiter: Limiter) -> None:
    other, held = limiter.hold(EXPORTS, "ada"), limiter.hold(EXPORTS, "ada")
    assert repr(held) == "<Held new>"
    with other, pytest.raises(BlockedError):
        held.__enter__()
    with held:
        assert repr(held) == "<Held held>"
    assert repr(held) == "<Held over>"
    with pytest.raises(AttributeError, match="has not begun"):
        limiter.hold(EXPORTS, "ada").release()


def test_a_release_waits_for_the_renewal_that_is_under_way() -> None:
    renewing, go_on, released = threading.Event(), threading.Event(), threading.Event()

    def clock() -> float:
        if threading.current_thread().name == "tidegate-renewals":
            renewing.set()
            go_on.wait(60)
        return time.time()

    def end() -> None:
        held.release()
        released.set()

    limiter = Limiter(clock=clock)
    held = limiter.hold(SHORT, "ada").__enter__()
    assert renewing.wait(60)
    ending = threading.Thread(target=end)
    ending.start()
    assert not released.wait(0.2)
    go_on.set()
    ending.join(60)
    assert released.is_set()
    assert free(limiter, SHORT) == 1


def test_a_renewal_that_raises_leaves_the_others_alone() -> None:
    def clock() -> float:
        if threading.current_thread().name == "tidegate-renewals":
            raise KeyError("clock")
        return time.time()

    raised: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, raised.append
    try:
        other = Limiter()
        with Limiter(clock=clock).hold(SHORT, "ada") as wrong, other.hold(SHORT, "ada") as right:
            assert wrong.lost_event.wait(60)
            assert not right.lost
            assert free(other, SHORT) == 0
    finally:
        sys.unraisablehook = before
    assert raised[0].exc_type is KeyError


def test_by_hand_and_no_answer_twice(limiter: Limiter) -> None:
    info = limiter.limit_all([(ROWS, "ada", 30), (EXPORTS, "ada")])
    renewed = limiter.renew(info)
    assert (renewed.blocked, renewed.key, len(renewed.checks)) == (False, "exports", 1)
    assert limiter.refund(info).blocked, "it is used"
    assert free(limiter, ROWS) == 70
    limiter.refund(limiter.renew(renewed))
    assert (free(limiter), free(limiter, ROWS)) == (1, 100)


def test_holds_of_an_event_loop(later: AsyncLimiter) -> None:
    async def main() -> None:
        async with later.hold([SHORT, ROWS], "ada", costs=[1, 40]) as held:
            assert len(held.info.checks) == 2
            await asyncio.sleep(1.5)
            assert not held.lost
            with pytest.raises(BlockedError):
                await later.hold(SHORT, "ada").__aenter__()
            held.settle({"rows": 10})
        assert ((await later.peek(SHORT, "ada")).remaining, (await later.peek(ROWS, "ada")).remaining) == (1, 90)
        async with later.hold(SHORT, "ada") as held:
            await later.reset(SHORT, "ada")
            await asyncio.wait_for(held.lost_event.wait(), 10)
            assert held.lost
        async with later.hold(SHORT, "ada") as held:
            await later.reset(SHORT, "ada")
            while not held.lost:
                await asyncio.sleep(0.01)
            assert held.lost_event.is_set(), "one that is asked for late"

    asyncio.run(main())


def test_a_task_that_is_cancelled_releases(limiter: Limiter, later: AsyncLimiter) -> None:
    async def main() -> None:
        entered = asyncio.Event()

        async def work(wait: float | None) -> None:
            async with later.hold(EXPORTS, "ada", max_wait=wait):
                entered.set()
                await asyncio.sleep(60)

        first = asyncio.ensure_future(work(None))
        await entered.wait()
        second = asyncio.ensure_future(work(120))
        await asyncio.sleep(0.05)
        for task in (second, first):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert free(limiter) == 1


def test_what_cannot_be_held_is_refused_and_nothing_is_stored() -> None:
    limiter = Limiter()
    with pytest.raises(LimitError, match="limits must hold one of type concurrency"):
        limiter.hold(ROWS, "ada").__enter__()
    with pytest.raises(LimitError, match="costs must be a list of one cost for each limit"):
        limiter.hold([EXPORTS, ROWS], "ada", costs=[1]).__enter__()
    with pytest.raises(LimitError, match="costs must be a list of one cost for each limit, got 5"):
        limiter.hold(EXPORTS, "ada", costs=5).__enter__()  # type: ignore[arg-type]
    with pytest.raises(LimitError, match='limit "rows": cost must be at least 0'):
        limiter.hold([EXPORTS, ROWS], "ada", costs=[1, -1]).__enter__()
    with pytest.raises(LimitError, match="max_wait must be at least 0 seconds"):
        limiter.hold(EXPORTS, "ada", max_wait=-1).__enter__()
    with pytest.raises(LimitError, match="info must be the answer to a call"):
        limiter.release("info")  # type: ignore[arg-type]
    assert limiter.entries == 0
    with limiter.hold([EXPORTS, ROWS], "ada") as held:
        for costs, message in [
            ([1], "1 costs for 2 checks"),
            ({"other": 1}, "costs must name checks of the hold"),
            ({"rows": "1"}, "costs must be a number"),
            (float("nan"), "cost must be at least 0"),
            (None, "costs must be a number"),
        ]:
            with pytest.raises(LimitError, match=message):
                held.settle(costs)  # type: ignore[arg-type]
    limiter.close()
    with pytest.raises(ClosedError), limiter.hold(EXPORTS, "ada"):
        pass


def test_a_forked_child_neither_renews_nor_releases(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, namespace="forked holds", timeout=10, on_error="raise")
    with limiter.hold(SHORT, "ada") as held:
        child = os.fork()
        if child == 0:
            # Its own holds are renewed; the parent's are not its to end.
            held.release()
            own = Limiter()
            with own.hold(SHORT, "ada") as mine:
                time.sleep(1.5)
                os._exit(3 if not mine.lost and own.peek(SHORT, "ada").blocked else 4)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 3
        assert not held.lost
        assert limiter.peek(SHORT, "ada").blocked


def test_a_process_that_holds_can_exit(fleet: RedisServer) -> None:
    script = f"""
import asyncio
from tidegate import AsyncLimiter, Concurrency, Limiter
limit = Concurrency("exit", max=9, lease=3)
for url in ("memory://", {fleet.url!r}):
    Limiter(url, namespace="exits", timeout=10).hold(limit, "ada").__enter__()
async def main():
    urls = ("memory://", {fleet.url!r})
    held = [AsyncLimiter(url, namespace="exits", timeout=10).hold(limit, "ada") for url in urls]
    for one in held:
        await one.__aenter__()
    await asyncio.sleep(0.1)
asyncio.run(main())
print("over")
"""
    over = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (over.returncode, over.stdout.strip(), over.stderr) == (0, "over", "")


def test_many_holds_of_many_threads_leave_nothing_behind(limiter: Limiter) -> None:
    limit = Concurrency("many", max=8, lease=60_000)

    def work() -> None:
        for _ in range(100):
            with limiter.hold(limit, "ada"):
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert free(limiter, limit) == 8


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of Unix")
def test_a_wait_is_interrupted(limiter: Limiter) -> None:
    def raises(*_: object) -> None:
        raise KeyboardInterrupt

    def wait() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        limiter.hold(EXPORTS, "ada", max_wait=120).__enter__()

    before = signal.signal(signal.SIGALRM, raises)
    try:
        with limiter.hold(EXPORTS, "ada"), pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert free(limiter) == 1


def test_who_waits_in_memory_is_woken_in_order() -> None:
    limiter, woken = Limiter(), []
    held = limiter.hold(EXPORTS, "ada").__enter__()

    def work(number: int) -> None:
        with limiter.hold(EXPORTS, "ada", max_wait=30):
            woken.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        while limiter.stats().decisions < number + 2:
            time.sleep(0.001)
    began = time.monotonic()
    held.release()
    for thread in threads:
        thread.join(10)
    assert woken == [0, 1, 2, 3, 4]
    assert time.monotonic() - began < 5, "long before a lease is over"


@pytest.mark.parametrize("end", ["release", "refund", "units", "reset", "clear", "another one gives up"])
def test_whatever_releases_units_wakes_who_waits(later: AsyncLimiter, end: str) -> None:
    two = Concurrency("two", max=2, lease=60_000)

    async def main() -> None:
        info = await later.limit(two, "ada", cost=1 if end == "another one gives up" else 2)
        blocking = asyncio.ensure_future(later.acquire(two, "ada", cost=2, max_wait=30)) if info.granted == 1 else None
        await asyncio.sleep(0.05)
        waits = asyncio.ensure_future(later.acquire(two, "ada", max_wait=30))
        await asyncio.sleep(0.05)
        assert not waits.done()
        if end == "release":
            await later.release(info)
        elif end == "refund":
            await later.refund(info)
        elif end == "units":
            await later.refund(two, "ada", cost=2)
        elif end == "reset":
            await later.reset(two, "ada")
        elif end == "clear":
            await later.clear()
        elif blocking is not None:
            blocking.cancel()
        answer = await asyncio.wait_for(waits, 10)
        assert not answer.blocked

    asyncio.run(main())


def test_a_wait_ends_in_time_though_nobody_releases(limiter: Limiter, later: AsyncLimiter) -> None:
    with limiter.hold(EXPORTS, "ada"):
        with pytest.raises(BlockedError) as denied:
            limiter.hold(EXPORTS, "ada", max_wait=0.2).__enter__()
        assert 50 < denied.value.retry_after <= 60

        async def main() -> None:
            with pytest.raises(BlockedError):
                await later.hold(EXPORTS, "ada", max_wait=0.2).__aenter__()

        asyncio.run(main())
    lent = limiter.limit(SHORT, "bob")
    info = limiter.acquire(SHORT, "bob", max_wait=60)
    assert not info.blocked
    assert info.wait_ms > 100
    assert limiter.release(lent).blocked, "its lease was over, and the place is another one's"
