"""The dependencies that are built into the packages: their licences, notices and bill of materials.

Writes `THIRD-PARTY-NOTICES` and, for each binding, `sbom.cdx.json` (CycloneDX 1.5), from `cargo metadata`. With
`--check` it writes nothing, and fails where they differ from the lock file, where a licence is not among those
that `deny.toml` allows, where a crate comes from elsewhere than crates.io, and where one needs a newer compiler than
`rust-version` promises.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
BINDINGS = {"tidegate-python": "python", "tidegate-node": "node"}
# What packages are made for.
TARGETS = [
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-pc-windows-msvc",
]
TEXTS = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)

Package = dict[str, Any]


@dataclass
class Graph:
    """The packages that a binding is built from, by id."""

    root: str
    linked: dict[str, set[str]] = field(default_factory=dict)
    """Those whose code ends up in the binary, each with those that it needs."""
    compiled: set[str] = field(default_factory=set)
    """Those and the ones that only the build needs."""


def metadata(target: str) -> dict[str, Any]:
    """Cargo's metadata of a build for this target."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    known: dict[str, Any] = json.loads(done.stdout)
    return known


def is_macro(package: Package) -> bool:
    """It runs in the compiler; nothing of it is linked."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def walk(graph: Graph, known: dict[str, Any], packages: dict[str, Package]) -> None:
    """Adds what one target needs."""
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    pending = [(graph.root, True)]
    seen = set()
    while pending:
        name, linked = pending.pop()
        if (name, linked) in seen:
            continue
        seen.add((name, linked))
        graph.compiled.add(name)
        needs = graph.linked.setdefault(name, set()) if linked else set()
        for dependency in nodes[name]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            is_linked = linked and None in kinds and not is_macro(packages[dependency["pkg"]])
            if is_linked:
                needs.add(dependency["pkg"])
            if kinds != {"dev"}:
                pending.append((dependency["pkg"], is_linked))


def read() -> tuple[dict[str, Package], list[Graph]]:
    """The packages of all targets, and what each binding is built from."""
    packages: dict[str, Package] = {}
    graphs: dict[str, Graph] = {}
    for target in TARGETS:
        known = metadata(target)
        packages.update({package["id"]: package for package in known["packages"]})
        for package in known["packages"]:
            if package["name"] in BINDINGS:
                graph = graphs.setdefault(package["name"], Graph(package["id"]))
                walk(graph, known, packages)
    return packages, [graphs[name] for name in BINDINGS]


def is_ours(package: Package) -> bool:
    """A crate of this workspace."""
    return package["source"] is None


def label(package: Package) -> str:
    """A name and a version."""
    return f"{package['name']} {package['version']}"


def allowed(expression: str, allow: set[str]) -> bool:
    """Tell if a licence expression (SPDX, with the old `/` for OR) can be met by what is allowed."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def either() -> bool:
        met = both()
        while words and words[0] == "OR":
            words.pop(0)
            met |= both()
        return met

    def both() -> bool:
        met = one()
        while words and words[0] == "AND":
            words.pop(0)
            met &= one()
        return met

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            met = either()
            words.pop(0)
            return met
        if words and words[0] == "WITH":
            word = " ".join([word, words.pop(0), words.pop(0)])
        return word in allow

    return either()


def faults(packages: dict[str, Package], graphs: list[Graph]) -> list[str]:
    """The packages that must not be shipped."""
    settings = re.search(r"^allow = (\[.*?\])", (ROOT / "deny.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert settings is not None, "deny.toml has a list of licences"
    allow = set(json.loads(settings[1].replace(",\n]", "]")))
    found = []
    for package in (packages[name] for name in sorted(set().union(*(graph.compiled for graph in graphs)))):
        if is_ours(package):
            continue
        if not allowed(package["license"] or "none", allow):
            found.append(f"{label(package)}: deny.toml does not allow its licence, {package['license']}")
        if package["source"] != REGISTRY:
            found.append(f"{label(package)}: comes from {package['source']}")
        newest = packages[graphs[0].root]["rust_version"]
        needed = package["rust_version"] or "1"
        if version(needed) > version(newest):
            found.append(f"{label(package)}: needs Rust {needed}, and rust-version promises {newest}")
    return found


def version(text: str) -> tuple[int, ...]:
    """A compiler's version, to be compared."""
    return tuple(int(part) for part in (*text.split("."), "0", "0")[:3])


def licence_texts(package: Package) -> list[str]:
    """The texts that have to go with a crate; of two licences to choose from, MIT's, which is the shorter."""
    files = sorted(path for path in Path(package["manifest_path"]).parent.iterdir() if TEXTS.match(path.name))
    if "MIT" in re.split(r"\W*(?:OR|/)\W*", package["license"] or ""):
        chosen = [path for path in files if "mit" in path.name.lower() or path.name.lower().startswith("notice")]
        files = chosen or files
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()]
    return ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts]


def wrapped(text: str) -> str:
    """Lines of which none ends inside a name."""
    return textwrap.fill(text, 100, break_on_hyphens=False)


def notices(packages: dict[str, Package], graphs: list[Graph]) -> str:
    """Every licence text once, with the crates that it is for."""
    crates = {name for graph in graphs for name in graph.linked if not is_ours(packages[name])}
    by_text: dict[str, list[str]] = {}
    silent = []
    for package in sorted((packages[name] for name in crates), key=label):
        said = f"{label(package)} ({package['license']})"
        texts = licence_texts(package)
        for text in texts:
            by_text.setdefault(text, []).append(said)
        if not texts:
            silent.append(f"{said}, by {', '.join(package['authors']) or package['repository']}")
    about = (
        "The packages for Python and Node have code of these crates in their binaries. "
        "Each text stands once, under the crates that it is for. "
        "Where a crate may be used under one of several licences, one of them is given."
    )
    sections = ["Third-party notices\n===================\n\n" + wrapped(about)]
    if silent:
        sections.append(
            "These come without a text of their own; the terms stand below, under others of the same licence:\n\n"
            + "\n".join(silent)
        )
    rule = "-" * 100
    for text, labels in by_text.items():
        sections.append(f"{rule}\n{wrapped(', '.join(labels))}\n{rule}\n\n{text}")
    return "\n\n".join(sections) + "\n"


def purl(package: Package) -> str:
    """A package's address as bills of materials write it."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def bill(packages: dict[str, Package], graph: Graph, checksums: dict[str, str]) -> str:
    """A binding's bill of materials; it changes with the lock file alone, so it has no instant and no random number."""

    def component(package: Package) -> dict[str, Any]:
        described: dict[str, Any] = {"type": "library", "bom-ref": purl(package), "name": package["name"]}
        described |= {"version": package["version"], "licenses": [{"expression": spdx(package["license"])}]}
        checksum = checksums.get(label(package))
        if checksum is not None:
            described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return described | {"purl": purl(package)}

    parts = sorted((packages[name] for name in graph.linked if name != graph.root), key=label)
    needs = {purl(packages[name]): sorted(purl(packages[need]) for need in graph.linked[name]) for name in graph.linked}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(packages[graph.root])},
        "components": [component(package) for package in parts],
        "dependencies": [{"ref": name, "dependsOn": needs[name]} for name in sorted(needs)],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def spdx(expression: str) -> str:
    """An expression without the slash that crates once wrote for OR."""
    return re.sub(r"\s*/\s*", " OR ", expression)


def main() -> int:
    """Writes the files, or checks them."""
    packages, graphs = read()
    lock = (ROOT / "Cargo.lock").read_text()
    entry = re.compile(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"')
    checksums = {f"{name} {number}": checksum for name, number, checksum in entry.findall(lock)}
    files = {ROOT / "THIRD-PARTY-NOTICES": notices(packages, graphs)}
    for graph, folder in zip(graphs, BINDINGS.values()):
        files[ROOT / folder / "sbom.cdx.json"] = bill(packages, graph, checksums)
    found = faults(packages, graphs)
    for path, text in files.items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            found.append(f"{path.relative_to(ROOT)} is not what Cargo.lock says: run `make notices`")
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
