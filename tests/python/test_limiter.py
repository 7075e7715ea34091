"""Both limiters at work."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import threading
import time
from datetime import timedelta

import pytest

from calls import AnyLimiter, done
from tidegate import (
    AsyncLimiter,
    Bucket,
    FixedWindow,
    Limit,
    Limiter,
    LimitError,
    LimitInfo,
    SlidingLog,
    Smooth,
    TokenBucket,
)
from tidegate._tidegate import _AcquireSteps, _AsyncCalls

NOW = 1_700_000_000_000
HOUR = 3_600_000
LOGIN = Bucket("login", size=3, drip_rate=HOUR)
API = TokenBucket("api", count=100, period=60_000)


def test_a_burst_then_a_denial_then_a_drip(limiter: AnyLimiter) -> None:
    answers = [done(limiter.limit(LOGIN, "ada", now=NOW)) for _ in range(4)]
    assert [info.blocked for info in answers] == [False, False, False, True]
    assert [info.remaining for info in answers] == [2, 1, 0, 0]
    assert not done(limiter.limit(LOGIN, "eve", now=NOW)).blocked
    assert done(limiter.peek(LOGIN, "ada", now=NOW + HOUR - 1)).blocked
    assert not done(limiter.limit(LOGIN, "ada", now=NOW + HOUR)).blocked
    assert limiter.entries == 2


def test_the_clock_moves_by_itself(limiter: AnyLimiter) -> None:
    # Long enough that the second call comes before the drip, on a busy machine too.
    door = Bucket("door", size=1, drip_rate=400)
    assert not done(limiter.limit(door, "ada")).blocked
    info = done(limiter.limit(door, "ada"))
    assert info.blocked
    time.sleep(info.reset_ms / 1000)
    assert not done(limiter.limit(door, "ada")).blocked


def test_every_verb(limiter: AnyLimiter) -> None:
    assert done(limiter.peek(LOGIN, "ada")).remaining == 3
    assert limiter.entries == 0
    assert done(limiter.charge(LOGIN, "ada", 5)).blocked is False
    assert done(limiter.limit(LOGIN, "ada")).blocked
    assert done(limiter.refund(LOGIN, "ada", cost=3)).remaining == 1
    assert done(limiter.reset(LOGIN, "ada")) is None
    assert limiter.entries == 0
    assert done(limiter.limit(LOGIN, "ada", cost=3)).remaining == 0
    assert done(limiter.limit(LOGIN, "ada", cost=0)).blocked is False


def test_a_factor_scales_and_lifts(limiter: AnyLimiter) -> None:
    assert done(limiter.peek(LOGIN, "ada", factor=0.5)).quota == 6
    assert done(limiter.peek(LOGIN, "ada", factor=2)).quota == 2
    assert done(limiter.limit(LOGIN, "ada", 1, 0)).remaining == 2**53 - 1
    assert limiter.entries == 0


def test_several_limits_are_charged_together_or_not_at_all(limiter: AnyLimiter) -> None:
    day = FixedWindow("day", max=1, period=timedelta(days=1))
    assert not done(limiter.limit([LOGIN, day], "ada", now=NOW)).blocked
    info = done(limiter.limit((LOGIN, day), "ada", now=NOW))
    assert (info.blocked, info.key) == (True, "day")
    assert done(limiter.peek(LOGIN, "ada", now=NOW)).remaining == 2
    done(limiter.reset([LOGIN, day], "ada"))
    assert limiter.entries == 0


def test_several_actors_are_charged_together_or_not_at_all(limiter: AnyLimiter) -> None:
    done(limiter.charge(LOGIN, "203.0.113.9", 3, now=NOW))
    wire = {"key": "api", "type": "token-bucket", "count": 100, "period": 60_000}
    checks = [(LOGIN, "203.0.113.9"), (wire, "ada", 5, 0.5)]
    for call in (limiter.limit_all, limiter.peek_all):
        info = done(call(checks, NOW))  # type: ignore[arg-type]
        assert (info.blocked, info.key, [check.remaining for check in info.checks]) == (True, "login", [0, 200])
    info = done(limiter.limit_all([(LOGIN, "eve"), (wire, "ada", 5)], now=NOW))
    assert (info.blocked, [check.remaining for check in info.checks]) == (False, [2, 95])


def test_the_same_check_twice_counts_twice(limiter: AnyLimiter) -> None:
    info = done(limiter.limit([LOGIN, LOGIN], "ada", now=NOW))
    assert info.remaining == 1
    assert done(limiter.limit([LOGIN, LOGIN], "ada", now=NOW)).blocked


def test_limiters_share_nothing() -> None:
    one, other = Limiter(), Limiter()
    one.charge(LOGIN, "ada", 3)
    assert one.limit(LOGIN, "ada").blocked
    assert not other.limit(LOGIN, "ada").blocked
    assert not Limiter("memory://", namespace="shop").limit(LOGIN, "ada").blocked


def test_a_full_store_counts_newcomers_together_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    limiter = Limiter(max_entries=10)
    limiter.charge(LOGIN, "eve", 3)
    for actor in range(1000):
        limiter.limit(LOGIN, str(actor))
    assert limiter.limit(LOGIN, "eve").blocked
    assert sum(not limiter.limit(LOGIN, "newcomer").blocked for _ in range(100)) <= 3
    assert (limiter.entries, limiter.evictions, limiter.overflowed) == (9, 0, 992 + 100)
    [record] = [record for record in caplog.records if "memory store" in record.getMessage()]
    assert (record.name, record.levelname) == ("tidegate", "WARNING")
    assert record.getMessage() == (
        "the memory store is full: all 9 entries are in use, so new clients share entries and may be denied early"
    )
    assert vars(record)["event"] == "overflow"


def test_a_limiter_stays_where_it_is(limiter: AnyLimiter) -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            attempt(limiter)
    with pytest.raises(AttributeError):
        limiter.entries = 1  # type: ignore[misc]
    assert repr(limiter) == f"<{type(limiter).__name__} memory:// entries=0>"


def test_threads_together_never_admit_more_than_the_limit() -> None:
    limiter, door = Limiter(), Bucket("door", size=1000, drip_rate=timedelta(days=1))
    admitted: list[int] = []
    start = threading.Barrier(8)

    def knock() -> None:
        start.wait()
        admitted.append(sum(not limiter.limit(door, "ada").blocked for _ in range(1000)))

    threads = [threading.Thread(target=knock) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 8
    assert sum(admitted) == 1000


def test_acquire_waits_for_its_turn(limiter: AnyLimiter) -> None:
    # Long enough that each call comes before its turn, on a busy machine too.
    mail = Bucket("mail", size=1, drip_rate=500)
    start = time.monotonic()
    waits = [done(limiter.acquire(mail, "ada", max_wait=5)).wait_ms for _ in range(3)]
    assert time.monotonic() - start >= 0.99
    assert waits[0] == 0
    assert all(0 < wait <= 500 for wait in waits[1:])


@pytest.mark.clock
@pytest.mark.parametrize("max_wait", [0, 20, timedelta(seconds=20)])
def test_acquire_does_not_wait_in_vain(limiter: AnyLimiter, max_wait: float) -> None:
    slow = Bucket("slow", size=1, drip_rate=timedelta(hours=1))
    done(limiter.limit(slow, "ada"))
    start = time.monotonic()
    info = done(limiter.acquire(slow, "ada", max_wait=max_wait))
    assert time.monotonic() - start < 5
    assert (info.blocked, info.wait_ms) == (True, 0)
    assert 3_599_000 < info.full_reset_ms <= 3_600_000


def test_acquire_at_a_given_time_does_not_sleep(limiter: AnyLimiter) -> None:
    slow = Bucket("slow", size=1, drip_rate=timedelta(hours=1))
    assert [done(limiter.acquire(slow, "ada", now=NOW)).wait_ms for _ in range(3)] == [0, 3_600_000, 7_200_000]
    assert done(limiter.acquire(slow, "ada", now=NOW, max_wait=timedelta(hours=2))).blocked


def test_other_threads_run_while_one_waits() -> None:
    limiter, mail = Limiter(), Bucket("mail", size=1, drip_rate=500)
    limiter.limit(mail, "ada")
    waiter = threading.Thread(target=lambda: limiter.acquire(mail, "ada"))
    waiter.start()
    turns = 0
    while waiter.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 3


def test_tasks_wait_in_the_order_in_which_they_asked() -> None:
    async def main() -> list[int]:
        # Long enough that two turns are apart on a busy machine too.
        limiter, mail = AsyncLimiter(), Bucket("mail", size=1, drip_rate=250)
        order: list[int] = []

        async def send(number: int) -> None:
            await limiter.acquire(mail, "ada")
            order.append(number)

        start = time.monotonic()
        await asyncio.gather(*(send(number) for number in range(5)))
        assert time.monotonic() - start >= 0.995
        return order

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_what_cannot_be_reserved_is_waited_for(limiter: AnyLimiter) -> None:
    log, hourly = SlidingLog("log", max=2, period=400), SlidingLog("hourly", max=2, period=HOUR)
    start = time.monotonic()
    done(limiter.limit(log, "ada", 2))
    asked = time.monotonic()
    info = done(limiter.acquire(log, "ada", max_wait=5))
    end = time.monotonic()
    assert not info.blocked
    assert end - start >= 0.395
    assert 40 < info.wait_ms <= (end - asked) * 1000 + 1
    assert end - asked < 5
    start = time.monotonic()
    info = done(limiter.acquire([hourly, LOGIN], "eve", cost=2))
    assert info.wait_ms <= (time.monotonic() - start) * 1000 + 1
    assert done(limiter.acquire([hourly, LOGIN], "eve", max_wait=0)).blocked


def test_tasks_queue_for_what_cannot_be_reserved() -> None:
    async def main() -> None:
        limiter, log = AsyncLimiter(), SlidingLog("log", max=1, period=400)
        order: list[int] = []

        async def send(number: int) -> None:
            await limiter.acquire(log, "ada")
            order.append(number)

        tasks = [asyncio.create_task(send(number)) for number in range(4)]
        await asyncio.sleep(0.01)
        # Whoever leaves the line lets those behind move up.
        tasks[1].cancel()
        await asyncio.wait(tasks)
        assert order == [0, 2, 3]

    asyncio.run(main())


def test_a_turn_that_was_given_up_is_over() -> None:
    limiter, slow = Limiter(), Bucket("slow", size=1, drip_rate=timedelta(hours=1))
    limiter.limit(slow, "ada")
    steps = _AsyncCalls(limiter).acquire(slow, "ada")
    assert isinstance(steps, _AcquireSteps)
    assert 3599 < steps.step() <= 3600  # type: ignore[operator]
    for _ in range(2):
        steps.cancel()
    assert 3540 < limiter.peek(slow, "ada").full_reset_sec <= 3600
    with pytest.raises(RuntimeError, match="over"):
        steps.step()


def test_a_smooth_call_is_paid_for_by_the_next(limiter: AnyLimiter) -> None:
    mailer = Smooth("mailer", rate=10, max_burst=0)
    waits = [done(limiter.acquire(mailer, "ada", 5, now=NOW)).wait_ms for _ in range(3)]
    assert waits == [0, 500, 1000]


@pytest.mark.parametrize("several", [False, True])
def test_a_cancelled_wait_is_refunded_once(several: bool) -> None:
    async def main() -> None:
        limiter, slow = AsyncLimiter(), Bucket("slow", size=2, drip_rate=timedelta(hours=1))
        wire: dict[str, object] = {"key": "slow", "type": "bucket", "size": 2, "dripRate": 3_600_000}
        await limiter.limit(slow, "ada", 2)
        before = (await limiter.peek(slow, "ada")).full_reset_sec
        waiting = asyncio.create_task(limiter.acquire([wire, LOGIN] if several else wire, "ada", cost=2))
        await asyncio.sleep(0.01)
        assert (await limiter.peek(slow, "ada")).full_reset_sec > before + 3600
        # What somebody does to the dict meanwhile must not change what is given back.
        wire["key"] = "other"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert before - 60 < (await limiter.peek(slow, "ada")).full_reset_sec <= before
        assert (await limiter.peek(LOGIN, "ada")).remaining == 3

    asyncio.run(main())


def test_an_interrupted_wait_is_refunded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        assert 3599 < seconds <= 3600
        raise KeyboardInterrupt

    limiter, slow = Limiter(), Bucket("slow", size=1, drip_rate=timedelta(hours=1))
    limiter.limit(slow, "ada")
    before = limiter.peek(slow, "ada").full_reset_sec
    monkeypatch.setattr(time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        limiter.acquire(slow, "ada")
    assert before - 60 < limiter.peek(slow, "ada").full_reset_sec <= before


def test_in_memory_a_coroutine_is_finished_at_once() -> None:
    threads = threading.active_count()
    coroutine = AsyncLimiter().limit(LOGIN, "ada")
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    assert isinstance(stopped.value.value, LimitInfo)
    assert threading.active_count() == threads


def test_both_limiters_have_the_same_calls() -> None:
    def public(kind: type) -> dict[str, object]:
        return {name: member for name, member in vars(kind).items() if not name.startswith("_")}

    assert public(Limiter).keys() == public(AsyncLimiter).keys() - {"aclose"}
    for name, member in public(AsyncLimiter).items():
        if callable(member) and name != "aclose":
            theirs = inspect.signature(getattr(Limiter, name)).parameters
            ours = inspect.signature(member).parameters
            assert list(ours.values())[1:] == [
                parameter.replace(annotation=ours[name].annotation) for name, parameter in list(theirs.items())[1:]
            ]


def test_a_limiter_in_memory_counts_its_calls() -> None:
    limiter, login = Limiter(), Bucket("login", size=2)
    for _ in range(3):
        limiter.limit(login, "ada", now=0)
    limiter.limit([login, Bucket("api", size=1)], "eve", now=0)
    limiter.peek(login, "ada", now=0)
    with pytest.raises(LimitError):
        limiter.limit(login, "ada", cost=3)
    stats = limiter.stats()
    assert (stats.decisions, stats.admitted, stats.blocked, stats.failed) == (6, 3, 2, 1)
    assert (stats.degraded, set(stats.failures.values()), stats.latency.buckets) == (0, {0}, ())
    assert Limiter().stats().decisions == 0


@pytest.mark.parametrize(
    "limit", [Bucket("slow", size=1, drip_rate=3_600_000), SlidingLog("log", max=1, period=3_600_000)]
)
def test_only_so_many_calls_wait(limit: Limit) -> None:
    async def main() -> None:
        limiter = AsyncLimiter(max_waiters=2)
        await limiter.limit(limit, "ada")
        waiting = [asyncio.create_task(limiter.acquire(limit, "ada")) for _ in range(2)]
        await asyncio.sleep(0)
        assert (await limiter.acquire(limit, "ada")).blocked
        assert (await limiter.acquire(limit, "eve")).allowed
        for task in waiting:
            assert not task.done()
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        again = asyncio.create_task(limiter.acquire(limit, "ada"))
        await asyncio.sleep(0)
        assert not again.done()
        again.cancel()

    asyncio.run(main())


def test_the_option_that_a_name_may_have_meant_is_named() -> None:
    with pytest.raises(TypeError, match=r"keyword argument 'maxEntries' \(did you mean max_entries\?\)$"):
        Limiter(maxEntries=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"keyword argument 'burst'$"):
        Limiter(burst=5)  # type: ignore[call-arg]
