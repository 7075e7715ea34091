"""The thread that looks at the documents which a process watches."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Protocol

from ._renewals import Renewals

__all__ = ["start"]


class Watcher(Protocol):
    """A document that is looked at."""

    def _look(self) -> float | None:
        """Look once; returns the seconds until the next look, ``None`` for the end."""

    def _forked(self) -> None:
        """Begin anew in a forked child."""


class Watching:
    """The documents of this process, looked at one after the other by one daemon thread."""

    def __init__(self) -> None:
        self._looks = Renewals()
        self._busy = threading.Lock()
        self._is_over = False
        self._all: list[weakref.ref[Watcher]] = []

    def start(self, watcher: Watcher) -> None:
        """Look at a document until it says that it is over, or nobody has it."""
        known = weakref.ref(watcher)
        self._all = [one for one in self._all if one() is not None] + [known]

        def look() -> float | None:
            with self._busy:
                watcher = known()
                return None if watcher is None or self._is_over else watcher._look()

        self._looks.add(FIRST, look)

    def begin_anew(self) -> None:
        """In a forked child: the thread, and whoever had the locks, are in the parent."""
        watchers = [known() for known in self._all]
        self.__init__()  # type: ignore[misc]
        for watcher in watchers:
            if watcher is not None:
                watcher._forked()
                self.start(watcher)

    def end(self) -> None:
        """Look no more: a daemon thread must not run when the interpreter ends."""
        self._is_over = True
        # A server that does not answer must not keep a program from its end.
        self._busy.acquire(timeout=1.0)


# Seconds until the first look, which says when the next one is.
FIRST = 0.1

_watching = Watching()
start = _watching.start

atexit.register(_watching.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watching.begin_anew)
