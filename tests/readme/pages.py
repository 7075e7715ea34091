"""The examples in the project's pages: every fenced block, with the language it is in and the line it begins at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^```(\w*)(?:,\w+)*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^\s*(?:print|console\.log)\(.*\)\s+(?:#|//) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One example."""

    page: Path
    line: int
    language: str
    code: str

    @property
    def name(self) -> str:
        """The place to look at when it fails."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def command(self) -> str:
        """The command that starts the application in it, where its first line says so."""
        said = re.match(r"(?:#|//) \S+, for: (.+)", self.code)
        return said[1] if said else ""

    @property
    def shown(self) -> list[str]:
        """The output of each ``print`` and ``console.log``, as the comment behind it says."""
        return SHOWN.findall(self.code)


def blocks(*languages: str) -> list[Block]:
    """Every block in one of these languages; of all, where none is named. Applications that serve are in ``apps``."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(page, line, match[1], match[2]))
    return [block for block in found if not languages or (block.language in languages and not block.command)]


def apps() -> list[Block]:
    """Every block that is an application to start."""
    return [block for block in blocks() if block.command]
