"""The project's own facts that packages are made from: its version, its platforms, its folders."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
DIST = ROOT / "dist"
# Beside the other builds, so that linking against an old C library does not throw away what they have built.
TARGET = ROOT / "target" / "dist"
HERE = "x86_64-unknown-linux-gnu"
OLDEST_GLIBC = (2, 17)

SYSTEMS = {"linux": "linux", "apple": "darwin", "pc": "win32"}
PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}
LIBRARIES = {"gnu": "glibc", "musl": "musl"}


@dataclass(frozen=True)
class Platform:
    """A platform that an addon is built for, in npm's words."""

    target: str

    @property
    def os(self) -> str:
        """The name that Node has for the operating system."""
        return SYSTEMS["linux" if "linux" in self.target else self.target.split("-")[1]]

    @property
    def cpu(self) -> str:
        """The name that Node has for the processor."""
        return PROCESSORS[self.target.split("-")[0]]

    @property
    def libc(self) -> str | None:
        """The C library, where there is a choice."""
        return LIBRARIES[self.target.split("-")[-1]] if self.os == "linux" else None

    @property
    def name(self) -> str:
        """The name of the addon, as node/lib/native/platform.ts makes it."""
        suffix = {"linux": self.target.split("-")[-1], "win32": "msvc"}.get(self.os)
        return "-".join(part for part in (self.os, self.cpu, suffix) if part)


def manifest() -> dict[str, Any]:
    """The main package of npm, as it is in the repository."""
    read: dict[str, Any] = json.loads((ROOT / "package.json").read_text())
    return read


def platforms() -> list[Platform]:
    """The platforms that the main package of npm lists."""
    return [Platform(target) for target in manifest()["napi"]["targets"]]


def version() -> str:
    """The version of all packages, which stands in Cargo.toml."""
    found = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert found is not None, "Cargo.toml has a version"
    return found[1]


def run(*command: str | os.PathLike[str], cwd: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    """Runs a command, shows what it is, and gives what it printed."""
    print("+", *command, file=sys.stderr, flush=True)
    tools = Path(sys.executable).parent
    environ = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", **(environment or {})}
    done = subprocess.run(command, cwd=cwd, env=environ, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout
