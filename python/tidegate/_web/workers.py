"""The number of worker processes that serve one application, as far as a worker can know."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
from functools import cache


@cache
def count() -> int:
    """At least 1. It looks at the environment, the command line, and the arguments of a worker of uvicorn."""
    return max(1, _number(os.environ.get("WEB_CONCURRENCY")), _of_command(sys.argv), _of_uvicorn())


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


def _of_command(words: list[str]) -> int:
    found = re.search(r"(?:^|\s)(?:--workers[\s=]|-w\s)(\d+)(?:\s|$)", " ".join(words))
    return _number(found[1]) if found else 0


def _of_uvicorn() -> int:
    """A worker of ``uvicorn.run(workers=…)`` is a process that was started with the configuration of its server."""
    started: dict[str, object] = getattr(multiprocessing.current_process(), "_kwargs", {})
    workers = getattr(started.get("config"), "workers", 0)
    return workers if isinstance(workers, int) else 0
