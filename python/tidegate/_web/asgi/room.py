"""The room of an ASGI application."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..._http import GateOptions
from ..room import Room, on_loop
from ..store import LimiterLike
from .connection import HasScope, Scope

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

__all__ = ["AsgiRoom"]

R = TypeVar("R", bound=HasScope)


class AsgiRoom(Room[R]):
    """Client addresses as ASGI servers say them."""

    kind = "asgi"
    begun = False
    reaching: asyncio.Task[Any] | None = None
    documented: Any = None
    """The application whose OpenAPI document was last seen to."""

    def __init__(self, limiter: LimiterLike | None = None, **options: Unpack[GateOptions]) -> None:
        super().__init__(limiter, **options)
        self.plans: dict[Any, Any] = {}
        """The limits of routes, for FastAPI."""

    def lines(self, request: R, name: str) -> Sequence[bytes]:
        """All lines of a header, which is named in lower case."""
        wanted = name.encode("latin-1")
        return [value for key, value in request.scope["headers"] if key == wanted]

    def client(self, request: R) -> str:
        """The address that is limited by default."""
        return self.gate.client_of(request.scope)

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
