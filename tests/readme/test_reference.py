"""Every header is explained, every code has a page, and every page is in the site's menu."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pages import ROOT
from tidegate import Bucket, Limiter

DOCS = ROOT / "docs"
STYLES: list[tuple[Any, dict[str, Any]]] = [("x", {}), ("common", {}), ("common", {"reset": "epoch"})] + [
    ("ietf", {"draft": draft}) for draft in (6, 7, 11, "editors")
]


def titles(folder: str) -> set[str]:
    """The names in the headlines of a folder's pages."""
    found = [page.read_text(encoding="utf-8").splitlines()[0] for page in (DOCS / folder).glob("*.md")]
    return {name for line in found for name in line.removeprefix("# ").split(", ")}


@pytest.mark.parametrize(("style", "options"), STYLES)
def test_every_header_is_explained(style: Any, options: dict[str, Any]) -> None:
    limiter = Limiter()
    answers = [limiter.limit(Bucket("door", size=1), "ada", now=0) for _ in range(2)]
    sent = {name for info in answers for name in info.headers(style, **options)}
    page = (DOCS / "headers.md").read_text(encoding="utf-8")
    assert sent
    assert sent <= {name for line in re.findall(r"^## (.+)", page, re.MULTILINE) for name in line.split(", ")}


def test_every_code_has_a_page() -> None:
    sources = [
        ROOT / "node/lib/errors.ts",
        ROOT / "node/lib/limiter/blocked-error.ts",
        ROOT / "node/lib/room/rate-limit-error.ts",
    ]
    codes = {code for source in sources for code in re.findall(r"'(ERR_\w+)'", source.read_text(encoding="utf-8"))}
    assert len(codes) >= 5
    assert codes <= titles("errors")


def test_every_failure_is_explained() -> None:
    page = (DOCS / "errors/err-store.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([\w-]+)` \| (?!meaning)", page, re.MULTILINE)
    rust = (ROOT / "core/src/failure.rs").read_text(encoding="utf-8")
    assert sorted(explained) == sorted(re.findall(r'Self::\w+ => "([a-z-]+)"', rust))


def test_every_check_of_django_is_explained() -> None:
    checks = next((ROOT / "python/tidegate").rglob("django/apps.py")).read_text(encoding="utf-8")
    page = (DOCS / "errors/django-checks.md").read_text(encoding="utf-8")
    known = set(re.findall(r"tidegate\.[EW]\d+", checks))
    assert known
    assert known == set(re.findall(r"tidegate\.[EW]\d+", page))


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page for page in DOCS.rglob("*.md") if f": {page.relative_to(DOCS).as_posix()}" not in menu] == []


def test_every_test_that_proves_something_exists() -> None:
    page = (DOCS / "proof.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+)::([^`]+)`", page)
    assert len(named) > 50
    missing = []
    for file, name in named:
        path = ROOT / file
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        # A macro of `bounds.rs` and of the agreement of memory and Redis names its tests without `fn`.
        rust = rf"^\s*(?:async )?(?:fn )?{re.escape(name)}(?:\(| \"|:| \|| \{{)"
        titles = {
            ".rs": rust,
            ".py": rf"^(?:async )?def {re.escape(name)}\(",
            ".mjs": rf"^\s*test\(['\"`]{re.escape(name)}['\"`]",
        }
        if not re.search(titles[path.suffix], source, re.MULTILINE):
            missing.append(f"{file}::{name}")
    assert missing == []


def test_every_mistake_is_listed() -> None:
    codes = re.findall(
        r'^    \w+ = "([a-z-]+)":$', (ROOT / "core/src/http/mistakes.rs").read_text("utf-8"), re.MULTILINE
    )
    assert len(codes) > 10
    assert sorted(
        re.findall(r"^\| \[`([a-z-]+)`\]", (DOCS / "mistakes.md").read_text("utf-8"), re.MULTILINE)
    ) == sorted(codes)
