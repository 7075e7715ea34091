"""A server that limits exactly, by code of its own, and counts: ``upstream.py KIND COUNT PERIOD HEADERS``.

It writes its port, serves until it gets a line, and then writes each request: the second, and 1 if it was refused.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections import deque


class FixedWindow:
    """At most so many in each window since the epoch."""

    def __init__(self, count: int, period: float) -> None:
        self.count, self.period, self.window, self.used = count, period, 0, 0

    def admit(self, now: float) -> tuple[bool, int, float]:
        window = int(now / self.period)
        if window != self.window:
            self.window, self.used = window, 0
        fits = self.used < self.count
        self.used += fits
        return fits, self.count - self.used, (window + 1) * self.period - now


class TokenBucket:
    """So many tokens at most, which come back evenly."""

    def __init__(self, count: int, period: float) -> None:
        self.count, self.rate, self.tokens, self.at = count, count / period, float(count), 0.0

    def admit(self, now: float) -> tuple[bool, int, float]:
        self.tokens = min(self.count, self.tokens + max(now - self.at, 0) * self.rate)
        self.at = now
        # Not less than a token because of a rounding of doubles.
        fits = self.tokens >= 1 - 1e-9
        self.tokens -= fits
        return fits, int(self.tokens), max(0.0, 1 - self.tokens) / self.rate


class SlidingLog:
    """At most so many in any span of a period."""

    def __init__(self, count: int, period: float) -> None:
        self.count, self.period, self.log = count, period, deque[float]()

    def admit(self, now: float) -> tuple[bool, int, float]:
        while self.log and self.log[0] <= now - self.period:
            self.log.popleft()
        fits = len(self.log) < self.count
        if fits:
            self.log.append(now)
        return fits, self.count - len(self.log), self.log[0] + self.period - now


Kind = FixedWindow | TokenBucket | SlidingLog


class Connection(asyncio.Protocol):
    """One connection; requests without a body, one after the other."""

    def __init__(self, limit: Kind, headers: bool, seen: list[tuple[float, int]]) -> None:
        self.limit, self.headers, self.seen, self.read = limit, headers, seen, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.read += data
        while b"\r\n\r\n" in self.read:
            _, self.read = self.read.split(b"\r\n\r\n", 1)
            now = time.time()
            fits, left, reset = self.limit.admit(now)
            self.seen.append((now, 1 - fits))
            lines = ["HTTP/1.1 200 OK" if fits else "HTTP/1.1 429 Too Many Requests", "Content-Length: 2"]
            if self.headers:
                lines += [f"X-RateLimit-Limit: {self.limit.count}", f"X-RateLimit-Remaining: {left}"]
                lines += [] if fits else [f"Retry-After: {math.ceil(reset)}"]
            self.transport.write(("\r\n".join(lines) + "\r\n\r\nhi").encode())  # type: ignore[attr-defined]


KINDS: dict[str, type[Kind]] = {"fixed-window": FixedWindow, "token-bucket": TokenBucket, "sliding-log": SlidingLog}


async def main() -> None:
    kind, count, period, headers = sys.argv[1:]
    limit = KINDS[kind](int(count), float(period))
    seen: list[tuple[float, int]] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(limit, headers == "headers", seen), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
