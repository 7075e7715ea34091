"""Requests per second of a hello-world with rate-limit headers, ours beside its peers: ``bench_web.py``.

Each server runs alone on one core, in turns, and its best turn counts. Its cost is the CPU time of a request beyond
that of the same app without limits, which other load on the machine changes least. The exit code is 1 where ours costs
more than its share of the peer's.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "redis"))

from server import RedisServer  # noqa: E402

ROUNDS = 3
SECONDS = 1.5
TICKS = os.sysconf("SC_CLK_TCK")


class Row(NamedTuple):
    """One server; ``{port}`` in its command."""

    framework: str
    name: str
    command: list[str]
    environment: dict[str, str]
    most: float | None = None
    """The share of the peer's cost that it may have."""


class Turn(NamedTuple):
    """What one turn showed."""

    rate: float
    """Requests per second."""
    micros: float
    """CPU time of the server for each request."""


def uvicorn(framework: str, app: str, limited: str, most: float | None = None) -> Row:
    command = [sys.executable, "-m", "uvicorn", app, "--app-dir", str(HERE), "--port", "{port}"]
    command += ["--log-level", "warning", "--no-access-log"]
    return Row(framework, limited, command, {"LIMITED": limited}, most)


def gunicorn(framework: str, app: str, limited: str, most: float | None = None) -> Row:
    command = [sys.executable, "-m", "gunicorn", app, "--chdir", str(HERE), "-b", "127.0.0.1:{port}"]
    command += ["-k", "gthread", "--threads", "1", "--log-level", "error"]
    return Row(framework, limited, command, {"LIMITED": limited}, most)


# Of each framework the first row is without limits, and the last one is the peer.
ROWS = [
    uvicorn("FastAPI", "fastapi_app:app", "bare"),
    uvicorn("FastAPI", "fastapi_app:app", "empty dependency"),
    uvicorn("FastAPI", "fastapi_app:app", "middleware", 0.25),
    uvicorn("FastAPI", "fastapi_app:app", "dependency"),
    uvicorn("FastAPI", "fastapi_app:app", "slowapi"),
    gunicorn("Flask", "flask_app:app", "bare"),
    gunicorn("Flask", "flask_app:app", "default", 0.5),
    gunicorn("Flask", "flask_app:app", "decorator", 0.5),
    gunicorn("Flask", "flask_app:app", "Flask-Limiter"),
    gunicorn("Django", "django_app:app", "bare"),
    gunicorn("Django", "django_app:app", "middleware", 0.5),
    gunicorn("Django", "django_app:app", "decorator", 0.5),
    gunicorn("Django", "django_app:app", "django-ratelimit"),
]

# Without rate-limit headers.
BARE = ("bare", "empty dependency", "django-ratelimit")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def served(row: Row, store: str) -> Iterator[tuple[int, int]]:
    """The port and the process of a server."""
    port = free_port()
    command = [word.replace("{port}", str(port)) for word in row.command]
    process = subprocess.Popen(command, env={**os.environ, **row.environment, "STORE": store})
    try:
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{row.framework} {row.name} does not serve") from None
                time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def cpu(pid: int) -> float:
    """Seconds of CPU time that a process and its workers have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / TICKS + sum(cpu(int(worker)) for worker in workers)


def turn(row: Row, store: str) -> Turn:
    with served(row, store) as (port, pid):
        ask(port, 0.3, row)
        before, began = cpu(pid), time.monotonic()
        count = ask(port, SECONDS, row)
        return Turn(count / (time.monotonic() - began), (cpu(pid) - before) / count * 1e6)


def ask(port: int, seconds: float, row: Row) -> int:
    options = ["--bare"] if row.name in BARE else []
    command = [sys.executable, str(HERE / "load.py"), str(port), str(seconds), *options]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60).stdout)


def measure(store: str) -> list[Turn]:
    """The best of each row."""
    turns = [[turn(row, store) for row in ROWS] for _ in range(ROUNDS)]
    return [Turn(max(one.rate for one in taken), min(one.micros for one in taken)) for taken in zip(*turns)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("frameworks", nargs="*", help="FastAPI, Flask, Django; all unless given")
    wanted = parser.parse_args().frameworks
    ROWS[:] = [row for row in ROWS if not wanted or row.framework in wanted]
    too_dear = 0
    with RedisServer() as redis:
        for store in ("memory://", redis.url):
            best = measure(store)
            print(f"\n{store.partition(':')[0]}\n{'':28}{'requests/s':>12}{'CPU us':>10}{'cost us':>10}{'of peer':>10}")
            for row, shown in zip(ROWS, best):
                same = [number for number, other in enumerate(ROWS) if other.framework == row.framework]
                cost = shown.micros - best[same[0]].micros
                share = cost / (best[same[-1]].micros - best[same[0]].micros)
                name = f"{row.framework} {row.name}"
                of_peer = f"{share:.2f}" if row is not ROWS[same[-1]] else ""
                print(f"{name:28}{shown.rate:12.0f}{shown.micros:10.1f}{cost:10.1f}{of_peer:>10}")
                too_dear += row.most is not None and share > row.most
    return 1 if too_dear else 0


if __name__ == "__main__":
    sys.exit(main())
