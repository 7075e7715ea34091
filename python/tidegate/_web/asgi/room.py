"""The room of an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..._errors import ConfigurationError
from ..._http import Gate
from ..._tidegate import _APP, LimitInfo
from ..decision import Decision, decide
from ..drive import run
from ..failure import invalid, of_peer
from ..guard import Guard
from ..room import Room
from ..store import Store
from .connection import HasScope, Scope


class ClientLimits:
    """Limits of the client's address in memory: most limits by far, so what can be is done beforehand."""

    __slots__ = ("ask", "gate", "guard", "place", "store")

    def __init__(self, gate: Gate, store: Store, guard: Guard[Any], place: str) -> None:
        self.gate = gate
        self.store = store
        self.guard = guard
        self.place = place
        limits = guard.definitions(place)
        together = limits[0] if len(limits) == 1 else limits
        asked = {"cost": guard.cost, "factor": guard.factor}
        # Each argument that need not be given takes part of a call's time.
        given = {name: value for name, value in asked.items() if value != 1}
        self.ask = partial(gate.limit_client, store.sync, together, **given)
        """Decides by a scope, which has the answer then; returns the client and the answer."""

    def ask_in_place(self, scope: Scope) -> tuple[str, LimitInfo]:
        """The same where something else is in the store's place."""
        client = self.gate.client_of(scope)
        info = run(decide(self.store, (self.guard.plain(client, self.place),), False)).info
        self.gate.show(scope, info)
        return client, info

    def decision(self, client: str, info: LimitInfo) -> Decision:
        return Decision(self.store, (self.guard.plain(client, self.place),), info)


class AsgiRoom(Room[Any]):
    """Client addresses as ASGI servers say them."""

    kind = "asgi"
    reaching: asyncio.Task[Any] | None = None
    documented: Any = None
    """The application whose OpenAPI document was last seen to."""

    def lines(self, request: HasScope, name: str) -> Sequence[bytes]:
        wanted = name.encode("latin-1")
        return [value for key, value in request.scope["headers"] if key == wanted]

    def client(self, request: HasScope) -> str:
        try:
            return self.gate.client_of(request.scope)
        except ConfigurationError as error:
            raise unaddressed(error, request.scope) from error

    def client_limits(self, guard: Guard[Any], store: Store, place: str = _APP) -> ClientLimits | None:
        """A guard's limits for the requests to a place, where those ask for the client's address and do not wait."""
        if store.shared or not guard.is_by_address:
            return None
        self.know(guard, place)
        return ClientLimits(self.gate, store, guard, place)

    def begin(self) -> None:
        """Looks for mistakes of the configuration once, beside the first request or the start of the server."""
        self.start()
        if self.store.shared and asyncio.events._get_running_loop() is not None:
            self.reaching = asyncio.ensure_future(asyncio.to_thread(self.reached))


def unaddressed(error: ConfigurationError, scope: Scope) -> Exception:
    """The error for a request without an address; uvicorn takes whatever stands in a header for one."""
    if Gate.has_left(scope):
        return invalid(error, "key")
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if b"forwarded" in name]
    return of_peer(error, (scope.get("client") or [None])[0], forwarded)


def accept(scope: Scope) -> bytes | None:
    lines = [value for key, value in scope["headers"] if key == b"accept"]
    return b", ".join(lines) if lines else None
