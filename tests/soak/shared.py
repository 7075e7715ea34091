"""Processes that share memory are killed and stopped at random instants: none is admitted too much, and none hangs.

By hand: ``make soak-shared MINUTES=10``. Four workers are of Python and four of Node. Each writes down its admitted
calls, with the instants before and after. Afterwards every span of every key is held against the bound of its limit.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from bisect import bisect_left, bisect_right
from collections import defaultdict
from pathlib import Path

from tidegate import Bucket, FixedWindow, Limiter, SlidingLog, StoreError

ROOT = Path(__file__).parents[2]
KEYS = 20
SIZE = 30
PERIOD = 2.0
LIMITS = [
    Bucket("bucket", size=SIZE, drip_rate=20),
    SlidingLog("log", max=SIZE, period=PERIOD * 1000),
    FixedWindow("window", max=SIZE, period=PERIOD * 1000),
]
TIMEOUT = 0.1
# Of the decision itself. A machine that is busy wakes a process late.
LATE = 5.0

NODE = """
import { openSync, writeSync } from 'node:fs'
import { Limiter, bucket, fixedWindow, slidingLog } from 'tidegate'
const [url, path] = process.argv.slice(1)
const file = openSync(path, 'a')
const limiter = new Limiter(url, { timeoutMs: 100, onError: 'raise' })
const limits = [bucket({ key: 'bucket', size: 30, dripRate: 20 }), slidingLog({ key: 'log', max: 30, period: 2000 }),
  fixedWindow({ key: 'window', max: 30, period: 2000 })]
const now = () => Number(process.hrtime.bigint() / 1000n)
for (;;) {
  const which = Math.floor(Math.random() * 3)
  const actor = `actor ${Math.floor(Math.random() * 20)}`
  const began = now()
  try {
    const { blocked } = limiter.limitSync(limits[which], actor)
    if (!blocked) writeSync(file, `${which} ${actor.slice(6)} ${began} ${now()}\\n`)
  } catch (error) {
    if (error.name !== 'StoreError') throw error
  }
  if (Math.random() < 0.02) await new Promise((done) => setTimeout(done, 1))
}
"""


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def work(url: str, path: str) -> None:
    file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    limiter = Limiter(url, timeout=TIMEOUT, on_error="raise")
    choose = random.Random(os.getpid())
    while True:
        which, actor = choose.randrange(len(LIMITS)), choose.randrange(KEYS)
        began = now()
        try:
            allowed = limiter.limit(LIMITS[which], f"actor {actor}").allowed
        except StoreError:
            continue
        if allowed:
            os.write(file, f"{which} {actor} {began} {now()}\n".encode())
        if choose.random() < 0.02:
            time.sleep(0.001)


class Worker:
    """A process that asks for ever."""

    def __init__(self, language: str, url: str, path: str) -> None:
        self.language, self.url, self.path = language, url, path
        self.start()

    def start(self) -> None:
        self.node: subprocess.Popen[bytes] | None = None
        if self.language == "node":
            command = ["node", "--no-warnings", "--input-type=module", "-e", NODE, self.url, self.path]
            self.node = subprocess.Popen(command, cwd=ROOT)
            self.pid = self.node.pid
            return
        self.pid = os.fork()
        if self.pid == 0:
            try:
                work(self.url, self.path)
            finally:
                os._exit(1)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        if self.node is None:
            os.waitpid(self.pid, 0)
        else:
            self.node.wait()


def most_in(which: int, span: float) -> float:
    """The bound of a limit in any span of so many seconds."""
    if which == 0:
        return SIZE + span / 0.02 + 1
    if which == 1:
        return SIZE * (span // PERIOD + 1)
    return SIZE * (span // PERIOD + 2)


def check(paths: list[Path]) -> tuple[int, int]:
    """The admitted calls, and those above a bound."""
    calls: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for path in paths:
        for line in path.read_bytes().split(b"\n"):
            fields = line.split()
            if len(fields) == 4:
                which, actor, began, ended = map(int, fields)
                calls[which, actor].append((began, ended))
    above = 0
    for (which, _), of_key in calls.items():
        ends = sorted(ended for _, ended in of_key)
        begins = sorted(began for began, _ in of_key)
        for span in (PERIOD * 0.999, 5 * PERIOD, 20 * PERIOD):
            for end in ends:
                # Those that began and ended in the span were decided in it.
                inside = bisect_right(ends, end) - bisect_left(begins, end - int(span * 1e6))
                above += max(0, inside - int(most_in(which, span)))
        whole = (ends[-1] - begins[0]) / 1e6
        above += max(0, len(of_key) - int(most_in(which, whole)))
    return sum(map(len, calls.values())), above


def main() -> int:
    # Each stop in the middle of a decision is told.
    logging.disable()
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    name = f"soak-{uuid.uuid4().hex}"
    url = f"shm://{name}?entries=1000"
    choose = random.Random(7)
    kills = stops = late = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / str(number) for number in range(8)]
        workers = [Worker("node" if number % 2 else "python", url, str(path)) for number, path in enumerate(paths)]
        limiter = Limiter(url, timeout=TIMEOUT, on_error="deny")
        end = time.monotonic() + minutes * 60
        try:
            while time.monotonic() < end:
                # Node takes long to start, so it is stopped more often than it is killed.
                worker = choose.choice(workers)
                if choose.random() < (0.1 if worker.language == "node" else 0.6):
                    worker.kill()
                    kills += 1
                    worker.start()
                else:
                    os.kill(worker.pid, signal.SIGSTOP)
                    stops += 1
                    time.sleep(choose.random() * 0.02)
                    began = time.monotonic()
                    limiter.peek(LIMITS[1], f"actor {choose.randrange(KEYS)}")
                    slowest = max(slowest, time.monotonic() - began)
                    late += time.monotonic() - began > TIMEOUT + LATE
                    os.kill(worker.pid, signal.SIGCONT)
                time.sleep(choose.random() * 0.05)
        finally:
            for worker in workers:
                worker.kill()
        patient = Limiter(url, timeout=20, on_error="raise")
        health = patient.ping()
        admitted, above = check(paths)
        stats, own = patient.stats(), limiter.stats()
        print(f"{minutes} min: {kills} kills, {stops} stops, {admitted} admitted, {above} above the bounds")
        print(f"slowest call beside a stopped worker {slowest * 1000:.0f} ms, {late} too late, {own.degraded} degraded")
        print(f"table sound: {health.warnings == ()}, {stats.entries} entries, {stats.processes} process")
    (Path("/dev/shm") / f"tidegate-{os.geteuid()}-{name}").unlink()
    return 1 if above or late or stats.processes != 1 else 0


if __name__ == "__main__":
    sys.exit(main())
