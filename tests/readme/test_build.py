"""The build: both bindings are compiled from the same libraries, each of which is compiled once, and neither
removes what the other is compiled into."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def libraries(package: str, beside: str) -> dict[tuple[str, str], set[str]]:
    """The libraries of a binding by name and version, with the features that are asked of each."""
    features, shown = f"{package}/{beside}", ("--prefix", "none", "--format", "{p} {f}")
    # Also those of procedural macros: whoever uses one is compiled again with it.
    command = ("cargo", "tree", "--locked", "--package", package, "--features", features, "--edges", "normal,build")
    tree = subprocess.run([*command, *shown], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[tuple[str, str], set[str]] = {}
    for line in tree.splitlines():
        name, version, *asked = line.removesuffix(" (*)").split(" ")
        found.setdefault((name, version), set()).add(" ".join(asked))
    return found


def test_a_library_of_both_bindings_is_compiled_once() -> None:
    python, node = libraries("tidegate-python", "beside-node"), libraries("tidegate-node", "beside-python")
    both = python.keys() & node.keys()
    assert len(both) > 100
    assert {name: (python[name], node[name]) for name in both if python[name] != node[name]} == {}


def test_no_wheel_is_put_into_a_folder_of_cargo() -> None:
    """Such a folder is removed before, while the other binding is compiled into it."""
    profiles = re.findall(r"^\[profile\.(\w+)\]", (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert "demo" in profiles
    folders = re.findall(r"call wheel,[^,]+,target/([^)]+)\)", (ROOT / "Makefile").read_text())
    assert len(folders) == 2
    assert not {"debug", "release", *profiles} & set(folders)
