"""The modules for frameworks: documented, with examples that run, and imported only when asked for."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

MODULES = [
    "tidegate.asgi",
    "tidegate.celery",
    "tidegate.django",
    "tidegate.django.ratelimit",
    "tidegate.fastapi",
    "tidegate.flask",
    "tidegate.shadow",
    "tidegate.stores.limits",
    "tidegate.testing",
]


def public() -> Iterator[tuple[str, Any]]:
    """Every public thing, and its members."""
    for name in MODULES:
        module = importlib.import_module(name)
        yield name, module
        for member in module.__all__:
            item = getattr(module, member)
            yield f"{name}.{member}", item
            if isinstance(item, type):
                for inner, value in vars(item).items():
                    if not inner.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                        yield f"{name}.{member}.{inner}", value


@pytest.mark.parametrize(("name", "item"), list(public()), ids=[name for name, _ in public()])
def test_documentation(name: str, item: Any) -> None:
    text = inspect.getdoc(item)
    assert text, f"{name} is not documented"
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(example).failed == 0


@pytest.mark.parametrize(
    ("module", "strangers"),
    [("tidegate", "tidegate._web"), ("tidegate.testing", "tidegate._web"), ("tidegate.asgi", "starlette")],
)
def test_nothing_is_imported_that_is_not_asked_for(module: str, strangers: str) -> None:
    code = (
        f"import sys, {module}; print([name for name in sys.modules if name.startswith(('starlette', {strangers!r}))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
