"""The rooms of a Django project: one for each store that its settings name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, cast

from django.conf import settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from ..._aio import AsyncLimiter
from ..._errors import LimitError, refused
from ..._http import Gate, GateOptions
from ..._tidegate import _APP
from ..frames import makes_once
from ..guard import Guard, GuardOptions
from ..places import applying, check_together, marks
from ..store import MEMORY
from ..wsgi import EnvironRecord, EnvironRoom

DEFAULT = "default"
GATE_OPTIONS = {name.upper() for name in GateOptions.__annotations__.keys() - {"scope"}}
GUARD_OPTIONS = {name.upper() for name in GuardOptions.__annotations__}
FUNCTIONS = {"LIMITS", "KEY", "COST", "FACTOR", "SKIP", "CHARGE_ON", "ON_BLOCKED"}

OWNER = "django"

# More views than an application has are made while it runs.
MOST_VIEWS = 4096

# Not yet asked for.
UNKNOWN = object()


class DjangoRecord(EnvironRecord):
    is_carried = False
    """The middleware writes headers and settles."""
    user: Any = UNKNOWN
    """The user's primary key, where it was asked for without blocking."""
    route: str | None = None
    """The template of the route, once one has matched."""


def user_of(request: Any) -> object:
    """The primary key of a request's user, ``None`` where there is none."""
    record = record_of(request)
    # REST framework finds users by itself.
    if record is not None and record.user is not UNKNOWN and not hasattr(request, "_request"):
        return record.user
    user = getattr(request, "user", None)
    return user.pk if user is not None and user.is_authenticated else None


class DjangoGuard(Guard[Any]):
    """Limits of a view, and the name of their store."""

    def __init__(self, limits: Any, using: str = DEFAULT, **options: Any) -> None:
        super().__init__(limits, **options)
        self.using = using


class DjangoRoom(EnvironRoom[Any]):
    """Clients, users and headers of Django's requests."""

    kind = "django"
    environ = attrgetter("META")
    guard_class = DjangoGuard
    keys = {"user": user_of, "user_or_ip": user_of}  # noqa: RUF012

    def has_left(self, request: Any) -> bool:
        """The client of a server of ASGI has reset the connection. Those of WSGI know every address."""
        scope = getattr(request, "scope", None)
        return scope is not None and Gate.has_left(scope)

    def begin(self, environ: Mapping[str, Any]) -> None:
        """Looks for mistakes of the configuration once. Django's test client says that it is one of many processes."""
        super().begin({} if environ.get("SERVER_NAME") == "testserver" else environ)


FindRoute: TypeAlias = "Callable[[], str | None]"
"""The template of a request's route; ``None`` where none has matched. To find it takes as long as half a decision."""

ByStore: TypeAlias = "Sequence[tuple[DjangoRoom, Sequence[DjangoGuard], bool]]"
"""Rooms, each with the limits that its store decides together, and whether all of these are by the address alone."""


class Plan(NamedTuple):
    """The limits of a view at one place."""

    view: Any
    by_store: ByStore
    """Those that are decided."""
    seen: frozenset[Guard[Any]]
    """All that it has."""


class Project:
    """The rooms that the settings describe, and the limits of every view."""

    def __init__(self, given: Any) -> None:
        if not isinstance(given, Mapping):
            raise refused("TIDEGATE", "must be a dictionary", given)
        gate: dict[str, Any] = {}
        guarding: dict[str, Any] = {}
        stores: dict[str, Mapping[str, Any]] = {DEFAULT: {}}
        for name, value in given.items():
            if name in GATE_OPTIONS:
                gate[name.lower()] = value
            elif name in GUARD_OPTIONS or name == "LIMITS":
                guarding[name.lower()] = _named(name, value)
            elif name != name.upper():
                if not isinstance(value, Mapping):
                    # Its value is not shown: a URL may have a password.
                    kind = type(value).__name__
                    raise LimitError(f"{name} must be a store, {{'LOCATION': url}}, got {kind}", "", name, kind)
                stores[name] = value
            else:
                known = ", ".join(sorted(GATE_OPTIONS | GUARD_OPTIONS | {"LIMITS"}))
                raise LimitError(f"{name} is not a store or one of {known}", "", name, repr(value))
        rooms = {alias: {**gate, **(guarding if alias == DEFAULT else {})} for alias in stores}
        self.rooms = {alias: DjangoRoom(_limiter(alias, stores[alias]), **given) for alias, given in rooms.items()}
        self.room = self.rooms[DEFAULT]
        self._plans: dict[int, Plan] = {}
        self.default = cast("DjangoGuard | None", self.room.default)
        # Without a reference to the project: with its last one go its connections.
        self.by_store = lru_cache(MOST_VIEWS)(partial(_by_store, self.rooms))
        """Guards by their stores, each of which decides once."""

    def plan(self, view: Any, route: FindRoute) -> Plan:
        """The limits of a view; those that are left out are not asked later either."""
        # By the identity of a view, which the plan keeps alive.
        plan = self._plans.get(id(view))
        if plan is None or plan.view is not view:
            if len(self._plans) >= MOST_VIEWS:
                self._plans.clear()
            found, seen = applying([self.default], marks(OWNER, view))
            guards = cast("tuple[DjangoGuard, ...]", tuple(found))
            check_together((guard, self.place(guard, route)) for guard in guards)
            plan = self._plans[id(view)] = Plan(view, self.by_store(guards), seen)
        return plan

    def place(self, guard: Guard[Any], route: FindRoute) -> str:
        """The name of what a guard limits: the route with this template, or the application."""
        return _APP if guard is self.default else route() or _APP

    def named(self, alias: str) -> DjangoRoom:
        """The room of a store."""
        return _room(self.rooms, alias)


def _room(rooms: Mapping[str, DjangoRoom], alias: str) -> DjangoRoom:
    if alias not in rooms:
        known = ", ".join(rooms)
        raise refused("using", f"must be one of {known}", alias)
    return rooms[alias]


def _by_store(rooms: Mapping[str, DjangoRoom], guards: tuple[DjangoGuard, ...]) -> ByStore:
    found: dict[str, list[DjangoGuard]] = {}
    for guard in guards:
        found.setdefault(guard.using, []).append(guard)
    return [(_room(rooms, name), one, all(guard.is_by_address for guard in one)) for name, one in found.items()]


def _named(name: str, value: Any) -> Any:
    """A function that settings name by its path."""
    is_path = name in FUNCTIONS and isinstance(value, str) and "." in value and value.replace(".", "").isidentifier()
    if not is_path:
        return value
    try:
        return import_string(value)
    except ImportError as error:
        message = f"{name} must be a function or its path, got {value!r}: {error}"
        raise LimitError(message, "", name, repr(value)) from error


def _limiter(alias: str, store: Mapping[str, Any]) -> AsyncLimiter | str:
    unknown = store.keys() - {"LOCATION", "OPTIONS"}
    if unknown:
        name = min(unknown)
        raise LimitError(f"{alias}: {name} is not LOCATION or OPTIONS", "", name, type(store[name]).__name__)
    location: str | None = store.get("LOCATION", MEMORY)
    if location is None:
        # Nearly always a variable that is not set.
        message = f"{alias}: LOCATION must be the URL of a store, got None (leave it out for memory)"
        raise LimitError(message, "", "LOCATION", "None")
    options = store.get("OPTIONS") or {}
    # One with a URL alone is shared with all others in this process that have it.
    if not options:
        return location
    try:
        return AsyncLimiter(location, **{name.lower(): value for name, value in options.items()})
    except TypeError as error:
        raise LimitError(f"{alias}: {error}", "", "OPTIONS", "") from error


_lock = threading.Lock()
_project: Project | None = None


@makes_once
def project() -> Project:
    """The rooms of this process, made when they are first asked for."""
    global _project
    if _project is None:
        with _lock:
            if _project is None:
                _project = Project(getattr(settings, "TIDEGATE", {}))
    return _project


def _changed(*, setting: str, **_signal: Any) -> None:
    """Forgets the rooms when a test overrides the settings."""
    global _project
    if setting == "TIDEGATE":
        _project = None


setting_changed.connect(_changed)


def record_of(request: Any) -> DjangoRecord | None:
    """The record of a request; that of REST framework wraps Django's."""
    record: DjangoRecord | None = getattr(getattr(request, "_request", request), "_tidegate", None)
    return record
