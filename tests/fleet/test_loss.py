"""A wire that loses packets: every call is answered in time, and by the store once the wire is whole."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steady_fleet import COMMANDS, DEADLINE, SLACK, Worker
from wire import Wire, why_not

pytestmark = pytest.mark.clock

LOSS, WELL, LOSSY, SETTLED = 0.3, 1.0, 5.0, 2.0
PORT = 6379


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """One with a server at its far end."""
    missing = why_not()
    if missing is not None:
        pytest.skip(f"no wire can be made that loses packets: {missing}")
    with Wire() as wire:
        options = ["--port", str(PORT), "--bind", wire.address, "--protected-mode", "no", "--save", ""]
        command = [*wire.there, "redis-server", *options, "--dir", str(tmp_path), "--logfile", "log"]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 10
            ask = [*wire.here, "redis-cli", "-h", wire.address, "-p", str(PORT), "ping"]
            while subprocess.run(ask, capture_output=True, text=True, check=False).stdout != "PONG\n":
                assert time.monotonic() < until, "the server does not answer over the wire"
                time.sleep(0.05)
            yield wire
        finally:
            server.kill()
            server.wait()


def test_lost_packets_cost_nobody_more_than_a_deadline(wire: Wire) -> None:
    url = f"redis://{wire.address}:{PORT}"
    workers = [Worker([*wire.here, *command], url, WELL + LOSSY + SETTLED, 1000, 1) for command in COMMANDS]
    time.sleep(WELL)
    wire.loss, began = LOSS, time.monotonic()
    time.sleep(LOSSY)
    wire.loss, healed = 0.0, time.monotonic()
    reports = [worker.report() for worker in workers]
    assert wire.lost > 50, f"{wire.lost} packets were lost"
    for command, report in zip(COMMANDS, reports):
        meanwhile = [call for call in report.calls if began <= call.began < healed]
        degraded = sum(call.degraded for call in meanwhile)
        back = report.back_after(healed)
        print(
            f"{Path(command[0]).name}: {len(meanwhile)} calls while packets were lost, {degraded} degraded; slowest "
            f"{report.slowest:.3f} s, back after {back:.3f} s, timers late by {report.late:.3f} s; {report.log}"
        )
        assert not any(call.degraded for call in report.calls if call.ended < began)
        assert degraded > 0, "what is lost is missed"
        assert report.slowest <= DEADLINE + SLACK + report.late
        # Within half a second nearly always; what was sent again and lost again before may take TCP longer.
        assert back <= 1.0 + report.late
