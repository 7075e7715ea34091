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
FRESH = [[sys.executable, str(HERE / "fresh.py")], ["node", str(HERE / "fresh.mjs")]]
LANGUAGES = [[sys.executable, str(HERE / "vectors.py")], ["node", str(HERE / "vectors.mjs")]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[str]]:
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
        yield addresses


def play(command: list[str], url: str, namespace: str) -> str:
    """Play the golden answers; what was said beside them."""
    played = subprocess.run([*command, url, namespace], capture_output=True, text=True, timeout=120, check=False)
    assert played.returncode == 0, played.stderr
    assert int(played.stdout) > 1600
    return played.stderr


@pytest.mark.parametrize("command", LANGUAGES)
def test_a_cluster_gives_the_golden_answers(cluster: list[str], command: list[str]) -> None:
    said = play(command, f"redis+cluster://{','.join(cluster)}", command[0])
    assert "cluster" not in said


@pytest.mark.parametrize("command", LANGUAGES)
def test_one_node_of_a_cluster_stands_for_all(cluster: list[str], command: list[str]) -> None:
    said = play(command, f"redis://{cluster[0]}", f"{command[0]} one")
    assert said.count("say so by redis+cluster:// in the URL") == 1, said


@pytest.mark.parametrize("command", FRESH)
@pytest.mark.parametrize("scheme", ["redis+cluster", "redis"])
def test_the_first_call_of_a_limiter_does_not_wait_for_the_next_look_at_the_map(
    cluster: list[str], command: list[str], scheme: str
) -> None:
    made = subprocess.run(
        [*command, f"{scheme}://{cluster[0]}"], capture_output=True, text=True, timeout=120, check=False
    )
    assert made.returncode == 0, made.stderr
    # A busy machine makes some slow; every single one was, or one in five.
    assert int(made.stdout) < 8
