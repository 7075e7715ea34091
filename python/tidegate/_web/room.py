"""One application's store, client addresses, headers and refusals."""

from __future__ import annotations

import logging
import math
import re
import time
from asyncio import events
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from .._errors import ConfigurationError, LimitError, TidegateError, refused
from .._http import Gate, GateOptions
from .._tidegate import _APP, _Denials, _key_of
from . import workers
from .decision import Decision, decide
from .definitions import Asked, Known
from .drive import run, value_of
from .failure import RequestError, asked, invalid
from .frames import served
from .guard import ASK, Guard, GuardOptions, Limits, Part, check_names
from .store import MEMORY, LimiterLike, store_of

R = TypeVar("R")

# The name of a header, a token of RFC 9110.
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

# Guards and places that have been looked at; programs have few.
MOST_KNOWN = 10_000

_log = logging.getLogger("tidegate")


class Room(Generic[R]):
    """The common state of all limits of one application. A framework's own says how its requests are read."""

    kind: ClassVar[str] = "web"
    """The name of the framework, for logs."""

    limits: ClassVar[str] = "limits"
    """The name of the option for limits of every request."""

    keys: Mapping[str, Callable[[R], object]] = {}
    """Names that ``key`` may have beside ``"ip"`` and ``"header:NAME"``."""

    begun = False
    """It has looked for mistakes that are known where it serves requests only."""

    guard_class: ClassVar[type[Guard[Any]]] = Guard

    def __init__(self, limiter: LimiterLike = MEMORY, limits: Limits[Any] | None = None, **options: Any) -> None:
        gate, guard = GateOptions.__annotations__.keys() - {"scope"}, GuardOptions.__annotations__.keys()
        check_names(options, ["limiter", self.limits, *sorted(gate | guard)])
        self.store = store_of(limiter)
        self.gate = Gate(scope=repr(self.store), **{name: options[name] for name in gate & options.keys()})
        if made_inside := served():
            self.gate.report("limiter-per-request", made_inside)
        self.known: set[tuple[Guard[R], str]] = set()
        """Guards, each with a place that it has been asked for."""
        self.plans: dict[Any, Any] = {}
        """The limits of routes, as a framework knows them."""
        self._denials = _Denials()
        guarding = {name: options[name] for name in guard & options.keys()}
        if limits is None and guarding:
            name = min(guarding)
            raise LimitError(f"{name} needs limits beside it", "", name, repr(guarding[name]))
        self.default: Guard[R] | None = None if limits is None else self.guard(limits, **guarding)
        """The limits of every request."""

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
            return self.named(line.decode("latin-1") if isinstance(line, bytes) else line, request)
        found = self.keys[name](request)
        return self.named(found if found is None else str(found), request)

    def named(self, key: object, request: R) -> str:
        """The actor of a key; the client's address where there is none."""
        return self.client(request) if key is None or (isinstance(key, str) and not key) else actor_of(key)

    @classmethod
    def guard(cls, limits: Limits[Any], **options: Any) -> Any:
        """Limits and their options, which have to be such as this room can ask."""
        guard: Guard[R] = cls.guard_class(limits, **options)
        name = guard.key_name
        if name.startswith("header:"):
            if not _HEADER.fullmatch(name[7:].strip()):
                raise refused("key", "must name a header behind header:", name)
        elif name != "ip" and name not in cls.keys:
            known = ", ".join(["ip", "header:NAME", *cls.keys])
            message = f"key must be a function of the request or one of {known}, got {name!r}"
            raise LimitError(message, "", "key", repr(name))
        return guard

    def know(self, guard: Guard[R], place: str) -> None:
        """Reports two definitions of one key; for the first time that a guard is asked for a place."""
        if len(self.known) < MOST_KNOWN:
            self.known.add((guard, place))
        if guard.may_change or (guard.derives and not self.claim(guard, place)):
            return
        for limit in guard.definitions(place):
            if (both := self.store.names.define(limit)) is not None:
                self.gate.report("same-key-twice", both)

    def claim(self, guard: Guard[R], place: str) -> bool:
        """Reports a name that another guard has derived before; true where there is none."""
        granted = self.store.names.claim(guard.name or place, guard.number)
        if not granted:
            self.gate.report("same-name-twice", guard.name or place)
        return granted

    def part_of_client(self, guard: Guard[R], request: R, place: str) -> Part:
        """The checks of a guard that limits by the address, as most do, and has nothing else to ask for."""
        if (guard, place) not in self.known:
            self.know(guard, place)
        return guard.plain(self.client(request), place)

    async def part(self, guard: Guard[R], request: R, place: str = _APP, actor: object = ASK) -> Part | None:
        """The checks of one guard, ``None`` where it does not limit this request.

        An ``actor`` that was found elsewhere, as by a dependency of the framework, stands for the value of the key.
        """
        if guard.is_by_address and actor is ASK:
            return self.part_of_client(guard, request, place)
        if (guard, place) not in self.known:
            self.know(guard, place)
        if guard.is_plain and actor is ASK:
            return guard.plain(self.actor(request, guard.key_name), place)
        if guard.skip is not None and await value_of(guard.skip(request)):
            return None
        chosen = None if guard.limits is None else await value_of(guard.limits(request))
        try:
            key = (guard.key and await asked(guard.key, request, "key")) if actor is ASK else actor
            cost = await asked(guard.cost, request, "unreadable") if callable(guard.cost) else guard.cost
        except RequestError as error:
            return self._untried(guard, place, error)
        factor = await value_of(guard.factor(request)) if callable(guard.factor) else guard.factor
        try:
            return self._part_of(guard, request, place, chosen, key, cost, factor)
        except (LimitError, ConfigurationError) as error:
            return self._untried(guard, place, error)

    def _untried(self, guard: Guard[R], place: str, error: TidegateError) -> Part:
        """A part without checks, where limits in shadow mode cannot be decided: what is only tried fails no request."""
        if not guard.is_shadow:
            raise error
        _log.debug("limits in shadow mode cannot be decided: %s", error)
        part = Part(guard, [], place)
        part.is_planned = True
        return part

    def _part_of(
        self, guard: Guard[R], request: R, place: str, chosen: object, key: object, cost: int, factor: float
    ) -> Part | None:
        """The checks of a guard, by what its functions have returned."""
        limits = guard.static if guard.limits is None else guard.chosen(chosen)
        if limits is None:
            return None
        if guard.static is None and limits.derives:
            self.claim(guard, place)
        if key is None:
            actors = [self.actor(request, guard.key_name)]
        elif isinstance(key, list | tuple):
            if not key:
                # A client may have chosen it, and must not choose to be without a limit.
                raise invalid(refused("key", "must name at least one actor", key), "key")
            # Several may be those of one actor, who is charged once.
            actors = list(dict.fromkeys(self.named(one, request) for one in key))
        else:
            actors = [self.named(key, request)]

        def checks_of(limits: Known) -> list[Asked]:
            return [check for actor in actors for check in limits.checks(place, actor, cost, factor)]

        checks = checks_of(limits)
        if not checks:
            return None
        part = Part(guard, checks, place)
        if guard.is_shadow:
            part.checks, part.shadow = [], checks
        if guard.shadow is not None:
            part.shadow = checks_of(guard.shadow)
        if guard.candidate is not None:
            part.candidate = checks_of(guard.candidate)
        holds = limits.holds or (guard.may_change and any(check[0]._holds for check in checks))
        part.is_planned = bool(holds or part.shadow or part.candidate)
        return part

    def tell_denied(self, decision: Decision) -> None:
        """Logs a denial, as long as there are not too many."""
        untold = self._denials.note(time.monotonic_ns() // 1_000_000) if _log.isEnabledFor(logging.INFO) else None
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

    def decide(self, parts: Sequence[Part]) -> Decision:
        """Decides in the caller's thread. There is at least one part."""
        return run(self.decided(parts, False))

    def decided(self, parts: Sequence[Part], waits: bool) -> Coroutine[Any, Any, Decision]:
        """Decides without blocking the event loop, or in the caller's thread."""
        if not waits and self.store.waits and events._get_running_loop() is not None:
            self.gate.report("sync-on-event-loop")
        return decide(self.store, parts, waits)

    def start(self) -> None:
        """Reports a store in memory under several workers, once: beside the first request, or when a server starts."""
        self.begun = True
        if not self.store.shared and (count := workers.count()) > 1:
            self.gate.report("memory-many-workers", f"{count} workers")

    def reached(self) -> None:
        """Asks the store once, and reports one that does not answer. It may take as long as the store's timeout."""
        try:
            self.store.sync.ping()
        except Exception as error:
            self.gate.report("store-unreachable", str(error))


class Marked(str):
    """An actor that is one already, and no key."""

    __slots__ = ()


def actor_of(key: object) -> str:
    """The actor of a key. Numbers and UUIDs are common as keys of users."""
    if type(key) is str:
        return _key_of(key)
    if isinstance(key, Marked):
        return str(key)
    try:
        if (isinstance(key, str | int) and not isinstance(key, bool)) or type(key).__name__ == "UUID":
            return _key_of(str(key))
        if isinstance(key, float) and math.isfinite(key):
            return _key_of(key)
    except ValueError:
        # An integer of so many digits that Python does not write it.
        key = "a huge number"
    raise invalid(refused("key", "must return text, a finite number or a UUID", key), "key")
