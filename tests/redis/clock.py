"""A wall clock that can be set, for the processes that are to see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

__all__ = ["Clock"]


class Clock:
    """Ours at first; ``environment`` shows it to a process, and ``folder`` keeps what that takes."""

    def __init__(self, folder: Path) -> None:
        if sys.platform != "linux":
            pytest.skip("a process can be shown another clock on Linux only")
        library, self.file = folder / "clock.so", folder / "ahead"
        # What links Rust programs compiles this.
        compile_it = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(Path(__file__).with_suffix(".c"))]
        subprocess.run(compile_it, check=True)
        self.file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(self.file)}

    def set_ahead(self, seconds: int) -> None:
        """Set it to a time that is this far ahead of ours."""
        with self.file.open("r+b") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))
