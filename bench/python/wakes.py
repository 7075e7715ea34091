"""The time between the release of a place and the start of the call that waits for it: ``wakes.py [URL]``.

In memory the calls are tasks of one event loop, or threads. Over Redis another process holds the place and releases it.
Prints milliseconds: the least, the median, the 99th percentile and the largest.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

from tidegate import AsyncLimiter, Concurrency, Limiter

ROUNDS = 300
# Fewer over Redis: a round takes as long as the other process keeps the place.
ROUNDS_OVER_REDIS = 60
PLACE = Concurrency("place", max=1, lease=60_000)


def show(name: str, seconds: list[float]) -> None:
    figures = sorted(second * 1000 for second in seconds)
    last = len(figures) - 1
    at = [figures[last * part // 100] for part in (0, 50, 99, 100)]
    print(f"{name}: " + " / ".join(f"{figure:.3f}" for figure in at) + f" ms, {len(figures)} wakes")


async def tasks() -> list[float]:
    """Ten tasks wait; each release wakes the next one, in the order in which they came."""
    limiter, wakes = AsyncLimiter(), list[float]()
    for _ in range(ROUNDS // 10):
        order, released = list[int](), [0.0]

        async def take(number: int, order: list[int], released: list[float]) -> None:
            async with limiter.hold(PLACE, "ada", max_wait=60):
                if number:
                    wakes.append(time.perf_counter() - released[0])
                order.append(number)
                await asyncio.sleep(0.002)
                released[0] = time.perf_counter()

        await asyncio.gather(*(take(number, order, released) for number in range(11)))
        if order != sorted(order):
            raise SystemExit(f"woken out of order: {order}")
    return wakes


def threads() -> list[float]:
    limiter, wakes = Limiter(), list[float]()
    for _ in range(ROUNDS):
        place = limiter.hold(PLACE, "ada")
        place.__enter__()
        woken = list[float]()

        def take(woken: list[float]) -> None:
            with limiter.hold(PLACE, "ada", max_wait=60):
                woken.append(time.perf_counter())

        waiter = threading.Thread(target=take, args=(woken,))
        waiter.start()
        time.sleep(0.005)
        released = time.perf_counter()
        place.release()
        waiter.join()
        wakes.append(woken[0] - released)
    return wakes


async def from_another_process(url: str, shortest: int, longest: int) -> list[float]:
    """Another process takes the place, keeps it for some milliseconds, and says when it has released it."""
    # Without a fallback, which would give the place to both.
    other = subprocess.Popen([sys.executable, __file__, url, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdin is not None
    assert other.stdout is not None
    limiter, wakes = AsyncLimiter(url, namespace="wakes", timeout=5, on_error="raise"), list[float]()
    for number in range(ROUNDS_OVER_REDIS):
        other.stdin.write(b"%d\n" % (shortest + number * 7 % (longest - shortest)))
        other.stdin.flush()
        other.stdout.readline()
        async with limiter.hold(PLACE, "ada", max_wait=60):
            woken = time.time()
        wakes.append(woken - float(other.stdout.readline()))
    other.stdin.close()
    other.wait()
    await limiter.aclose()
    return wakes


def hold(url: str) -> None:
    """Hold the place for as many milliseconds as each line says."""
    limiter = Limiter(url, namespace="wakes", timeout=5, on_error="raise")
    for line in sys.stdin:
        place = limiter.hold(PLACE, "ada", max_wait=60)
        place.__enter__()
        print("held", flush=True)
        time.sleep(int(line) / 1000)
        released = time.time()
        place.release()
        print(released, flush=True)


def main() -> None:
    if sys.argv[2:] == ["hold"]:
        hold(sys.argv[1])
    elif len(sys.argv) > 1:
        for shortest, longest in [(10, 60), (60, 200), (200, 500)]:
            wakes = asyncio.run(from_another_process(sys.argv[1], shortest, longest))
            show(f"Redis, released by another process after {shortest} to {longest} ms", wakes)
    else:
        show("memory, asyncio", asyncio.run(tasks()))
        show("memory, threads", threads())


if __name__ == "__main__":
    main()
