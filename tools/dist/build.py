"""Builds the packages that can be built on Linux on x86_64, into `dist/`, and checks them.

``python build.py TARGET FOLDER`` builds the addon alone, for a platform of Linux with glibc, into a folder.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import check
import npm
import repack
import zig
from project import DIST, HERE, ROOT, TARGET, Platform, run, version

PROFILE = "dist"


def wheel() -> list[Path]:
    """The wheel for every Python from 3.10 on, and the one for free-threaded ones where a Python 3.15 is."""
    options: list[str | Path] = ["--profile", PROFILE, "--locked", "--target", HERE]
    build: list[str | Path] = ["maturin", "build", *options, "--compatibility", "manylinux2014", "--out", DIST]
    linked = zig.environment(HERE)
    run(*build, environment=linked)
    python = os.environ.get("PYTHON_3_15") or shutil.which("python3.15")
    if python is None:
        print("no Python 3.15 here (or in PYTHON_3_15): no abi3t wheel", file=sys.stderr)
    else:
        run(*build, "--no-default-features", "--features", "abi3t", "--interpreter", python, environment=linked)
    wheels = sorted(DIST.glob("*.whl"))
    for built in wheels:
        repack.repack(built)
    return wheels


def sdist() -> Path:
    """The source distribution."""
    run("maturin", "sdist", "--out", DIST)
    return DIST / f"tidegate-{version()}.tar.gz"


def addon(target: str = HERE) -> Path:
    """The addon for a platform."""
    options: list[str | Path] = ["--profile", PROFILE, "--locked", "--target", target]
    run("cargo", "build", "--package", "tidegate-node", *options, environment=zig.environment(target))
    return TARGET / target / PROFILE / "libtidegate_node.so"


def crate() -> Path:
    """The crate, built once more from what is in it."""
    options: list[str | Path] = ["--locked", "--allow-dirty", "--package", "tidegate", "--target-dir", TARGET]
    run("cargo", "package", "--no-verify", *options)
    run("cargo", "publish", "--dry-run", *options)
    packed = TARGET / "package" / f"tidegate-{version()}.crate"
    return Path(shutil.copy(packed, DIST))


def main() -> int:
    """Builds all of them, checks all of them, and prints their sizes."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    run("npm", "run", "--silent", "build:lib")
    wheels = wheel()
    source = sdist()
    main_package = npm.main_package(DIST)
    platform = npm.platform_package(DIST, Platform(HERE), addon())
    packed = crate()
    faults = check.all_of(wheels, source, main_package, platform, packed)
    for path in sorted(path for path in DIST.iterdir() if path.is_file()):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.relative_to(ROOT)}")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        built, folder = addon(sys.argv[1]), Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(built, folder / f"tidegate.{Platform(sys.argv[1]).name}.node")
    else:
        sys.exit(main())
