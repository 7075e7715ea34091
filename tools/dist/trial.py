"""Installs packages where nothing else is, and runs the tests over them that depend on how a library is linked.

``python trial.py dist`` tries what `make dist` made. ``python trial.py`` tries the development build: the tarballs of
`node/dist`, which it packs; its wheel is installed already where all tests of Python run. Exits, forks and threads are
what the linker can spoil.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import npm
from project import ROOT, Platform, run, version

PYTHON = ("processes", "redis_processes", "closing", "threads", "signals")
NODE = ("process", "redis-process", "acquire")
FOLDER = ROOT / "target" / "trial"


def packed() -> list[Path]:
    """The tarballs of the development build: the main package, and that of this platform."""
    platform = Platform(run("rustc", "--print", "host-tuple").strip())
    built = ROOT / "node" / "dist" / f"tidegate.{platform.name}.node"
    return [npm.main_package(FOLDER), npm.platform_package(FOLDER, platform, built)]


def succeeds(*command: str | Path, cwd: Path = ROOT) -> bool:
    """Runs a command whose output is for whoever looks on."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    print("+", *command, flush=True)
    return subprocess.run(command, cwd=cwd, env=environment, check=False).returncode == 0


def try_wheel(wheel: Path) -> bool:
    """Runs Python's tests over a wheel in a virtual environment; they have their tools from the one of this program."""
    folder = FOLDER / "python"
    venv.create(folder, clear=True, symlinks=True)
    python = folder / "bin" / "python"
    options = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    [packages] = folder.glob("lib/python*/site-packages")
    [tools] = (path for path in sys.path if path.endswith("site-packages"))
    (packages / "tools.pth").write_text(f"{tools}\n")
    loaded = run(python, "-c", "import tidegate; print(tidegate.__file__)").strip()
    if not Path(loaded).is_relative_to(folder):
        sys.exit(f"the tests would run over {loaded}")
    return succeeds(python, "-m", "pytest", *(f"tests/python/test_{name}.py" for name in PYTHON))


def try_tarballs(tarballs: list[Path]) -> bool:
    """Runs Node's tests where the tarballs are installed; their tools are at the top of the project."""
    folder = FOLDER / "node"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": "trial", "private": True}))
    for name in ("node", "vectors"):
        shutil.copytree(ROOT / "tests" / name, folder / "tests" / name)
    # The addon is an optional dependency, which npm takes from its registry; here it comes as a file of its own.
    run("npm", "install", "--silent", "--offline", "--omit=optional", *tarballs, cwd=folder)
    loaded = run("node", "-p", "require.resolve('tidegate')", cwd=folder).strip()
    if not Path(loaded).is_relative_to(folder):
        sys.exit(f"the tests would run over {loaded}")
    return succeeds("node", "--test", *(f"tests/node/{name}.test.mjs" for name in NODE), cwd=folder)


def main() -> int:
    """Tries what there is."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) == 1:
        return 0 if try_tarballs(packed()) else 1
    dist = Path(sys.argv[1]).resolve()
    [wheel] = dist.glob(f"tidegate-{version()}-*-abi3-*.whl")
    fine = [try_wheel(wheel), try_tarballs(sorted(dist.glob("*.tgz")))]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
