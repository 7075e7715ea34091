"""Checks of built packages: sizes, contents, the C library that they need, and what the registries' own tools say."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import zig
from project import DIST, OLDEST_GLIBC, ROOT, manifest, platforms, run, version

MB = 1_000_000
# Bytes at most: packed, and unpacked.
SIZES = {"wheel": (3.5 * MB, 12 * MB), "main": (0.15 * MB, 1 * MB), "platform": (3.5 * MB, 7.5 * MB)}
LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")
NOTICES = (*LICENSES, "THIRD-PARTY-NOTICES")


def members(path: Path) -> dict[str, int]:
    """The files of an archive and their sizes."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {entry.filename: entry.file_size for entry in wheel.infolist()}
    with tarfile.open(path) as tar:
        return {entry.name: entry.size for entry in tar.getmembers() if entry.isfile()}


def size_faults(path: Path, kind: str) -> list[str]:
    """Packages that are larger than their users were promised."""
    packed, unpacked = SIZES[kind]
    sizes = {"packed": (path.stat().st_size, packed), "unpacked": (sum(members(path).values()), unpacked)}
    return [
        f"{path.name}: {size:,} bytes {how}, at most {most:,.0f}" for how, (size, most) in sizes.items() if size > most
    ]


def holds(path: Path, *endings: str) -> list[str]:
    """Files that a package must have and has not."""
    names = members(path)
    return [f"{path.name}: has no {ending}" for ending in endings if not any(name.endswith(ending) for name in names)]


def lacks(path: Path, pattern: str) -> list[str]:
    """Files that a package must not have and has."""
    return [f"{path.name}: must not have {name}" for name in members(path) if re.search(pattern, name)]


def glibc_faults(library: Path, name: str) -> list[str]:
    """Symbols of a C library that is newer than the oldest one that is supported."""
    symbols = run("readelf.py", "-V", library)
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", symbols)}
    if not versions:
        return [f"{name}: names no version of the C library"]
    return [f"{name}: needs GLIBC_{'.'.join(map(str, needed))}" for needed in sorted(versions) if needed > OLDEST_GLIBC]


def unwinder_faults(library: Path, name: str) -> list[str]:
    """A library that unwinds stacks by itself, beside the system's unwinder: see zig.py."""
    needed, symbols = run("readelf.py", "-d", library), run("readelf.py", "-s", library)
    if zig.UNWINDER in needed and re.search(r" UND _Unwind_RaiseException\b", symbols):
        return []
    return [f"{name}: does not take its unwinder from {zig.UNWINDER}"]


def place_faults(library: Path, name: str) -> list[str]:
    """Folders of the machine that built it."""
    content = library.read_bytes()
    return [f"{name}: names {place}" for place in zig.places() if f"{place}/".encode() in content]


def library_faults(library: Path, name: str) -> list[str]:
    """Faults of the compiled part of a package."""
    return glibc_faults(library, name) + unwinder_faults(library, name) + place_faults(library, name)


def said(*command: str | Path, cwd: Path = ROOT) -> list[str]:
    """Runs a checker of a registry; its output, if it finds fault."""
    try:
        run(*command, cwd=cwd)
    except subprocess.CalledProcessError as error:
        return [f"{' '.join(map(str, command))}\n{error.stdout}"]
    return []


def wheel_faults(path: Path) -> list[str]:
    """A wheel: stable ABI, old C library, notices, nothing of the checkout."""
    faults = size_faults(path, "wheel")
    faults += holds(path, *NOTICES, "sbom.cdx.json", "tidegate/py.typed", "tidegate/_tidegate.pyi")
    faults += lacks(path, r"(^|/)(tests|target|core|bench)/|\.rs$")
    if "abi3t" not in path.name:
        faults += said("abi3audit", "--strict", path)
    extracted = DIST / "extracted"
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if name.endswith(".so"):
                faults += library_faults(Path(wheel.extract(name, extracted / path.stem)), path.name)
    return faults


def npm_faults(main: Path, platform: Path) -> list[str]:
    """The packages for npm: small, complete, of one version, resolvable from both module systems."""
    faults = size_faults(main, "main") + size_faults(platform, "platform")
    faults += holds(
        main, *LICENSES, "README.md", "dist/index.js", "dist/index.mjs", "dist/index.d.ts", "dist/index.d.mts"
    )
    faults += lacks(main, r"\.(node|rs|map|tsbuildinfo)$|/tests?/")
    faults += holds(platform, *NOTICES, "sbom.cdx.json", "package/tidegate.node")
    folder = DIST / "npm"
    published = json.loads((folder / "tidegate" / "package.json").read_text())
    wanted = {f"@tidegate/{each.name}": version() for each in platforms()}
    if published["optionalDependencies"] != wanted or published["version"] != version():
        faults.append(f"{main.name}: asks for {published['optionalDependencies']}, not for {wanted}")
    faults += said("npx", "--yes", "publint@0.3.25", "--strict", folder / "tidegate")
    # A package of both kinds: `node10` knows no `exports`, and so not the subpaths.
    faults += said("npx", "--yes", "@arethetypeswrong/cli@0.18.5", "--profile", "node16", main)
    [addon] = folder.glob("*/tidegate.node")
    return faults + library_faults(addon, platform.name)


def all_of(wheels: list[Path], sdist: Path, main: Path, platform: Path, crate: Path) -> list[str]:
    """Everything that is wrong with the built packages."""
    faults = said("twine", "check", "--strict", *wheels, sdist)
    for wheel in wheels:
        faults += wheel_faults(wheel)
    faults += holds(sdist, *NOTICES, "core/src/lib.rs", "python/src/lib.rs", "Cargo.lock", "pyproject.toml")
    faults += lacks(sdist, r"^[^/]+/(tests|bench|node|target)/|/core/tests/")
    faults += npm_faults(main, platform)
    faults += holds(crate, *LICENSES, "README.md", "src/lib.rs", "src/store/redis/lua/level.lua")
    faults += lacks(crate, r"^[^/]+/tests/")
    if manifest()["version"] != version():
        faults.append(f"package.json has version {manifest()['version']}, Cargo.toml {version()}")
    return faults
