"""Processes of both languages against one server: together they admit what one process would, no more and no less."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clock import Clock
from server import RedisServer

pytestmark = pytest.mark.clock

HERE = Path(__file__).parent
CONCURRENCY, SECONDS = 64, 5.0
# What worker.py and worker.mjs share: 100 at once, and one more every 10 ms.
SIZE, RATE = 100, 100


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.mark.parametrize("ahead", [[0, 0, 0, 0], [5, -5, -5, 5]], ids=["one time", "hosts that disagree"])
def test_a_fleet_of_both_languages_admits_exactly_the_bound(
    server: RedisServer, tmp_path_factory: pytest.TempPathFactory, ahead: list[int]
) -> None:
    arguments = [server.url, str(CONCURRENCY), str(SECONDS)]
    environments = [dict(os.environ) for _ in ahead]
    for environment, seconds in zip(environments, ahead):
        if seconds:
            clock = Clock(tmp_path_factory.mktemp("clock"))
            clock.set_ahead(seconds)
            environment.update(clock.environment)
    commands = [[sys.executable, str(HERE / "worker.py")], ["node", str(HERE / "worker.mjs")]] * 2
    started = server.clock()
    workers = [
        subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=seen)
        for command, seen in zip(commands, environments)
    ]
    reports = []
    for worker in workers:
        out, err = worker.communicate(timeout=60)
        assert worker.returncode == 0, err
        reports.append({**json.loads(out), "ended": time.time()})
    passed = server.clock() - started
    for report, seconds in zip(reports, ahead):
        assert report["clock"] - report["ended"] == pytest.approx(seconds, abs=3), "it saw another clock"
    admitted = sum(report["admitted"] for report in reports)
    asked = sum(report["asked"] for report in reports)
    assert admitted <= SIZE + RATE * passed + 1, reports
    # From the first worker's first call to the last one's last, at the least.
    assert admitted >= 0.99 * (SIZE + RATE * SECONDS), reports
    assert asked > 3 * admitted, "the key was contended for"
    assert all(report["admitted"] > 0 for report in reports), "everybody got some"
