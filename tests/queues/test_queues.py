"""Jobs that a limit denies, in the queues of docs/job-queues.md: they are delayed, and no attempt is spent."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from dramatiq import Worker
from rq import SimpleWorker
from rq.scheduler import RQScheduler

from server import RedisServer
from tidegate import Limiter, LimitError, TokenBucket
from tidegate.queues import defer_by

PAGE = Path(__file__).parents[2] / "docs/job-queues.md"
LIMIT = TokenBucket("sms", count=1, period=60_000)


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with RedisServer() as server:
        yield server.url


@pytest.fixture
def example(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The module that is the example under a title of the page, over this server and with a shorter limit."""

    def load(title: str) -> Any:
        found = re.search(rf"^## {title}\n.*?^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
        assert found is not None
        # With time for a busy machine: to run two jobs within the period, and for the server's answers.
        code = found[1].replace("period=60_000", "period=1000")
        code = code.replace('Limiter("redis://localhost:6379"', f'Limiter("{redis_url}", timeout=10')
        code = code.replace("redis://localhost:6379", redis_url)
        file = tmp_path / f"jobs_of_{title.lower()}.py"
        file.write_text(code, "utf-8")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, file.stem, module)
        spec.loader.exec_module(module)
        return module

    return load


def test_rq(example: Callable[[str], Any]) -> None:
    jobs = example("RQ")
    from rq import Retry

    ran = [jobs.queue.enqueue(jobs.send, "bob", text, retry=Retry(max=2)) for text in ("one", "two")]
    worker = SimpleWorker([jobs.queue], connection=jobs.queue.connection)
    worker.work(burst=True, logging_level="ERROR")
    assert [job.return_value() for job in ran] == ["sent", "deferred"]
    scheduler: Any = RQScheduler([jobs.queue], connection=jobs.queue.connection)
    scheduler.acquire_locks()
    for _ in range(100):
        scheduler.enqueue_scheduled_jobs()
        if waiting := jobs.queue.jobs:
            break
        time.sleep(0.1)
    [job] = waiting
    assert job.args == ("bob", "two")
    assert job.retries_left == 2
    worker.work(burst=True, logging_level="ERROR")
    assert job.return_value() == "sent"


def test_dramatiq(example: Callable[[str], Any]) -> None:
    jobs = example("dramatiq")
    for text in ("one", "two"):
        jobs.send.send("bob", text)
    worker = Worker(jobs.broker, worker_timeout=50, worker_threads=2)
    worker.start()
    try:
        end = time.monotonic() + 30
        # With the message that the page itself sends.
        while len(jobs.sent) < 3 and time.monotonic() < end:
            time.sleep(0.02)
    finally:
        worker.stop()
        jobs.broker.close()
    # No message may be tried twice, and none has failed.
    assert sorted(jobs.sent) == [("ada", "hello"), ("bob", "one"), ("bob", "two")]


def test_procrastinate(example: Callable[[str], Any]) -> None:
    jobs = example("procrastinate")

    async def main() -> None:
        async with jobs.app.open_async():
            for text in ("one", "two"):
                await jobs.send.defer_async(customer="bob", text=text)
            await jobs.app.run_worker_async(wait=False, install_signal_handlers=False, listen_notify=False)
            stored = list(jobs.app.connector.jobs.values())
            assert sorted(job["status"] for job in stored) == ["succeeded", "succeeded", "todo"]
            [deferred] = [job for job in stored if job["status"] == "todo"]
            assert deferred["attempts"] == 0
            assert deferred["args"] == {"customer": "bob", "text": "two"}
            await asyncio.sleep(1.1)
            await jobs.app.run_worker_async(wait=False, install_signal_handlers=False, listen_notify=False)

    asyncio.run(main())
    assert jobs.sent == [("bob", "one"), ("bob", "two")]


def test_delays() -> None:
    limiter = Limiter()
    assert defer_by(limiter.limit(LIMIT, "ada", now=0)) == timedelta(seconds=60)
    denied = limiter.limit(LIMIT, "ada", now=59_999.5)
    assert denied.blocked
    assert defer_by(denied) == timedelta(milliseconds=1)
    assert defer_by(limiter.peek(LIMIT, "eve")) == timedelta(milliseconds=1)
    spread = [defer_by(denied, spread=timedelta(seconds=10)) for _ in range(200)]
    assert timedelta(milliseconds=1) <= min(spread) < max(spread) <= timedelta(seconds=10, milliseconds=1)


@pytest.mark.parametrize("spread", [-1, float("nan"), float("inf"), "1", True, None])
def test_bad_spreads(spread: Any) -> None:
    with pytest.raises(LimitError, match="spread must be at least 0 seconds"):
        defer_by(Limiter().peek(LIMIT, "ada"), spread=spread)
    with pytest.raises(LimitError, match="info must be the answer of a limiter"):
        defer_by(spread)
