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
    said = os.environ.get("WEB_CONCURRENCY", "")
    found = re.search(r"(?:^|\s)(?:--workers[\s=]|-w\s)(\d+)(?:\s|$)", " ".join(sys.argv))
    # A worker of `uvicorn.run(workers=…)` is a process that was started with the configuration of its server.
    started: dict[str, object] = getattr(multiprocessing.current_process(), "_kwargs", {})
    of_uvicorn = getattr(started.get("config"), "workers", 0)
    return max(
        int(said) if said.isdecimal() else 0,
        int(found[1]) if found else 0,
        of_uvicorn if isinstance(of_uvicorn, int) else 0,
        1,
    )
