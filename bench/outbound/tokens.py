"""The contenders of `hot_bucket.py` over a Redis server of their own, in turn: ``tokens.py RESULTS PYTHON``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "redis"), str(ROOT / "bench" / "python")]

from measure import Spread  # noqa: E402

from server import RedisServer  # noqa: E402

ROUNDS = 3
SECONDS = 5
CONTENDERS = ("tidegate", "token-throttle")
# Operations that wait for each other may take long after the end of a round.
MOST_SECONDS = 120


def measured(python: str, contender: str) -> dict[str, float]:
    """The figures of one round, over a server that is new."""
    program = str(ROOT / "bench" / "outbound" / "hot_bucket.py")
    with RedisServer() as server:
        command = [python, program, contender, server.url, str(SECONDS)]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=MOST_SECONDS).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


def main() -> None:
    # So that the server ends as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    results, python = Path(sys.argv[1]), sys.argv[2]
    rounds: dict[str, list[dict[str, float]]] = {contender: [] for contender in CONTENDERS}
    for _ in range(ROUNDS):
        for contender, figures in rounds.items():
            figures.append(measured(python, contender))
    rows = []
    for name, figure, unit in (
        ("operations", "per_second", "/s"),
        ("half of them within", "p50_ms", "ms"),
        ("99 of a hundred within", "p99_ms", "ms"),
        ("failed in a round", "failed", ""),
    ):
        ours, peer = ([one[figure] for one in rounds[contender]] for contender in CONTENDERS)
        ratio = Spread.of([one / other if other else 0.0 for one, other in zip(ours, peer)])
        beside = {"name": CONTENDERS[1], "figures": Spread.of(peer).json(), "ratio": ratio.json()}
        about = f"one hot bucket, 1,000 workers, {name}"
        rows.append({"name": about, "unit": unit, "tidegate": Spread.of(ours).json(), "peer": beside, "target": None})
    file = results / "outbound.json"
    file.write_text(json.dumps({"suite": "outbound", "rows": rows}), encoding="utf-8")
    subprocess.run([sys.executable, str(ROOT / "bench" / "table.py"), str(file)], check=True)


if __name__ == "__main__":
    main()
