"""The arrows of imports: they point down, as docs/architecture.md draws them, and no files import each other."""

from __future__ import annotations

import pytest

from imports import Graph, circles, graphs

# The modules of a crate, from the leaves to the entry points; a module imports only from lines above its own.
CORE = [
    {"failure", "fork", "inline_vec", "interrupt", "panics", "shape", "time"},
    {"clock", "distinct", "error", "fingerprint", "info", "log_duration"},
    {"events", "headers", "limit", "stats"},
    {"check", "config", "decision", "store/option_list"},
    {"charge", "http", "store/dialect", "store/memory"},
    {"store/options", "store/remote"},
    {"store/redis"},
    {"limiter"},
    {"explain", "ffi", "receipt"},
]

PYTHON = [
    {"explanation", "pydantic", "signals", "socket_pair", "stats", "value"},
    {"errors", "queue"},
    {"args", "log_queue"},
    {"limits", "options"},
    {"cache", "check", "document"},
    {"receipt"},
    {"info"},
    {"http", "call_explanation"},
    {"request"},
    {"aio", "steps"},
    {"hub"},
    {"limiter"},
    {"async_calls"},
]

GRAPHS = graphs()


def module(file: str) -> str:
    _, _, *parts = file.removesuffix(".rs").split("/")
    return "/".join(parts[:2]) if parts[0] == "store" and len(parts) > 1 else parts[0]


def upward(graph: Graph, levels: list[set[str]]) -> list[tuple[str, str]]:
    floors = {name: number for number, names in enumerate(levels) for name in names}
    floors.update(lib=len(levels), doctests=len(levels), store=floors.get("store/options", 0))
    return [
        (file, target)
        for file, targets in graph.items()
        for target in targets
        if module(file) != module(target) and floors[module(file)] <= floors[module(target)]
    ]


def test_modules_of_the_engine_import_downward() -> None:
    assert sum(map(len, GRAPHS["core"].values())) > 500
    assert upward(GRAPHS["core"], CORE) == []


def test_modules_of_the_python_binding_import_downward() -> None:
    assert sum(map(len, GRAPHS["python/src"].values())) > 70
    assert upward(GRAPHS["python/src"], PYTHON) == []


@pytest.mark.parametrize("name", ["core", "node/src", "node/lib", "python/src", "python/tidegate"])
def test_no_files_import_each_other(name: str) -> None:
    assert len(GRAPHS[name]) > 9
    assert sum(map(len, GRAPHS[name].values())) > 9
    assert circles(GRAPHS[name]) == []


def test_a_circle_would_be_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]
    assert upward({"core/src/time.rs": {"core/src/limiter/mod.rs"}}, CORE) == [
        ("core/src/time.rs", "core/src/limiter/mod.rs")
    ]


def test_redis_is_named_by_its_own_module_and_where_a_url_chooses_the_store() -> None:
    namers = {file for file, targets in GRAPHS["core"].items() if any("store/redis" in name for name in targets)}
    others = {file for file in namers if module(file) != "store/redis"}
    assert len(namers) > 20
    assert others == {"core/src/limiter/open.rs"}
