"""Sends the same burst to a FastAPI app and an Express app behind the same limit, and prints the answers side by side.

Ends with 0 where both said the same and something was limited, and with 1 where not.

Real time passes while the burst is under way, and not the same for both. The limit drips once in ten minutes, so
nothing drips meanwhile, and what counts requests has to be equal to the letter: the status, what remains, the policy
and the body. Only times may differ, by what the burst itself takes: they are compared to within ten seconds of ten
minutes and more.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
BURST = 8
PATIENCE = 30
"""Seconds until something that does not answer has failed."""

# The body of a refusal says the time as well.
BODY_TIMES = ("detail", "retry-after")
EXACT = ("X-RateLimit-Remaining", "RateLimit-Policy")
TIMES = ("X-RateLimit-Clear", "X-RateLimit-Reset", "Retry-After")
TOLERANCE = 10
"""Seconds."""


class Answer:
    """The part of an answer that is shown and compared."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.body = json.load(response)
        # A sentence with a time in it, which is among the headers too.
        self.body.pop("detail", None)
        self.headers = {name: response.headers.get(name) for name in (*EXACT, *TIMES, "RateLimit")}

    def agrees(self, other: Answer) -> bool:
        """Tell if both say the same, save for the time that has passed."""
        return self._exact() == other._exact() and all(map(near, self._times(), other._times()))

    def _exact(self) -> tuple[object, ...]:
        """The part that may not differ at all; of ``"demo";r=4;t=600`` that is ``"demo";r=4``."""
        headers = [self.headers[name] for name in EXACT]
        body = {name: value for name, value in self.body.items() if name not in BODY_TIMES}
        return self.status, body, headers, self._rate_limit()[0]

    def _times(self) -> list[str | None]:
        """The part that may differ a little; of ``"demo";r=4;t=600`` that is ``600``."""
        in_body = self.body.get("retry-after")
        return [*(self.headers[name] for name in TIMES), self._rate_limit()[1], in_body and str(in_body)]

    def _rate_limit(self) -> list[str]:
        state, _, time = (self.headers["RateLimit"] or "").partition(";t=")
        return [state, time]

    def __str__(self) -> str:
        shown = [f"{name}: {value}" for name, value in self.headers.items() if value]
        return "\n".join([str(self.status), *shown])


def near(some: str | None, other: str | None) -> bool:
    """Tell if two times in seconds are both there, and close, or neither is there."""
    if not some or not other:
        return some == other
    return abs(float(some) - float(other)) <= TOLERANCE


@contextlib.contextmanager
def served(*command: str) -> Iterator[int]:
    """A server that prints its port; stopped at the end, whatever happens."""
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            readable, _, _ = select.select([server.stdout], [], [], PATIENCE)
            port = server.stdout.readline().strip() if readable else ""
            if not port.isdigit():
                raise RuntimeError(f"{' '.join(command)} did not say on which port it serves")
            yield int(port)
        finally:
            server.terminate()
            try:
                server.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()


def burst(port: int) -> list[Answer]:
    """A few requests in quick succession over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    answers = []
    with contextlib.closing(connection):
        for _ in range(BURST):
            connection.request("GET", "/")
            answers.append(Answer(connection.getresponse()))
    return answers


def show(number: int, left: str, right: str) -> None:
    """Two texts side by side."""
    lefts, rights = left.splitlines(), right.splitlines()
    for line in range(max(len(lefts), len(rights))):
        cells = [texts[line] if line < len(texts) else "" for texts in (lefts, rights)]
        print(f"{number if line == 0 else '':>3}  {cells[0]:<42}  {cells[1]}")
    print()


def main() -> int:
    """Both apps at once; the exit code."""
    print((HERE / "limit.json").read_text(encoding="utf-8"))
    with served(sys.executable, "app.py") as fastapi, served("node", "app.mjs") as express:
        pairs = list(zip(burst(fastapi), burst(express)))
    print(f"     {'FastAPI':<42}  Express\n")
    for number, (left, right) in enumerate(pairs, 1):
        show(number, str(left), str(right))

    differing = [number for number, (left, right) in enumerate(pairs, 1) if not left.agrees(right)]
    limited = sum(left.status == 429 for left, _ in pairs)
    passed = sum(left.status == 200 for left, _ in pairs)
    if differing:
        print(f"The answers differ: request {', '.join(map(str, differing))}.")
    elif not limited or not passed:
        print(f"{passed} requests passed and {limited} were limited: that shows nothing.")
    else:
        print(f"Both apps let {passed} of {BURST} requests pass and limited {limited}, with the same answers.")
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
