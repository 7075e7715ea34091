"""Real servers for tests of web frameworks, and requests to them."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import uvicorn
from typing_extensions import Self
from werkzeug.serving import make_server

from server import free_port
from tidegate import Limiter

__all__ = [
    "PATIENCE",
    "ROOT",
    "Answer",
    "Served",
    "ask",
    "check_used",
    "going_on",
    "opened",
    "over_uvicorn",
    "over_werkzeug",
    "workers",
    "writing_on",
]

ROOT = Path(__file__).parents[3]
# Long, for a machine that is busy with other work.
START_WITHIN = 120.0


def end(process: subprocess.Popen[bytes]) -> None:
    """Asks a process that leads a group to end, and kills the group where it does not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Answer(NamedTuple):
    """A response that was read to its end."""

    status: int
    headers: dict[str, str]
    """By names in lower case."""
    body: bytes


def ask(
    port: int, path: str = "/", method: str = "GET", body: bytes | None = None, peer: str | None = None, **headers: str
) -> Answer:
    """Sends a request over a connection of its own. ``x_api_key="k"`` is the header ``X-Api-Key: k``."""
    source = None if peer is None else (peer, 0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=source)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, fields, response.read())
    finally:
        connection.close()


@contextmanager
def opened(port: int, path: str = "/", **headers: str) -> Iterator[Answer]:
    """The beginning of a response that goes on; its client goes away at the end of the block."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    try:
        yield Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, b"")
    finally:
        response.close()
        connection.close()


async def going_on() -> AsyncIterator[bytes]:
    """A body that begins, and does not end."""
    yield b"open"
    await asyncio.Event().wait()


def writing_on() -> Iterator[bytes]:
    """The same for servers that notice at a write that the client is gone."""
    yield b"open"
    while True:
        time.sleep(0.005)
        yield b"."


@contextmanager
def over_uvicorn(app: Any) -> Iterator[int]:
    """An ASGI application over a server in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", proxy_headers=False, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.001)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def over_werkzeug(app: Any) -> Iterator[int]:
    """A WSGI application over a server in a thread."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# The longest time that a response may take to end for the server when it has for its client.
PATIENCE = 30.0


def check_used(limiter: Limiter, expected: list[Any]) -> None:
    """Asserts the units that actors have used, which may take a while."""
    until = time.monotonic() + PATIENCE
    for limit, actor, units in expected:
        used = -1
        while used != units and time.monotonic() < until:
            info = limiter.peek(limit, actor)
            used = info.quota - info.remaining
        assert used == units, (limit["key"], actor)


class Served:
    """A server in a process of its own: ``command`` with ``{port}`` in it; what it logs is kept."""

    def __init__(self, *command: str, folder: Path | None = None, **environment: str) -> None:
        self.port = free_port()
        self.command = [word.replace("{port}", str(self.port)) for word in command]
        self.folder = folder or ROOT
        # A store that is slow because the machine is busy must not be answered for.
        self.environment = {**os.environ, "PYTHONUNBUFFERED": "1", "STORE_TIMEOUT": "10", **environment}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def uvicorn(cls, app: str, folder: Path, *options: str, **environment: str) -> Self:
        """An application over uvicorn."""
        command = [sys.executable, "-m", "uvicorn", app, "--port", "{port}", "--log-level", "warning"]
        # A worker that takes longer to start is killed, and started again.
        command += ["--timeout-worker-healthcheck", "60"]
        return cls(*command, *options, folder=folder, **environment)

    @property
    def log(self) -> str:
        """The server's output."""
        self._log.seek(0)
        return self._log.read().decode()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        until = time.monotonic() + START_WITHIN
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                said = self.log
                self.__exit__(None, None, None)
                raise RuntimeError(f"{' '.join(self.command)} does not serve: {said}")
            time.sleep(0.02)
        return self

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """Ends the server and its workers."""
        process, self._process = self._process, None
        if process is None:
            return
        end(process)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._log.close()

    def ask(self, path: str = "/", method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """Sends it a request."""
        return ask(self.port, path, method, body, **headers)


def workers(server: Served, path: str, number: int) -> None:
    """Waits until as many workers have begun to serve. Their answers to ``path`` tell them apart."""
    seen: set[bytes] = set()
    until = time.monotonic() + START_WITHIN
    # One at a time could all be taken by a worker that is quicker to wake up.
    with ThreadPoolExecutor(8) as pool:
        while len(seen) < number:
            seen.update(answer.body for answer in pool.map(lambda _: server.ask(path), range(8)))
            if time.monotonic() > until:
                raise RuntimeError(f"{len(seen)} of {number} workers serve: {seen}, {server.log}")
