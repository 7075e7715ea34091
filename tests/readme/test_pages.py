"""The pages do not lie: their examples run and print what they say, their links lead somewhere.

Their Rust examples are doctests of the engine, where `core/src/lib.rs` includes the pages.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from models import Models
from pages import PAGES, ROOT, Block, blocks
from server import RedisServer
from tidegate import Limit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMANDS = ROOT / "examples" / "command"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# A page or a picture of this repository, as packages link to it.
OWN = re.compile(
    r"https://(?:github\.com/tidegate/tidegate/(?:blob|tree)|raw\.githubusercontent\.com/tidegate/tidegate)/main/(.+)"
)
# Waits that examples show to the second: on a busy machine one may pass between their calls.
WAIT = re.compile(r"\b(?:30|60|3600)\b")
LANGUAGES = {"python", "js", "ts", "rust", "json", "sh", "console", "text"}


def named(*languages: str) -> pytest.MarkDecorator:
    found = blocks(*languages)
    return pytest.mark.parametrize("block", found, ids=[block.name for block in found])


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """A server for the examples that name one."""
    with RedisServer() as server:
        yield server.url


@pytest.fixture(scope="module", autouse=True)
def _models() -> Iterator[None]:
    """A server for the examples that ask a language model."""
    with Models() as models, pytest.MonkeyPatch.context() as patch:
        for name, value in models.environment.items():
            patch.setenv(name, value)
        yield


def is_shown(printed: str, shown: str) -> bool:
    """True for the line that a page shows, where a wait may be a second shorter."""
    pattern = "".join(
        f"(?:{part}|{int(part) - 1})" if WAIT.fullmatch(part) else re.escape(part)
        for part in re.split(f"({WAIT.pattern})", shown)
    )
    return re.fullmatch(pattern, printed) is not None


def prints(command: list[str], block: Block, redis_url: str, code: str = "") -> None:
    """Runs an example, or the code that was made of it, in a process of its own, at the top of the project."""
    code = (code or block.code).replace("redis://localhost:6379", redis_url)
    # A table of its own: another version may have left one under the name that a page shows.
    with TemporaryDirectory() as tables:
        code = re.sub(r"shm://(?=\w)", f"shm://{tables}/", code)
        run = subprocess.run(command, input=code, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    if block.shown:
        printed = run.stdout.splitlines()
        assert len(printed) == len(block.shown), printed
        assert all(map(is_shown, printed, block.shown)), printed
    else:
        assert "assert" in block.code or "Error" in block.code, "an example that shows nothing"


@named("python")
def test_python(block: Block, redis_url: str) -> None:
    prints([sys.executable, "-"], block, redis_url)


@named("js")
def test_javascript(block: Block, redis_url: str) -> None:
    prints(["node", "--input-type=module", "-"], block, redis_url)


@named("ts")
def test_typescript(block: Block, redis_url: str) -> None:
    """Decorators as NestJS has them, which no version of Node knows."""
    options = '--tsconfig-raw={"compilerOptions":{"experimentalDecorators":true}}'
    command = ["node_modules/.bin/esbuild", "--loader=ts", "--log-level=error", options]
    compiled = subprocess.run(command, input=block.code, cwd=ROOT, capture_output=True, text=True, check=True)
    prints(["node", "--input-type=module", "-"], block, redis_url, compiled.stdout)


@named("json")
def test_definitions(block: Block) -> None:
    definitions = json.loads(block.code)
    for definition in definitions if isinstance(definitions, list) else [definitions]:
        assert Limit.from_dict(definition).key == definition["key"]


@named("sh")
def test_commands(block: Block) -> None:
    """Commands on a page exist; that they work is what the other tests show."""
    scripts = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["scripts"]
    recipes = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"npm run ([\w:]+)", block.code)) <= scripts.keys()
    assert set(re.findall(r"make ([\w-]+)", block.code)) <= set(recipes)


@named("console")
def test_command(block: Block, redis_url: str) -> None:
    """A page shows all that the command prints, in the folder of its examples."""
    for typed in block.code.split("$ ")[1:]:
        line, _, shown = typed.partition("\n")
        name, *arguments = shlex.split(line.replace("redis://localhost:6379", redis_url))
        assert name == "tidegate"
        command = [sys.executable, "-m", "tidegate", *arguments]
        run = subprocess.run(command, cwd=COMMANDS, capture_output=True, text=True, timeout=60, check=False)
        assert (run.stdout + run.stderr).strip() == shown.strip()


def test_a_line_is_what_a_page_shows_but_for_a_second_of_waiting() -> None:
    for printed in ("True 29", "True 30"):
        assert is_shown(printed, "True 30")
    assert is_shown('{"retryIn":59} 60', '{"retryIn":60} 60')
    for printed in ("True 28", "True 31", "True 130", "False 30", "True 30 "):
        assert not is_shown(printed, "True 30")
    assert not is_shown("9", "10")


def test_every_example_is_tested() -> None:
    assert {block.language for block in blocks()} <= LANGUAGES
    counts = {language: len(blocks(language)) for language in LANGUAGES}
    assert min(counts["python"], counts["js"], counts["rust"]) >= 2, counts


# A limit as text, and the sentence on what it admits.
TEXT = re.compile(r"""["']\d+/(?:second|minute|hour|day)\b""")
AT_ONCE = re.compile(
    r"(\d+) at once after a pause and then one each ([\d.]+) s, so up to (\d+) in the (?:(\d+) )?(seconds?|minute|hour)"
)
SECONDS = {"second": 1, "seconds": 1, "minute": 60, "hour": 3600}
# Pages on something else, behind those that explain it.
ELSEWHERE = {
    "architecture",
    "changing",
    "command",
    "compared",
    "definitions",
    "deployment",
    "observability",
    "proxies",
    "stores",
    "testing",
}


def test_pages_with_limits_as_text_say_what_they_admit() -> None:
    """A pause saves up a whole count, which no reader of ``100/minute`` expects."""
    pages = [page for page in PAGES if page.stem not in ELSEWHERE and page.parent in (ROOT, ROOT / "docs")]
    texts = {page: " ".join(page.read_text(encoding="utf-8").split()) for page in pages}
    said = {page: AT_ONCE.findall(text) for page, text in texts.items() if TEXT.search(text)}
    assert len(said) >= 20
    assert [page.name for page, sentences in said.items() if not sentences] == []
    for page, sentences in said.items():
        for count, each, most, many, unit in sentences:
            assert float(each) * int(count) == pytest.approx(SECONDS[unit] * int(many or 1)), page
            assert int(most) == 2 * int(count) - 1, page


def test_rust_examples_are_doctests() -> None:
    """The engine's documentation includes every page that has one."""
    included = (ROOT / "core/src/doctests.rs").read_text(encoding="utf-8")
    for page in {block.page for block in blocks("rust")}:
        assert f'include_str!("../../{page.relative_to(ROOT)}")' in included, page


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if own := OWN.fullmatch(target):
            assert (ROOT / own[1]).exists(), target
        elif not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "page", [ROOT / "python" / "README.md", ROOT / "core" / "README.md"], ids=["packages", "crate"]
)
def test_pages_of_packages_work_outside_of_the_repository(page: Path) -> None:
    """PyPI, npm and crates.io show these pages, and have none of the others."""
    text = page.read_text(encoding="utf-8")
    outside = "\n".join(part for index, part in enumerate(text.split("```")) if index % 2 == 0)
    targets = LINK.findall(outside)
    # Items of the crate are linked by their paths, for its documentation.
    relative = [target for target in targets if not target.startswith("https://") and "::" not in target]
    assert relative == []
    assert len(text.splitlines()) <= 150


def test_the_front_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_front_page_says_in_a_picture_and_some_lines_what_it_is() -> None:
    head, _ = (ROOT / "README.md").read_text(encoding="utf-8").split("## ", 1)
    # The picture, and the tools that a checkout needs.
    assert len(LINK.findall(head)) == head.count("![") + 1 == 2
    assert len(head.splitlines()) <= 16
