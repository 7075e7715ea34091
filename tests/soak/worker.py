"""One process of the soak: calls until its input ends, and answers each line of it with its figures since the last."""

import asyncio
import json
import sys
import time

from tidegate import AsyncLimiter, Bucket

CALLERS, PAUSE = 4, 0.004
# Seconds without an answer of the store that are noted: longer than a call takes that misses its deadline.
GAP = 0.25


class Figures:
    """The figures since the last line."""

    def __init__(self) -> None:
        self.calls = self.degraded = self.store = self.alone = 0
        self.slowest = self.late = 0.0
        # When the store did not decide, from and to.
        self.gaps: list[tuple[float, float]] = []


async def main(url: str, size: int, drip_ms: float) -> None:
    limiter = AsyncLimiter(url, timeout=0.1, on_error="local")
    shared = Bucket("soak", size=size, drip_rate=drip_ms)
    each = Bucket("names", size=5, drip_rate=60_000)
    loop, over = asyncio.get_running_loop(), False
    figures, heard = Figures(), time.monotonic()

    def hear(now: float) -> None:
        nonlocal heard
        if now - heard > GAP:
            figures.gaps.append((heard, now))
        heard = now

    async def ask(caller: int) -> None:
        named = 0
        while not over:
            began = time.monotonic()
            # One in four is a name that nobody has used before, as in a flood.
            if caller == 0:
                named += 1
                info = await limiter.limit(each, f"name {named}")
                # Of the others a denial may be remembered, while the store is away.
                if not info.degraded:
                    hear(time.monotonic())
            else:
                info = await limiter.limit(shared, "everybody")
                figures.store += not info.blocked and not info.degraded
                figures.alone += not info.blocked and info.degraded
            ended = time.monotonic()
            figures.calls += 1
            figures.degraded += info.degraded
            figures.slowest = max(figures.slowest, ended - began)
            await asyncio.sleep(PAUSE)
            figures.late = max(figures.late, time.monotonic() - ended - PAUSE)

    callers = [asyncio.create_task(ask(caller)) for caller in range(CALLERS)]
    while await loop.run_in_executor(None, sys.stdin.readline):
        if time.monotonic() - heard > GAP:
            hear(time.monotonic())
        said, figures = figures, Figures()
        print(json.dumps(vars(said)), flush=True)
    over = True
    await asyncio.gather(*callers)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
