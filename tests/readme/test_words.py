"""The rule of CONTRIBUTING.md for doc comments: a noun phrase or an imperative first, never a question's word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
