"""Holds: units of limits of type concurrency, taken for a block, renewed meanwhile and released at its end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from ._errors import StoreError, TidegateError
from ._renewals import Renewal, renewals
from ._tidegate import Limiter, LimitInfo

__all__ = ["BlockedError", "Costs", "Held", "Hold"]

Costs = int | Sequence[int] | Mapping[str | int, int]
"""The actual cost of the only limit that holds nothing, of each check, or of some by their keys or positions."""

# A renewal that failed is tried again after this part of the lease.
RETRY = 10


# Of this process; others in a forked child.
_process = object()
_making = threading.Lock()


def _forked() -> None:
    global _process, _making
    _process, _making = object(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class BlockedError(TidegateError, RuntimeError):
    """A denial of a hold, or of a request of an HTTP client: there was no room for it within its ``max_wait``.

    >>> from tidegate import BlockedError, Concurrency, Limiter
    >>> limiter, exports = Limiter(), Concurrency("exports", max=1, lease=60_000)
    >>> with limiter.hold(exports, "ada"):
    ...     try:
    ...         limiter.hold(exports, "ada").__enter__()
    ...     except BlockedError as error:
    ...         print(error.info.key, 59 < error.retry_after <= 60)
    exports True
    """

    info: LimitInfo
    """The answer of the call."""
    retry_after: float
    """The seconds after which the same call fits at the latest, if nothing else happens."""

    def __init__(self, info: LimitInfo) -> None:
        self.info, self.retry_after = info, info.reset_ms / 1000
        super().__init__(f'limit "{info.key}" has no room: retry after {self.retry_after:g} s')

    def __reduce__(self) -> Any:
        return type(self), (self.info,)


class Hold:
    """The part of a hold that threads and event loops share."""

    __slots__ = (
        "__weakref__",
        "_arguments",
        "_info",
        "_lease",
        "_limiter",
        "_lost",
        "_lost_event",
        "_over",
        "_process",
        "_receipt",
        "_spent",
        "_until",
    )

    def __init__(self, limiter: Any, *arguments: Any) -> None:
        self._limiter, self._arguments = limiter, arguments
        self._spent: list[int] | None = None
        self._over = self._lost = False
        # An event costs more than all else here, and few ask for it.
        self._lost_event: Any = None

    @property
    def info(self) -> LimitInfo:
        """The answer of the call that took the units."""
        return self._info

    @property
    def lost(self) -> bool:
        """True when the units could not be renewed in time: stop the work, others may have them."""
        return self._lost

    def settle(self, costs: Costs) -> None:
        """Note the actual costs of what is charged beside the units, for the end of the hold, once.

        ``costs`` is the cost of the only limit that holds no units, a list of one cost for each check, or a dictionary
        of costs by the keys of limits or the positions of checks; the others stay as they were charged.
        """
        self._spent = self.info._spent_of_hold(costs)

    def _begin(self, info: LimitInfo, began: float) -> float:
        """Note what was taken at this time; return the seconds until it is to be renewed."""
        if info.blocked:
            raise BlockedError(info)
        lease = info._lease
        if lease is None:
            raise ValueError("the answer holds no units")
        self._info = self._receipt = info
        self._process, self._lease, self._until = _process, lease, began + lease
        return lease / 3

    def _is_ours(self) -> bool:
        """Return false in a forked child, whose parent has the units."""
        return self._process is _process

    def _renewed(self, info: LimitInfo | None, began: float) -> float | None:
        """Note the answer of a renewal, if it has one; return the seconds until the next, or None if it is lost."""
        # Where the store and this process decide in turns, the one that has the units was not asked.
        if info is not None and info.degraded == self._receipt.degraded:
            if info.blocked:
                return None
            self._receipt, self._until = info, began + self._lease
            return self._lease / 3
        left = self._until - time.monotonic()
        return min(left, self._lease / RETRY) if left > 0 else None

    def _lose(self) -> None:
        self._lost = True
        if self._lost_event is not None:
            self._lost_event.set()

    def _end(self, calls: Any) -> Any:
        """Begin the call that ends it."""
        if self._spent is None:
            return calls.release(self._receipt)
        return calls.settle(self._receipt, self._spent)


class Held(Hold):
    """Units that a block holds: see ``Limiter.hold``.

    >>> from tidegate import Concurrency, Limiter, TokenBucket
    >>> limiter = Limiter()
    >>> exports, rows = Concurrency("exports", max=2, lease=60_000), TokenBucket("rows", count=100, period=60_000)
    >>> with limiter.hold([exports, rows], "ada", costs=[1, 50]) as held:
    ...     held.settle({"rows": 20})
    >>> limiter.peek(exports, "ada").remaining, limiter.peek(rows, "ada").remaining
    (2, 80)
    """

    __slots__ = ("_lock", "_renewal")

    def __init__(self, limiter: Limiter, *arguments: Any) -> None:
        super().__init__(limiter, *arguments)
        self._lock = threading.Lock()
        self._renewal: Renewal | None = None

    @classmethod
    def _of(cls, limiter: Limiter, info: LimitInfo) -> Held:
        """Hold what the call of this answer took just now."""
        held = cls(limiter)
        held._start(info, time.monotonic())
        return held

    @property
    def lost_event(self) -> threading.Event:
        """Set when the units could not be renewed in time: others may have them."""
        # Not under the lock of this hold, which a renewal keeps for as long as the store takes.
        with _making:
            if self._lost_event is None:
                self._lost_event = threading.Event()
            made: threading.Event = self._lost_event
        if self._lost:
            made.set()
        return made

    def __enter__(self) -> Held:
        if self._renewal is not None:
            raise RuntimeError("this hold has begun before: make one for each block")
        began = time.monotonic()
        info = self._limiter._enter(*self._arguments)
        self._start(info, time.monotonic() if info.wait_ms else began)
        return self

    def _start(self, info: LimitInfo, began: float) -> None:
        self._renewal = renewals.add(self._begin(info, began), self._renew)

    def _renew(self) -> float | None:
        """Renew; called by the thread of all renewals."""
        with self._lock:
            if self._over or not self._is_ours():
                return None
            began = time.monotonic()
            try:
                info = self._limiter.renew(self._receipt)
            except TidegateError:
                info = None
            seconds = self._renewed(info, began)
            if seconds is None:
                self._lose()
            return seconds

    def release(self) -> LimitInfo:
        """Release the units now; the end of the block, or a second call, then does nothing."""
        if not self._is_ours():
            return self.info
        # Not while they are renewed: the units would be others by then.
        with self._lock:
            if self._over:
                return self.info
            self._over = True
            renewals.discard(self._renewal)
            info: LimitInfo = self._end(self._limiter)
            return info

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        try:
            self.release()
        except StoreError:
            # The lease gives them back. The error of the block matters more.
            if error is None:
                raise

    def __repr__(self) -> str:
        state = "over" if self._over else "lost" if self.lost else "held" if self._renewal else "new"
        return f"<Held {state}>"
