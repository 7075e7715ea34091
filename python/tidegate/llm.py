"""Language models: the tokens that a response used, an estimate for the next call, and limits on the tools of agents.

>>> from tidegate.llm import Estimator, usage_of
>>> usage = usage_of({"usage": {"prompt_tokens": 12, "completion_tokens": 80}})
>>> usage.input, usage.output, usage.total
(12, 80, 92)
>>> Estimator().record("gpt-5", "summary", usage.output)
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from ._tidegate import Estimator, _Report, _usage_names
from ._tools import limit_tool

__all__ = ["Estimator", "Usage", "UsageStream", "limit_tool", "usage_of"]

Event = TypeVar("Event")


def _paths(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    return [(name, name.split(".")) for name in names]


PLACES, FIELDS = map(_paths, _usage_names())


class Usage(NamedTuple):
    """Tokens of one call to a language model.

    >>> from tidegate.llm import usage_of
    >>> usage_of({"usage": {"input_tokens": 12, "output_tokens": 80, "cache_read_input_tokens": 300}})
    Usage(input=12, output=80, cached=300, total=92)
    """

    input: int
    """Input tokens, as the API counts them against its limits.

    OpenAI counts those that it found in its cache. Anthropic does not; it counts those that it wrote there.
    """
    output: int
    """Output tokens, with those of its reasoning."""
    cached: int
    """Input tokens that were found in a cache: part of ``input`` at OpenAI, beside it at Anthropic."""
    total: int
    """Input and output together, for an API that has one limit for both."""


def usage_of(response: object) -> Usage | None:
    """The tokens of a response: an object of a client, or a mapping as JSON has it; ``None`` where it says none.

    It knows OpenAI's chat completions and responses, Anthropic's messages, and the messages of LangChain.

    >>> from tidegate.llm import usage_of
    >>> usage_of({"usage": {"input_tokens": 12, "output_tokens": 80}}).total
    92
    >>> usage_of({"choices": []}) is None
    True
    """
    report = _Report()
    _read(report, response)
    return _usage(report)


class UsageStream(Generic[Event]):
    """A stream of events, passed on unchanged, whose ``usage`` is known at its end.

    ``for`` and ``async for`` both work, as the stream does. Of OpenAI's chat completions, a stream says its usage with
    ``stream_options={"include_usage": True}`` only.

    >>> from tidegate.llm import UsageStream
    >>> stream = UsageStream([{"choices": ["Hi"]}, {"usage": {"prompt_tokens": 3, "completion_tokens": 1}}])
    >>> [event for event in stream][0], stream.usage.total
    ({'choices': ['Hi']}, 4)
    """

    __slots__ = ("_report", "_stream")

    def __init__(self, stream: Iterable[Event] | AsyncIterable[Event]) -> None:
        self._stream = stream
        self._report = _Report()

    @property
    def usage(self) -> Usage | None:
        """The tokens that the events so far have said; ``None`` until one does."""
        return _usage(self._report)

    def __iter__(self) -> Iterator[Event]:
        for event in self._stream:  # type: ignore[union-attr]
            _read(self._report, event)
            yield event

    async def __aiter__(self) -> AsyncIterator[Event]:
        async for event in self._stream:  # type: ignore[union-attr]
            _read(self._report, event)
            yield event


def _usage(report: _Report) -> Usage | None:
    counts = report.usage()
    return None if counts is None else Usage(*counts)


def _read(report: _Report, response: object) -> None:
    for _, place in PLACES:
        counts = _at(response, place)
        if counts is not None:
            for field, path in FIELDS:
                report.add(field, _at(counts, path))


def _at(found: Any, path: list[str]) -> Any:
    """Return the value at a path of attributes, or of keys."""
    for name in path:
        if found is None:
            return None
        found = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
    return found
