"""Builds the packages that can be built on Linux on x86_64, into `dist/`, and checks them.

The compiler of C and the linker are zig's, from PyPI, which link against an old C library wherever they run.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import check
import npm
from project import DIST, HERE, OLDEST_GLIBC, ROOT, TARGET, Platform, run, version


def wheel() -> list[Path]:
    """The wheel for every Python from 3.10 on, and the one for free-threaded ones where a Python 3.15 is."""
    options: list[str | Path] = ["--release", "--locked", "--strip", "--zig", "--target", HERE, "--target-dir", TARGET]
    build: list[str | Path] = ["maturin", "build", *options, "--compatibility", "manylinux2014", "--out", DIST]
    run(*build)
    python = os.environ.get("PYTHON_3_15") or shutil.which("python3.15")
    if python is None:
        print("no Python 3.15 here (or in PYTHON_3_15): no abi3t wheel", file=sys.stderr)
    else:
        run(*build, "--no-default-features", "--features", "abi3t", "--interpreter", python)
    return sorted(DIST.glob("*.whl"))


def sdist() -> Path:
    """The source distribution."""
    run("maturin", "sdist", "--out", DIST)
    return DIST / f"tidegate-{version()}.tar.gz"


def addon() -> Path:
    """The addon for this platform."""
    oldest = ".".join(map(str, OLDEST_GLIBC))
    options: list[str | Path] = ["--release", "--locked", "--target", f"{HERE}.{oldest}", "--target-dir", TARGET]
    run("cargo-zigbuild", "zigbuild", "--package", "tidegate-node", *options, CARGO_PROFILE_RELEASE_STRIP="symbols")
    return TARGET / HERE / "release" / "libtidegate_node.so"


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
    main_package = npm.main_package()
    platform = npm.platform_package(Platform(HERE), addon())
    packed = crate()
    faults = check.all_of(wheels, source, main_package, platform, packed)
    for path in sorted(path for path in DIST.iterdir() if path.is_file()):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.relative_to(ROOT)}")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
