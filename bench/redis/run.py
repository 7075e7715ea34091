"""Runs the three suites over a Redis server of its own, one after the other: ``run.py RESULTS``.

Each suite's JSON goes to the folder of the results, and one table of all of them is printed. ``run.py RESULTS
round-trips`` measures nothing but what a long way to the server costs.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "redis"))

from server import RedisServer  # noqa: E402

BENCH = ROOT / "bench"
# A suite that takes longer hangs: all of them together take less than four minutes.
MOST_SECONDS = 75


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
    with RedisServer() as server:
        assert server.process is not None
        for name, command in suites(server.url, server.process.pid, sys.argv[2:]).items():
            start = time.monotonic()
            output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=MOST_SECONDS).stdout
            files.append(results / f"{name}.json")
            files[-1].write_bytes(output)
            print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    subprocess.run([sys.executable, str(BENCH / "table.py"), *map(str, files)], check=True)


if __name__ == "__main__":
    main()
