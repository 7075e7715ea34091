"""Runs the three suites over a Redis server of its own, one after the other: ``run.py RESULTS``.

Each suite's JSON goes to the folder of the results, and one table of all of them is printed. ``run.py RESULTS
round-trips`` measures nothing but what a long way to the server costs.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
# A suite that takes longer hangs: all of them together take less than four minutes.
MOST_SECONDS = 75


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A server's URL and process; it keeps nothing, and ends in the end."""
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        port = free_port()
        options = {"port": port, "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": folder}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 10
            while not answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit("redis-server does not start")
                time.sleep(0.02)
            yield f"redis://127.0.0.1:{port}", process.pid
        finally:
            # Even one that is stopped ends of this.
            process.kill()
            process.wait()


def suites(url: str, pid: int, only: list[str]) -> dict[str, list[str]]:
    cargo = ["cargo", "run", "--release", "--quiet", "-p", "tidegate-bench", "--bin", "tidegate-bench-redis", "--"]
    if only:
        return {f"redis-{only[0]}": [*cargo, url, str(pid), *only]}
    return {
        "redis-rust": [*cargo, url, str(pid)],
        "redis-python": [sys.executable, str(BENCH / "python" / "bench_redis.py"), url],
        "redis-node": ["node", str(BENCH / "node" / "redis.mjs"), url],
    }


def main() -> None:
    # So that the server ends as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    results = Path(sys.argv[1])
    results.mkdir(parents=True, exist_ok=True)
    files = []
    with server() as (url, pid):
        for name, command in suites(url, pid, sys.argv[2:]).items():
            start = time.monotonic()
            output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=MOST_SECONDS).stdout
            files.append(results / f"{name}.json")
            files[-1].write_bytes(output)
            print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    subprocess.run([sys.executable, str(BENCH / "table.py"), *map(str, files)], check=True)


if __name__ == "__main__":
    main()
