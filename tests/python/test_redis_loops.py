"""A shared store and event loops: one socket a loop, and nothing that blocks it or outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvloop

from server import RedisServer
from test_redis import LOGIN, PATIENT, STANDSTILL, namespace, wait_for
from tidegate import AsyncLimiter, Bucket, Concurrency, Limiter, LimitInfo, SlidingLog, StoreError

SLOW = Bucket("slow", size=100, drip_rate=timedelta(hours=1))


class Deaf(asyncio.SelectorEventLoop):
    """A loop that watches no sockets, as that of Windows for processes."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:  # type: ignore[override]
        raise NotImplementedError


LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop, uvloop.new_event_loop, Deaf]


def run(main: Coroutine[Any, Any, Any], new_loop: Callable[[], asyncio.AbstractEventLoop]) -> Any:
    """As ``asyncio.run`` does it, on a loop of this kind."""
    loop = new_loop()
    try:
        return loop.run_until_complete(main)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop", "deaf"])
def new_loop(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def shared(fleet: RedisServer) -> AsyncLimiter:
    return AsyncLimiter(fleet.url, namespace=namespace(), **PATIENT)


def test_a_thousand_at_once_are_admitted_up_to_the_limit(
    shared: AsyncLimiter, fleet: RedisServer, new_loop: Any
) -> None:
    async def main() -> int:
        infos = await asyncio.gather(*(shared.limit(SLOW, "ada") for _ in range(1000)))
        return sum(not info.blocked for info in infos)

    # Where the server takes a moment, those that come meanwhile travel together.
    fleet.command("CLIENT", "PAUSE", "300")
    assert run(main(), new_loop) == 100
    assert run(main(), new_loop) == 0
    stats = shared.stats()
    assert stats.batches < stats.store_calls / 2


def test_every_answer_reaches_whoever_asked(shared: AsyncLimiter, new_loop: Any) -> None:
    limits = [Bucket(f"limit-{size}", size=size) for size in range(1, 51)]

    async def one(limit: Bucket, actor: str) -> bool:
        await asyncio.sleep(0)
        info = await shared.limit(limit, actor)
        return (info.quota, info.key) == (limit.size, limit.key)

    async def main() -> list[bool]:
        return await asyncio.gather(*(one(limit, str(actor)) for limit in limits for actor in range(20)))

    assert all(run(main(), new_loop))


OPEN = Path("/proc/self/fd")


def descriptors() -> int:
    return len(list(OPEN.iterdir()))


@pytest.mark.skipif(not OPEN.is_dir(), reason="a system that does not show descriptors")
def test_loops_come_and_go(shared: AsyncLimiter, new_loop: Any) -> None:
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def main() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await asyncio.gather(*(shared.peek(LOGIN, "ada") for _ in range(3)))

    for _ in range(3):
        run(main(), new_loop)
    gc.collect()
    before = descriptors()
    for _ in range(100):
        run(main(), new_loop)
    gc.collect()
    # A bridge that no loop watches goes when the next one comes.
    assert sum(loop() is not None for loop in loops) <= 1
    assert descriptors() <= before + 2


def test_a_closed_loop_takes_its_socket_along_at_once(shared: AsyncLimiter) -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(shared.peek(LOGIN, "ada"))
    before = descriptors()
    loop.close()
    assert descriptors() <= before - 2


def test_a_loop_that_is_left_with_calls_under_way(server: RedisServer, new_loop: Any) -> None:
    limiter = AsyncLimiter(server.url, timeout=10)

    async def main() -> None:
        await limiter.limit(LOGIN, "ada")
        server.pause()
        calls = [asyncio.ensure_future(limiter.limit(LOGIN, "ada")) for _ in range(50)]
        calls += [asyncio.ensure_future(limiter.acquire(SLOW, "ada")) for _ in range(50)]
        await asyncio.sleep(0.01)
        assert not any(call.done() for call in calls)

    run(main(), new_loop)
    server.resume()
    wait_for(lambda: not run(limiter.peek(LOGIN, "eve"), new_loop).degraded)
    # What the server has charged since is given back, which may take a moment.
    wait_for(lambda: run(limiter.peek(SLOW, "ada"), new_loop).remaining == 100)


def test_loops_in_threads_share_a_limiter(shared: AsyncLimiter, new_loop: Any) -> None:
    admitted: list[int] = []

    async def main() -> None:
        infos = await asyncio.gather(*(shared.limit(SLOW, "ada") for _ in range(50)))
        admitted.append(sum(not info.blocked for info in infos))

    threads = [threading.Thread(target=run, args=(main(), new_loop)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 100


def test_what_is_known_at_once_needs_no_turn_of_the_loop(shared: AsyncLimiter) -> None:
    def at_once(call: Awaitable[LimitInfo]) -> LimitInfo:
        with pytest.raises(StopIteration) as stopped:
            next(iter(call.__await__()))
        info: LimitInfo = stopped.value.value
        return info

    async def main() -> None:
        door = Bucket("door", size=1, drip_rate=timedelta(hours=1))
        assert not at_once(shared.limit(door, "ada", factor=0)).blocked
        await asyncio.gather(shared.limit(door, "ada"), shared.limit(door, "ada"))
        assert at_once(shared.limit(door, "ada")).blocked, "a denial that is remembered"
        gone = AsyncLimiter("redis://127.0.0.1:1", timeout=10)
        assert (await gone.limit(door, "ada")).degraded
        assert at_once(gone.limit(door, "ada")).blocked, "a store that is not asked"

    asyncio.run(main())


def test_it_needs_a_loop() -> None:
    call = AsyncLimiter("redis://127.0.0.1:1").limit(LOGIN, "ada")
    with pytest.raises(RuntimeError, match="no running event loop"):
        call.send(None)


@pytest.mark.parametrize("limit", [SLOW, SlidingLog("log", max=100, period=3_600_000)], ids=lambda limit: limit.key)
def test_a_cancelled_acquire_is_refunded_once(limit: Bucket | SlidingLog, fleet: RedisServer, new_loop: Any) -> None:
    shared = AsyncLimiter(fleet.url, namespace=namespace(), **PATIENT)
    seen = Limiter(fleet.url, namespace=namespace(), **PATIENT)

    async def cancel_after(actor: str, turns: int, block: float) -> bool:
        task = asyncio.ensure_future(shared.acquire(limit, actor, 10))
        for _ in range(turns):
            await asyncio.sleep(0)
        # Its answer comes meanwhile, and the loop does not look.
        time.sleep(block)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    async def main() -> None:
        for number, (turns, block) in enumerate([(0, 0), (1, 0), (2, 0), (1, 0.001), (1, 0.03), (2, 0.03), (5, 0.03)]):
            actor = f"ada-{number}"
            await shared.charge(limit, actor, 50)
            expected = 50 if await cancel_after(actor, turns, block) else 40
            for _ in range(1000):
                info = await shared.peek(limit, actor)
                if info.remaining == expected:
                    break
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.03)
            info = await shared.peek(limit, actor)
            assert info.remaining == expected, (turns, block)

    run(main(), new_loop)
    assert seen.stats().decisions == 0


@pytest.mark.parametrize("limit", [SLOW, SlidingLog("log", max=100, period=3_600_000)], ids=lambda limit: limit.key)
def test_whenever_an_acquire_is_cancelled_it_is_refunded(shared: AsyncLimiter, limit: Bucket | SlidingLog) -> None:
    async def main() -> None:
        # From before it is sent until after its answer has come.
        for step in range(600):
            task = asyncio.ensure_future(shared.acquire(limit, "ada"))
            await asyncio.sleep(0)
            time.sleep(step % 300 / 1_000_000)
            for _ in range(step // 300):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await shared.refund(await task)
        for _ in range(1000):
            if (await shared.peek(limit, "ada")).remaining == 100:
                break
            await asyncio.sleep(0.01)
        assert (await shared.peek(limit, "ada")).remaining == 100

    asyncio.run(main())


def test_a_cancelled_wait_for_a_turn_is_refunded(shared: AsyncLimiter, new_loop: Any) -> None:
    mail = Bucket("mail", size=1, drip_rate=60_000)

    async def main() -> None:
        await shared.limit(mail, "ada")
        tasks = [asyncio.ensure_future(shared.acquire(mail, "ada")) for _ in range(5)]
        await asyncio.sleep(0.1)
        assert (await shared.peek(mail, "ada")).full_reset_ms > 5 * 59_000
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        for _ in range(1000):
            info = await shared.peek(mail, "ada")
            if info.full_reset_ms <= 60_000:
                break
            await asyncio.sleep(0.01)
        assert 0 < info.full_reset_ms <= 60_000

    run(main(), new_loop)


@pytest.mark.parametrize("call", ["limit", "limit_all", "hold", "waiting"])
def test_what_a_cancelled_call_holds_is_given_back(call: str, new_loop: Any) -> None:
    exports, rows = Concurrency("exports", max=1, lease=3_600_000), SLOW

    async def ask(limiter: AsyncLimiter) -> None:
        if call == "limit":
            await limiter.limit([exports, rows], "ada")
        elif call == "limit_all":
            await limiter.limit_all([(exports, "ada"), (rows, "ada")])
        else:
            async with limiter.hold([exports, rows], "ada", max_wait=None if call == "hold" else 5):
                pass

    async def main(server: RedisServer) -> None:
        limiter = AsyncLimiter(server.url, namespace=namespace(), **PATIENT)
        await limiter.charge(rows, "ada", 10)
        # The client goes away while the server decides: before its answer is sent, and while that lies there.
        for sent in (True, False):
            server.pause()
            task = asyncio.ensure_future(ask(limiter))
            await asyncio.sleep(0.05)
            if sent:
                server.resume()
                time.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.resume()
            end = time.monotonic() + 10
            await asyncio.sleep(0.05)
            while (await limiter.peek(exports, "ada")).remaining < 1:
                assert time.monotonic() < end
                await asyncio.sleep(0.01)
            assert (await limiter.peek(rows, "ada")).remaining == 90

    with RedisServer() as server:
        run(main(server), new_loop)


def test_a_timeout_of_the_callers_is_a_cancellation(shared: AsyncLimiter) -> None:
    mail = Bucket("mail", size=1, drip_rate=60_000)

    async def main() -> None:
        await shared.limit(mail, "ada")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(shared.acquire(mail, "ada"), 0.05)
        for _ in range(1000):
            if (await shared.peek(mail, "ada")).full_reset_ms <= 60_000:
                return
            await asyncio.sleep(0.01)
        pytest.fail("it was not refunded")

    asyncio.run(main())


@pytest.mark.clock
@pytest.mark.parametrize("policy", ["local", "raise"])
def test_the_loop_goes_on_while_the_store_does_not(server: RedisServer, new_loop: Any, policy: Any) -> None:
    limiter = AsyncLimiter(server.url, timeout=0.3, on_error=policy)

    async def beat(lags: list[float]) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            lags.append(time.perf_counter() - began - 0.005)

    async def main() -> list[float]:
        await limiter.limit(SLOW, "ada")
        lags: list[float] = []
        heart = asyncio.ensure_future(beat(lags))
        server.pause()
        began = time.perf_counter()
        calls = (limiter.limit(SLOW, str(actor)) for actor in range(200))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert time.perf_counter() - began < 0.3 + STANDSTILL
        for outcome in outcomes:
            assert isinstance(outcome, StoreError if policy == "raise" else LimitInfo)
            assert isinstance(outcome, StoreError) or outcome.degraded
        heart.cancel()
        return lags

    lags = sorted(run(main(), new_loop))
    assert len(lags) > 20
    # All the while but for the odd hiccup of a busy machine.
    assert lags[len(lags) * 9 // 10] < 0.05


def test_a_program_that_cancels_its_tasks_while_units_are_renewed_ends(
    shared: AsyncLimiter, fleet: RedisServer, new_loop: Any
) -> None:
    short = Concurrency("short", max=1, lease=600)

    async def work(entered: asyncio.Event) -> None:
        async with shared.hold(short, "ada"):
            entered.set()
            await asyncio.sleep(60)

    async def main() -> None:
        entered = asyncio.Event()
        working = asyncio.ensure_future(work(entered))
        await entered.wait()
        # The renewal, which begins after 200 ms, is not answered before all tasks are cancelled.
        fleet.command("CLIENT", "PAUSE", "600")
        await asyncio.sleep(0.4)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert others == {working}, "a renewal that is a task would be cancelled"
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(working, 10)
        assert (await shared.peek(short, "ada")).remaining == 1

    run(main(), new_loop)
