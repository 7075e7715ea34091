"""The command by way of Python."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from server import RedisServer
from tidegate import Bucket, Limiter

LIMITS = Path(__file__).parents[2] / "examples" / "command" / "limits.toml"
SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "tidegate")]
MODULE = [sys.executable, "-m", "tidegate"]


@pytest.mark.parametrize("command", [SCRIPT, MODULE], ids=["script", "module"])
def test_the_command_is_the_engines_with_its_exit_code(command: list[str]) -> None:
    check = subprocess.run(
        [*command, "check", "--json", LIMITS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (check.returncode, check.stderr) == (0, "")
    assert [json.loads(line)["key"] for line in check.stdout.splitlines()] == ["api", "login"]
    wrong = subprocess.run([*command, "check", "nowhere.toml"], capture_output=True, text=True, timeout=60, check=False)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("nowhere.toml: cannot be read")
    assert subprocess.run([*command, "fly"], capture_output=True, timeout=60, check=False).returncode == 2


def test_it_shows_who_is_close_to_a_limit(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, timeout=5, namespace="command-top", on_error="raise")
    for actor, calls in [("ip:192.0.2.1", 3), ("ip:192.0.2.2", 1)]:
        for _ in range(calls):
            limiter.limit(Bucket("door", size=2, drip_rate=3_600_000), actor)
    limiter.close()
    limit = '{"key":"door","type":"bucket","size":2,"dripRate":3600000}'
    command = [*MODULE, "top", fleet.url, "--namespace", "command-top", "--limits", limit, "--budget", "1000000"]
    top = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (top.returncode, top.stderr) == (0, "")
    rows = [line.split()[:4] for line in top.stdout.splitlines()[1:3]]
    assert rows == [["ip:192.0.2.1", "door", "0", "2"], ["ip:192.0.2.2", "door", "1", "2"]]
    assert "2 actors found, 1 of them denied now." in top.stdout


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_it_while_it_pauses(fleet: RedisServer) -> None:
    command = [*MODULE, "top", fleet.url, "--namespace", "nobody", "--limits", "door: 1/day", "--every", "1h"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline().startswith(b"0 actors found")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_it() -> None:
    command = [*MODULE, "replay", "-", "--limits", "1/second", "--format", "csv"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        # More than a pipe holds: once it is written, the engine reads.
        process.stdin.write(b"time,ip\n" + b"1,192.0.2.1\n" * 100_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
