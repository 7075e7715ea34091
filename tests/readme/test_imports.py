"""The arrows of imports: they point down, as docs/architecture.md draws them, and no files import each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from imports import Graph, circles, graphs

ROOT = Path(__file__).parents[2]
SOURCES = {".rs", ".lua", ".py", ".pyi", ".ts", ".mts", ".mjs"}

# The modules of a crate, from the leaves to the entry points; a module imports only from lines above its own.
CORE = [
    {"boot_clock", "failure", "fork", "inline_vec", "interrupt", "near", "panics", "space_saving", "stripe", "time"},
    {"clock", "clock_without_ticks", "distinct", "error", "info", "log_duration", "tally"},
    {"algorithm", "durations", "names"},
    {"fingerprint"},
    {"events", "headers", "limit", "stats"},
    {"check", "decision", "store/option_list"},
    {"charge", "config", "http", "store/dialect", "store/memory"},
    {"store/options", "store/remote"},
    {"store/redis", "store/shared"},
    {"limiter"},
    {"explain", "llm", "receipt"},
    {"hold"},
    {"command", "ffi", "tower"},
]

PYTHON = [
    {"exit", "once"},
    {"command", "explanation", "pydantic", "renewals", "signals", "socket_pair", "stats", "value"},
    {"errors", "queue"},
    {"args", "log_queue"},
    {"limits", "options"},
    {"cache", "check", "document"},
    {"receipt"},
    {"info"},
    {"call_explanation"},
    {"request"},
    {"aio", "steps"},
    {"hub"},
    {"limiter"},
    {"async_calls", "http", "llm"},
]

# The modules for frameworks, and what else each may import besides the base that they share.
PYTHON_FRAMEWORKS = {
    "_client/": set[str](),
    "_web/asgi": set[str](),
    "_web/django": set[str](),
    "_web/fastapi": {"_web/asgi"},
    "_web/flask": set[str](),
    "aiohttp": {"_client/"},
    "asgi": {"_web/asgi"},
    "celery": set[str](),
    "django/": {"_web/django"},
    "drf": {"_web/django"},
    "fastapi": {"_web/asgi", "_web/fastapi", "asgi"},
    "flask": {"_web/flask"},
    "llm": set[str](),
    "opentelemetry": set[str](),
    "prometheus": set[str](),
    "httpx": {"_client/"},
    "queues": set[str](),
    "requests": {"_client/"},
    "stores/": set[str](),
    "testing": set[str](),
}

# The folders of Node's package under its frameworks; two files stand outside of them.
NODE = [{"native"}, {"errors.ts"}, {"time"}, {"limits"}, {"limits.ts", "results"}, {"limiter"}, {"http"}, {"room"}]

NODE_FRAMEWORKS = {
    "axios": {"client/"},
    "client/": {"room/"},
    "express": {"express/", "room/"},
    "express/": {"room/"},
    "fastify": {"fastify/", "room/"},
    "fastify/": {"room/"},
    "fetch": {"client/"},
    "hono": {"room/"},
    "koa": {"room/"},
    "llm": set[str](),
    "nest/": {"express/", "fastify/", "room/"},
    "nestjs": {"nest/", "room/"},
    "opentelemetry": set[str](),
    "prometheus": set[str](),
    "queues": set[str](),
    "room/": set[str](),
    "sharkey": {"room/"},
    "stores/": {"room/"},
    "testing": {"room/"},
    "undici": {"client/"},
    "web": {"room/"},
}

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


def test_folders_of_the_node_package_import_downward() -> None:
    known = set[str]().union(*NODE)
    base = {
        file: {target for target in targets if module(target) in known}
        for file, targets in GRAPHS["node/lib"].items()
        if module(file) in known
    }
    assert sum(map(len, base.values())) > 200
    assert upward(base, NODE) == []


def package(file: str) -> str:
    """The part of a package that a file belongs to: its folder, or itself."""
    parts = re.sub(r"\.\w+$", "", file).split("/")[2:]
    if len(parts) == 1:
        return parts[0]
    return "/".join(parts[:2]) if parts[0] == "_web" and len(parts) > 2 else f"{parts[0]}/"


def strays(graph: Graph, frameworks: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Imports of a framework's module by one that must not know it."""
    return [
        (file, target)
        for file, targets in graph.items()
        for target in targets
        if package(target) in frameworks
        and package(target) != package(file)
        and package(target) not in frameworks.get(package(file), set())
    ]


@pytest.mark.parametrize(
    ("name", "frameworks"), [("python/tidegate", PYTHON_FRAMEWORKS), ("node/lib", NODE_FRAMEWORKS)]
)
def test_modules_of_frameworks_are_imported_by_nothing_else(name: str, frameworks: dict[str, set[str]]) -> None:
    found = {package(file) for file in GRAPHS[name]}
    assert set(frameworks) <= found
    assert strays(GRAPHS[name], frameworks) == []


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
    base, room = "python/tidegate/_web/room.py", "python/tidegate/_web/flask/room.py"
    assert strays({base: {room}, room: {base}}, PYTHON_FRAMEWORKS) == [(base, room)]


def test_redis_is_named_by_its_own_module_and_where_a_url_chooses_the_store() -> None:
    namers = {file for file, targets in GRAPHS["core"].items() if any("store/redis" in name for name in targets)}
    others = {file for file in namers if module(file) != "store/redis"}
    assert len(namers) > 20
    assert others == {"core/src/limiter/open.rs"}


def test_only_files_that_the_page_names_have_more_than_400_lines() -> None:
    texts: dict[str, str] = {}
    for folder in ("bench", "core", "examples", "generate", "node", "python", "tests", "tools"):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in SOURCES and "node_modules" not in name and not name.startswith("node/dist/"):
                text = path.read_text(encoding="utf-8")
                # The stub is written by hand as a whole.
                texts[name] = text if path.suffix == ".pyi" else GENERATED.sub("", text)
    longer = {name for name, text in texts.items() if text.count("\n") > 400 and "enerated by" not in text[:200]}
    section = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("at most 400 lines.")[1]
    assert len(texts) > 300
    assert longer == set(re.findall(r"`([^`]+)`", section.split("\n\n")[0]))


# The parts of a binding that speak HTTP or serve other libraries.
OF_FRAMEWORKS = re.compile(
    r"python/tidegate/(_client/|_web/|stores/|aiohttp|asgi|celery|django|drf|fastapi|flask|llm|_tools|queues|requests|shadow|testing|"
    r"_headers|_http|http)|"
    r"node/lib/(client/|nest/|room/|stores/|axios|express|fastify|fetch|hono|http/|koa|llm|native/rate-limits|nestjs|queues|"
    r"sharkey|testing|undici|web)|(python|node)/src/(http/|llm)"
)
GENERATED = re.compile(r"<generated by.*?</generated>", re.S)


def written_by_hand(folder: str) -> int:
    """The lines of a folder that no program has written, those for frameworks and of tests left out."""
    lines = 0
    for path in (ROOT / folder).rglob("*"):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in SOURCES and "/tests/" not in name and not OF_FRAMEWORKS.match(name):
            text = path.read_text(encoding="utf-8")
            lines += 0 if "enerated by" in text[:200] else GENERATED.sub("", text).count("\n")
    return lines


def test_a_binding_is_at_most_a_quarter_of_the_engine() -> None:
    engine = written_by_hand("core/src")
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for language, folders in {"Python": ("python/src", "python/tidegate"), "Node": ("node/src", "node/lib")}.items():
        share = sum(map(written_by_hand, folders)) / engine
        said = re.search(rf"(\d+) % in {language}", page)
        assert 0.1 < share <= 0.25
        assert said
        assert abs(share * 100 - int(said[1])) < 2


@pytest.mark.parametrize(
    ("change", "name"),
    [("an option of a limiter", "wait_?replicas"), ("a counter of the statistics", "deny_cache_hits")],
)
def test_a_change_touches_the_files_that_the_page_names(change: str, name: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    row = re.search(rf"\| {change} \| (\d+): ([^|]+) \|", page)
    assert row
    listed = set(re.findall(r"`([^`]+)`", row[2]))
    named = set[str]()
    for folder in ("core/src", "python/src", "python/tidegate", "node/src", "node/lib"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in SOURCES:
                text = path.read_text(encoding="utf-8")
                if "enerated by" not in text[:200] and re.search(rf"\b{name}\b", GENERATED.sub("", text), re.I):
                    named.add(path.relative_to(ROOT).as_posix())
    # The last one is the file that applies the option, or that counts.
    assert int(row[1]) == len(listed) + 1
    assert listed <= named
    assert len(named - listed) <= 1
