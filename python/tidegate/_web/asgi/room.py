"""The room of an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

from ..room import Room, on_loop
from .connection import HasScope, Scope

__all__ = ["AsgiRoom"]

R = TypeVar("R", bound=HasScope)

# The peer of Starlette's and httpx's test clients, which have no address.
TEST_CLIENT = "testclient"


class AsgiRoom(Room[R]):
    """Client addresses as ASGI servers say them."""

    kind = "asgi"
    begun = False
    reaching: asyncio.Task[Any] | None = None
    documented: Any = None
    """The application whose OpenAPI document was last seen to."""

    def lines(self, request: R, name: str) -> Sequence[bytes]:
        """All lines of a header, which is named in lower case."""
        wanted = name.encode("latin-1")
        return [value for key, value in request.scope["headers"] if key == wanted]

    def client(self, request: R) -> str:
        """The address that is limited by default."""
        return self.client_of(request.scope)

    def client_of(self, scope: Scope) -> str:
        """The same by a scope: the connection's other end as the server says."""
        client = scope.get("client")
        host = None if client is None else client[0]
        return self.gate.client_of("127.0.0.1" if host == TEST_CLIENT else host, scope["headers"])

    def begin(self) -> None:
        """Looks for mistakes of the configuration once, beside the first request or the start of the server."""
        self.begun = True
        self.start()
        if self.store.shared and on_loop():
            self.reaching = asyncio.ensure_future(asyncio.to_thread(self.reached))


def accept(scope: Scope) -> bytes | None:
    """The client's ``Accept``."""
    lines = [value for key, value in scope["headers"] if key == b"accept"]
    return b", ".join(lines) if lines else None
