"""The sliding windows of ``limits``, by the engine's counter."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .._errors import LimitError
from .._tidegate import SlidingCounter

if TYPE_CHECKING:
    from .._tidegate import LimitInfo

# Up to here the engine keeps weights by the millisecond, beyond it by the second.
FINE = 2**52 // 1000


class Sliding(NamedTuple):
    """A sliding window, counted in parts of a unit.

    The library drops the fraction of the weighted count before it compares, the engine does not. A limit that is one
    part below the next whole unit admits what the library does, and its answers tell the fraction.
    """

    limit: SlidingCounter
    parts: int
    amount: int
    seconds: int

    def cost(self, amount: int) -> int:
        """The parts of an amount; of one that is not whole, which the engine refuses, the amount itself."""
        return amount if amount % 1 else amount * self.parts

    @property
    def free(self) -> int:
        """The parts that :attr:`probe` leaves free: less than a unit, where that is more than none."""
        return max(self.parts - 1, 1)

    @property
    def probe(self) -> int:
        """The cost whose answer tells the counts apart, as it does not fit beside a unit of the current window."""
        return int(self.limit.max) - self.free

    def counts(self, info: LimitInfo) -> tuple[int, float, int, float]:
        """The previous count, its time left, the current count, and its time, of a look with :attr:`probe` as its cost.

        The answer has the weighted count, the time until both counts are gone, which tells that the current one is not
        none, and the time until the probe fits, by which a current count fades.
        """
        used = info.quota - info.remaining
        whole, full = used // self.parts, info.full_reset_ms / 1000
        # The library takes it modulo the window.
        left = min(full - self.seconds if full > self.seconds else full, self.seconds - 0.001)
        current = 0
        if full > self.seconds:
            fades = left + self.seconds - info.reset_ms / 1000
            current = min(round(self.free / self.parts * self.seconds / fades), whole) if fades > 0 else whole
        previous = max(round((used / self.parts - current) * self.seconds / left), 0) if left > 0 else 0
        if previous > self.amount:
            # No counts of this limit: the policy of a limiter whose store is away has denied the look.
            return 0, 0.0, whole, min(info.reset_ms / 1000, self.seconds - 0.001)
        if previous == 0:
            return 0, 0.0, whole, left + self.seconds
        fading = left
        if int(previous * left / self.seconds + current) != whole:
            # Times are whole milliseconds, in which a weighted count may pass a whole number.
            fading = ((used + 0.5) / self.parts - current) * self.seconds / previous
        return previous, fading, current, left + self.seconds


@lru_cache(1024)
def sliding(amount: int, seconds: int) -> Sliding:
    """The sliding window of an amount, in the smallest parts that the engine keeps exactly."""
    for parts in (100_000, 10_000, 1000, 100, 10):
        if parts > 1000 and (amount + 1) * parts * seconds > FINE:
            continue
        try:
            limit = SlidingCounter("sliding", max=(amount + 1) * parts - 1, period=seconds * 1000)
        except LimitError:
            continue
        return Sliding(limit, parts, amount, seconds)
    return Sliding(SlidingCounter("sliding", max=amount, period=seconds * 1000), 1, amount, seconds)
