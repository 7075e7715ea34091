"""Workers of gunicorn of every kind, over Redis and in memory."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from server import RedisServer
from serving import Served, workers

APPS = Path(__file__).parent / "apps"


class Case(NamedTuple):
    """A server: its store, its application, its number of workers, and their kind."""

    store: str
    app: str
    workers: int
    options: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.store, self.app, str(self.workers), *self.options])


THREADS = ("-k", "gthread", "--threads", "4")
GEVENT = ("-k", "gevent")
ASGI = ("-k", "asgi")
CASES = [
    Case("redis", "flask", 4, ("--preload",)),
    Case("redis", "flask", 2, THREADS),
    Case("redis", "flask", 2, GEVENT),
    Case("redis", "django", 4, ()),
    Case("redis", "django", 2, (*THREADS, "--preload")),
    Case("redis", "django", 2, GEVENT),
    Case("redis", "fastapi", 2, ASGI),
    Case("memory", "flask", 1, THREADS),
    Case("memory", "django", 1, GEVENT),
    Case("memory", "flask", 2, ()),
    Case("memory", "django", 2, ("--preload",)),
    Case("memory", "fastapi", 2, ASGI),
]
APP = {"flask": "flasky:create_app()", "django": "site_of_django:wsgi", "fastapi": "fast:app"}
LIMITED = {"flask": ("/v1/bulk", 5), "django": ("/items/1/", 3), "fastapi": ("/v1/items/1", 3)}
WORKER = {"flask": "/free/worker", "django": "/worker/", "fastapi": "/v1/health"}


@pytest.fixture(scope="module")
def servers(redis: RedisServer) -> Iterator[dict[Case, Served]]:
    """All of them at once, because a start takes longer than a test."""

    def served(case: Case) -> Served:
        command = [sys.executable, "-m", "gunicorn", APP[case.app], "-b", "127.0.0.1:{port}", "-w", str(case.workers)]
        store = redis.url if case.store == "redis" else "memory://"
        return Served(*command, *case.options, "--graceful-timeout", "1", folder=APPS, STORE=store)

    made = {case: served(case) for case in CASES}
    with ThreadPoolExecutor(5) as pool:
        try:
            list(pool.map(Served.__enter__, made.values()))
            yield made
        finally:
            list(pool.map(lambda server: server.__exit__(None, None, None), made.values()))


def statuses(server: Served, app: str) -> Counter[int]:
    """Those of 40 requests of one actor, eight at a time."""
    path, key = LIMITED[app][0], uuid4().hex
    with ThreadPoolExecutor(8) as pool:
        return Counter(answer.status for answer in pool.map(lambda _: server.ask(path, x_api_key=key), range(40)))


@pytest.mark.parametrize("case", [case for case in CASES if case.store == "redis" or case.workers == 1], ids=str)
def test_totals_are_exact(servers: dict[Case, Served], case: Case) -> None:
    server = servers[case]
    workers(server, WORKER[case.app], case.workers)
    most = LIMITED[case.app][1]
    assert statuses(server, case.app) == {200: most, 429: 40 - most}
    assert "Traceback" not in server.log
    assert "memory" not in server.log


@pytest.mark.parametrize("case", [case for case in CASES if case.store == "memory" and case.workers > 1], ids=str)
def test_a_store_in_memory_is_reported(servers: dict[Case, Served], case: Case) -> None:
    server = servers[case]
    workers(server, WORKER[case.app], case.workers)
    most = LIMITED[case.app][1]
    # Each worker admits the whole limit by itself.
    assert most <= statuses(server, case.app)[200] <= most * case.workers
    told = [line for line in server.log.splitlines() if "memory-many-workers: " in line]
    # Once for each that has served.
    assert len(told) == case.workers
