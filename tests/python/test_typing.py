"""The file that type checkers check also runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typing_usage

CONDITION = """
from tidegate import Bucket, Limiter

info = Limiter().limit(Bucket("login", size=1), "ada")
if info:
    print("admitted")
"" + 5
"""


def test_the_typed_program_runs() -> None:
    typing_usage.main()


def test_a_condition_on_an_answer_is_reported_and_what_follows_is_checked(tmp_path: Path) -> None:
    program = tmp_path / "condition.py"
    program.write_text(CONDITION)
    asked = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--enable-error-code",
        "truthy-bool",
        "--cache-dir",
        str(tmp_path),
    ]
    checked = subprocess.run([*asked, str(program)], capture_output=True, text=True, check=False)
    found = [line.partition("condition.py:")[2] for line in checked.stdout.splitlines() if "error:" in line]
    assert len(found) == 2, checked.stdout
    assert found[0].startswith("5: error:")
    assert found[0].endswith("[truthy-bool]")
    assert found[1].startswith("7: error:")
