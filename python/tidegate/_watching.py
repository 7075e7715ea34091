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
        self._all = [known for known in self._all if known() is not None] + [weakref.ref(watcher)]
        self._looks.calls.add(FIRST, _Look(self, self._all[-1]))

    def look(self, known: weakref.ref[Watcher]) -> float | None:
        """Look once at a document that somebody has."""
        with self._busy:
            watcher = known()
            return None if watcher is None or self._is_over else watcher._look()

    def begin_anew(self) -> None:
        """In a forked child: the thread, and whoever had the locks, are in the parent."""
        watchers = [known() for known in self._all]
        self._looks.begin_anew()
        self._busy, self._all = threading.Lock(), []
        for watcher in watchers:
            if watcher is not None:
                watcher._forked()
                self.start(watcher)

    def end(self) -> None:
        """Look no more: a daemon thread must not run when the interpreter ends."""
        self._is_over = True
        # A server that does not answer must not keep a program from its end.
        self._busy.acquire(timeout=1.0)


class _Look:
    """The next look at a document."""

    def __init__(self, watching: Watching, known: weakref.ref[Watcher]) -> None:
        self._watching, self._known = watching, known

    def _due(self) -> None:
        seconds = self._watching.look(self._known)
        if seconds is not None:
            self._watching._looks.calls.add(seconds, self)


# Seconds until the first look, which says when the next one is.
FIRST = 0.1

_watching = Watching()
start = _watching.start

atexit.register(_watching.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watching.begin_anew)
