"""The packages for npm: a small main one, and one for each platform that holds its addon.

npm installs the platform's package by itself, as an optional dependency whose `os`, `cpu` and `libc` fit. So there is
no script that runs after the installation, and nothing to download from elsewhere.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from project import DIST, ROOT, Platform, manifest, platforms, run, version

SCOPE = "@tidegate"
# What only a checkout has a use for.
PRIVATE = ("napi", "scripts", "devDependencies")
# What the packages of the platforms say of themselves as the main one does.
SHARED = ("version", "license", "engines", "homepage", "repository", "bugs")


def package_of(platform: Platform) -> str:
    """The name of a platform's package."""
    return f"{SCOPE}/{platform.name}"


def main_manifest() -> dict[str, Any]:
    """The main package as it is published: without what a checkout needs, with a package for each platform."""
    published = {key: value for key, value in manifest().items() if key not in PRIVATE}
    published["files"] = [*published["files"], "!**/*.node", "!node/sbom.cdx.json", "!THIRD-PARTY-NOTICES"]
    published["optionalDependencies"] = {package_of(platform): version() for platform in platforms()}
    return published


def platform_manifest(platform: Platform) -> dict[str, Any]:
    """The package of one platform."""
    main = manifest()
    shared: dict[str, Any] = {key: main[key] for key in SHARED}
    described: dict[str, Any] = {
        "name": package_of(platform),
        "description": f"The addon of tidegate for {platform.name}; install tidegate, which brings it",
        **shared,
        "main": "tidegate.node",
        "files": ["tidegate.node", "sbom.cdx.json", "THIRD-PARTY-NOTICES", "LICENSE-*"],
        "os": [platform.os],
        "cpu": [platform.cpu],
    }
    return described | ({"libc": [platform.libc]} if platform.libc else {})


def write(folder: Path, described: dict[str, Any]) -> None:
    """Writes a package.json."""
    (folder / "package.json").write_text(json.dumps(described, indent=2) + "\n")


def copy(names: list[str], folder: Path) -> None:
    """Copies files of the project, with their folders."""
    for name in names:
        for path in sorted(ROOT.glob(name)):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target, ignore=shutil.ignore_patterns("*.node"))
            else:
                shutil.copy(path, target)


def fresh(folder: Path) -> Path:
    """An empty folder for a package."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def pack(folder: Path, out: Path) -> Path:
    """Packs a folder into a tarball."""
    [packed] = json.loads(run("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", out, cwd=folder))
    return out / str(packed["filename"])


def reached(declarations: Path) -> set[Path]:
    """A file of declarations, and those that it is made of."""
    found = {declarations}
    left = [declarations]
    while left:
        path = left.pop()
        for name, kind in re.findall(r"""['"](\.[^'"]+)\.(m?)js['"]""", path.read_text()):
            other = (path.parent / f"{name}.d.{kind}ts").resolve()
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def lighten(folder: Path, described: dict[str, Any]) -> None:
    """Leaves out what no program that uses the package reads.

    Those are the comments in the code, which are in the declarations too, and declarations of the package's own parts.
    """
    run("npx", "tsc", "--removeComments", "--declaration", "false", "--outDir", folder / "node" / "dist")
    exported = re.findall(r'"types": "([^"]+)"', json.dumps(described["exports"]))
    needed = {path for name in exported for path in reached((folder / name).resolve())}
    for path in (folder / "node" / "dist").rglob("*.d.*ts"):
        if path.resolve() not in needed:
            path.unlink()


def main_package(out: Path) -> Path:
    """Packs what every platform has in common, into a folder. `node/dist` has been built.

    Nothing in it is of third parties: what is linked into the addons is listed in their packages.
    """
    folder = fresh(out / "npm" / "tidegate")
    copy(["node/dist", "LICENSE-*"], folder)
    shutil.copy(ROOT / "python" / "README.md", folder)
    described = main_manifest()
    lighten(folder, described)
    write(folder, described)
    return pack(folder, out)


def platform_package(out: Path, platform: Platform, addon: Path) -> Path:
    """Packs the addon of one platform, into a folder."""
    folder = fresh(out / "npm" / platform.name)
    copy(["LICENSE-*", "THIRD-PARTY-NOTICES"], folder)
    shutil.copy(addon, folder / "tidegate.node")
    shutil.copy(ROOT / "node" / "sbom.cdx.json", folder)
    (folder / "README.md").write_text(
        f"# {package_of(platform)}\n\n"
        f"The addon of [tidegate](https://www.npmjs.com/package/tidegate) for {platform.name}. "
        "Install `tidegate`, which brings it.\n"
    )
    write(folder, platform_manifest(platform))
    return pack(folder, out)


def main() -> None:
    """Packs the main package, and one for each platform, of whose addons this is the folder."""
    [addons] = sys.argv[1:]
    DIST.mkdir(exist_ok=True)
    main_package(DIST)
    for platform in platforms():
        platform_package(DIST, platform, Path(addons) / f"tidegate.{platform.name}.node")


if __name__ == "__main__":
    main()
