"""Calls of a fleet to servers that limit exactly, through one limit over one Redis server.

Each run is of 4 processes, 2 of Python and 2 of Node, each with 16 callers. They call as fast as the limit lets them.
The server counts: the share of its rate that was used, and the requests that it refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "redis"))

from server import RedisServer  # noqa: E402

CALLERS, SECONDS = 16, 20.0


class Outcome(NamedTuple):
    """The requests that a server got."""

    admitted: int
    refused: int
    refused_later: int
    """After the first second."""
    used: float
    """The share of the server's rate."""

    @property
    def refused_share(self) -> float:
        return self.refused / max(1, self.admitted + self.refused)


class Process(subprocess.Popen[str]):
    """A process with which lines are exchanged."""

    def line(self) -> str:
        assert self.stdout is not None
        return self.stdout.readline().strip()

    def write(self, line: str) -> None:
        assert self.stdin is not None
        self.stdin.write(f"{line}\n")
        self.stdin.flush()

    def kill(self) -> None:
        super().kill()
        self.wait()
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                pipe.close()


def started(program: str, name: str, *given: object) -> Process:
    """A program of this folder."""
    command = [program, str(HERE / name), *map(str, given)]
    return Process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def limit_of(kind: str, count: float, period: float, **more: Any) -> dict[str, Any]:
    """A definition in the wire form."""
    size = {"count": count} if kind == "token-bucket" else {"max": count}
    return {"key": "api", "type": kind, **size, "period": period * 1000, **more}


def run(
    redis: str, kind: str, count: int, period: float, headers: bool, limit: dict[str, Any], seconds: float = SECONDS
) -> Outcome:
    """One run; every process ends by itself."""
    server = started(sys.executable, "upstream.py", kind, count, period, "headers" if headers else "none")
    workers: list[Process] = []
    try:
        url = f"http://127.0.0.1:{server.line()}/"
        programs = (("node", "worker.mjs"), (sys.executable, "worker.py")) * 2
        workers.extend(started(*program, url, redis, json.dumps(limit), CALLERS, seconds) for program in programs)
        ready = [worker.line() for worker in workers]
        assert ready == ["ready"] * 4, ready
        for worker in workers:
            worker.write("go")
        codes = [worker.wait(seconds + 30) for worker in workers]
        assert codes == [0] * 4, codes
        server.write("end")
        seen: list[tuple[float, int]] = json.loads(server.line())
    finally:
        for process in (server, *workers):
            process.kill()
    began = seen[0][0]
    refused = [at for at, was_refused in seen if was_refused]
    admitted = len(seen) - len(refused)
    later = sum(at > began + 1 for at in refused)
    return Outcome(admitted, len(refused), later, admitted / (count / period * seconds))


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    twice = ("twice as much", limit_of("token-bucket", 400, 1))
    runs = [
        ("fixed-window", 200, 1.0, [("the same", limit_of("fixed-window", 200, 1)), twice]),
        ("token-bucket", 200, 1.0, [("the same", limit_of("token-bucket", 200, 1)), twice]),
        # To a log each request counts from its arrival until exactly a period later, so one that is on its way for less
        # time than the one before it in that place is too early. 3 % more time leaves room for that.
        (
            "sliding-log",
            1000,
            5.0,
            [
                ("the same", limit_of("sliding-log", 1000, 5)),
                ("evenly, 3 % slower", limit_of("token-bucket", 1000, 5.15, burst=1)),
                ("twice as much", limit_of("token-bucket", 2000, 5)),
            ],
        ),
    ]
    print("| the server's limit | headers | ours | used | refused | refused after 1 s | share |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind, count, period, definitions in runs:
        for headers in (True, False):
            for name, limit in definitions:
                with RedisServer() as redis:
                    outcome = run(redis.url, kind, count, period, headers, limit, seconds)
                said = "yes" if headers else "no"
                print(
                    f"| {kind} {count}/{period:g} s | {said} | {name} | {outcome.used:.1%} | {outcome.refused} "
                    f"| {outcome.refused_later} | {outcome.refused_share:.2%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
