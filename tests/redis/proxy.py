"""A slow way to a server: what goes through arrives later, as over a long line."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["SlowProxy"]


class SlowProxy:
    """Listens on a port of its own, and passes on what the server answers after ``delay`` seconds, without a queue."""

    def __init__(self, port: int, delay: float) -> None:
        self._port = port
        self.delay = delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for line in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [client, server]
                for line in (client, server):
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for source, target, answers in [(client, server, False), (server, client, True)]:
                    arrived: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                    threading.Thread(target=self._read, args=(source, arrived, answers), daemon=True).start()
                    threading.Thread(target=self._write, args=(target, arrived), daemon=True).start()

    def _read(self, source: socket.socket, arrived: queue.SimpleQueue[tuple[float, bytes]], answers: bool) -> None:
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            arrived.put((time.monotonic() + (self.delay if answers else 0.0), data))

    @staticmethod
    def _write(target: socket.socket, arrived: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = arrived.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
