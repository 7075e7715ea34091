"""The cost of a rate limit on a hello-world with headers, beside each framework's own peer. Prints a table.

A cost is what a request takes the server's process with the limit, less what it takes it without: processor time, which
other programs on the machine disturb least, and time by the clock, which requests per second come from. All servers of
a framework run at once, with one worker each, on a processor of their own. They are asked in turns, in short rounds
over connections that stay open; each round has its own differences, and their medians count. They are started anew a
few times, because where a process has its memory makes it faster or slower as long as it lives.

Words behind the command choose rows: ``django redis``. ``STARTS``, ``ROUNDS`` and ``REQUESTS`` make a run shorter or
longer. The exit code is 1 where a target is missed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from statistics import median
from typing import NamedTuple

from load import Load
from servers import OTHERS, ROWS, SERVERS, Row, Server, serving

from server import RedisServer

STARTS = int(os.environ.get("STARTS", "7"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
"""Of each start."""
REQUESTS = int(os.environ.get("REQUESTS", "200"))
# Rounds in which the servers warm up.
WARM_UP = 2


class Turn(NamedTuple):
    """Microseconds of one request."""

    processor: float
    clock: float


async def turn(server: Server, load: Load) -> Turn:
    """Measures a few requests to one server."""
    used, began = server.processor(), time.perf_counter()
    await load.ask(REQUESTS)
    return Turn((server.processor() - used) / REQUESTS * 1e6, (time.perf_counter() - began) / REQUESTS * 1e6)


async def measured(servers: list[Server]) -> list[list[Turn]]:
    """The turns of all servers, round by round."""
    loads = [Load(server.port, server.row.has_headers) for server in servers]
    for load in loads:
        await load.connect()
    rounds = []
    for number in range(WARM_UP + ROUNDS):
        turns: dict[int, Turn] = {}
        # Each round begins with another server, so that none always follows the same one.
        for index in range(len(servers)):
            place = (number + index) % len(servers)
            turns[place] = await turn(servers[place], loads[place])
        rounds.append([turns[place] for place in range(len(servers))])
    for load in loads:
        load.close()
    return rounds[WARM_UP:]


def line(*cells: str) -> None:
    """Prints one line of the table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def show(name: str, rows: list[Row], rounds: list[list[Turn]]) -> bool:
    """Prints the lines of one framework and store; true if a target is missed."""
    names = [row.limited for row in rows]

    def cost(place: int, base: int = 0) -> list[float]:
        return [median(turns[place][by] - turns[base][by] for turns in rounds) for by in range(2)]

    peer = cost(len(rows) - 1)
    missed = False
    for place, row in enumerate(rows):
        rate = 1e6 / median(turns[place].clock for turns in rounds)
        if place == 0:
            whole = median(turns[0].processor for turns in rounds)
            line(f"{name}: {row.limited}", f"{rate:.0f}", f"({whole:.1f} us in all)", "", "", "", "")
            continue
        costs, shares, verdict = cost(place), ["", ""], ""
        if row is not rows[-1]:
            shares = [f"{one / other:.2f}" for one, other in zip(costs, peer)]
        if row.most is not None:
            own = cost(place, names.index(row.beyond))[0]
            is_met = own <= row.most * peer[0]
            missed = missed or not is_met
            verdict = f"<= {row.most} {'met' if is_met else 'missed'}"
            if row.beyond != names[0]:
                verdict += f", {own / peer[0]:.2f} beyond the {row.beyond}"
        ours = "tidegate, " if row.is_ours else ""
        line(f"{name}: {ours}{row.limited}", f"{rate:.0f}", *(f"{one:.1f} us" for one in costs), *shares, verdict)
    return missed


def main() -> int:
    words = [word.lower() for word in sys.argv[1:]]
    os.sched_setaffinity(0, OTHERS or {SERVERS})
    missed = False
    columns = ["hello-world", "requests/s", "cost: processor", "by clock", "of peer", "by clock", "target"]
    line(*columns)
    line(*("---" if name in (columns[0], columns[-1]) else "---:" for name in columns))
    with RedisServer() as redis:
        for framework, rows in ROWS.items():
            for store, url in (("memory", "memory://"), ("Redis", redis.url)):
                name = f"{framework}, {store}"
                if not all(word in name.lower() for word in words):
                    continue
                rounds: list[list[Turn]] = []
                for start in range(STARTS):
                    with serving(framework, url, start % len(rows)) as servers:
                        rounds += asyncio.run(measured(servers))
                missed = show(name, rows, rounds) or missed
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
