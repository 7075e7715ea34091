"""What happens to a shared store, in the log.

The engine's own thread never waits for Python, so it leaves notes, and one daemon thread in a process writes them down
under the name ``tidegate``. It does so without a call being made, and costs nothing while nothing happens.
"""

from __future__ import annotations

import atexit
import logging
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from ._tidegate import _end_notes, _notes

__all__ = ["start"]

NAME = "tidegate-log"

_join: Callable[[float], object] | None = None


def start(descriptor: int) -> None:
    """Start the thread of this process, which listens to one end of a socket."""
    global _join
    if _join is None:
        atexit.register(_end)
    family = getattr(socket, "AF_UNIX", socket.AF_INET)
    line = _original("socket", "socket")(family, socket.SOCK_STREAM, fileno=socket.dup(descriptor))
    # A copy of the descriptor has the modes of the original.
    line.setblocking(True)
    try:
        _join = _started(lambda: _listen(line))
    except BaseException:
        line.close()
        raise


def _started(run: Callable[[], None]) -> Callable[[float], object]:
    """Start a thread of the system's own, and return how to wait for its end, some seconds at the most."""
    if not _is_patched():
        thread = threading.Thread(target=run, name=NAME, daemon=True)
        thread.start()
        return thread.join
    # A thread of a patched program is a greenlet, and one that waits for a socket keeps its hub from ever ending.
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


def _is_patched() -> bool:
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and monkey.is_module_patched("threading")


def _original(module: str, name: str) -> Any:
    """What gevent has put something of its own in the place of."""
    monkey = sys.modules.get("gevent.monkey")
    return getattr(sys.modules[module], name) if monkey is None else monkey.get_original(module, name)


def _listen(line: socket.socket) -> None:
    log = logging.getLogger("tidegate")
    with line:
        while line.recv(4096):
            for note in _notes():
                if note is None:
                    return
                level, message, more = note
                try:
                    log.log(level, "%s", message, extra=more)
                except Exception:
                    # Somebody's filter or handler; the next note may fare better.
                    sys.excepthook(*sys.exc_info())


def _end() -> None:
    """End the thread while the log still works: a daemon must not be found writing when the interpreter ends."""
    if _join is not None:
        _end_notes()
        _join(1)
