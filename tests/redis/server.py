"""Real Redis servers for tests: started on a free port of this machine, stopped by their process."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["RedisServer", "free_port"]

START_WITHIN = 10.0


class RedisServer:
    """A server of its own, with nothing in it; ``options`` are of ``redis-server``, ``environment`` is added to ours.

    ``with RedisServer() as server:`` starts it and stops it. In between it can be stopped or killed and started again,
    on the same port, and paused: then it keeps its connections and answers nothing.
    """

    def __init__(self, *options: str, environment: dict[str, str] | None = None) -> None:
        self.options = options
        self.environment = environment or {}
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.folder = tempfile.TemporaryDirectory(prefix="tidegate-redis-")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.folder.cleanup()

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = shutil.which("redis-server")
        if program is None:
            raise RuntimeError("redis-server is missing, which these tests run: install it (Debian: redis-server)")
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        log = Path(self.folder.name) / "log"
        command += ["--dir", self.folder.name, "--logfile", str(log), *self.options]
        environment = {**os.environ, **self.environment}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)
        until = time.monotonic() + START_WITHIN
        while True:
            try:
                if self.command("PING") == "PONG":
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > until:
                said = log.read_text() if log.exists() else ""
                self.kill()
                raise RuntimeError(f"redis-server does not start: {said}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop it in an orderly way."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Stop it at once."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Have it answer nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Have it go on after ``pause``."""
        self._signal(signal.SIGCONT)

    def clock(self) -> float:
        """The time there, in seconds."""
        seconds, micros = self.command("TIME")
        return int(seconds) + int(micros) / 1e6

    def command(self, *words: str) -> Any:
        """Its answer to a command, over a connection of its own."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line, line.makefile("rb") as answer:
            line.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded(words)))
            return read(answer)

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            # One that is paused hears of it only now.
            self.process.send_signal(signal.SIGCONT)
            self.process.wait()
            self.process = None


def encoded(words: tuple[str, ...]) -> list[bytes]:
    return [word.encode() for word in words]


def read(answer: Any) -> Any:
    """Reads one value of the protocol."""
    line = answer.readline().decode()
    if not line:
        raise ConnectionError("the server hung up")
    kind, rest = line[0], line[1:].rstrip("\r\n")
    if kind == "+":
        return rest
    if kind == "-":
        raise RuntimeError(rest)
    if kind == ":":
        return int(rest)
    if int(rest) < 0:
        return None
    if kind == "$":
        return answer.read(int(rest) + 2)[:-2].decode()
    return [read(answer) for _ in range(int(rest))]


_kept: list[socket.socket] = []


def free_port() -> int:
    """A port that is free, as is the one that a cluster's node listens on as well, 10,000 further on.

    Nobody else is given it while this process lives: it stays bound. A server takes it all the same, because both
    allow that (SO_REUSEADDR) and this end does not listen.
    """
    while True:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        with socket.socket() as other:
            try:
                other.bind(("127.0.0.1", port + 10_000))
            except (OSError, OverflowError):
                one.close()
                continue
        _kept.append(one)
        return port
