"""A server that is full and makes room for newcomers: who keeps calling is not forgotten, or there is a warning."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from server import RedisServer, encoded, read
from tidegate import AsyncLimiter, Bucket, Limiter

SIZE = 100
# One that is drained by less than its hundredth while the newcomers come.
SLOW = Bucket("slow", size=SIZE, drip_rate=timedelta(minutes=1))
# What the server may use for clients. Where it forgets any of them it is so little that the one who calls is hit too.
HEADROOM, LITTLE = 6 << 20, 1 << 20
TURNOVERS = 2
# So many come at a time. Redis tells by the second who was here last, so where that counts they take this long: the
# server has room for several seconds of them.
AT_A_TIME, LRU_SECONDS = 2000, 0.2


class Evictions(threading.Thread):
    """Counts how often a server forgets this key to make room."""

    def __init__(self, server: RedisServer, key: str) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self.line = socket.create_connection(("127.0.0.1", server.port))
        self.channel = f"__keyspace@0__:{key}"
        self.answers = self.line.makefile("rb")
        self.send("SUBSCRIBE")
        assert read(self.answers)[0] == "subscribe"
        self.start()

    def send(self, command: str) -> None:
        words = encoded((command, self.channel))
        self.line.sendall(b"*2\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def run(self) -> None:
        while (message := read(self.answers))[0] == "message":
            assert message[2] == "evicted"
            self.count += 1

    def stop(self) -> int:
        """How often it was, of all that there has been."""
        self.send("UNSUBSCRIBE")
        self.join()
        self.answers.close()
        self.line.close()
        return self.count


def figure(server: RedisServer, section: str, name: str) -> int:
    return int(server.command("INFO", section).split(f"{name}:")[1].split()[0])


def flood(server: RedisServer, seconds: float, enough: Callable[[], bool]) -> int:
    """Newcomers come until the memory was emptied a few times over; tells how many clients were forgotten."""
    limiter = AsyncLimiter(server.url, timeout=10, on_error="raise", deny_cache=0)

    async def main() -> int:
        came = gone = 0
        # At first there is room; then as many go as come.
        while not gone or gone < TURNOVERS * (came - gone) or not enough():
            assert came < 1_000_000, "not everything is forgotten that might be"
            pace = asyncio.create_task(asyncio.sleep(seconds))
            for _ in range(4):
                together = range(AT_A_TIME // 4)
                await asyncio.gather(*(limiter.limit(SLOW, f"newcomer {came + number}") for number in together))
                came += len(together)
            await pace
            gone = figure(server, "stats", "evicted_keys")
        return gone

    return asyncio.run(main())


@pytest.mark.parametrize("policy", ["volatile-ttl", "volatile-lru", "allkeys-lru", "allkeys-random", "volatile-random"])
def test_a_flood_of_newcomers_buys_nobody_more_than_evictions_do(policy: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "tidegate")
    at_random = policy.endswith("random")
    admitted = asked = 0
    over = threading.Event()

    def call(limiter: Limiter) -> None:
        nonlocal admitted, asked
        asked += 1
        admitted += not limiter.limit(SLOW, "hot").blocked

    def keep_calling(limiter: Limiter) -> None:
        while not over.wait(0.001):
            call(limiter)

    with RedisServer("--maxmemory-policy", policy, "--notify-keyspace-events", "Ke") as server:
        room = figure(server, "memory", "used_memory") + (LITTLE if at_random else HEADROOM)
        server.command("CONFIG", "SET", "maxmemory", str(room))
        limiter = Limiter(server.url, timeout=10, on_error="raise", deny_cache=0)
        evictions = Evictions(server, "tidegate:{hot}:slow")
        began = server.clock()
        for _ in range(SIZE):
            call(limiter)
        caller = threading.Thread(target=keep_calling, args=[limiter])
        caller.start()
        try:
            seconds = LRU_SECONDS if policy.endswith("lru") else 0
            gone = flood(server, seconds, lambda: not at_random or (evictions.count >= 2 and admitted > SIZE + 10))
        finally:
            over.set()
            caller.join()
        bound = SIZE + (server.clock() - began) / 60 + 1
        times = evictions.stop()

    print(f"{policy}: {gone} forgotten, of them {times} times the one who made {asked} calls; {admitted} admitted")
    assert admitted >= SIZE
    assert admitted <= (bound + times * SIZE if at_random else 1.02 * bound)
    warnings = [record.getMessage() for record in caplog.records if "maxmemory-policy" in record.getMessage()]
    # Each of the two limiters tells of it once.
    assert len(warnings) == (2 if at_random else 0), warnings
