"""Celery's rate limits over a fleet: consumers on a clock of the test, and real workers."""

from __future__ import annotations

import heapq
import importlib
import itertools
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis as client
from celery import Celery

from server import RedisServer
from serving import end
from tidegate import Concurrency, ConfigurationError, Limiter, LimitError, TokenBucket
from tidegate.celery import Consumer, TaskBucket, limit_of
from tidegate.testing import Clock

APPS = Path(__file__).parent / "apps"


def task(rate_limit: Any, name: str = "shop.send") -> Any:
    return SimpleNamespace(name=name, rate_limit=rate_limit)


@pytest.mark.parametrize(
    ("text", "count", "period"),
    [
        ("10/s", 10, 1000),
        ("10/m", 10, 60_000),
        ("7/h", 7, 3_600_000),
        ("0.5/s", 1, 2000),
        ("2.5/s", 2.5, 1000),
        ("3", 3, 1000),
        (4, 4, 1000),
        (0.25, 1, 4000),
    ],
)
def test_a_rate_is_the_fraction_that_it_is(text: object, count: float, period: float) -> None:
    assert limit_of(task(text)) == TokenBucket("shop.send", count=count, period=period, burst=1)


def test_what_is_no_rate() -> None:
    assert [limit_of(task(given)) for given in (None, "", 0, "0/m")] == [None] * 4
    assert limit_of(SimpleNamespace(name="shop.send")) is None
    definition = TokenBucket("mail", count=5, period=1000)
    assert limit_of(task(definition)) is definition
    wrong: Any
    for wrong in ("ten/m", "10/minute", "10/m;20/h", [10], {"type": "bucket", "key": "mail", "size": 5}):
        with pytest.raises(LimitError, match=r"task 'shop.send': rate_limit must be a rate of Celery's") as caught:
            limit_of(task(wrong))
        assert (caught.value.key, caught.value.field) == ("shop.send", "rate_limit")
    with pytest.raises(LimitError, match=r"shop\.send"):
        limit_of(task(1e300))


class Fleet:
    """Consumers of one store, and their timers, in the time of the test."""

    def __init__(self, store: str, consumers: int) -> None:
        self.clock = Clock()
        self.start = self.clock()
        self.order = itertools.count()
        self.waiting: list[tuple[float, int, Callable[[], None]]] = []
        self.ran: list[float] = []
        shared = Limiter(clock=self.clock) if store == "memory://" else None
        # Over Redis each has connections of its own.
        stores = [shared or Limiter(store, clock=self.clock, timeout=10) for _ in range(consumers)]
        self.consumers = [self.consumer(limiter) for limiter in stores]

    def consumer(self, limiter: Limiter) -> Any:
        app = Celery("shop", broker="amqp://localhost", set_as_current=False)
        app.conf.tidegate_limiter = limiter
        consumer: Any = Consumer.__new__(Consumer)
        consumer.app = app
        consumer.timer = self
        consumer.task_buckets = defaultdict(lambda: None)
        consumer._limit_order = 0
        consumer._limit_move_to_pool = lambda _request: self.ran.append(round(self.clock() - self.start, 6))
        return consumer

    def call_after(self, seconds: float, function: Any, args: Any, priority: int) -> Any:  # noqa: ARG002
        timer = (self.clock() + seconds, next(self.order), lambda: function(*args))
        heapq.heappush(self.waiting, timer)

        def cancel() -> None:
            if timer in self.waiting:
                self.waiting.remove(timer)
                heapq.heapify(self.waiting)

        return SimpleNamespace(cancel=cancel)

    def run(self, seconds: float) -> None:
        """Lets the timers fire."""
        end = self.start + seconds
        while self.waiting and self.waiting[0][0] <= end:
            at, _, call = heapq.heappop(self.waiting)
            self.clock.set(at)
            call()
        self.clock.set(end)


@pytest.fixture
def fleet(store: str, redis: RedisServer) -> Fleet:
    redis.command("FLUSHALL")
    return Fleet(store, 3)


def test_consumers_share_a_rate_and_none_of_it_is_lost(fleet: Fleet) -> None:
    for consumer in fleet.consumers:
        bucket = consumer.bucket_for_task(task("10/s"))
        for number in range(50):
            consumer._limit_task(f"request {number}", bucket, 1)
    fleet.run(4.95)
    # One every 100 ms of all three, where each alone would have run as many.
    assert fleet.ran == [round(number / 10, 6) for number in range(50)]
    fleet.run(20)
    assert len(fleet.ran) == 150


def test_a_changed_rate_keeps_the_tasks_that_wait(fleet: Fleet) -> None:
    consumer = fleet.consumers[0]
    slow = task("1/m")
    bucket = consumer.task_buckets["shop.send"] = consumer.bucket_for_task(slow)
    for number in range(11):
        consumer._limit_task(f"request {number}", bucket, 1)
    fleet.run(90)
    assert len(fleet.ran) == 2
    slow.rate_limit = "1/s"
    assert consumer.bucket_for_task(slow) is bucket
    fleet.run(200)
    assert len(fleet.ran) == 11
    consumer._limit_task("another", bucket, 1)
    slow.rate_limit = None
    assert consumer.bucket_for_task(slow) is None
    for _ in range(5):
        consumer._limit_task("free", bucket, 1)
    assert len(fleet.ran) == 17


def test_definitions_are_shared_by_tasks(fleet: Fleet) -> None:
    consumer = fleet.consumers[0]
    mail = TokenBucket("mail", count=1, period=1000)
    one, other = (consumer.bucket_for_task(task(mail, name)) for name in ("a", "b"))
    assert (one.can_consume(), other.can_consume(), other.expected_time()) == (True, False, 1.0)


def test_tasks_wait_for_a_store_that_has_to_be_asked() -> None:
    with RedisServer() as gone:
        bucket = TaskBucket(Limiter(gone.url, on_error="raise", timeout=2), limit_of(task("10/s")))
        assert bucket.can_consume()
        gone.kill()
        assert (bucket.can_consume(), bucket.expected_time()) == (False, 1.0)


def test_the_store_is_found() -> None:
    def store(**conf: Any) -> str:
        consumer: Any = Consumer.__new__(Consumer)
        consumer.app = Celery("shop", set_as_current=False)
        consumer.app.conf.update(conf)
        consumer.task_buckets = {}
        return repr(consumer.bucket_for_task(task("1/s")).limiter)

    assert "memory" in store(tidegate_limiter="memory://", broker_url="redis://localhost:1/0")
    assert "localhost:1" in store(broker_url="redis://localhost:1/0")
    assert "localhost:2" in store(broker_url="amqp://localhost", result_backend="redis://localhost:2/0")
    for url in ("amqp://localhost", "redis://localhost:1;redis://localhost:2"):
        with pytest.raises(ConfigurationError, match="tidegate_limiter"):
            store(broker_url=url)


@contextmanager
def worker(name: str, pool: str, url: str, log: Path) -> Iterator[None]:
    """A worker in a process of its own; it is asked to end."""
    command = [sys.executable, "-m", "celery", "-A", "shop", "worker", "-n", f"{name}@%h", "-P", pool, "-c", "2"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    environment = {**os.environ, "STORE": url, "WORKER": name}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=APPS, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            yield
        finally:
            end(process)


def wait_for(store: Any, name: str, count: int) -> list[str]:
    until = time.monotonic() + 120
    while store.llen(name) < count and time.monotonic() < until:
        time.sleep(0.02)
    return [line.decode() for line in store.lrange(name, 0, -1)]


@pytest.fixture
def shop(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The application of the workers, here too."""
    monkeypatch.setenv("STORE", server.url)
    monkeypatch.setenv("WORKER", "test")
    monkeypatch.syspath_prepend(str(APPS))
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    return importlib.import_module("shop")


def test_workers_share_a_rate(server: RedisServer, tmp_path: Path, shop: Any) -> None:
    store = client.Redis.from_url(server.url)
    logs = [tmp_path / name for name in ("prefork", "threads")]
    with worker("prefork", "prefork", server.url, logs[0]), worker("threads", "threads", server.url, logs[1]):
        assert len(wait_for(store, "ready", 2)) == 2
        began = time.time()
        for number in range(41):
            shop.send.delay(number)
        notes = [line.split() for line in wait_for(store, "notes", 41)]
        # Changed while the workers run, for all of them.
        changed = shop.app.control.rate_limit("shop.send", "5/s", reply=True, timeout=10, limit=2)
        assert len(changed) == 2
        began_again = time.time()
        for number in range(9):
            shop.send.delay(number)
        again = [line.split() for line in wait_for(store, "notes", 50)[41:]]
    report = "\n".join(log.read_text() for log in logs)
    assert sorted(int(number) for _, number, _ in notes) == list(range(41)), report
    times = sorted(float(at) - began for _, _, at in notes)
    # The last of 41 at 20 a second is let through 2 s after the first, which none may have been before it was sent. Two
    # workers by themselves would be done in one.
    assert times[-1] >= 2.0, report
    assert all(at >= place / 20 for place, at in enumerate(times)), report
    assert times[-1] < 25.0, report
    # Both take part.
    assert {name for name, _, _ in notes} == {"prefork", "threads"}, report
    assert len(again) == 9, report
    # At the old rate it would have been 0.4 s.
    assert max(float(at) for _, _, at in again) - began_again >= 1.6, report
    assert "Traceback" not in report


def test_a_place_is_held_until_the_task_has_ended(server: RedisServer, tmp_path: Path, shop: Any) -> None:
    server.command("FLUSHALL")
    store, limiter = client.Redis.from_url(server.url), Limiter(server.url, timeout=10, on_error="raise")
    logs = [tmp_path / name for name in ("prefork", "threads")]
    with worker("prefork", "prefork", server.url, logs[0]), worker("threads", "threads", server.url, logs[1]):
        assert len(wait_for(store, "ready", 2)) == 2
        # Some take longer than the lease, some fail, and some are tried again once.
        tasks = [(2.5, ""), (2.5, ""), (0.2, "fails"), (0.2, "retries"), (0.2, ""), (0.2, "fails"), (0.2, "retries")]
        for number, (seconds, end_of_it) in enumerate(tasks):
            shop.export.delay(number, seconds, end_of_it)
        notes = [line.split() for line in wait_for(store, "exports", 9)]
        report = "\n".join(log.read_text() for log in logs)
        assert sorted(int(number) for number, *_ in notes) == [0, 1, 2, 3, 3, 4, 5, 6, 6], report
        changes = sorted(change for _, began, ended in notes for change in ((float(began), 1), (float(ended), -1)))
        most = max(itertools.accumulate(change for _, change in changes))
        assert most == 2, report

        # A task that is revoked while it runs, in the pool that can end it.
        until = time.monotonic() + 30
        while limiter.peek(shop.EXPORTS, "celery").remaining < 2 and time.monotonic() < until:
            time.sleep(0.02)
        assert limiter.peek(shop.EXPORTS, "celery").remaining == 2, report
    with worker("prefork", "prefork", server.url, logs[0]):
        task = shop.long.delay()
        assert wait_for(store, "long", 1)
        assert limiter.peek(shop.LONG, "celery").blocked
        shop.app.control.revoke(task.id, terminate=True)
        until = time.monotonic() + 30
        while limiter.peek(shop.LONG, "celery").blocked and time.monotonic() < until:
            time.sleep(0.02)
        assert not limiter.peek(shop.LONG, "celery").blocked, logs[0].read_text()


def test_a_place_that_is_released_here_is_taken_at_once(fleet: Fleet) -> None:
    consumer = fleet.consumers[0]
    ended: list[Any] = []
    consumer._limit_move_to_pool = ended.append
    places = Concurrency("places", max=1, lease=60_000)
    bucket = consumer.bucket_for_task(task(places))
    requests = [SimpleNamespace(number=number, on_success=lambda *_: None) for number in range(3)]
    for request in requests:
        consumer._limit_task(request, bucket, 1)
    assert ended == requests[:1]
    fleet.run(1)
    assert ended == requests[:1]
    for count in (2, 3):
        requests[count - 2].on_success()
        fleet.run(1 + count / 1000)
        assert ended == requests[:count]
    assert not fleet.waiting, "nothing waits any more"
