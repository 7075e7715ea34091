"""Gives all packages one version: the crates, the wheel, the package for npm, and the files that lock and list them.

The wheel takes its version from Cargo.toml, and the packages of npm's platforms take theirs from the main one.
"""

from __future__ import annotations

import json
import re
import sys

from project import ROOT

# What the three registries all accept: no build metadata, and pre-releases as cargo and npm write them.
VERSION = re.compile(r"\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?")


def replace(name: str, pattern: str, replacement: str) -> None:
    """Replaces what a pattern finds in a file, which must be there."""
    path = ROOT / name
    text, count = re.subn(pattern, replacement, path.read_text(), flags=re.MULTILINE)
    if count == 0:
        sys.exit(f"{name} has nothing like {pattern}")
    path.write_text(text)


def main() -> None:
    """Writes the version that was given."""
    if len(sys.argv) != 2 or not VERSION.fullmatch(sys.argv[1]):
        sys.exit("give a version, such as 1.2.3 or 1.2.3-rc.1")
    version = sys.argv[1]
    replace("Cargo.toml", r'^version = ".+"', f'version = "{version}"')
    replace("Cargo.toml", r'^(tidegate = \{ path = "core", version = )"[^"]+"', rf'\g<1>"{version}"')
    replace("package.json", r'^  "version": ".+"', f'  "version": "{version}"')
    lock = ROOT / "package-lock.json"
    locked = json.loads(lock.read_text())
    locked["version"] = locked["packages"][""]["version"] = version
    lock.write_text(json.dumps(locked, indent=2) + "\n")
    # Crates without a source are the project's own. Not by cargo, which would need an index of all others.
    replace("Cargo.lock", r'^version = ".+"\n(?!source = )', f'version = "{version}"\n')
    # The bills of materials list the project's own crates too.
    for bill in ("python/sbom.cdx.json", "node/sbom.cdx.json"):
        replace(bill, r'"(pkg:cargo/tidegate(-\w+)?)@[^"]+"', rf'"\g<1>@{version}"')
        replace(bill, r'("name": "tidegate(-\w+)?",\s+"version": )"[^"]+"', rf'\g<1>"{version}"')


if __name__ == "__main__":
    main()
