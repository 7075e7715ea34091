"""One table of what the suites measured: `table.py rust.json python.json …`.

A row's `target` is the most that its ratio to the peer may be; `at_most` and
`at_least` bound the figure itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DIGITS = {"ns": 1, "B": 1, "ms": 1, "/s": 0}


def spread(figures: dict[str, float], digits: int) -> str:
    low, middle, high = (f"{figures[name]:,.{digits}f}" for name in ("min", "median", "max"))
    return middle if low == high else f"{middle} ({low} to {high})"


def aim(row: dict[str, Any]) -> tuple[str, bool] | None:
    """The target in words, and whether it is met."""
    figure, unit = row["tidegate"]["median"], row["unit"]
    if row["target"] is not None:
        return f"<= {row['target']}", row["peer"]["ratio"]["median"] <= row["target"]
    if "at_most" in row:
        return f"<= {row['at_most']:,g} {unit}".rstrip(), figure <= row["at_most"]
    if "at_least" in row:
        return f">= {row['at_least']:,g} {unit}".rstrip(), figure >= row["at_least"]
    return None


def cells(suite: str, row: dict[str, Any]) -> list[str]:
    unit, peer = row["unit"], row["peer"]
    digits = DIGITS.get(unit, 3)
    beside = [peer["name"], f"{spread(peer['figures'], digits)} {unit}", spread(peer["ratio"], 2)] if peer else [""] * 3
    beside[0] = "; ".join(filter(None, [beside[0], row.get("note", "")]))
    target, met = aim(row) or ("", None)
    verdict = {None: "", True: "met", False: "missed"}[met]
    return [f"{suite}: {row['name']}", f"{spread(row['tidegate'], digits)} {unit}".rstrip(), *beside, target, verdict]


def main() -> None:
    print("| what | tidegate | beside | | ratio | target | |")
    print("| --- | ---: | --- | ---: | ---: | --- | --- |")
    for path in sys.argv[1:]:
        suite = json.loads(Path(path).read_text(encoding="utf-8"))
        for row in suite["rows"]:
            print(f"| {' | '.join(cells(suite['suite'], row))} |")


if __name__ == "__main__":
    main()
