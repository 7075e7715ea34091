"""The file that type checkers check also runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typing_usage

ROOT = Path(__file__).parents[2]


def test_the_typed_program_runs() -> None:
    typing_usage.main()


def test_the_stubs_match_the_built_module() -> None:
    # In a process of its own: the checker imports and patches as it likes.
    settings = [
        "--mypy-config-file",
        str(ROOT / "pyproject.toml"),
        "--allowlist",
        str(ROOT / "tests/python/stubtest.txt"),
    ]
    command = [sys.executable, "-m", "mypy.stubtest", *settings, "tidegate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
