"""Builds both bindings so that they panic where the environment says, and has every entry meet every panic.

``make panics``; on Linux, for its builds are not those of a release.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("PANICS_TARGET", ROOT / "target" / "panics"))
FLAGS = {"RUSTFLAGS": "--cfg tidegate_panic", "CARGO_TARGET_DIR": str(TARGET)}


def main() -> int:
    build = ["cargo", "build", "--quiet", "-p", "tidegate-python", "-p", "tidegate-node"]
    subprocess.run(build, cwd=ROOT, env={**os.environ, **FLAGS}, check=True)
    built, package, addon = TARGET / "debug", TARGET / "python", TARGET / "node"
    for folder in (package, addon):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "tidegate", package / "tidegate", ignore=shutil.ignore_patterns("*.so"))
    shutil.copy(built / "lib_tidegate.so", package / "tidegate" / "_tidegate.abi3.so")
    shutil.copytree(ROOT / "node" / "dist", addon, ignore=shutil.ignore_patterns("*.node"))
    for name in ("linux-x64-gnu", "linux-arm64-gnu"):
        shutil.copy(built / "libtidegate_node.so", addon / f"tidegate.{name}.node")
    paths = os.pathsep.join([str(package), str(ROOT / "tests" / "redis")])
    failed = 0
    for command in ([sys.executable, str(HERE / "entries.py")], ["node", str(HERE / "entries.mjs"), str(addon)]):
        quiet = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=quiet, stderr=subprocess.PIPE, text=True, check=False)
        failed |= done.returncode
        if done.returncode != 0:
            # Every panic is there, too.
            print(done.stderr[-3000:])
    return failed


if __name__ == "__main__":
    sys.exit(main())
