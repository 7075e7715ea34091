"""A scoreboard, run by hand: faults and attacks of which tests cannot assert the times, on a machine that has time.

``make scoreboard``, or ``make scoreboard ROWS="killed stopped"`` for some of its rows. Prints a table for
docs/scoreboard.md, and fails where a bound is missed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import ways
from faults import until
from server import RedisServer, free_port
from steady_fleet import COMMANDS, DEADLINE, Call, Report, Worker

HERE = Path(__file__).parent
KINDS = ("asyncio", "threads", "Node")
STEADY = [COMMANDS[0], [sys.executable, str(HERE / "threads.py")], COMMANDS[1]]
WELL, SETTLED = 1.5, 2.0
# So much that nobody is denied.
SIZE = 1_000_000
SOON = DEADLINE + 0.02


class Run(NamedTuple):
    """The words of a process about a fault, and when that began and ended."""

    report: Report
    began: float
    healed: float

    def meanwhile(self) -> list[Call]:
        return [call for call in self.report.calls if self.began <= call.began < self.healed]


def p99(calls: list[Call]) -> float:
    return sorted(call.took for call in calls)[len(calls) * 99 // 100]


def median(calls: list[Call]) -> float:
    return statistics.median(call.took for call in calls)


def calm(run: Run, call: Call) -> bool:
    """True of a call that was over before the fault."""
    return run.began - call.began > 0.5


def last_alone(run: Run) -> float:
    """The time from its begin until the fault was noticed for the last time."""
    return max((call.ended for call in run.report.calls if call.degraded), default=run.began) - run.began


# What a bound is about, in words and as a figure, in seconds or per cent.
PARTS: dict[str, tuple[str, Callable[[Run], float]]] = {
    "answer": ("any answer within", lambda run: run.report.slowest),
    "policy": ("the policy's answer within", lambda run: max(c.took for c in run.report.calls if c.degraded)),
    "back": ("decided again within", lambda run: run.report.back_after(run.healed)),
    "outage": ("decided again, from the begin, within", last_alone),
    "alone %": (
        "without the store at most",
        lambda run: 100 * sum(c.degraded for c in run.meanwhile()) / len(run.meanwhile()),
    ),
    "most more": (
        "any answer later by at most",
        lambda run: max(c.took for c in run.meanwhile()) - median([c for c in run.report.calls if calm(run, c)]),
    ),
    "p99 more": (
        "99 % of answers later by at most",
        lambda run: p99(run.meanwhile()) - p99([c for c in run.report.calls if calm(run, c)]),
    ),
}


class Fault(NamedTuple):
    title: str
    way: Callable[[], AbstractContextManager[ways.Way]]
    bounds: dict[str, float]
    lasts: float = 3.0


SLOW_TO_LOAD = (
    "--enable-debug-command",
    "yes",
    "--key-load-delay",
    "50",
    "--loading-process-events-interval-bytes",
    "1024",
)
FAILOVER = 8.0
FAULTS = {
    "killed": Fault("server killed for 3 s", ways.of_a_server(ways.killed), {"answer": SOON, "back": 0.5}),
    "stopped": Fault("server stopped for 3 s", ways.of_a_server(ways.stopped), {"answer": SOON, "back": 0.2}),
    "paused": Fault("`CLIENT PAUSE` for 3 s", ways.of_a_server(ways.paused), {"answer": SOON, "back": 0.2}),
    "deaf": Fault("connections are accepted and silent for 3 s", ways.deaf, {"answer": SOON, "back": 0.2}),
    "vanish": Fault("all packets lost for 3 s", ways.lossy(1.0, 3), {"answer": SOON, "back": 0.2}),
    "held": Fault("connections go silent", ways.held, {"answer": SOON, "outage": 1.0}),
    "lossy": Fault(
        "a third of all packets lost for 5 s", ways.lossy(0.3, ways.LOSSY), {"answer": SOON, "back": 0.5}, ways.LOSSY
    ),
    "latency": Fault("300 ms of latency for 3 s", ways.latency, {"answer": SOON}),
    "cut": Fault("connections ended 5 times in 3 s", ways.cut, {"alone %": 5}),
    "script-flush": Fault(
        "`SCRIPT FLUSH` every 90 ms, round trips of 20 ms",
        ways.slow_and_flushed,
        {"alone %": 0, "p99 more": ways.ROUND_TRIP},
    ),
    "slot": Fault(
        "a cluster's slot moves, round trips of 20 ms",
        ways.slot_in_motion,
        {"alone %": 0, "most more": 2 * ways.ROUND_TRIP},
    ),
    "flushall": Fault("`FLUSHALL` every 90 ms", ways.of_a_server(ways.flushed("FLUSHALL")), {"alone %": 0}),
    "full": Fault(
        "out of memory",
        ways.of_a_server(ways.switched("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0")),
        {"policy": 0.02, "back": 0.25},
    ),
    "readonly": Fault(
        "`READONLY`",
        ways.of_a_server(ways.switched("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE")),
        {"policy": 0.02, "back": 0.25},
    ),
    "noperm": Fault(
        "`NOPERM`",
        ways.of_a_server(ways.switched("ACL SETUSER default -evalsha -eval", "ACL SETUSER default +@all")),
        {"policy": 0.02, "back": 0.25},
    ),
    "loading": Fault("`LOADING`", ways.of_a_server(ways.loading, *SLOW_TO_LOAD), {"policy": 0.02, "back": 0.25}),
    "busy": Fault("`BUSY`", ways.of_a_server(ways.busy), {"policy": SOON, "back": 0.25}),
    "sentinels": Fault(
        f"failover by sentinels, `down-after` {ways.DOWN_AFTER_MS} ms",
        ways.sentinels,
        {"answer": SOON, "outage": ways.DOWN_AFTER_MS / 1000 + 1.5, "back": 0.5},
        FAILOVER,
    ),
    "cluster-killed": Fault(
        f"a cluster's primary killed, `node-timeout` {ways.NODE_TIMEOUT_MS} ms",
        ways.cluster(RedisServer.kill),
        {"answer": SOON, "outage": ways.NODE_TIMEOUT_MS / 1000 * 2 + 1, "back": 1.0},
        FAILOVER,
    ),
    "cluster-hung": Fault(
        "a cluster's primary stopped", ways.cluster(RedisServer.pause), {"answer": SOON, "back": 1.0}, FAILOVER
    ),
}


class Once(NamedTuple):
    """A measure of a process of its own: its title, the process kinds, and its bounds in words, most and unit."""

    title: str
    kinds: tuple[str, ...]
    bounds: list[tuple[str, float, str]]


LATE = [("the loop late by less than", 20.0, "ms"), ("but for 1 %, by less than", 20.0, "ms")]
ONCE = {
    "refused": Once("nobody listens", KINDS, [("made within", 100, "ms"), ("first answer within", 120, "ms")]),
    "exit": Once("a process after its last answer, without a close", ("Node",), [("over within", 200, "ms")]),
    "lag": Once("512 calls under way", ("asyncio", "uvloop", "Node"), LATE),
    "gil": Once("eight threads wait for a server", ("threads",), [("another late by less than", 20, "ms")]),
    "replicas": Once("a charge waits for a replica", KINDS, [("in the middle later by at most", 1.5, "ms")]),
    "forks": Once("100 forks", ("asyncio", "threads"), [("first call within", 150, "ms"), ("not decided", 0, "calls")]),
    "flood": Once(
        "10 million names, 1 million entries, 200 of them blocked",
        ("threads",),
        [("memory at most", 128e6 / 2**20 + 64, "MiB"), ("any call within", 5, "ms"), ("set free", 0, "clients")],
    ),
}


def shown(figure: float, unit: str) -> str:
    return f"{figure:.2f} %" if unit == "%" else f"{figure:,.0f} {unit}" if figure >= 10 else f"{figure:.3g} {unit}"


class Row(NamedTuple):
    title: str
    bounds: list[tuple[str, float, str]]
    figures: dict[str, list[float]]

    def holds(self) -> bool:
        return all(f <= most for fs in self.figures.values() for f, (_, most, _) in zip(fs, self.bounds))

    def line(self) -> str:
        bound = "; ".join(f"{words} {shown(most, unit)}" for words, most, unit in self.bounds)
        units = [unit for _, _, unit in self.bounds]
        cells = [
            f"{kind} {', '.join(shown(figure, unit) for figure, unit in zip(figures, units))}"
            for kind, figures in self.figures.items()
        ]
        return f"| {self.title} | {bound} | {'; '.join(cells)} | {'yes' if self.holds() else '**no**'} |"


def suffer(fault: Fault) -> Row:
    """Three processes that call steadily, and what the fault does to them."""
    with fault.way() as way:
        seconds = WELL + fault.lasts + SETTLED
        workers = [Worker([*way.within, *command], way.url, seconds, SIZE, 1) for command in STEADY]
        time.sleep(WELL)
        began = time.monotonic()
        way.fault()
        healed = time.monotonic()
        runs = [Run(worker.report(), began, healed) for worker in workers]
    figures = {}
    for kind, run in zip(KINDS, runs):
        if run.report.late > 0.02:
            print(f"{fault.title}: the machine kept {kind} waiting for {run.report.late:.3f} s", file=sys.stderr)
        figures[kind] = [PARTS[part][1](run) * (1 if "%" in part else 1000) for part in fault.bounds]
    bounds = [
        (PARTS[part][0], most, "%") if "%" in part else (PARTS[part][0], most * 1000, "ms")
        for part, most in fault.bounds.items()
    ]
    return Row(fault.title, bounds, figures)


def measure(what: str, once: Once) -> Row:
    figures = {}
    with RedisServer() as server, RedisServer() as other:
        if what == "replicas":
            other.command("REPLICAOF", "127.0.0.1", str(server.port))
            until("the replica is in step", lambda: "master_link_status:up" in other.command("INFO"))
        url = f"redis://127.0.0.1:{free_port()}" if what == "refused" else server.url
        for kind in once.kinds:
            command = ["node", str(HERE / "once.mjs"), what]
            if kind != "Node":
                command = [sys.executable, str(HERE / "once.py"), f"{what} {kind}"]
            if what == "gil":
                server.pause()
            said = subprocess.run([*command, url], stdout=subprocess.PIPE, text=True, check=True).stdout
            figures[kind] = json.loads(said)
            if what == "exit":
                figures[kind] = [time.monotonic() * 1000 - figures[kind][0]]
    return Row(once.title, once.bounds, figures)


def main(names: list[str]) -> int:
    print("| case | bound | figures | holds |\n| --- | --- | --- | --- |", flush=True)
    is_missed = False
    for name in names or [*FAULTS, *ONCE]:
        row = suffer(FAULTS[name]) if name in FAULTS else measure(name, ONCE[name])
        print(row.line(), flush=True)
        is_missed = is_missed or not row.holds()
    return 1 if is_missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
