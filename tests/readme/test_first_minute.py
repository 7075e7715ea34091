"""The first page as its reader tries it: each application is started, and asked six times by the loop of the page."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pages import ROOT, Block, apps, blocks
from server import free_port

PORT = "8000"
APPS = [app for app in apps() if app.page.name == "README.md"]
[LOOP] = [block.code for block in blocks("sh") if block.page.name == "README.md" and "curl" in block.code]
[SHOWN] = [block.code for block in blocks("text") if block.page.name == "README.md"]


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def lines(text: str, seconds: int = 12) -> list[str]:
    """The lines in one case, and in any order behind the first, with this wait."""
    first, *fields = text.lower().replace(": 12", f": {seconds}").splitlines()
    return [first, *sorted(fields)]


def test_the_page_has_the_four_applications() -> None:
    assert [app.command.split()[0] for app in APPS] == ["uvicorn", "python", "node", "node"]


@pytest.mark.parametrize("app", APPS, ids=[app.name for app in APPS])
def test_the_sixth_request_is_denied_as_the_page_shows(app: Block) -> None:
    assert shutil.which("curl"), "the page asks with curl"
    port = free_port()
    # Below the top of the project, where Node finds its packages.
    folder = ROOT / "target" / "first-minute" / str(app.line)
    folder.mkdir(parents=True, exist_ok=True)
    file = app.code.split()[1].rstrip(",")
    (folder / file).write_text(app.code.replace(PORT, str(port)), encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = shlex.split(app.command.replace(PORT, str(port)))
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 60
            while not answers(port) and server.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            asked = subprocess.run(
                ["bash", "-c", LOOP.replace(PORT, str(port))], capture_output=True, text=True, timeout=60, check=True
            )
        finally:
            server.terminate()
            server.wait(30)
    # On a busy machine seconds may pass between the first request and the last.
    assert lines(asked.stdout) in [lines(SHOWN, seconds) for seconds in (12, 11, 10)], (folder / "log").read_text()
