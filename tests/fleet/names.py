"""Charges one unit to each of the actors that the file lists; prints what is left to each."""

import asyncio
import json
import sys
from pathlib import Path

from tidegate import AsyncLimiter, Bucket


async def main(url: str, actors: list[str]) -> None:
    limiter = AsyncLimiter(url, timeout=10, on_error="raise")
    shared = Bucket("names", size=10, drip_rate=3_600_000)
    infos = await asyncio.gather(*(limiter.limit(shared, actor) for actor in actors))
    print(json.dumps([info.remaining for info in infos]))


asyncio.run(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text())))
