"""An actor is the same one in both languages and nobody else, whatever its name is made of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from server import RedisServer

HERE = Path(__file__).parent
PIECES = ["", "a", "b", ":", "{", "}", "%", "%3a", " ", "\0", "\n", "_", "é", "e\u0301", "ﬀ", "漢", "😀", "\u200d"]
ACTORS = [one + other for one in PIECES for other in PIECES if one]
LONG = ["a" * length for length in (199, 200, 201, 10_000)] + ["é" * 100, "é" * 101, "%" * 100, "😀" * 5000]


def test_both_languages_mean_the_same_actors(tmp_path: Path) -> None:
    actors = sorted({*ACTORS, *LONG})
    file = tmp_path / "actors.json"
    file.write_text(json.dumps(actors))
    with RedisServer() as server:
        for turn, command in enumerate([[sys.executable, str(HERE / "names.py")], ["node", str(HERE / "names.mjs")]]):
            done = subprocess.run(
                [*command, server.url, str(file)], capture_output=True, text=True, timeout=60, check=False
            )
            assert (done.returncode, done.stderr) == (0, "")
            assert dict(zip(actors, json.loads(done.stdout))) == dict.fromkeys(actors, 9 - turn)
            assert server.command("DBSIZE") == len(actors)
