"""The file that type checkers check also runs."""

from __future__ import annotations

import typing_usage


def test_the_typed_program_runs() -> None:
    typing_usage.main()
