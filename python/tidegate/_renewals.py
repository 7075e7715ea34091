"""The thread that renews what all threads of this process hold."""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable

__all__ = ["Renewal", "renewals"]

# Renewals that are over stay in the heap for their time, unless they are more than the others and than these.
FEW = 64
# Seconds for which the thread waits for the next hold.
IDLE = 10.0

numbers = itertools.count()


class Renewal:
    """One call that is made again and again, as its answers say."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], float | None]) -> None:
        self.call: Callable[[], float | None] | None = call


class Renewals:
    """Calls that are due at some time, made one after the other by one daemon thread; a forked child begins anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # The number keeps renewals of one instant apart: a heap of tuples is compared without Python's code.
        self._heap: list[tuple[float, int, Renewal]] = []
        self._over = 0
        self._runs = False
        # The time at which the thread looks for itself.
        self._wakes = 0.0

    def add(self, seconds: float, call: Callable[[], float | None]) -> Renewal:
        """Call after so many seconds, and again after as many as each call returns, until that is None."""
        renewal = Renewal(call)
        due = time.monotonic() + seconds
        with self._lock:
            self._push(due, renewal)
            if not self._runs:
                thread = threading.Thread(target=self._run, name="tidegate-renewals", daemon=True)
                thread.start()
                self._runs = True
        return renewal

    def discard(self, renewal: Renewal | None) -> None:
        """Call it no more."""
        if renewal is None:
            return
        with self._lock:
            if renewal.call is None:
                return
            renewal.call = None
            self._over += 1
            if self._over > FEW and self._over > len(self._heap) // 2:
                self._heap = [one for one in self._heap if one[2].call is not None]
                heapq.heapify(self._heap)
                self._over = 0

    def _push(self, due: float, renewal: Renewal) -> None:
        heapq.heappush(self._heap, (due, next(numbers), renewal))
        if due < self._wakes:
            self._changed.notify()

    def _run(self) -> None:
        while (renewal := self._next()) is not None:
            call = renewal.call
            seconds = None if call is None else call()
            with self._lock:
                if seconds is None or renewal.call is None:
                    renewal.call = None
                else:
                    self._push(time.monotonic() + seconds, renewal)

    def _next(self) -> Renewal | None:
        """Wait for the next that is due; None ends the thread."""
        with self._lock:
            while True:
                if not self._heap:
                    self._wakes = time.monotonic() + IDLE
                    if not self._changed.wait(IDLE) and not self._heap:
                        self._runs = False
                        return None
                    continue
                due, _, first = self._heap[0]
                left = due - time.monotonic()
                if first.call is None or left <= 0:
                    heapq.heappop(self._heap)
                    if first.call is not None:
                        return first
                    self._over = max(0, self._over - 1)
                else:
                    self._wakes = due
                    self._changed.wait(left)


renewals = Renewals()

if hasattr(os, "register_at_fork"):
    # The thread, and whoever had the lock, are in the parent, and so is what it holds.
    os.register_at_fork(after_in_child=lambda: renewals.__init__())  # type: ignore[misc]
