"""A program that has installed the package: decides in memory and over a server."""

import asyncio
import sys

import tidegate

LOGIN = tidegate.Bucket("login", size=3, drip_rate=60_000)
limiter = tidegate.Limiter()
assert [limiter.limit(LOGIN, "ada").blocked for _ in range(4)] == [False, False, False, True]

shared = tidegate.Limiter("redis://127.0.0.1:7000", on_error="raise", timeout=5)
name = f"python{sys.version_info[:2]}"
assert [shared.limit(LOGIN, name).remaining for _ in range(3)] == [2, 1, 0]


async def ask() -> bool:
    """One decision on an event loop."""
    async with tidegate.AsyncLimiter("redis://127.0.0.1:7000", on_error="raise", timeout=5) as limiter:
        return (await limiter.limit(LOGIN, name)).blocked


assert asyncio.run(ask()), "the same bucket, by another client"
print(f"{sys.version.split()[0]}: decided in memory and over Valkey")
