"""Counts of shadow limits and candidates in this process."""

from __future__ import annotations

from typing import NamedTuple

from ._tidegate import _TrialCounts

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


COUNTS = _TrialCounts()
"""The counts of this process."""


def shadow_counts() -> dict[str, ShadowCounts]:
    """The counts of every shadow limit in this process, by its key."""
    return {key: ShadowCounts(*counts) for key, counts in COUNTS.shadow()}


def candidate_counts() -> dict[str, CandidateCounts]:
    """The counts of every candidate in this process, by the key of the limits that it might replace."""
    return {key: CandidateCounts(*counts) for key, counts in COUNTS.candidates()}


def clear_counts() -> None:
    """Sets all counts of this process back to nothing."""
    COUNTS.clear()
