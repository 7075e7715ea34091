"""One application's store, client addresses, headers and refusals."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from .._errors import LimitError, TidegateError
from .._http import Gate, GateOptions
from . import workers
from .decide import decide, decide_async
from .decision import Decision
from .frames import served
from .guard import GuardOptions, unknown_option
from .store import LimiterLike, store_of

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

# Guards and routes whose limits are kept at hand. There are few, unless a route is made of a path by mistake.
MOST_KNOWN = 10_000


class Room(Generic[R]):
    """The common state of all limits of one application. A framework's own says how its requests are read."""

    kind: ClassVar[str] = "web"
    """The default key of limits as text, where there is no route."""

    limits: ClassVar[str] = "limits"
    """The name of the option for limits of every request."""

    keys: Mapping[str, Callable[[Room[R], R], object]] = {}
    """Names that ``key`` may have beside ``"ip"`` and ``"header:NAME"``."""

    def __init__(self, limiter: LimiterLike | None = None, **options: Unpack[GateOptions]) -> None:
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
        """The limits of guards that have been asked for a route."""

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
            line = lines[0]
            return line.decode("latin-1") if isinstance(line, bytes) else line
        found = self.named(name)(self, request)
        return self.client(request) if found is None else str(found)

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

    def know(self, guard: Guard[R], route: str) -> Sequence[Limit]:
        """The limits of a guard, as far as they are known without a request.

        It reports two definitions of one key, the first time that a guard is asked for a route.
        """
        known = self.known.get((guard, route))
        if known is not None:
            return known
        limits = guard.definitions(route or self.kind)
        if len(self.known) < MOST_KNOWN:
            self.known[guard, route] = limits
        for limit in limits:
            first = self.store.differing(limit)
            if first is not None:
                self.gate.report("same-key-twice", f"{first!r} and {limit!r}")
        return limits

    def part(self, guard: Guard[R], request: R, route: str) -> Part | None:
        """The checks of one guard, ``None`` where it does not limit this request."""
        limits = self.known.get((guard, route))
        if limits is None:
            limits = self.know(guard, route)
        if guard.is_by_address:
            # Most guards.
            return guard.part_of_limits(self.client(request), limits)
        return guard.part(request, self, route or self.kind)

    async def part_async(self, guard: Guard[R], request: R, route: str) -> Part | None:
        """The same for guards that may have coroutine functions."""
        if guard.is_async:
            self.know(guard, route)
            return await guard.part_async(request, self, route or self.kind)
        return self.part(guard, request, route)

    def part_of(self, guard: Guard[R], actor: object, request: R, route: str) -> Part | None:
        """The same for an actor that was found elsewhere."""
        self.know(guard, route)
        return guard.part_of(actor, request, self, route or self.kind)

    def failure(self, error: TidegateError) -> Exception:
        """The exception of this framework for an error of a decision; the error itself where there is none."""
        return error

    def decide(self, parts: Sequence[Part]) -> Decision:
        """Decides in the caller's thread. There is at least one part."""
        if self.store.shared and on_loop():
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
