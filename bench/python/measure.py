"""Timing that a noisy machine cannot fool easily: many short rounds, the contenders in turn within each."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Work = Callable[[Sequence[str]], None]
Peers = dict[str, tuple[Callable[[], Work], float | None]]


class Spread(NamedTuple):
    """The least, the middle and the largest of some figures."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        return cls(min(figures), statistics.median_low(figures), max(figures))

    def json(self) -> dict[str, float]:
        return {name: round(figure, 3) for name, figure in self._asdict().items()}


@dataclass
class Row:
    """One row of the table: ours and a peer's figures from the same rounds, and their ratio round by round."""

    name: str
    ours: Spread
    peer: tuple[str, Spread, Spread] | None
    target: float | None
    unit: str = "us"

    def json(self) -> dict[str, object]:
        peer = None
        if self.peer:
            name, figures, ratio = self.peer
            peer = {"name": name, "figures": figures.json(), "ratio": ratio.json()}
        return {"name": self.name, "unit": self.unit, "tidegate": self.ours.json(), "peer": peer, "target": self.target}


def contest(
    name: str,
    rounds: int,
    actors: Sequence[str],
    ours: Callable[[], Work],
    peers: Peers,
) -> list[Row]:
    """Microseconds per call of all contenders, in turn within each round.

    Each is a function that gets ready and returns the work to be timed. A target is a ratio to that peer.
    """
    makers = [ours, *(make for make, _ in peers.values())]
    times: list[list[float]] = [[] for _ in makers]
    for turn in range(rounds + 1):
        for maker, figures in zip(makers, times):
            figure = timed(maker(), actors)
            # The first round warms the caches and is not counted.
            if turn:
                figures.append(figure)
    rows = []
    for (peer, (_, target)), figures in zip(peers.items(), times[1:]):
        ratio = Spread.of([one / other for one, other in zip(times[0], figures)])
        rows.append(Row(name, Spread.of(times[0]), (peer, Spread.of(figures), ratio), target))
    return rows


def timed(work: Work, actors: Sequence[str]) -> float:
    """Microseconds per actor, each met before, with the collector of garbage held still."""
    work(actors)
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter_ns()
        work(actors)
        return (time.perf_counter_ns() - start) / 1000 / len(actors)
    finally:
        gc.enable()
