"""The thread that renews what all threads of this process hold."""

from __future__ import annotations

import os
import threading

from ._tidegate import _Renewals

__all__ = ["Renewals", "renewals"]

# Seconds for which the thread waits for the next call.
IDLE = 10.0


class Renewals:
    """Calls that are due at some time, made one after the other by one daemon thread; a forked child begins anew."""

    def __init__(self) -> None:
        self.calls = _Renewals(self._wake)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all calls: in a forked child, the thread and whoever had the lock are in the parent."""
        self.calls.clear()
        self._lock, self._woken, self._runs = threading.Lock(), threading.Event(), False

    def _wake(self, _seconds: float) -> None:
        with self._lock:
            self._woken.set()
            if not self._runs:
                threading.Thread(target=self._run, name="tidegate-renewals", daemon=True).start()
                self._runs = True

    def _run(self) -> None:
        while True:
            self._woken.clear()
            seconds = self.calls.run()
            if not self._woken.wait(IDLE if seconds is None else seconds) and seconds is None:
                with self._lock:
                    if not self._woken.is_set():
                        self._runs = False
                        return


renewals = Renewals()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renewals.begin_anew)
