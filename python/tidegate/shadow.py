"""Counts of shadow limits and candidates in this process."""

from __future__ import annotations

import threading
from typing import NamedTuple

__all__ = ["CandidateCounts", "ShadowCounts", "candidate_counts", "clear_counts", "shadow_counts"]


class ShadowCounts(NamedTuple):
    """Decisions of a shadow limit in this process."""

    admitted: int
    """Requests that it would have admitted."""
    denied: int
    """Requests that it would have denied."""


class CandidateCounts(NamedTuple):
    """Decisions of a candidate beside those of the limits that it might replace, in this process."""

    both_admitted: int
    """Requests that both admitted."""
    both_denied: int
    """Requests that both denied."""
    only_live_denied: int
    """Requests that were denied and that the candidate would have admitted."""
    only_candidate_denied: int
    """Requests that were admitted and that the candidate would have denied."""

    @property
    def differing(self) -> int:
        """Requests about which the two differ."""
        return self.only_live_denied + self.only_candidate_denied


_lock = threading.Lock()
_shadows: dict[str, list[int]] = {}
_candidates: dict[str, list[int]] = {}


# Keys that are counted; a function of the request may make any number of them.
MOST_KEYS = 10_000


def count_shadow(key: str, denied: bool) -> None:
    """Counts one decision of a shadow limit."""
    with _lock:
        if key in _shadows or len(_shadows) < MOST_KEYS:
            _shadows.setdefault(key, [0, 0])[denied] += 1


def count_candidate(key: str, live: bool, candidate: bool) -> None:
    """Counts one pair of decisions: each is true when it denied."""
    with _lock:
        if key in _candidates or len(_candidates) < MOST_KEYS:
            _candidates.setdefault(key, [0, 0, 0, 0])[(0, 3, 2, 1)[2 * live + candidate]] += 1


def shadow_counts() -> dict[str, ShadowCounts]:
    """The counts of every shadow limit in this process, by its key."""
    with _lock:
        return {key: ShadowCounts(*counts) for key, counts in _shadows.items()}


def candidate_counts() -> dict[str, CandidateCounts]:
    """The counts of every candidate in this process, by the key of the limits that it might replace."""
    with _lock:
        return {key: CandidateCounts(*counts) for key, counts in _candidates.items()}


def clear_counts() -> None:
    """Sets all counts of this process back to nothing."""
    with _lock:
        _shadows.clear()
        _candidates.clear()
