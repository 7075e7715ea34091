"""The limits of a route: which of them are decided together, and the route's name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Router

from ..._tidegate import _APP, _route_name, _template
from ..asgi.connection import mounted
from ..asgi.room import AsgiRoom, ClientLimits
from ..guard import Guard
from ..places import check_together
from ..store import Store


async def exempt() -> None:
    """Takes routes out of the limits around them: ``dependencies=[Depends(exempt)]``.

    On a route these are the limits of its routers and the application; on a router those of the routers around it and
    the application. Limits that stand behind it, such as those of the router's routes, stay.
    """


class Limiting:
    """A dependency that limits what depends on it."""

    asks_dependency: bool
    """Its actor is the value of another dependency."""
    guard: Guard[Any]
    store: Store | None
    """Its own, if it is not the middleware's."""


class Plan:
    """The dependencies of one route that limit it, in the order in which FastAPI solves them.

    Those that follow each other are decided together, when the first of them is solved. One behind another dependency,
    such as the one that finds the user, is decided when its turn comes.
    """

    def __init__(self, dependant: Any, route: str, app: Any) -> None:
        self.dependant = dependant
        self.route = route
        own = getattr(getattr(app, "router", None), "dependencies", ())
        self.of_app = frozenset(one.dependency for one in own if isinstance(one.dependency, Limiting))
        """Limits of the whole application."""
        calls = list(_solved(dependant))
        # Each is solved once.
        solved = list({id(call): call for call in calls}.values())
        limits: list[Limiting] = []
        for call in calls:
            is_limit = isinstance(call, Limiting)
            if call is exempt or (is_limit and call.guard.override):
                limits = []
            if is_limit:
                limits.append(call)
        self.limits: Collection[Any] = frozenset(limits)
        self.left_out = frozenset(call for call in solved if isinstance(call, Limiting)) - self.limits
        """Limits that another one overrides, or from which the route is exempt."""
        self.groups: dict[Any, list[Any]] = {}
        """The limits that each is decided with, itself among them."""
        group: list[Limiting] = []
        for call in solved:
            if call not in self.limits:
                # What is left out is no reason to decide twice.
                group = group if call in self.left_out else []
                continue
            if not group or call.asks_dependency or call.store is not group[0].store:
                group = []
            group.append(call)
            self.groups[call] = group
        self.simple: dict[Any, ClientLimits] = {}
        """Limits of the client's address that are decided alone: most routes have one, and no other."""

        check_together((call.guard, self.place(call)) for call in solved if call in self.limits)

    def place(self, limit: Limiting) -> str:
        return _APP if limit in self.of_app else self.route


def _solved(dependant: Any) -> Iterator[Any]:
    """Every dependency, in the order in which they are solved."""
    for child in dependant.dependencies:
        yield from _solved(child)
        yield child.call


# Routes, and the applications below which they are mounted; programs have few.
MOST_PLANS = 4096


def plan_of(scope: Any, room: AsgiRoom) -> Plan | None:
    """The plan of the route that serves a request; ``None`` outside of FastAPI's routes."""
    route, fastapi = scope.get("route"), scope.get("fastapi")
    context = fastapi.get("effective_route_context") if fastapi else None
    if context is not None and (route is context.original_route or route is context.starlette_route):
        # That of an included router, with the router's prefix and dependencies.
        route = context.starlette_route or context
    dependant = getattr(route, "dependant", None)
    if dependant is None:
        return None
    mount = mounted(scope) if scope.get("root_path") else ""
    # By the identity of a route's dependant, which the plan keeps alive.
    number = (id(dependant), mount) if mount else id(dependant)
    plan = room.plans.get(number)
    if plan is None or plan.dependant is not dependant:
        if len(room.plans) >= MOST_PLANS:
            room.plans.clear()
        methods = () if scope["type"] == "websocket" else route.methods
        plan = room.plans[number] = Plan(dependant, name_of(methods, mount + route.path_format), scope.get("app"))
        for call, together in plan.groups.items():
            if len(together) == 1 and not call.asks_dependency:
                limits = room.client_limits(call.guard, call.store or room.store, plan.place(call))
                if limits is not None:
                    plan.simple[call] = limits
    return plan


def name_of(methods: Iterable[str], path: str) -> str:
    return _route_name(list(methods), _template(path, "braces"))


def check_routes(app: Any) -> None:
    """Raises for a route whose limits cannot be decided together. An application calls it before it serves requests.

    Applications that are mounted are looked at too, but for those inside of a middleware.
    """
    # What has routes, the application whose they are, and the path before theirs.
    found: list[tuple[Any, Any, str]] = [(app, app, "")]
    for router, owner, mount in found:
        for route in _contexts(router):
            inner, path = getattr(route, "app", None), getattr(route, "path_format", None) or ""
            if getattr(route, "dependant", None) is not None:
                Plan(route.dependant, name_of(getattr(route, "methods", None) or (), mount + path), owner)
            elif isinstance(inner, Starlette | Router) and all(inner is not known for known, _, _ in found):
                own = inner if isinstance(inner, Starlette) else owner
                found.append((inner, own, mount + path.removesuffix("/{path}")))


def routes_of(app: Any) -> Iterator[Any]:
    """Every route for HTTP of an application with its dependencies, those of included routers too."""
    for route in _contexts(app):
        if getattr(route, "dependant", None) is not None and getattr(route, "methods", None):
            yield route


def _contexts(router: Any) -> Iterable[Any]:
    from fastapi import routing

    contexts = getattr(routing, "iter_route_contexts", None)
    routes: Iterable[Any] = router.routes if contexts is None else contexts(router.routes)
    return routes
