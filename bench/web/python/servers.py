"""The servers that are measured: one process each, with one app that is limited in one way."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "redis"))

from server import free_port  # noqa: E402

# Longer than a run: the connections stay open.
KEEP_ALIVE = "600"
# Where the servers run. The client and Redis have the other processors, if there are any.
*OTHERS, SERVERS = sorted(os.sched_getaffinity(0))


class Row(NamedTuple):
    """One way to limit."""

    limited: str
    """Its name, which the app knows."""
    is_ours: bool = False
    has_headers: bool = True
    most: float | None = None
    """The share of the peer's cost that it may have,"""
    beyond: str = "bare"
    """beyond that of this row."""


# Of each framework the first row is without limits, and the last one is the peer. The rows between that are not ours
# show what the framework itself asks for two headers that never change, and for a dependency that does nothing.
BARE = Row("bare", has_headers=False)
ROWS = {
    "FastAPI": [
        BARE,
        Row("two constant headers"),
        Row("empty dependency", has_headers=False),
        Row("middleware", True, most=0.25),
        Row("middleware, headers 'common'", True, most=0.25),
        Row("dependency", True, most=0.25, beyond="empty dependency"),
        Row("slowapi"),
    ],
    "Flask": [
        BARE,
        Row("two constant headers"),
        Row("default", True, most=0.5),
        Row("default, headers 'common'", True, most=0.5),
        Row("decorator", True, most=0.5),
        Row("Flask-Limiter"),
    ],
    # The peer sends no headers, and needs no middleware for them.
    "Django": [
        BARE,
        Row("two constant headers"),
        Row("middleware", True, most=0.5),
        Row("middleware, headers 'common'", True, most=0.5),
        Row("decorator", True, most=0.5),
        Row("decorator, without headers", True, has_headers=False, most=0.5),
        Row("django-ratelimit", has_headers=False),
    ],
}


class Server:
    """A running server."""

    def __init__(self, framework: str, row: Row, store: str) -> None:
        self.row = row
        self.port = free_port()
        app = f"{framework.lower()}_app:app"
        if framework == "FastAPI":
            words = ["uvicorn", app, "--app-dir", str(HERE), "--port", str(self.port)]
            words += ["--log-level", "warning", "--no-access-log", "--timeout-keep-alive", KEEP_ALIVE]
        else:
            words = ["gunicorn", app, "--chdir", str(HERE), "-b", f"127.0.0.1:{self.port}"]
            words += ["-k", "gthread", "--threads", "1", "--keep-alive", KEEP_ALIVE]
            words += ["--log-level", "error", "--no-control-socket"]
        environment = {**os.environ, "STORE": store, "LIMITED": row.limited}
        self.process = subprocess.Popen([sys.executable, "-m", *words], env=environment)
        # Early enough for its workers and threads, which inherit it.
        os.sched_setaffinity(self.process.pid, {SERVERS})

    def wait(self) -> None:
        """Returns when the server accepts connections."""
        until = time.monotonic() + 60
        while not self.accepts():
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{self.row.limited} does not serve")
            time.sleep(0.05)

    def accepts(self) -> bool:
        """True if the server accepts connections."""
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.port)) == 0

    def processor(self) -> float:
        """Seconds of processor time that the process and its workers have used."""
        return _processor(self.process.pid)

    def stop(self) -> None:
        """Ends the process."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def serving(framework: str, store: str, first: int) -> Iterator[list[Server]]:
    """All servers of one framework, at once. The one that is started first is slower than the others."""
    rows = ROWS[framework]
    with ExitStack() as stack:
        servers = {}
        for row in [*rows[first:], *rows[:first]]:
            servers[row] = Server(framework, row, store)
            stack.callback(servers[row].stop)
        for server in servers.values():
            server.wait()
        yield [servers[row] for row in rows]


def _processor(pid: int) -> float:
    # Linux's number of the clock of a process, as its clock_getcpuclockid(3) makes it: ticks of /proc are too coarse.
    own = time.clock_gettime((~pid << 3) | 2)
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(_processor(int(worker)) for worker in workers)
