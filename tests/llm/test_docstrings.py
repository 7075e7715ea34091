"""The examples in the documentation of these modules run."""

from __future__ import annotations

import doctest
import inspect

import pytest

from tidegate import llm, queues

ITEMS = {f"{module.__name__}.{name}": getattr(module, name) for module in (llm, queues) for name in module.__all__}
MEMBERS = {f"Estimator.{name}": getattr(llm.Estimator, name) for name in ("record", "estimate")}


@pytest.mark.parametrize("name", [*ITEMS, *MEMBERS])
def test_example(name: str) -> None:
    text = inspect.cleandoc({**ITEMS, **MEMBERS}[name].__doc__)
    assert ">>>" in text
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(example).failed == 0
