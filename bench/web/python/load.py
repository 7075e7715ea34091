"""A client that asks for one path over a few connections, one request at a time on each: ``load.py PORT SECONDS``.

Prints the number of responses. It fails where one is not 200 or has no rate-limit header, but for ``--bare``.
"""

from __future__ import annotations

import asyncio
import sys
import time

CONNECTIONS = 16
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"


class Asker(asyncio.Protocol):
    """One connection."""

    def __init__(self, until: float, done: asyncio.Future[None], bare: bool) -> None:
        self.until = until
        self.done = done
        self.bare = bare
        self.count = 0
        self.read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        self.read += data
        head, end, body = self.read.partition(b"\r\n\r\n")
        if not end:
            return
        lower = head.lower()
        length = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        if not lower.startswith(b"http/1.1 200") or (b"ratelimit" not in lower and not self.bare):
            raise SystemExit(f"not what was asked for: {head!r}")
        self.read = b""
        self.count += 1
        if time.monotonic() < self.until:
            self.transport.write(REQUEST)
        else:
            self.transport.close()

    def connection_lost(self, _exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def main() -> None:
    port, seconds, bare = int(sys.argv[1]), float(sys.argv[2]), "--bare" in sys.argv
    loop = asyncio.get_running_loop()
    until = time.monotonic() + seconds
    askers = []
    for _ in range(CONNECTIONS):
        asker = Asker(until, loop.create_future(), bare)
        await loop.create_connection(lambda asker=asker: asker, "127.0.0.1", port)  # type: ignore[misc]
        askers.append(asker)
    await asyncio.gather(*(asker.done for asker in askers))
    print(sum(asker.count for asker in askers))


if __name__ == "__main__":
    asyncio.run(main())
