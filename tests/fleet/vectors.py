"""Plays the golden answers over the store at a URL; prints how many were checked."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tidegate import AsyncLimiter, LimitInfo

FILES = [
    json.loads((Path(__file__).parents[1] / "vectors" / f"{name}.json").read_text()) for name in ("decisions", "beyond")
]
VECTORS = {name: [sequence for file in FILES for sequence in file[name]] for name in ("one", "changing", "together")}


def fields(info: LimitInfo) -> dict[str, Any]:
    return {
        "blocked": info.blocked,
        "remaining": info.remaining,
        "resetMs": info.reset_ms,
        "resetSec": info.reset_sec,
        "fullResetMs": info.full_reset_ms,
        "fullResetSec": info.full_reset_sec,
        "waitMs": info.wait_ms,
    }


def merged(info: LimitInfo) -> dict[str, Any]:
    return {**fields(info), "binding": info.binding}


async def play(limiter: AsyncLimiter, actor: str, limit: dict[str, Any], factor: float, step: dict[str, Any]) -> None:
    if step["call"] == "reset":
        await limiter.reset(limit, actor)
        return
    if step["call"] == "observe":
        retry_after = step["retryAfterMs"] / 1000 if "retryAfterMs" in step else None
        said = {"remaining": step.get("remaining"), "retry_after": retry_after}
        assert fields(await limiter.observe(limit, actor, factor, step["now"], **said)) == step["want"], (limit, step)
        return
    if step["call"] == "block":
        info = await limiter.block(limit, actor, step["forMs"] / 1000, factor, step["now"])
        assert fields(info) == step["want"], (limit, step, info)
        return
    extra = {"max_wait": step["maxWaitMs"] / 1000} if step["call"] == "acquire" else {}
    info = await getattr(limiter, step["call"])(limit, actor, step["cost"], factor, step["now"], **extra)
    assert fields(info) == step["want"], (limit, step, info)


async def together(limiter: AsyncLimiter, actors: list[str], sequence: dict[str, Any]) -> int:
    limits, factors = sequence["limits"], sequence["factors"]
    for step in sequence["steps"]:
        checks = list(zip(limits, actors, step["costs"], factors))
        call = limiter.limit_all if step["call"] == "limit" else limiter.peek_all
        info = await call(checks, now=step["now"])
        assert merged(info) == step["want"], (limits, step, info)
        assert [fields(check) for check in info.checks] == step["each"], (limits, step, info)
    return len(sequence["steps"])


async def main(url: str, name: str) -> None:
    limiter = AsyncLimiter(url, namespace=name, timeout=10, on_error="raise")
    checked = 0
    for number, sequence in enumerate(VECTORS["one"]):
        for step in sequence["steps"]:
            await play(limiter, f"one {number}", sequence["limit"], sequence["factor"], step)
            checked += 1
    for number, sequence in enumerate(VECTORS["changing"]):
        for step in sequence["steps"]:
            await play(limiter, f"changing {number}", sequence["limits"][step["limit"]], step["factor"], step)
            checked += 1
    for number, sequence in enumerate(VECTORS["together"]):
        count = len(sequence["limits"])
        checked += await together(limiter, [f"same {number}"] * count, sequence)
        # In a cluster these are in different slots, mostly.
        if len({limit["key"] for limit in sequence["limits"]}) == count:
            checked += await together(limiter, [f"other {number} {index}" for index in range(count)], sequence)
    print(checked)


asyncio.run(main(sys.argv[1], sys.argv[2]))
