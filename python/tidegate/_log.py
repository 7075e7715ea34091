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

from ._tidegate import _end_notes, _notes

__all__ = ["start"]

_thread: threading.Thread | None = None


def start(descriptor: int) -> None:
    """Start the thread of this process, which listens to one end of a socket."""
    global _thread
    if _thread is None:
        atexit.register(_end)
    family = getattr(socket, "AF_UNIX", socket.AF_INET)
    line = socket.fromfd(descriptor, family, socket.SOCK_STREAM)
    # A copy of the descriptor has the modes of the original.
    line.setblocking(True)
    _thread = threading.Thread(target=_listen, args=(line,), name="tidegate-log", daemon=True)
    try:
        _thread.start()
    except BaseException:
        line.close()
        raise


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
    if _thread is not None:
        _end_notes()
        _thread.join(1)
