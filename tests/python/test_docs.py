"""Documentation that cannot go stale: examples run, stubs say what the built module says."""

from __future__ import annotations

import ast
import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate
from tidegate import AsyncLimiter, Limiter, _aio, _tidegate
from tidegate.testing import Clock

NAMES = [name for name in tidegate.__all__ if not name.startswith("__")]
# Aliases of types have no documentation that a program could read.
ALIASES = ["Check", "Definition", "Limited"]
PUBLIC = [getattr(tidegate, name) for name in NAMES if name not in ALIASES] + [Clock]


def documented() -> Iterator[tuple[str, str]]:
    """Every public thing with its documentation."""
    yield "tidegate", tidegate.__doc__ or ""
    for item in PUBLIC:
        yield item.__name__, item.__doc__ or ""
        for name, member in sorted(getattr(item, "__dict__", {}).items()):
            if not name.startswith("_"):
                yield f"{item.__name__}.{name}", member.__doc__ or getattr(member, "__func__", member).__doc__ or ""


@pytest.mark.parametrize(("name", "text"), list(documented()), ids=[name for name, _ in documented()])
def test_documentation(name: str, text: str) -> None:
    assert text.strip(), f"{name} is not documented"
    example = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), {}, name, None, None)
    outcome = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(example)
    assert outcome.failed == 0


def test_the_important_things_have_examples() -> None:
    examples = {name for name, text in documented() if ">>>" in text}
    calls = (
        "limit",
        "peek",
        "charge",
        "refund",
        "settle",
        "reset",
        "acquire",
        "limit_all",
        "peek_all",
        "explain",
        "stats",
        "close",
    )
    assert examples >= {f"Limiter.{call}" for call in calls}
    assert examples >= {cls.__name__ for cls in PUBLIC}


def stub_docs() -> Iterator[tuple[str, str]]:
    tree = ast.parse((Path(tidegate.__file__).parent / "_tidegate.pyi").read_text())
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            yield item.name, ast.get_docstring(item) or ""
            for member in item.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
                    yield f"{item.name}.{member.name}", ast.get_docstring(member) or ""
        elif isinstance(item, ast.FunctionDef):
            yield item.name, ast.get_docstring(item) or ""


def test_stubs_are_documented_as_the_built_module_is() -> None:
    stubs = dict(stub_docs())
    assert len(stubs) > 40
    for name, text in stubs.items():
        built: object = _tidegate
        for part in name.split("."):
            built = inspect.getattr_static(built, part) if isinstance(built, type) else getattr(built, part)
        built = getattr(built, "__func__", built)
        assert text == inspect.cleandoc(built.__doc__ or ""), name


def test_documentation_opens_with_a_noun_phrase_or_an_imperative() -> None:
    questions = {"What", "Whether", "Who", "Whom", "How", "Where", "Which", "Why"}
    texts = [*documented(), *stub_docs()]
    assert len(texts) > 150
    assert [name for name, text in texts if text.split() and text.split()[0] in questions] == []


def test_both_limiters_have_the_same_methods_with_the_same_words() -> None:
    public = {name: member for name, member in vars(Limiter).items() if not name.startswith("_")}
    both = {name: member for name, member in vars(AsyncLimiter).items() if not name.startswith("_")}
    assert both.keys() - public.keys() == {"aclose"}
    assert public.keys() <= both.keys()
    for name, member in public.items():
        text = inspect.cleandoc(member.__doc__ or "").split(">>>")[0].strip()
        assert text == inspect.cleandoc(both[name].__doc__ or ""), name
        if callable(member):
            one, other = (
                [(parameter.name, parameter.default) for parameter in inspect.signature(call).parameters.values()]
                for call in (member, both[name])
            )
            assert one == other, name


def test_the_version_is_one() -> None:
    assert tidegate.__version__ == _tidegate.__version__
    assert sorted(tidegate.__all__) == tidegate.__all__
    assert _aio.__all__ == ["AsyncLimiter"]
