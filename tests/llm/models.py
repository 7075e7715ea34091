"""A server that stands for those of language models, for a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

from typing_extensions import Self


class Models:
    """A server of a process of its own, with the environment in which clients find it."""

    def __init__(self) -> None:
        command = ["node", str(Path(__file__).parent / "server.mjs")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, "the server has not started"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the clients of OpenAI and Anthropic read."""
        return {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": self.url,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Its input ends, and so does it.
        self._process.communicate(timeout=30)
