"""A server that is full and makes room for newcomers: who keeps calling is not forgotten, or there is a warning.

What docs/replicas.md and the warning advise is what is measured here.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from server import RedisServer, encoded, read
from tidegate import AsyncLimiter, Bucket, Limiter

pytestmark = pytest.mark.long

SIZE = 100
# One that is drained by less than its hundredth while the newcomers come.
SLOW = Bucket("slow", size=SIZE, drip_rate=timedelta(minutes=1))
# One whose entries expire before those of the newcomers, which last a minute.
SHORT = Bucket("short", size=SIZE, drip_rate=timedelta(milliseconds=100))
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
        """The number of times, once every message so far is read."""
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


def advised_against() -> set[str]:
    """The policies of which the documentation says that they evict blocked clients."""
    page = (Path(__file__).parents[2] / "docs" / "replicas.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `") and line.count("|") == 4]
    return {name for row in rows if "evicts" in row for name in re.findall(r"`([a-z]+-[a-z]+)`", row.split("|")[1])}


@pytest.mark.parametrize(
    ("policy", "hot"),
    [
        ("volatile-ttl", SLOW),
        ("volatile-ttl", SHORT),
        ("volatile-lru", SLOW),
        ("volatile-lru", SHORT),
        ("allkeys-lru", SLOW),
        ("allkeys-random", SLOW),
        ("volatile-random", SLOW),
    ],
    ids=lambda value: value if isinstance(value, str) else value.key,
)
def test_a_flood_of_newcomers_buys_nobody_more_than_evictions_do(
    policy: str, hot: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "tidegate")
    at_random = policy.endswith("random")
    forgets = at_random or (policy == "volatile-ttl" and hot is SHORT)
    admitted = asked = 0
    over = threading.Event()

    def call(limiter: Limiter) -> None:
        nonlocal admitted, asked
        asked += 1
        admitted += not limiter.limit(hot, "hot").blocked

    def keep_calling(limiter: Limiter) -> None:
        while not over.wait(0.001):
            call(limiter)

    with RedisServer("--maxmemory-policy", policy, "--notify-keyspace-events", "Ke") as server:
        room = figure(server, "memory", "used_memory") + (LITTLE if forgets else HEADROOM)
        server.command("CONFIG", "SET", "maxmemory", str(room))
        limiter = Limiter(server.url, timeout=10, on_error="raise", deny_cache=0)
        evictions = Evictions(server, f"tidegate:{{hot}}:{hot.key}")
        began = server.clock()
        for _ in range(SIZE):
            call(limiter)

        def allowed() -> float:
            return SIZE + (server.clock() - began) * 1000 / hot.drip_rate + 1

        def enough() -> bool:
            return not forgets or (evictions.count >= 2 and admitted > 2 * allowed())

        caller = threading.Thread(target=keep_calling, args=[limiter])
        caller.start()
        try:
            seconds = LRU_SECONDS if policy.endswith("lru") else 0
            gone = flood(server, seconds, enough)
        finally:
            over.set()
            caller.join()
        bound = allowed()
        times = evictions.stop()

    print(
        f"{policy}, {hot.key}: {gone} forgotten, of them {times} times the one who made {asked} calls; "
        f"{admitted} admitted where {bound:.0f} are allowed"
    )
    assert admitted >= SIZE
    assert admitted <= (bound + times * SIZE if forgets else 1.02 * bound)
    if forgets:
        assert admitted > 1.9 * bound
    warnings = [record.getMessage() for record in caplog.records if vars(record).get("event") == "eviction"]
    # Each of the two limiters tells of it once, where any client was forgotten under this policy.
    warned = policy in advised_against()
    assert warned >= forgets
    assert len(warnings) == (2 if warned else 0), warnings
    assert all(policy in warning and "noeviction" in warning for warning in warnings), warnings


def test_a_server_that_may_not_evict_forgets_nobody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "tidegate")
    with RedisServer("--maxmemory-policy", "noeviction") as server:
        limiter = Limiter(server.url, timeout=10, on_error="deny", deny_cache=0)
        assert [limiter.limit(SLOW, "hot", SIZE).blocked, limiter.limit(SLOW, "hot").blocked] == [False, True]
        server.command("CONFIG", "SET", "maxmemory", str(figure(server, "memory", "used_memory") + (64 << 10)))
        answers = [limiter.limit(SLOW, f"newcomer {number}") for number in range(4000)]
        # Those for whom there is no room are answered as the policy says, and that is heard of. Not the last of all, it
        # may be: whenever the server frees a buffer, there is room for a few again.
        refused = sum(answer.degraded for answer in answers)
        assert refused > len(answers) / 2
        assert limiter.stats().failures["out-of-memory"] == refused
        blocked = limiter.peek(SLOW, "hot")
        assert (blocked.blocked, blocked.degraded) == (True, False)
        assert figure(server, "stats", "evicted_keys") == 0
    said = [record.getMessage() for record in caplog.records if vars(record).get("event") == "degraded"]
    assert len(said) == 1
    assert "out-of-memory 1" in said[0]
