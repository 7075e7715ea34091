"""A process that calls steadily from threads; prints every call, as `steady.py` of the fleet does."""

import json
import sys
import threading
import time
from datetime import timedelta

from tidegate import Bucket, Limiter

CALLERS, PAUSE = 4, 0.004


def main(url: str, seconds: float, size: int, drip_ms: float) -> None:
    limiter = Limiter(url, timeout=0.1, on_error="local")
    shared = Bucket("steady", size=size, drip_rate=timedelta(milliseconds=drip_ms))
    end = time.monotonic() + seconds
    calls: list[tuple[float, float, bool, bool]] = []
    late = [0.0] * CALLERS

    def ask(caller: int) -> None:
        while (began := time.monotonic()) < end:
            info = limiter.limit(shared, "everybody")
            answered = time.monotonic()
            calls.append((began, answered - began, info.blocked, info.degraded))
            time.sleep(PAUSE)
            late[caller] = max(late[caller], time.monotonic() - answered - PAUSE)

    callers = [threading.Thread(target=ask, args=(caller,)) for caller in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    print(json.dumps({"calls": calls, "late": max(late)}))


main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
