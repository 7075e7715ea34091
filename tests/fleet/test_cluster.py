"""The golden answers over a cluster of three primaries, in both languages."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from server import RedisServer

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with ExitStack() as stack:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
        nodes = [stack.enter_context(RedisServer(*options)) for _ in range(3)]
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        make = ["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"]
        made = subprocess.run(make, capture_output=True, text=True, timeout=60, check=False)
        assert made.returncode == 0, made.stdout
        until = time.monotonic() + 20
        while not all("cluster_state:ok" in node.command("CLUSTER", "INFO") for node in nodes):
            assert time.monotonic() < until, "the cluster does not come up"
            time.sleep(0.05)
        yield f"redis+cluster://{','.join(addresses)}"


@pytest.mark.parametrize("command", [[sys.executable, str(HERE / "vectors.py")], ["node", str(HERE / "vectors.mjs")]])
def test_a_cluster_gives_the_golden_answers(cluster: str, command: list[str]) -> None:
    played = subprocess.run([*command, cluster, command[0]], capture_output=True, text=True, timeout=120, check=False)
    assert played.returncode == 0, played.stderr
    assert int(played.stdout) > 1600
