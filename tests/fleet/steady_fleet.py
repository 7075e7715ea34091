"""Runs processes of both languages that call steadily, and reads what became of their calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
COMMANDS = [[sys.executable, str(HERE / "steady.py")], ["node", str(HERE / "steady.mjs")]]
# What steady.py and steady.mjs wait for an answer.
DEADLINE = 0.1
# What an answer may take besides, on top of what the machine kept a process waiting for its own timers.
SLACK = 0.05


class Call(NamedTuple):
    """Its begin and duration, in seconds, and its answer."""

    began: float
    took: float
    blocked: bool
    degraded: bool

    @property
    def ended(self) -> float:
        return self.began + self.took


class Report(NamedTuple):
    """The record of a process that has ended: its calls in the order of their answers, and the lines it logged."""

    calls: list[Call]
    late: float
    log: list[str]

    @property
    def slowest(self) -> float:
        return max(call.took for call in self.calls)

    def admitted(self) -> int:
        return sum(not call.blocked for call in self.calls)

    def back_after(self, healed: float) -> float:
        """The time from this instant until the store answered every call again."""
        last = max((call.ended for call in self.calls if call.degraded), default=healed)
        assert any(call.began > last for call in self.calls), "the store did not come back"
        return max(0.0, last - healed)


class Worker:
    """A process that calls a store for some seconds, over a bucket of this size that drips this often."""

    def __init__(self, command: list[str], url: str, seconds: float, size: int, drip_ms: float) -> None:
        line = [*command, url, str(seconds), str(size), str(drip_ms)]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def report(self) -> Report:
        """Waits until it is over."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        said = json.loads(out)
        return Report([Call(*call) for call in said["calls"]], said["late"], err.splitlines())
