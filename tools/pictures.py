"""Draws the pictures of docs/pictures by the command `tidegate simulate`; with ``--check`` it compares them instead."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs/pictures"
# A burst on each side of a window's edge, then twice the rate that is allowed, then silence, then one more burst.
BURSTS = "12 at 8050ms each 150ms, 12 at 10050ms each 150ms, 24 at 16250ms each 500ms, 14 at 42050ms each 150ms"
TRAFFIC = ["--calls", BURSTS, "--for", "50s", "--span", "10s"]
AT_ONCE = ["--calls", "8 at 0s", "--for", "2s", "--max-wait", "1500ms"]
# A name, a title, and the limit. But for the last, all say "ten in ten seconds" in their own way.
PICTURES = [
    ("bucket", "bucket: size 10, one drip a second", '{"key": "a", "type": "bucket", "size": 10}'),
    ("token-bucket", "token-bucket: 10 per 10 s, burst 4", "10/10s burst 4"),
    ("fixed-window", "fixed-window: 10 per 10 s", "10/10s fixed-window"),
    ("sliding-window", "sliding-window: 10 per 10 s, in slots of 2 s", "10/10s sliding-window resolution 2s"),
    ("sliding-counter", "sliding-counter: 10 per 10 s", "10/10s sliding-counter"),
    ("sliding-log", "sliding-log: 10 per 10 s", "10/10s sliding-log"),
    (
        "decay",
        "decay: max 10, halved every 5 s",
        '{"key": "a", "type": "decay", "max": 10, "decayFactor": 2, "resolution": 5000}',
    ),
    (
        "smooth",
        "smooth: 1 a second, up to 10 s saved up",
        '{"key": "a", "type": "smooth", "rate": 1, "maxBurst": 10000}',
    ),
    (
        "smooth-warmup",
        "smooth: 1 a second, warm-up of 4 s",
        '{"key": "a", "type": "smooth", "rate": 1, "warmup": 4000}',
    ),
    ("waiting", "token-bucket: 2 per 1 s, burst 2, max_wait 1.5 s", "2/s burst 2"),
]

with tempfile.TemporaryDirectory() as folder:
    for name, title, limits in PICTURES:
        path = FOLDER / f"{name}.svg"
        drawn = Path(folder) / path.name
        options = AT_ONCE if name == "waiting" else TRAFFIC
        command = [sys.executable, "-m", "tidegate", "simulate", *options, "--limits", limits]
        subprocess.run([*command, "--title", title, "--svg", drawn], stdout=subprocess.DEVNULL, check=True)
        if "--check" not in sys.argv:
            path.write_bytes(drawn.read_bytes())
        elif path.read_bytes() != drawn.read_bytes():
            sys.exit(f"{path} is not what the engine does now; draw it again: make pictures")
