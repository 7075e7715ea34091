"""The thread that logs events of shared stores, one daemon thread in a process.

The engine's own thread never waits for Python, so it queues its events. This one logs them under the name ``tidegate``,
also while no call is made; it costs nothing while nothing happens.
"""

from __future__ import annotations

import atexit
import logging
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from ._tidegate import _end_log, _take_log_records

__all__ = ["start"]

NAME = "tidegate-log"

_join: Callable[[float], object] | None = None


def start(descriptor: int) -> None:
    """Start the thread of this process, which reads one end of a socket."""
    global _join
    if _join is None:
        atexit.register(_end)
    family = getattr(socket, "AF_UNIX", socket.AF_INET)
    reader = _original("socket", "socket")(family, socket.SOCK_STREAM, fileno=socket.dup(descriptor))
    # A copy of the descriptor has the modes of the original.
    reader.setblocking(True)
    try:
        _join = _started(lambda: _listen(reader))
    except BaseException:
        reader.close()
        raise


def _started(run: Callable[[], None]) -> Callable[[float], object]:
    """Start a thread of the system's own; return a function that waits for its end, at most some seconds.

    Not one of ``threading``: where gevent has patched that, it is a greenlet, and one that waits for a socket keeps its
    hub from ever ending; where gevent patches it later, its end is an error.
    """
    ended = _original("_thread", "allocate_lock")()
    ended.acquire()

    def named() -> None:
        try:
            threading.current_thread().name = NAME
            run()
        finally:
            ended.release()

    _original("_thread", "start_new_thread")(named, ())
    return lambda seconds: ended.acquire(timeout=seconds)


def _original(module: str, name: str) -> Any:
    """The original of what gevent has patched."""
    monkey = sys.modules.get("gevent.monkey")
    return getattr(sys.modules[module], name) if monkey is None else monkey.get_original(module, name)


def _listen(reader: socket.socket) -> None:
    log = logging.getLogger("tidegate")
    with reader:
        while reader.recv(4096):
            for record in _take_log_records():
                if record is None:
                    return
                level, message, extra = record
                try:
                    log.log(level, "%s", message, extra=extra)
                except Exception:
                    # From a filter or handler of the program; the next record may pass it.
                    sys.excepthook(*sys.exc_info())


def _end() -> None:
    """End the thread while logging still works: a daemon thread must not log when the interpreter ends."""
    if _join is not None:
        _end_log()
        _join(1)
