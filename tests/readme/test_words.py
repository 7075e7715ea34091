"""The rules of CONTRIBUTING.md for sentences: how a doc comment opens, and what the pages have less and less of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages import PAGES

ROOT = Path(__file__).parents[2]
FOLDERS = ("bench", "core", "examples", "generate", "node", "python", "tests", "tools")
QUESTIONS = r"(?:What|Whatever|Whether|Who|Whoever|Whose|How|Where|Which|When|Why)\b"
OPENINGS = {
    ".rs": re.compile(rf"(?m)(?:^(?!\s*//[/!]).*\n|\A)\s*//[/!] {QUESTIONS}.*"),
    ".ts": re.compile(rf"/\*\*\s*\*?\s*{QUESTIONS}.*"),
    ".py": re.compile(rf'"""{QUESTIONS}.*'),
}
OPENINGS |= {".mts": OPENINGS[".ts"], ".mjs": OPENINGS[".ts"], ".pyi": OPENINGS[".py"]}


def openings(text: str, suffix: str) -> list[str]:
    return [found.strip().splitlines()[-1].strip() for found in OPENINGS[suffix].findall(text)]


def test_doc_comments_open_with_what_they_are_about() -> None:
    found: dict[str, list[str]] = {}
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in OPENINGS and "node_modules" not in name and not name.startswith("node/dist/"):
            found[name] = openings(path.read_text(encoding="utf-8"), path.suffix)
    assert len(found) > 500
    assert sum(map(len, found.values())) == 0, {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".rs", "//! What it is.\n"),
        (".rs", "let a = 1;\n    /// Whether it is.\n    fn b() {}\n"),
        (".ts", "/** Where it is. */\n"),
        (".ts", "/**\n * How it is.\n */\n"),
        (".py", '""' + '"Which it is."""'),
    ],
)
def test_one_that_does_not_would_be_found(suffix: str, text: str) -> None:
    assert len(openings(text, suffix)) == 1
    assert openings(re.sub(QUESTIONS, "The answer", text), suffix) == []


ROWS = re.findall(
    r"^\| `(.+?)` \| [^|]+ \| (\d+) \|$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
)


def prose(page: Path) -> str:
    """The text of a page in one line for each paragraph, without code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!\n)\n(?!\n|[-|#])", " ", re.sub(r"`[^`]+`", "x", text))


@pytest.mark.parametrize(("pattern", "most"), ROWS)
def test_what_makes_sentences_hard_grows_no_more(pattern: str, most: str) -> None:
    assert sum(len(re.findall(pattern, prose(page))) for page in PAGES) <= int(most)


def test_the_patterns_are_counted() -> None:
    assert len(ROWS) >= 5
    assert sum(len(re.findall(pattern, prose(page))) for pattern, _ in ROWS for page in PAGES) > 50
