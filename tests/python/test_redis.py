"""Limits that a fleet shares, over a real server."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import logging
import pickle
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from calls import AnyLimiter, done
from server import RedisServer
from tidegate import (
    AsyncLimiter,
    Bucket,
    CalendarWindow,
    Decay,
    FixedWindow,
    Legacy,
    Limit,
    Limiter,
    LimitError,
    LimitInfo,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    Smooth,
    StoreError,
    TokenBucket,
)

KINDS = [Limiter, AsyncLimiter]
NOW = 1_700_000_000_000
LOGIN = Bucket("login", size=3)
# What a machine may stand still for beside a deadline. Whoever hangs, or asks one call after the other, takes longer.
STANDSTILL = 1.5
# Long enough that a busy machine does not make a difference.
PATIENT: dict[str, Any] = {"timeout": 10, "on_error": "raise"}
NAMESPACES = itertools.count()

LIMITS: list[Limit] = [
    Bucket("bucket", size=5),
    TokenBucket("tokens", count=5, period=1000, burst=3),
    FixedWindow("window", max=3, period=1000),
    SlidingWindow("sliding", max=3, period=1000, resolution=100, count_blocked=True),
    SlidingCounter("counter", max=3, period=1000),
    SlidingLog("log", max=3, period=1000, min_interval=10),
    Decay("decay", max=3, decay_factor=2, resolution=100),
    Smooth("smooth", rate=5, warmup=500),
    CalendarWindow("calendar", max=3, unit="year", time_zone="Europe/Berlin"),
    Legacy("legacy", max=3, duration=1000, min_interval=100, translation="exact"),
]


def namespace() -> str:
    return f"test-{next(NAMESPACES)}"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def shared(kind: type[AnyLimiter], fleet: RedisServer) -> AnyLimiter:
    """A limiter of each kind, in a namespace of its own."""
    return kind(fleet.url, namespace=namespace(), **PATIENT)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.key)
def test_it_answers_as_memory_does(limit: Limit, shared: AnyLimiter) -> None:
    memory = Limiter()
    receipts: list[tuple[LimitInfo, LimitInfo]] = []
    for step in range(40):
        now = NOW + step * 37
        verb = ("limit", "limit", "peek", "charge", "limit", "refund", "explain", "settle", "back", "several")[
            step % 10
        ]
        if verb in ("settle", "back"):
            here, there = receipts.pop()
            if verb == "settle":
                answers = [memory.settle(here, 2, now), done(shared.settle(there, 2, now))]
            else:
                answers = [memory.refund(here, now=now), done(shared.refund(there, now=now))]
        elif verb == "several":
            checks: list[Any] = [(limit, "ada"), (LOGIN, "ada", 2), (limit, "eve", 1, 0.5)]
            answers = [memory.limit_all(checks, now), done(shared.limit_all(checks, now))]
        elif verb == "explain":
            explanations = memory.explain(limit, "ada", now=now), done(shared.explain(limit, "ada", now=now))
            assert str(explanations[0]) == str(explanations[1])
            answers = [explanation.info for explanation in explanations]
        else:
            cost = 1 if isinstance(limit, Legacy) else 1 + step % 2
            arguments = (limit, "ada", cost, 1.0, now)
            answers = [getattr(memory, verb)(*arguments), done(getattr(shared, verb)(*arguments))]
            receipts.append((answers[0], answers[1]))
        assert answers[0] == answers[1], (verb, step)
        assert [check.headers("both") for check in answers[0].checks] == [
            check.headers("both") for check in answers[1].checks
        ]


def test_limiters_share_what_a_server_keeps(kind: type[AnyLimiter], fleet: RedisServer) -> None:
    name = namespace()
    limiters = [kind(fleet.url, namespace=name, **PATIENT) for _ in range(2)] + [
        Limiter(fleet.url, namespace=name, **PATIENT)
    ]
    limiters.append(pickle.loads(pickle.dumps(limiters[0])))
    slow = Bucket("slow", size=3, drip_rate=timedelta(hours=1))
    assert [done(limiter.limit(slow, "ada")).blocked for limiter in limiters] == [False, False, False, True]
    assert not done(kind(fleet.url, namespace=namespace(), **PATIENT).limit(slow, "ada")).blocked
    done(limiters[0].reset(slow, "ada"))
    assert done(limiters[1].peek(slow, "ada")).remaining == 3
    assert all(limiter.entries == 0 for limiter in limiters)


def test_limits_that_do_not_limit_ask_nobody(shared: AnyLimiter) -> None:
    info = done(shared.limit(LOGIN, "ada", 1, 0))
    assert (info.remaining, info.degraded) == (2**53 - 1, False)
    for call in (shared.limit, shared.reset):
        with pytest.raises(LimitError, match="limits must not be empty"):
            done(call([], "ada"))
    assert shared.stats().store_calls == 0


def test_what_cannot_be_is_refused_as_in_memory(shared: AnyLimiter) -> None:
    calls: list[Any] = [
        lambda: shared.limit({"key": "k", "type": "bucket", "size": 0}, "ada"),
        lambda: shared.limit(LOGIN, "ada", -1),
        lambda: shared.limit(LOGIN, 1),  # type: ignore[arg-type]
        lambda: shared.limit(LOGIN, "ada", 4),
        lambda: shared.limit(LOGIN, "ada", now=-1),
        lambda: shared.acquire(LOGIN, "ada", max_wait=-1),
        lambda: shared.acquire(LOGIN, "ada", 4),
        lambda: shared.acquire(LOGIN, "ada", 4, now=NOW),
        lambda: shared.limit_all([(LOGIN, "ada", 4)]),
        lambda: shared.explain(LOGIN, "ada", -1),
        lambda: shared.reset({}, "ada"),
        lambda: shared.settle(done(Limiter().limit(LOGIN, "ada")), 1),
        lambda: shared.settle("info", 1),  # type: ignore[arg-type]
        lambda: shared.refund(done(shared.peek(LOGIN, "ada")), "ada"),
    ]
    for call in calls:
        with pytest.raises(LimitError):
            done(call())


def test_receipts_are_good_for_one_correction(shared: AnyLimiter) -> None:
    slow = Bucket("slow", size=10, drip_rate=timedelta(hours=1))
    info = done(shared.limit([slow, {**slow.to_dict(), "key": "other"}], "ada", 4))
    assert done(shared.settle(info, [6, 1])).checks[0].remaining == 4
    assert done(shared.peek({**slow.to_dict(), "key": "other"}, "ada")).remaining == 9
    for again in (shared.settle(info, 0), shared.refund(info)):
        assert [check.remaining for check in done(again).checks] == [4, 9]


def test_answers_are_copied_with_how_they_came(kind: type[AnyLimiter]) -> None:
    info = done(kind("redis://127.0.0.1:1").limit(LOGIN, "ada"))
    assert info.degraded
    assert "degraded=True" in repr(info)
    again = pickle.loads(pickle.dumps(info))
    assert (again, again.degraded) == (info, True)
    both = done(kind("redis://127.0.0.1:1").limit([LOGIN, Bucket("day", size=9)], "ada"))
    assert [check.degraded for check in (both, *both.checks, *pickle.loads(pickle.dumps(both)).checks)] == [True] * 5


def read_password() -> str:
    return "s@cret"


def read_url() -> str:
    return "redis://user:s%40cret@localhost:6379/3?protocol=resp3"


def test_what_a_limiter_was_given_is_pickled(kind: type[AnyLimiter]) -> None:
    given = {"timeout": timedelta(seconds=2), "on_error": "deny", "max_entries": 7, "namespace": None}
    limiter = kind("redis://user@localhost:6379/3", **given)  # type: ignore[arg-type]
    assert repr(limiter) == f"<{kind.__name__} redis://…@localhost:6379/3>"
    again = pickle.loads(pickle.dumps(limiter))
    assert repr(again) == repr(limiter)
    make, arguments = again.__reduce__()
    assert (arguments, make.keywords) == (("redis://user@localhost:6379/3",), given)
    assert copy.copy(limiter) is copy.deepcopy(limiter) is limiter
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="memory"):
            copying(kind())


def test_passwords_stay_out_of_sight_and_out_of_pickles(kind: type[AnyLimiter]) -> None:
    place = "redis://localhost:6379/3"
    for limiter in (
        kind(read_url()),
        kind(read_url(), sentinel_password=read_password),
        kind(place, password="s@cret"),
        kind(read_url, sentinel_password="s@cret"),
    ):
        assert "cret" not in repr(limiter)
        assert copy.deepcopy(limiter) is limiter
        with pytest.raises(TypeError, match="give a function that returns the password") as caught:
            pickle.dumps(limiter)
        assert "cret" not in str(caught.value)
    for limiter in (kind(read_url), kind(place, username="user", password=read_password)):
        assert repr(limiter) == f"<{kind.__name__} redis://…@localhost:6379/3>"
        pickled = pickle.dumps(limiter)
        assert b"cret" not in pickled
        assert repr(pickle.loads(pickled)) == repr(limiter)


def test_scripts_and_transactions_share_the_keys_of_sharkey(kind: type[AnyLimiter], fleet: RedisServer) -> None:
    slow, actor = Bucket("notes/create", size=3, drip_rate=timedelta(hours=1)), namespace()
    scripts = kind(fleet.url, layout="sharkey", deny_cache=0, **PATIENT)
    transactions = kind(fleet.url, strategy="transactions", deny_cache=0, **PATIENT)
    answers = [done(limiter.limit(slow, actor)) for limiter in (scripts, transactions) * 2]
    assert [info.remaining for info in answers] == [2, 1, 0, 0]
    assert [info.blocked for info in answers] == [False, False, False, True]
    assert not any(info.degraded for info in answers)
    assert fleet.command("GET", f"rl_{actor}_notes/create_c") == "3"
    with pytest.raises(LimitError, match="type"):
        done(transactions.limit(SlidingLog("log", max=3, period=1000), actor))
    with pytest.raises(LimitError, match="strategy"):
        kind("redis+cluster://localhost", strategy="transactions")


def test_a_denial_is_remembered_for_a_while(kind: type[AnyLimiter], fleet: RedisServer) -> None:
    name, slow = namespace(), Bucket("slow", size=1, drip_rate=timedelta(hours=1))
    # By another name of the server, as one that another process has.
    elsewhere = fleet.url.replace("127.0.0.1", "localhost")
    limiter, other = kind(fleet.url, namespace=name, **PATIENT), Limiter(elsewhere, namespace=name, **PATIENT)
    never = kind(fleet.url, namespace=name, deny_cache=0, **PATIENT)
    assert [done(limiter.limit(slow, "ada")).blocked for _ in range(5)] == [False, True, True, True, True]
    stats = limiter.stats()
    assert (stats.decisions, stats.admitted, stats.blocked, stats.degraded) == (5, 1, 4, 0)
    assert (stats.deny_cache_hits, stats.store_calls) == (3, 2)
    other.refund(slow, "ada")
    assert done(limiter.limit(slow, "ada")).blocked, "nobody has told it yet"
    assert not done(never.limit(slow, "ada")).blocked
    done(limiter.refund(slow, "ada"))
    assert not done(limiter.limit(slow, "ada")).blocked, "a refund of its own it knows of"


@pytest.mark.clock
def test_a_charge_waits_for_replicas(kind: type[AnyLimiter], server: RedisServer) -> None:
    slow = Bucket("slow", size=3, drip_rate=timedelta(hours=1))
    hasty = kind(server.url, timeout=1, on_error="raise", wait_replicas=1)
    done(hasty.peek(slow, "ada"))
    began = time.perf_counter()
    with pytest.raises(StoreError, match="replicas") as caught:
        done(hasty.limit(slow, "ada"))
    assert 0.9 < time.perf_counter() - began < 1 + STANDSTILL
    assert (caught.value.failure, hasty.stats().failures["unreplicated"]) == ("unreplicated", 1)
    patient = kind(server.url, wait_replicas=1, **PATIENT)
    assert done(patient.peek(slow, "ada")).remaining == 2, "it stays charged"
    server.command("CONFIG", "SET", "repl-diskless-sync-delay", "0")
    with RedisServer("--replicaof", f"127.0.0.1 {server.port}") as replica:
        info = done(patient.limit(slow, "ada"))
        assert (info.remaining, info.degraded) == (1, False)
        assert replica.command("EXISTS", "tidegate:{ada}:slow") == 1
        info = done(hasty.limit(slow, "ada"))
        assert info.remaining == 0, "it is asked again"
    with pytest.raises(StoreError) as caught:
        done(hasty.refund(info))
    assert caught.value.failure == "unreplicated"
    assert done(patient.peek(slow, "ada")).remaining == 1, "what was given back stays so too"
    assert done(hasty.refund(info)).remaining == 1, "and is not given back again"


def test_what_is_counted(shared: AnyLimiter) -> None:
    slow = Bucket("slow", size=3, drip_rate=timedelta(hours=1))
    assert shared.stats().decisions == 0
    for _ in range(5):
        done(shared.limit(slow, "ada"))
    stats = shared.stats()
    assert (stats.admitted, stats.blocked, stats.failed, stats.degraded) == (3, 2, 0, 0)
    assert sum(stats.failures.values()) == stats.corrupt_entries == 0
    assert set(stats.failures) >= {"timeout", "unavailable", "unreachable", "disconnected"}
    assert sum(count for _, count in stats.latency.buckets) == stats.store_calls == 4
    bounds = [bound for bound, _ in stats.latency.buckets]
    assert bounds[-1] is None
    assert bounds[:-1] == sorted(bound for bound in bounds if bound is not None)
    assert 0 < stats.latency.sum < 10
    assert stats.breaker == "closed"
    assert pickle.loads(pickle.dumps(stats)) == stats
    with pytest.raises(AttributeError):
        stats.decisions = 1  # type: ignore[misc]


POLICIES = ["local", "allow", "deny", "raise"]


@pytest.mark.clock
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("fault", ["pause", "kill", "stop"])
def test_every_policy_holds_while_the_server_is_gone(
    kind: type[AnyLimiter], server: RedisServer, policy: Any, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tidegate")
    slow = Bucket("slow", size=2, drip_rate=timedelta(hours=1))
    limiter = kind(server.url, timeout=0.1, on_error=policy)

    def call(actor: str) -> bool | str:
        try:
            info = done(limiter.limit(slow, actor))
        except StoreError as error:
            return error.failure
        assert info.degraded
        return info.blocked  # type: ignore[no-any-return]

    wait_for(lambda: decides(limiter, slow))
    before = limiter.stats().degraded
    getattr(server, fault)()
    verdicts, slowest = [], 0.0
    for _ in range(20):
        began = time.perf_counter()
        verdicts.append(call("eve"))
        slowest = max(slowest, time.perf_counter() - began)
    assert slowest < 0.1 + STANDSTILL
    if policy == "raise":
        failures = {"timeout", "unavailable", "unreachable", "disconnected"}
        assert set(verdicts) <= failures
        assert verdicts[-1] in {"unavailable", "unreachable"}
    else:
        local = [False, False] + [True] * 18
        assert verdicts == {"local": local, "allow": [False] * 20, "deny": [True] * 20}[policy]
    stats = limiter.stats()
    assert (stats.breaker, stats.degraded) == ("open", before + 20)
    assert sum(stats.failures.values()) == before + 20

    if fault == "pause":
        server.resume()
    else:
        server.start()
    until = time.monotonic() + 10
    while limiter.stats().breaker == "open":
        assert time.monotonic() < until, "it does not recover"
        time.sleep(0.02)
        decides(limiter, slow)
    wait_for(lambda: decides(limiter, slow))
    wait_for(lambda: "INFO" in [record.levelname for record in caplog.records if record.name == "tidegate"])
    records = [record for record in caplog.records if record.name == "tidegate"]
    opened = next(record for record in records if vars(record)["event"] == "breaker-open")
    degraded = [record.getMessage() for record in records if vars(record)["event"] == "degraded"]
    assert len(degraded) == 1, degraded
    assert f"the policy is {policy}" in degraded[0]
    assert f"127.0.0.1:{server.port}" in opened.getMessage()
    assert vars(opened)["failure"] in {"timeout", "unreachable", "disconnected"}


def decides(limiter: AnyLimiter, limit: Limit) -> bool:
    """Tell if the store decides a call, for which a busy machine may take too long."""
    with contextlib.suppress(StoreError):
        return not done(limiter.peek(limit, "zoe")).degraded
    return False


def wait_for(truth: Any) -> None:
    until = time.monotonic() + 30
    while not truth():
        assert time.monotonic() < until, "it does not come true"
        time.sleep(0.01)


def test_a_fault_is_logged_without_another_call(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidegate")
    limiter = Limiter(server.url, timeout=0.1)
    limiter.limit(LOGIN, "ada")
    server.kill()
    for _ in range(3):
        limiter.limit(LOGIN, "ada")
    wait_for(lambda: "WARNING" in [record.levelname for record in caplog.records])
    server.start()
    wait_for(lambda: "INFO" in [record.levelname for record in caplog.records])
    assert {vars(record)["event"] for record in caplog.records} <= {
        "breaker-open",
        "breaker-close",
        "degraded",
        "failure",
    }
    assert [record.threadName for record in caplog.records] == ["tidegate-log"] * len(caplog.records)


def test_a_store_error_says_why(kind: type[AnyLimiter]) -> None:
    limiter = kind("redis://127.0.0.1:1", **PATIENT)
    calls: list[Any] = [
        lambda: limiter.limit(LOGIN, "ada"),
        lambda: limiter.limit([LOGIN, LOGIN], "ada"),
        lambda: limiter.limit_all([(LOGIN, "ada")]),
        lambda: limiter.explain(LOGIN, "ada"),
        lambda: limiter.reset([LOGIN, LOGIN], "ada"),
        lambda: limiter.acquire(LOGIN, "ada"),
        lambda: limiter.acquire(LOGIN, "ada", now=NOW),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="did not decide") as caught:
            done(call())
        error = caught.value
        assert error.failure in {"unreachable", "unavailable"}
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), vars(again)) == (str(error), vars(error))
        assert (error.server, error.reason in str(error)) == ("127.0.0.1:1", True)
        assert "refused" in str(error.cause).lower()
        assert isinstance(error, ConnectionError)
    assert (StoreError().failure, StoreError("no").args) == ("other", ("no",))


def test_what_this_process_charged_alone_it_gives_back_alone(kind: type[AnyLimiter], server: RedisServer) -> None:
    slow = Bucket("slow", size=10, drip_rate=timedelta(hours=1))
    # Long enough for a busy machine, as nothing else is asserted of it than who has decided.
    limiter = kind(server.url, timeout=1, on_error="local")
    shared = done(limiter.limit(slow, "ada", 3))
    server.pause()
    alone = done(limiter.limit(slow, "ada", 4))
    assert (alone.degraded, alone.remaining, limiter.entries) == (True, 6, 1)
    server.resume()
    wait_for(lambda: not done(limiter.peek(slow, "eve")).degraded)
    assert done(limiter.refund(alone)).degraded
    assert limiter.entries == 0
    assert done(limiter.peek(slow, "ada")).remaining == 7, "the store was never charged for it"
    assert done(limiter.refund(shared)).remaining == 10


def test_turns_are_waited_for(shared: AnyLimiter) -> None:
    # Long enough that the next call comes before its turn, on a busy machine too.
    mail = Bucket("mail", size=1, drip_rate=1000)
    assert [done(shared.acquire(mail, "ada", max_wait=5)).blocked for _ in range(2)] == [False] * 2
    info = done(shared.acquire(mail, "ada", max_wait=0))
    assert info.blocked
    assert done(shared.refund(info)).wait_ms == 0
    log = SlidingLog("log", max=1, period=100)
    assert [done(shared.acquire(log, "ada", max_wait=5)).blocked for _ in range(2)] == [False] * 2
    assert done(shared.acquire([mail, log], "eve", max_wait=timedelta(seconds=5))).blocked is False
    assert done(shared.acquire(mail, "zoe", now=NOW)).wait_ms == 0
    assert done(shared.acquire(mail, "zoe", now=NOW, max_wait=5)).wait_ms == 1000


def test_threads_share_a_limiter_and_wait_side_by_side(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, namespace=namespace(), **PATIENT)
    slow = Bucket("slow", size=100, drip_rate=timedelta(hours=1))
    admitted: list[int] = []

    def work() -> None:
        admitted.append(sum(not limiter.limit(slow, "ada").blocked for _ in range(50)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 100


def test_other_threads_run_while_one_waits(server: RedisServer) -> None:
    limiter = Limiter(server.url, timeout=1, on_error="allow")
    limiter.limit(LOGIN, "ada")
    server.pause()
    waiting = threading.Thread(target=lambda: limiter.limit(LOGIN, "ada"))
    waiting.start()
    began, turns = time.perf_counter(), 0
    while waiting.is_alive():
        turns += 1
    assert time.perf_counter() - began > 0.5
    assert turns > 1000


def connections(server: RedisServer) -> int:
    # Without the one that asks.
    return len(server.command("CLIENT", "LIST").splitlines()) - 1


def test_a_limiter_that_is_dropped_ends_its_connections(kind: type[AnyLimiter], server: RedisServer) -> None:
    limiters = [kind(server.url, **PATIENT) for _ in range(3)]
    for limiter in limiters:
        done(limiter.limit(LOGIN, "ada"))
    assert connections(server) >= 3
    del limiter, limiters
    wait_for(lambda: connections(server) == 0)


def test_no_thread_is_started_for_a_call(fleet: RedisServer) -> None:
    async def many() -> set[str]:
        limiter = AsyncLimiter(fleet.url, namespace=namespace(), **PATIENT)
        await asyncio.gather(*(limiter.limit(LOGIN, str(actor)) for actor in range(500)))
        return {thread.name for thread in threading.enumerate()}

    before = {thread.name for thread in threading.enumerate()}
    assert asyncio.run(many()) - before <= {"tidegate-log"}


@pytest.fixture(autouse=True)
def nothing_is_left_over() -> Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("Thread-")]
