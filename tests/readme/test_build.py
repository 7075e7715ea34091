"""The build: the tests of the engine and both bindings are compiled from the same libraries, each of which is compiled
once, and no binding removes what the other is compiled into."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def package(path: str) -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((ROOT / path).read_text())
    return read


def libraries(edges: str, *selected: str) -> dict[tuple[str, str], set[str]]:
    """The libraries of these packages by name and version, with the features that are asked of each."""
    shown = ("--prefix", "none", "--format", "{p} {f}")
    # Also those of procedural macros: whoever uses one is compiled again with it.
    command = ("cargo", "tree", "--locked", *selected, "--edges", edges)
    tree = subprocess.run([*command, *shown], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[tuple[str, str], set[str]] = {}
    for line in tree.splitlines():
        # Not those of this project, which have a path.
        if not line or f"({ROOT}" in line:
            continue
        name, version, *asked = line.removesuffix(" (*)").split(" ")
        found.setdefault((name, version), set()).add(" ".join(asked))
    return found


def test_a_library_of_the_tests_and_of_both_bindings_is_compiled_once() -> None:
    """Features that differ belong into ``tools/together/Cargo.toml``."""
    checked = re.search(r"^CHECKED = (.*) --target", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert checked is not None
    tests = libraries("normal,build,dev", *checked[1].split(" "))
    python, node = (
        libraries("normal,build", "--package", f"tidegate-{language}", "--features", "together")
        for language in ("python", "node")
    )
    for one, other in ((python, node), (python, tests), (node, tests)):
        both = one.keys() & other.keys()
        assert len(both) > 100
        assert {name: (one[name], other[name]) for name in both if one[name] != other[name]} == {}


def test_no_binding_is_compiled_with_flags_of_its_own() -> None:
    """With them all libraries are compiled anew. What `--strip` of napi does is for the profile to say."""
    assert "--strip" not in package("package.json")["scripts"]["addon"]
    manifest = (ROOT / "Cargo.toml").read_text()
    assert re.search(r'^\[profile\.dist\]\n(?:.+\n)*strip = "symbols"$', manifest, re.MULTILINE)


def test_the_demo_is_built_by_the_tools_of_the_project() -> None:
    tools = package("examples/demo/package.json")["devDependencies"]
    assert tools == {name: package("package.json")["devDependencies"][name] for name in ("@napi-rs/cli", "typescript")}
    few, all_of_them = (
        {line for line in (ROOT / path).read_text().splitlines() if "==" in line}
        for path in ("examples/demo/requirements.txt", "tests/python/requirements.txt")
    )
    assert len(few) == 3
    assert few <= all_of_them


def test_no_wheel_is_put_into_a_folder_of_cargo() -> None:
    """Such a folder is removed before, while the other binding is compiled into it."""
    profiles = re.findall(r"^\[profile\.(\w+)\]", (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert "dist" in profiles
    folders = re.findall(r"call wheel,[^,]+,target/([^)]+)\)", (ROOT / "Makefile").read_text())
    assert len(folders) == 2
    assert not {"debug", "release", *profiles} & set(folders)
