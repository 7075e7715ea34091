"""Waiting for a shared store under gevent: the hub of a thread, as a loop that replies come to.

A call of ``Limiter`` in a greenlet leaves the thread to other greenlets until its reply is there.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["current"]

_READ = 1


class _Answer:
    """A future for one greenlet, completed by the bridge."""

    def __init__(self, wake: Callable[[], object], wait: Callable[[], object]) -> None:
        self._wake, self.sleep = wake, wait
        self._outcome: tuple[Any, BaseException | None] | None = None

    def done(self) -> bool:
        return self._outcome is not None

    def set_result(self, result: Any) -> None:
        self._outcome = (result, None)
        self._wake()

    def set_exception(self, error: BaseException) -> None:
        self._outcome = (None, error)
        self._wake()

    def result(self) -> Any:
        assert self._outcome is not None
        result, error = self._outcome
        if error is not None:
            raise error
        return result


class _Gevent:
    """The hub of gevent in one thread."""

    def __init__(self, hub: Any) -> None:
        self._hub = weakref.ref(hub)
        self._watcher: Any = None
        self._waiting = 0

    def is_closed(self) -> bool:
        hub = self._hub()
        return hub is None or hub.loop is None

    def add_reader(self, descriptor: int, callback: Callable[[], object]) -> None:
        hub: Any = self._hub()
        # Without a reference: a hub whose greenlets are all done may end.
        self._watcher = hub.loop.io(descriptor, _READ, ref=False)
        self._watcher.start(callback)

    def create_future(self) -> _Answer:
        from gevent.event import Event

        event = Event()
        return _Answer(event.set, event.wait)

    def wait(self, answer: _Answer) -> Any:
        self._waiting += 1
        self._watcher.ref = True
        try:
            while not answer.done():
                answer.sleep()
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._watcher.ref = False
        return answer.result()

    def aside(self, call: Callable[[], object]) -> None:
        hub: Any = self._hub()
        hub.threadpool.apply(call)

    def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()


_loops: weakref.WeakKeyDictionary[Any, _Gevent] = weakref.WeakKeyDictionary()


def current() -> _Gevent | None:
    """Return the hub that runs other greenlets while this one waits; ``None`` if there is none."""
    # A module that is still being imported has no hub yet.
    if "gevent.hub" not in sys.modules:
        return None
    hub = _hub()
    if hub is None:
        return None
    loop = _loops.get(hub)
    if loop is None:
        loop = _loops[hub] = _Gevent(hub)
    return loop


def _hub() -> Any:
    from gevent import get_hub, getcurrent, monkey
    from gevent.hub import Hub

    greenlet = getcurrent()
    if isinstance(greenlet, Hub):
        return None
    while greenlet.parent is not None:
        greenlet = greenlet.parent
        if isinstance(greenlet, Hub):
            return greenlet
    return get_hub() if monkey.is_module_patched("socket") else None


def _after_fork() -> None:
    """Stop reading in a forked child: the replies are its parent's."""
    for loop in _loops.values():
        loop.stop()
    _loops.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
