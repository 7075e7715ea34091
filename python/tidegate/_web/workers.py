"""The number of worker processes that serve one application, as far as a worker can know."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from functools import cache

__all__ = ["count"]


@cache
def count() -> int:
    """At least 1. It looks at the environment, the command line, and uvicorn's own configuration."""
    return max(1, _number(os.environ.get("WEB_CONCURRENCY")), _of_command(sys.argv), _of_uvicorn())


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


def _of_command(words: list[str]) -> int:
    for word, following in zip(words, [*words[1:], ""]):
        if word in ("--workers", "-w"):
            return _number(following)
        if word.startswith("--workers="):
            return _number(word.partition("=")[2])
    return 0


def _of_uvicorn() -> int:
    """A worker of ``uvicorn.run(workers=…)`` holds the configuration of its server, and no other sign."""
    config = sys.modules.get("uvicorn.config")
    if config is None or multiprocessing.parent_process() is None:
        return 0
    return max((held.workers for held in gc.get_objects() if type(held) is config.Config), default=0)
