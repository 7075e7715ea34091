"""A client over a few connections that stay open, with one request at a time on each."""

from __future__ import annotations

import asyncio

CONNECTIONS = 16
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"


class Connection(asyncio.Protocol):
    """One of them."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def ask(self) -> None:
        if self.load.left > 0:
            self.load.left -= 1
            self.transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        self.read += data
        head, end, body = self.read.partition(b"\r\n\r\n")
        if not end:
            return
        lower = head.lower()
        length = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self.read = b""
        self.load.answered(lower)
        self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.fail(f"the server closed a connection: {exc}")


class Load:
    """Requests to one server, each of which has to be answered by 200, and with rate-limit headers or without."""

    def __init__(self, port: int, has_headers: bool) -> None:
        self.port = port
        self.has_headers = has_headers
        self.left = 0
        self.waiting = 0
        self.connections: list[Connection] = []
        self.done: asyncio.Future[None] | None = None

    async def connect(self) -> None:
        """Opens the connections."""
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            _, connection = await loop.create_connection(lambda: Connection(self), "127.0.0.1", self.port)
            self.connections.append(connection)

    async def ask(self, requests: int) -> None:
        """Returns when so many requests have been answered."""
        self.done = asyncio.get_running_loop().create_future()
        self.left = self.waiting = requests
        for connection in self.connections:
            connection.ask()
        await self.done
        self.done = None

    def answered(self, head: bytes) -> None:
        """Counts a response, whose head is given in lower case."""
        if not head.startswith(b"http/1.1 200") or (b"ratelimit" in head) != self.has_headers:
            self.fail(f"not what was asked for: {head!r}")
        self.waiting -= 1
        if self.waiting == 0 and self.done is not None and not self.done.done():
            self.done.set_result(None)

    def fail(self, reason: str) -> None:
        """Ends a round with an error. Between two rounds nothing is at stake but the next one."""
        if self.done is not None and not self.done.done():
            self.done.set_exception(RuntimeError(reason))

    def close(self) -> None:
        """Closes the connections."""
        for connection in self.connections:
            connection.transport.abort()
