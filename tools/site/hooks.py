"""Five changes to what the theme makes.

The first page shows the applications of `README.md`, one tab each. Examples in several languages that follow each other
become tabs, so that pages need no marks that other readers of Markdown would show. Links of a page to files outside
`docs/` lead to the repository, and links to the playground may hold its state. The one script that the theme fetches
from elsewhere becomes a file of the site: it lets the search work in pages that are opened from the disk.
"""

from __future__ import annotations

import html
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

SHIM = "https://unpkg.com/iframe-worker/shim"
SHIM_FILE = "assets/javascripts/iframe-worker.js"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)\)")
# A link to the playground with its state, which the theme would take for a heading.
STATE = re.compile(r"\[([^\]]+)\]\(playground\.md#([^)\s]+=[^)\s]+)\)")
README = Path(__file__).parents[2] / "README.md"
# A section of the README that begins with an application, and the text behind that.
APPLICATION = re.compile(r"^## ([^\n]+)\n\n(```\w+\n(?:#|//) app\..+?^```\n)(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
PLACE = "<!-- the applications of README.md -->"


def applications() -> str:
    """The applications as tabs, and how the first of them is asked."""
    found = APPLICATION.findall(README.read_text(encoding="utf-8"))
    assert len(found) > 1, "README.md shows applications"
    return "\n".join([*(tab(name, code) for name, code, _ in found), found[0][2]])


def tab(name: str, code: str) -> str:
    """An example as one tab."""
    return f"/// tab | {name}\n{code}///\n"


# One example, and several of different languages without a word between them.
EXAMPLE = r"^```(?:python|js|ts|rust)\b[^\n]*\n.*?^```\n"
EXAMPLES = re.compile(rf"{EXAMPLE}(?:\n{EXAMPLE})+", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python": "Python", "js": "Node", "ts": "Node", "rust": "Rust"}


def tabs(match: re.Match[str]) -> str:
    """The examples as tabs, if no two are of one language."""
    examples = re.findall(EXAMPLE, match[0], re.MULTILINE | re.DOTALL)
    names = [LANGUAGES[re.split(r"\W", example[3:], maxsplit=1)[0]] for example in examples]
    if len({*names}) < len(names):
        return match[0]
    return "\n".join(map(tab, names, examples))


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Points relative links that leave `docs/` at the repository."""
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def resolve(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        return match[0] if path.startswith("docs/") else f"]({config.extra['repository']}/blob/main/{path})"

    if PLACE in markdown:
        markdown = markdown.replace(PLACE, applications())
    markdown = STATE.sub(lambda match: f'<a href="playground.html#{html.escape(match[2])}">{match[1]}</a>', markdown)
    return LINK.sub(resolve, EXAMPLES.sub(tabs, markdown))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Names the site's own copy of the script."""
    return output.replace(SHIM, posixpath.relpath(SHIM_FILE, posixpath.dirname(page.file.dest_uri) or "."))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for pages that are made from a template, such as that of an address that is not there."""
    return output_content.replace(SHIM, SHIM_FILE)


def on_post_build(config: Any, **_: Any) -> None:
    """Copies the script."""
    script = Path(__file__).parent / "node_modules/iframe-worker/shim/index.js"
    shutil.copy(script, Path(config.site_dir) / SHIM_FILE)
