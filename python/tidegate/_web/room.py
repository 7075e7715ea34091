"""One application's store, client addresses, headers and refusals."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from .._errors import LimitError, TidegateError
from .._http import Gate, GateOptions
from .._tidegate import _Denials, _key_of
from . import workers
from .decision import Decision, decide, decide_async
from .failure import invalid
from .frames import served
from .guard import ASK, GuardOptions, unknown_option
from .names import APP
from .store import MEMORY, LimiterLike, store_of

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

    from .._tidegate import Limit
    from .guard import Guard, Part

__all__ = ["Room", "on_loop"]

R = TypeVar("R")

# The name of a header, a token of RFC 9110.
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

# Guards and places whose limits are kept at hand; programs have few.
MOST_KNOWN = 10_000

_log = logging.getLogger("tidegate")


class Room(Generic[R]):
    """The common state of all limits of one application. A framework's own says how its requests are read."""

    kind: ClassVar[str] = "web"
    """The name of the framework, for logs."""

    limits: ClassVar[str] = "limits"
    """The name of the option for limits of every request."""

    keys: Mapping[str, Callable[[Room[R], R], object]] = {}
    """Names that ``key`` may have beside ``"ip"`` and ``"header:NAME"``."""

    def __init__(self, limiter: LimiterLike = MEMORY, **options: Unpack[GateOptions]) -> None:
        names = GateOptions.__annotations__.keys() - {"scope"}
        unknown = options.keys() - names
        if unknown:
            raise unknown_option(
                min(unknown), ["limiter", self.limits, *sorted(names | GuardOptions.__annotations__.keys())]
            )
        self.store = store_of(limiter)
        made_inside = served()
        options["scope"] = repr(self.store)
        self.gate = Gate(**options)
        if made_inside:
            self.gate.report("limiter-per-request", made_inside)
        self.known: dict[tuple[Guard[R], str], Sequence[Limit]] = {}
        """The limits of guards that have been asked for a place."""
        self._claimed: dict[tuple[Guard[R], str], bool] = {}
        self._denials = _Denials()

    def lines(self, request: R, name: str) -> Sequence[str | bytes]:
        """All lines of a header, which is named in lower case."""
        raise NotImplementedError

    def client(self, request: R) -> str:
        """The address that is limited by default."""
        raise NotImplementedError

    def actor(self, request: R, name: str) -> str:
        """The actor of a request, by the name of a key."""
        if name == "ip":
            return self.client(request)
        if name.startswith("header:"):
            lines = self.lines(request, name[7:].strip().lower())
            if not lines:
                return self.client(request)
            if len(lines) > 1:
                # An application may read any of them, so a client that sends two could pass under either name.
                raise invalid(LimitError(f"{name} must be sent once", "", "key", name), "key")
            line = lines[0]
            return _key_of(line.decode("latin-1") if isinstance(line, bytes) else line)
        found = self.named(name)(self, request)
        return self.client(request) if found is None else _key_of(str(found))

    @classmethod
    def named(cls, name: str) -> Callable[[Room[R], R], object]:
        """The function of a named key."""
        try:
            return cls.keys[name]
        except KeyError:
            known = ", ".join(["ip", "header:NAME", *cls.keys])
            message = f"key must be a function of the request or one of {known}, got {name!r}"
            raise LimitError(message, "", "key", repr(name)) from None

    @classmethod
    def check(cls, guard: Guard[R]) -> None:
        """Raises for a guard that this room cannot ask."""
        name = guard.key_name
        if name.startswith("header:"):
            if not _HEADER.fullmatch(name[7:].strip()):
                raise LimitError(f"key must name a header behind header:, got {name!r}", "", "key", repr(name))
        elif name != "ip":
            cls.named(name)

    @staticmethod
    def refuse_options(options: Mapping[str, object]) -> None:
        """Raises for options of limits where there are none."""
        name = min(options)
        raise LimitError(f"{name} needs limits beside it", "", name, repr(options[name]))

    def know(self, guard: Guard[R], place: str) -> Sequence[Limit]:
        """The limits of a guard at a place, as far as they are known without a request.

        It reports two definitions of one key, the first time that a guard is asked for a place.
        """
        known = self.known.get((guard, place))
        if known is not None:
            return known
        limits = guard.definitions(place)
        if len(self.known) < MOST_KNOWN:
            self.known[guard, place] = limits
        if guard.may_change or (guard.derives and not self.claim(guard, place)):
            return limits
        for limit in limits:
            first = self.store.differing(limit)
            if first is not None:
                self.gate.report("same-key-twice", f"{first!r} and {limit!r}")
        return limits

    def claim(self, guard: Guard[R], place: str) -> bool:
        """Reports a name that another guard has derived before; true where there is none."""
        granted = self._claimed.get((guard, place))
        if granted is None:
            granted = self.store.names.claim(guard.name or place, guard.number)
            if len(self._claimed) < MOST_KNOWN:
                self._claimed[guard, place] = granted
            if not granted:
                self.gate.report("same-name-twice", guard.name or place)
        return granted

    def part(self, guard: Guard[R], request: R, place: str = APP, actor: object = ASK) -> Part | None:
        """The checks of one guard, ``None`` where it does not limit this request."""
        limits = self.known.get((guard, place))
        if limits is None:
            limits = self.know(guard, place)
        if guard.is_by_address and actor is ASK:
            # Most guards.
            return guard.part_of_limits(self.client(request), limits, place)
        return guard.part(request, self, place, actor)

    async def part_async(self, guard: Guard[R], request: R, place: str = APP, actor: object = ASK) -> Part | None:
        """The same for guards that may have coroutine functions."""
        if guard.is_async:
            self.know(guard, place)
            return await guard.part_async(request, self, place, actor)
        return self.part(guard, request, place, actor)

    def tell_denied(self, decision: Decision) -> None:
        """Logs a denial, as long as there are not too many."""
        if not _log.isEnabledFor(logging.INFO):
            return
        untold = self._denials.note(time.monotonic_ns() // 1_000_000)
        if untold is None:
            return
        info, place = decision.info, decision.deciding.place
        more = f", and {untold} more" if untold else ""
        extra = {
            "event": "denied",
            "limit": info.key,
            "actor": info.actor,
            "framework": self.kind,
            "route": place,
            "untold": untold,
        }
        _log.info("limit %r denied %r at %s%s", info.key, info.actor, place, more, extra=extra)

    def failure(self, error: TidegateError) -> Exception:
        """The exception of this framework for an error of a decision; the error itself where there is none."""
        return error

    def decide(self, parts: Sequence[Part]) -> Decision:
        """Decides in the caller's thread. There is at least one part."""
        if self.store.waits and on_loop():
            self.gate.report("sync-on-event-loop")
        try:
            return decide(self.store, parts)
        except TidegateError as error:
            raise self.failure(error) from error.__cause__

    async def decide_async(self, parts: Sequence[Part]) -> Decision:
        """Decides without blocking the event loop."""
        try:
            return await decide_async(self.store, parts)
        except TidegateError as error:
            raise self.failure(error) from error.__cause__

    def start(self) -> None:
        """Reports a store in memory under several workers; to be called in a worker, once."""
        if not self.store.shared and (count := workers.count()) > 1:
            self.gate.report("memory-many-workers", f"{count} workers")

    def reached(self) -> bool:
        """Asks the store once, and reports one that does not answer. It may take as long as the store's timeout."""
        if not self.store.shared:
            return True
        try:
            self.store.sync.ping()
        except Exception as error:
            self.gate.report("store-unreachable", str(error))
            return False
        return True


def on_loop() -> bool:
    """An event loop of asyncio runs this code."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
