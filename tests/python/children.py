"""Forked children for tests."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable

__all__ = ["in_a_child"]


def in_a_child(work: Callable[[], bool]) -> int:
    """The exit code of a child that does this. One that takes longer than a minute is killed."""
    with warnings.catch_warnings():
        # There are other threads, and that is the point.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL
