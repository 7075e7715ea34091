"""What the site does to pages that are also read in the repository: links to its other files lead there."""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Points relative links that leave `docs/` at the repository."""
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def resolve(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        return match[0] if path.startswith("docs/") else f"]({config.repo_url}/blob/main/{path})"

    return LINK.sub(resolve, markdown)
