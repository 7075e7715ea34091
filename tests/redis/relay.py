"""A relay in front of a server, which can lose what the server answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType

__all__ = ["Relay"]


class Relay:
    """Passes on what comes to ``url``; while it is ``deaf``, requests arrive and answers are lost."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.deaf = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ends: list[socket.socket] = []

    def __enter__(self) -> Relay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        self.listener.close()

    def cut(self) -> None:
        """Ends every connection."""
        while self.ends:
            with contextlib.suppress(OSError):
                self.ends.pop().shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client = self.listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            self.ends += [client, server]
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with source:
            with contextlib.suppress(OSError):
                while received := source.recv(65_536):
                    if not (answers and self.deaf):
                        target.sendall(received)
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
