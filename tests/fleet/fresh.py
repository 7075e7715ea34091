"""The first calls of a hundred limiters, one after the other; prints how many waited for a tenth of a second."""

import sys
import time

from tidegate import Bucket, Limiter

LIMIT = Bucket("fresh", size=10_000)


def is_slow(url: str) -> bool:
    began = time.monotonic()
    Limiter(url, timeout=10, on_error="raise").limit(LIMIT, "ada")
    return time.monotonic() - began >= 0.1


print(sum(is_slow(sys.argv[1]) for _ in range(100)))
