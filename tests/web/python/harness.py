"""An ASGI server of one request at a time, for what tests cannot see from outside of a process."""

from __future__ import annotations

import asyncio
from typing import Any

from serving import Answer

__all__ = ["Client", "hello"]


async def hello(_scope: Any, _receive: Any, send: Any) -> None:
    """The smallest application."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"hello"})


class Client:
    """Requests to an application behind a middleware, in this thread."""

    def __init__(self, middleware: Any, *, app: Any = hello, **options: Any) -> None:
        self.app = middleware(app, **options)
        self.state: dict[str, Any] = {}
        self.loop = asyncio.new_event_loop()

    def __del__(self) -> None:
        pending = asyncio.all_tasks(self.loop)
        if pending and asyncio._get_running_loop() is None:
            # The question to the store at the start may be under way; left alone, asyncio would log that.
            self.loop.run_until_complete(asyncio.wait(pending))
        self.loop.close()

    def ask(self, path: str = "/", peer: tuple[str, int] | None = ("127.0.0.1", 50000), **headers: str) -> Answer:
        """Sends a request as a server would."""
        return self.loop.run_until_complete(self.ask_async(path, peer, **headers))

    async def ask_async(
        self, path: str = "/", peer: tuple[str, int] | None = ("127.0.0.1", 50000), **headers: str
    ) -> Answer:
        """The same in a running loop."""
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.state = {}
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": raw,
            "client": peer,
            "state": self.state,
        }
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *bodies = sent
        fields = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], fields, b"".join(body.get("body", b"") for body in bodies))
