"""The command by way of Python."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

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
