"""A soak, run by hand: processes of both languages call steadily for an hour while one fault follows another.

``make soak``; ``SOAK_MINUTES`` says for how long. Prints a table for docs/soak.md, and fails where a bound was broken:
more admitted than the limit allows, an answer too late, or a process that grows.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from faults import LASTS, Fleet

HERE = Path(__file__).parent
COMMANDS = [("Python", [sys.executable, str(HERE / "worker.py")]), ("Node", ["node", str(HERE / "worker.mjs")])]
SIZE, DRIP_MS = 100, 10
DEADLINE, SLACK = 0.1, 0.05
# Longer than a breaker remembers that it closed too soon: each fault is a new one.
SETTLES = 6.0
# Seconds; the first attempt to connect to a server that was away may take half of one.
BACK_WITHIN = 0.75
WARM_UP_ROUNDS = 2
# A process may keep what its allocator does not give back; a leak of a hundred
# bytes a call is more than this in an hour.
GROWTH_MIB, MORE_DESCRIPTORS, MORE_THREADS = 32, 8, 4


class Beat:
    """The time for which the machine keeps this process waiting, which is also the relay."""

    def __init__(self) -> None:
        self.late = 0.0
        threading.Thread(target=self._beat, daemon=True).start()

    def latest(self) -> float:
        """The longest wait since the last time, in seconds."""
        late, self.late = self.late, 0.0
        return late

    def _beat(self) -> None:
        while True:
            began = time.monotonic()
            time.sleep(0.005)
            self.late = max(self.late, time.monotonic() - began - 0.005)


class Worker:
    """A process that calls the store, and what the system says of it."""

    def __init__(self, language: str, command: list[str], url: str) -> None:
        self.name = f"{language}, {url.split(':')[0]}"
        self.log = tempfile.TemporaryFile("w+")
        line = [*command, url, str(SIZE), str(DRIP_MS)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=self.log, text=True, bufsize=1)
        self.seen: list[tuple[float, int, int]] = []

    def figures(self) -> dict[str, Any]:
        """Its figures since the last time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file=self.process.stdin, flush=True)
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def look(self) -> None:
        """Notes its memory in MiB, its descriptors and its threads."""
        folder = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        memory = int(status["VmRSS"].split()[0]) / 1024
        self.seen.append((memory, len(list((folder / "fd").iterdir())), int(status["Threads"])))

    def end(self) -> int:
        """Ends it; the number of lines that it logged."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(10) == 0, "a process ends as it should"
        self.log.seek(0)
        return len(self.log.readlines())


class Row:
    """The outcome of one kind of fault, all rounds together."""

    def __init__(self) -> None:
        self.times = self.calls = self.degraded = 0
        self.slowest = self.back = self.again = 0.0
        # The process that was without the store for longest.
        self.late_one = ""

    def add_gaps(self, worker: str, gaps: list[list[float]], healed: float) -> float:
        """Time until the store was back for a process, in seconds after the fault; it may go away again later."""
        back = max([end - healed for began, end in gaps if began < healed], default=0.0)
        if back > self.back:
            self.back, self.late_one = back, worker
        self.again = max([self.again, *(end - began for began, end in gaps if began >= healed)])
        return back


def main(minutes: float) -> int:
    broken: list[str] = []
    rows: dict[str, Row] = {}
    with Fleet() as fleet:
        workers = [Worker(language, command, url) for language, command in COMMANDS for url in fleet.urls]
        time.sleep(2)
        for worker in workers:
            worker.figures()
        began = time.monotonic()
        store = alone = calls = rounds = starved = 0
        beat = Beat()
        while rounds == 0 or time.monotonic() - began < minutes * 60:
            for name, fault in fleet.faults():
                row, started = rows.setdefault(name, Row()), time.monotonic()
                row.times += 1
                beat.latest()
                fault()
                healed = time.monotonic()
                time.sleep(SETTLES)
                kept = beat.latest()
                for worker in workers:
                    said, lasted = worker.figures(), time.monotonic() - started
                    row.calls += said["calls"]
                    row.degraded += said["degraded"]
                    row.slowest = max(row.slowest, said["slowest"])
                    back = row.add_gaps(worker.name, said["gaps"], healed)
                    calls, store, alone = calls + said["calls"], store + said["store"], alone + said["alone"]
                    # Where the machine keeps a process waiting, the times say nothing of the library.
                    is_starved = max(said["late"], kept) > SLACK
                    starved += is_starved
                    if said["slowest"] > DEADLINE + SLACK + said["late"] and not is_starved:
                        broken.append(f"{worker.name}, {name}: an answer after {said['slowest']:.3f} s")
                    if said["alone"] > SIZE + lasted * 1000 / DRIP_MS:
                        broken.append(f"{worker.name}, {name}: {said['alone']} admitted alone in {lasted:.1f} s")
                    if back > BACK_WITHIN and not is_starved:
                        broken.append(f"{worker.name}, {name}: the store was back after {back:.3f} s")
            rounds += 1
            for worker in workers:
                worker.look()
        lasted = time.monotonic() - began
        # Besides, what a server that forgets adds, and at a failover what a replica can miss in a second, and what two
        # primaries admit until the former one knows.
        twice = fleet.failovers + fleet.split
        bound = SIZE + (lasted + twice) * 1000 / DRIP_MS + fleet.kills * SIZE
        if store > bound:
            broken.append(f"{store} admitted by the store, of at most {bound:.0f}")
        lines = [worker.end() for worker in workers]
    for worker in workers:
        check_growth(worker, broken)
    report(workers, rows, lines, f"{lasted / 60:.0f} minutes, {rounds} rounds of {len(rows)} faults, {calls:,} calls")
    print(
        f"\nAdmitted by the store: {store:,}, of at most {bound:,.0f}; by processes alone: {alone:,}. "
        f"Two servers were the primary for {fleet.split:.1f} s of {fleet.failovers} failovers."
    )
    judged = len(workers) * sum(row.times for row in rows.values())
    print(f"The machine kept a process waiting for more than {SLACK * 1000:.0f} ms in {starved} of {judged} faults.")
    print("\n".join(["", *broken]) if broken else "\nEvery bound was kept.")
    return 1 if broken else 0


def check_growth(worker: Worker, broken: list[str]) -> None:
    """Notes it if a process grows from its first rounds to its last."""
    first, last = worker.seen[min(WARM_UP_ROUNDS, len(worker.seen)) - 1], worker.seen[-1]
    most = (GROWTH_MIB, MORE_DESCRIPTORS, MORE_THREADS)
    for what, before, after, more in zip(["MiB", "descriptors", "threads"], first, last, most):
        if after > before + more:
            broken.append(f"{worker.name}: {before:.0f} {what} became {after:.0f}")


def report(workers: list[Worker], rows: dict[str, Row], lines: list[int], title: str) -> None:
    """Prints the tables."""
    redis = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    print(f"{title}; {os.cpu_count()} processors, {platform.system()}, Redis {redis[2:]}\n")
    print("| fault | times | calls | answered without the store | slowest answer | store back after | away again for |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, row in rows.items():
        share, back = (
            f"{100 * row.degraded / max(1, row.calls):.2f} %",
            f"{row.back * 1000:.0f} ms {row.late_one}".strip(),
        )
        times = f"{row.slowest * 1000:.0f} ms | {back} | {row.again * 1000:.0f} ms"
        print(f"| {name} | {row.times} | {row.calls:,} | {share} | {times} |")
    print(f"\n| process | memory after round {WARM_UP_ROUNDS}, at the end | descriptors | threads | lines logged |")
    print("| --- | --- | --- | --- | --- |")
    for worker, logged in zip(workers, lines):
        first, last = worker.seen[min(WARM_UP_ROUNDS, len(worker.seen)) - 1], worker.seen[-1]
        numbers = [f"{before:.0f}, {after:.0f}" for before, after in zip(first, last)]
        print(f"| {worker.name} | {numbers[0]} MiB | {numbers[1]} | {numbers[2]} | {logged} |")


if __name__ == "__main__":
    assert LASTS < SETTLES
    sys.exit(main(float(os.environ.get("SOAK_MINUTES", "60"))))
