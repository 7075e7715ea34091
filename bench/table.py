"""One table of what the suites measured: `table.py rust.json python.json …`."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def spread(figures: dict[str, float], digits: int) -> str:
    return f"{figures['median']:.{digits}f} ({figures['min']:.{digits}f} to {figures['max']:.{digits}f})"


def main() -> None:
    print("| what | tidegate | beside | | ratio | target | |")
    print("| --- | ---: | --- | ---: | ---: | --- | --- |")
    for path in sys.argv[1:]:
        suite = json.loads(Path(path).read_text(encoding="utf-8"))
        for row in suite["rows"]:
            unit, peer, target = row["unit"], row["peer"], row["target"]
            digits = 1 if unit in ("ns", "B") else 3
            met = "" if target is None else "met" if peer["ratio"]["median"] <= target else "missed"
            cells = [
                f"{suite['suite']}: {row['name']}",
                f"{spread(row['tidegate'], digits)} {unit}",
                peer["name"],
                f"{spread(peer['figures'], digits)} {unit}",
                spread(peer["ratio"], 2),
                "" if target is None else f"<= {target}",
                met,
            ]
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
