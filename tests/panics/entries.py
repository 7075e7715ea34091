"""Every entry of the Python binding meets every panic: an exception at the most, and the next call is fine."""

import asyncio
import faulthandler
import os
import sys
import time
from collections.abc import Callable

from server import RedisServer
from tidegate import AsyncLimiter, Bucket, Limiter, Limits, SlidingLog, StoreError, json_schema

POINTS = [
    "limit", "locked", "begin", "encode", "decode", "headers", "explain", "open", "upkeep", "acquire", "step", "queue",
    "stats",
]  # fmt: skip
BUCKET = Bucket("bucket", size=1_000_000)
LOG = SlidingLog("log", max=1000, period=60_000)
LONGEST = 5.0

Entries = dict[str, Callable[[], object]]


def entries_of(limiter: Limiter) -> Entries:
    """The calls of a limiter."""
    both = [(BUCKET, "ada"), (LOG, "ada")]
    charged = lambda: limiter.limit(BUCKET, "ada", 2)  # noqa: E731
    return {
        "limit": lambda: limiter.limit(BUCKET, "ada"),
        "limit of another type": lambda: limiter.limit(LOG, "ada"),
        "limit of a dict": lambda: limiter.limit({"key": "dict", "type": "bucket", "size": 10}, "ada"),
        "limit_all": lambda: limiter.limit_all(both),
        "peek": lambda: limiter.peek(BUCKET, "ada"),
        "peek_all": lambda: limiter.peek_all(both),
        "charge": lambda: limiter.charge(BUCKET, "ada"),
        "refund": lambda: limiter.refund(BUCKET, "ada"),
        "refund of an answer": lambda: limiter.refund(charged()),
        "settle": lambda: limiter.settle(charged(), 1),
        "reset": lambda: limiter.reset(BUCKET, "ada"),
        "acquire": lambda: limiter.acquire(BUCKET, "ada", max_wait=1),
        "acquire in line": lambda: limiter.acquire(LOG, "ada", max_wait=1),
        "explain": lambda: limiter.explain(BUCKET, "ada"),
        "ping": limiter.ping,
        "clear": limiter.clear,
        "stats": limiter.stats,
        "entries": lambda: (limiter.entries, limiter.evictions, limiter.overflowed),
        "headers": lambda: limiter.limit(BUCKET, "ada").headers(),
        "IETF headers": lambda: limiter.limit(BUCKET, "ada").headers("ietf"),
    }


def async_entries_of(url: str) -> Entries:
    """The calls of an asynchronous limiter, each in a loop of its own."""

    def run(call: Callable[[AsyncLimiter], object]) -> Callable[[], object]:
        async def main() -> None:
            async with AsyncLimiter(url, **OPTIONS) as limiter:
                await asyncio.wait_for(call(limiter), LONGEST)  # type: ignore[arg-type]

        return lambda: asyncio.run(main())

    both = [(BUCKET, "ada"), (LOG, "ada")]
    return {
        "async limit": run(lambda limiter: limiter.limit(BUCKET, "ada")),
        "async limit_all": run(lambda limiter: limiter.limit_all(both)),
        "async peek": run(lambda limiter: limiter.peek(BUCKET, "ada")),
        "async refund": run(lambda limiter: limiter.refund(BUCKET, "ada")),
        "async reset": run(lambda limiter: limiter.reset(BUCKET, "ada")),
        "async acquire": run(lambda limiter: limiter.acquire(BUCKET, "ada", max_wait=1)),
        "async acquire in line": run(lambda limiter: limiter.acquire(LOG, "ada", max_wait=1)),
        "async explain": run(lambda limiter: limiter.explain(BUCKET, "ada")),
        "async ping": run(lambda limiter: limiter.ping()),
        "async clear": run(lambda limiter: limiter.clear()),
    }


OPTIONS = {"timeout": 1.0, "on_error": "raise", "deny_cache": 0}


def definitions() -> Entries:
    """Entries that need no store."""
    return {
        "Bucket": lambda: Bucket("made", size=1),
        "from_dict": lambda: Limits.from_dict({"login": {"key": "login", "type": "bucket", "size": 1}}),
        "Limiter": Limiter,
        "json_schema": json_schema,
        "definition.explain": BUCKET.explain,
    }


def meet(name: str, entry: Callable[[], object], point: str) -> "str | None":
    """The exception's type, if there was one; what follows has to be fine, soon at the latest."""
    os.environ["TIDEGATE_PANIC"] = point
    met, began = None, time.monotonic()
    try:
        entry()
    except BaseException as error:
        met = type(error).__name__
        assert not isinstance(error, asyncio.TimeoutError), f"{name} at {point}: never answered"
        assert met == "PanicException" or isinstance(error, (StoreError, RuntimeError)), f"{name} at {point}: {error!r}"
    finally:
        del os.environ["TIDEGATE_PANIC"]
    assert time.monotonic() - began < LONGEST, f"{name} at {point} took {time.monotonic() - began:.1f} s"
    until = time.monotonic() + 10
    while True:
        try:
            entry()
            return met
        except StoreError:
            # A store whose connection is made anew.
            assert time.monotonic() < until, f"{name} does not go on after {point}"
            time.sleep(0.02)


def main() -> None:
    met: dict[str, set[str]] = {point: set() for point in POINTS}
    tried: set[str] = set()
    faulthandler.dump_traceback_later(540, exit=True)
    with RedisServer() as server:
        groups = [
            ("", definitions()),
            ("memory: ", entries_of(Limiter())),
            ("memory: ", async_entries_of("memory://")),
            ("redis: ", entries_of(Limiter(server.url, **OPTIONS))),
            ("redis: ", async_entries_of(server.url)),
        ]
        for store, entries in groups:
            for name, entry in entries.items():
                tried.add(store + name)
                for point in POINTS:
                    if meet(store + name, entry, point):
                        met[point].add(store + name)
    unmet = [point for point in POINTS if not met[point]]
    spared = tried - set.union(*met.values())
    panics = sum(len(entries) for entries in met.values())
    print(f"Python: {len(tried)} entries, {len(POINTS)} points, {panics} panics met; never met: {sorted(spared)}")
    assert not unmet, f"no entry goes through {unmet}"
    # Numbers that are only read, a text that is made once, and what has nothing to do in memory.
    apart = {"json_schema", "memory: entries", "redis: entries", "memory: stats", "memory: ping", "memory: clear"}
    assert spared <= apart, spared - apart


main()
sys.stdout.flush()
