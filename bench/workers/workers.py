"""Four processes that share one limit: ``workers.py WHO PLACE``, where the place is a URL or a folder of its own.

Together they ask 1,000 times at once for a limit of 500, then for two seconds for one that none of them reaches. Prints
JSON: how many were admitted of the thousand, and how many of all four in a second.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from typing import Any

WORKERS = 4
ASKED, ADMITTED = 1000, 500
PLENTY = 10**8
SECONDS = 2.0
# Calls between two looks at the clock.
BATCH = 10
# Seconds for which peers that know no call without waiting wait for room, or for a lock that another process has.
PATIENCE = {"few": 0.02, "plenty": 1.0}

Ask = Callable[[], bool]


def tidegate(url: str, key: str, count: int, _: Any) -> Ask:
    from tidegate import FixedWindow, Limiter

    limiter, limit = Limiter(url), FixedWindow(key, max=count, period=3_600_000)
    return lambda: not limiter.limit(limit, "ada").blocked


def limits(url: str, key: str, count: int, _: Any) -> Ask:
    import limits
    from limits.storage import storage_from_string
    from limits.strategies import FixedWindowRateLimiter

    limiter, limit = FixedWindowRateLimiter(storage_from_string(url)), limits.RateLimitItemPerHour(count)
    return lambda: limiter.hit(limit, key, "ada")


def pyrate_sqlite(folder: str, key: str, count: int, _: Any) -> Ask:
    from pyrate_limiter import Duration
    from pyrate_limiter.limiter_factory import create_sqlite_limiter

    limiter = create_sqlite_limiter(count, Duration.HOUR, db_path=f"{folder}/{key}", use_file_lock=True)
    return lambda: bool(limiter.try_acquire("ada", timeout=PATIENCE[key]))


def pyrate_processes(_: str, key: str, __: int, shared: Any) -> Ask:
    from pyrate_limiter import Limiter

    limiter = Limiter(shared[key])
    return lambda: bool(limiter.try_acquire("ada", timeout=PATIENCE[key]))


def token_throttle(folder: str, key: str, count: int, _: Any) -> Ask:
    from token_throttle import PerModelConfig, Quota, SyncRateLimiter, SyncSqliteBackendBuilder, UsageQuotas

    quotas = UsageQuotas([Quota(metric="calls", limit=count, per_seconds=3600)])
    limiter: Any = SyncRateLimiter(
        PerModelConfig(quotas=quotas), backend=SyncSqliteBackendBuilder(f"{folder}/{key}", key_prefix="bench")
    )

    def ask() -> bool:
        try:
            limiter.acquire_capacity({"calls": 1}, "ada", timeout=PATIENCE[key])
        except TimeoutError:
            return False
        return True

    return ask


CONTENDERS = {
    "tidegate": tidegate,
    "limits": limits,
    "pyrate-sqlite": pyrate_sqlite,
    "pyrate-processes": pyrate_processes,
    "token-throttle": token_throttle,
}


def shared_by_all(who: str) -> Any:
    """State that the parent of the workers makes, for a peer that wants it."""
    if who != "pyrate-processes":
        return None
    from pyrate_limiter import Duration, MultiprocessBucket, Rate

    counts = {"few": ADMITTED, "plenty": PLENTY}
    return {key: MultiprocessBucket.init([Rate(count, Duration.HOUR)]) for key, count in counts.items()}


def work(who: str, place: str, shared: Any, together: Any, results: Any) -> None:
    """One worker."""
    few, plenty = (CONTENDERS[who](place, key, count, shared) for key, count in (("few", ADMITTED), ("plenty", PLENTY)))
    together.wait()
    admitted = sum(few() for _ in range(ASKED // WORKERS))
    together.wait()
    calls, start = 0, time.perf_counter()
    while (end := time.perf_counter()) < start + SECONDS:
        calls += sum(plenty() for _ in range(BATCH))
    results.put((admitted, calls / (end - start)))


def main(who: str, place: str) -> None:
    together, results = multiprocessing.Barrier(WORKERS), multiprocessing.SimpleQueue()
    arguments = (who, place, shared_by_all(who), together, results)
    workers = [multiprocessing.Process(target=work, args=arguments, daemon=True) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        sys.exit("a worker failed")
    admitted, rates = zip(*(results.get() for _ in workers))
    print(json.dumps({"admitted": sum(admitted), "per_second": sum(rates)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
