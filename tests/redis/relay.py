"""A relay in front of a server, which can lose what the server answers, or what some connections carry."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["Relay"]


class Relay:
    """Passes on what comes to ``url``; while it is ``deaf``, requests arrive and answers are lost."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.deaf = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"
        self.over = False
        self.silent: set[socket.socket] = set()
        self.ends: list[socket.socket] = []
        self.threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over = True
        socket.create_connection(self.listener.getsockname()).close()
        self.cut()
        for thread in self.threads:
            thread.join()
        self.listener.close()

    def cut(self) -> None:
        """Ends every connection."""
        while self.ends:
            with contextlib.suppress(OSError):
                self.ends.pop().shutdown(socket.SHUT_RDWR)

    def hold(self) -> None:
        """Passes nothing on any more over the connections that there are, without ending them."""
        self.silent.update(self.ends)

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            client = self.listener.accept()[0]
            if self.over:
                client.close()
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.ends += [client, server]
            self._run(self._pass, client, server, False)
            self._run(self._pass, server, client, True)

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with source:
            with contextlib.suppress(OSError):
                while received := source.recv(65_536):
                    if not (answers and self.deaf) and source not in self.silent:
                        target.sendall(received)
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
