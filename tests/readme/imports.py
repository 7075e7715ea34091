"""The files that each source file imports, read from the sources of all three languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

Graph = dict[str, set[str]]

USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{.*", re.M | re.S)
COMMENT = re.compile(r"//[^\n]*")
# A place in whose sight an item is, which imports nothing.
VISIBILITY = re.compile(r"\bpub\(in [^)]*\)")


def names_in(tree: str) -> Iterator[tuple[list[str], str]]:
    """Every path in a ``use``, with the name that it gets."""
    tree = tree.strip()
    if (start := tree.find("{")) < 0:
        path, _, alias = tree.partition(" as ")
        parts = [part.strip() for part in path.split("::")]
        yield parts, alias.strip() or parts[-1]
        return
    prefix = [part for part in tree[:start].split("::") if part]
    depth, item = 0, ""
    for letter in tree[start + 1 : tree.rfind("}")] + ",":
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if item.strip():
                for parts, name in names_in(item):
                    yield (
                        prefix + (parts[:-1] if parts[-1] == "self" else parts),
                        prefix[-1] if name == "self" else name,
                    )
            item = ""
        else:
            item += letter


class Crate:
    """The modules of a Rust crate, and where each of their names is defined."""

    def __init__(self, source: Path) -> None:
        self.files: dict[tuple[str, ...], Path] = {}
        for file in sorted(source.rglob("*.rs")):
            parts = list(file.relative_to(source).with_suffix("").parts)
            if "tests" in parts:
                continue
            if parts[-1] in {"mod", "lib", "main"}:
                parts.pop()
            self.files[tuple(parts)] = file
        self.uses: dict[tuple[str, ...], list[tuple[bool, list[str], str]]] = {}
        self.texts: dict[tuple[str, ...], str] = {}
        for module, file in self.files.items():
            text = VISIBILITY.sub("pub", COMMENT.sub("", TESTS.sub("", file.read_text())))
            self.texts[module] = text
            self.uses[module] = [
                (bool(public), parts, name) for public, tree in USE.findall(text) for parts, name in names_in(tree)
            ]

    def absolute(self, module: tuple[str, ...], parts: list[str]) -> tuple[str, ...] | None:
        """A path from the crate's root; none for another crate's."""
        if parts[0] == "crate":
            return tuple(parts[1:])
        if parts[0] in {"self", "super"}:
            base = list(module)
            while parts and parts[0] in {"self", "super"}:
                if parts[0] == "super":
                    base = base[:-1]
                parts = parts[1:]
            return (*base, *parts)
        if (*module, parts[0]) in self.files:
            return (*module, *parts)
        return None

    def defined_in(self, path: tuple[str, ...], depth: int = 0) -> tuple[str, ...]:
        """The module in which a path's item is defined, through re-exports."""
        module = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in self.files)
        rest = path[len(module) :]
        if rest and depth < 8:
            for _, parts, name in self.uses[module]:
                if name == rest[0] and (target := self.absolute(module, list(parts))) and target != path:
                    return self.defined_in((*target, *rest[1:]), depth + 1)
        return module

    def graph(self) -> Graph:
        """Re-exports are no imports: a module's list of what it offers depends on nothing."""
        graph: Graph = {}
        for module, file in self.files.items():
            text = USE.sub("", self.texts[module])
            paths = [parts for public, parts, _ in self.uses[module] if not public]
            paths += [path.split("::") for path in PATH.findall(text)]
            targets = {self.defined_in(path) for parts in paths if (path := self.absolute(module, list(parts)))}
            graph[str(file.relative_to(ROOT))] = {
                str(self.files[target].relative_to(ROOT)) for target in targets if target != module and target
            }
        return graph


def typescript(source: Path) -> Graph:
    """The imports of each file of a TypeScript package; types are imports too, re-exports are not."""
    found = re.compile(r"^import\s[^'\"]*?from\s+'(\.[^']+)'|^import\s+'(\.[^']+)'", re.M | re.S)
    graph: Graph = {}
    for file in sorted([*source.rglob("*.ts"), *source.rglob("*.mts")]):
        targets = {one or other for one, other in found.findall(file.read_text())}
        paths = {file.parent / target.replace(".mjs", ".mts").replace(".js", ".ts") for target in targets}
        graph[str(file.relative_to(ROOT))] = {str(path.resolve().relative_to(ROOT)) for path in paths if path.is_file()}
    return graph


def python(package: Path) -> Graph:
    """The imports of each module of a Python package, inside of functions and for type checking too."""
    graph: Graph = {}
    for file in sorted(package.rglob("*.py")):
        targets: set[Path] = set()
        for statement in ast.walk(ast.parse(file.read_text())):
            if isinstance(statement, ast.ImportFrom) and statement.level:
                base = file.parents[statement.level - 1].joinpath(*(statement.module or "").split("."))
                targets |= {base / name.name for name in statement.names} | {base}
        paths = {path for target in targets for path in (target.with_suffix(".py"), target / "__init__.py")}
        graph[str(file.relative_to(ROOT))] = {
            str(path.relative_to(ROOT)) for path in paths if path.exists() and path != file
        }
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Groups of files that import each other, by way of others or not (Tarjan's)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(file: str) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for target in graph.get(file, ()):
            if target not in index:
                visit(target)
                low[file] = min(low[file], low[target])
            elif target in stack:
                low[file] = min(low[file], index[target])
        if low[file] == index[file]:
            group = stack[stack.index(file) :]
            del stack[stack.index(file) :]
            if len(group) > 1:
                found.append(sorted(group))

    for file in graph:
        if file not in index:
            visit(file)
    return found


def graphs() -> dict[str, Graph]:
    """All of them, by what they are of."""
    return {
        "core": Crate(ROOT / "core/src").graph(),
        "python/src": Crate(ROOT / "python/src").graph(),
        "node/src": Crate(ROOT / "node/src").graph(),
        "node/lib": typescript(ROOT / "node/lib"),
        "python/tidegate": python(ROOT / "python/tidegate"),
    }
