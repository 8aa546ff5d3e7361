"""A plugin of pytest that makes only the cases that a run takes.

There are four times as many cases as the quick run takes, and each process of a run collects all files: pytest would
make an item of each case, sort them, and leave most of them out by their marks. So the tests of a file first tell their
parameters, `tests.covers` decides, and the items of the chosen cases are made. The runs take the same cases as if
pytest left them out.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import covers
from tests.covers import Case, mark_of, marks_of, told_apart
from tests.seconds import name_of

Marks = frozenset[str]
#: The marks by which runs choose cases.
NAMES = ("slow", "long", "rest", "site")


@cache
def taker(expression: str) -> Callable[[Marks], bool]:
    """Return whether a run with ``-m expression`` may take a case with some marks.

    Example:
        >>> quick = taker("not slow and not rest")
        >>> quick(frozenset({"modes"})), quick(frozenset({"rest"}))
        (True, False)
    """
    words = set(re.findall(r"\w+", expression))
    if not words or not words <= {*NAMES, "and", "or", "not"} or re.search(r"[^\w ()]", expression):
        return lambda marks: True
    code = compile(expression.strip(), "-m", "eval")
    return cache(lambda marks: bool(eval(code, {name: name in marks for name in NAMES})))


@cache
def may_have_cases(expression: str, marks: Marks) -> bool:
    """Return whether a run may take a case of a test with some marks: cases may have others, too."""
    takes, subsets = taker(expression), itertools.product([False, True], repeat=len(NAMES))
    return any(takes(marks.union(itertools.compress(NAMES, chosen))) for chosen in subsets)


def expression_of(config: pytest.Config) -> str:
    """Return the expression of marks by which a run chooses; it is empty where a person names tests."""
    return "" if any("::" in argument for argument in config.args) else config.option.markexpr


def names_of(marks: Iterable[Any]) -> Marks:
    return frozenset(mark.name for mark in marks)


class File(pytest.Module):
    """A file of tests. The first case of each test is made, then those of the others that the run takes."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.expression = expression_of(self.config)
        #: The parameters of the cases of the test that is being made; none of a test without parameters.
        self.calls: list[Any] = []
        #: The first case of each test with the items and the parameters of its cases.
        self.tests: dict[pytest.Item, tuple[Iterator[pytest.Item], list[Any]]] = {}

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        if self.expression == "long" and not self.may_be_long():
            return []
        self.tests.clear()
        nodes = list(super().collect())
        cases = {first: self.cases(first) for first in self.tests}
        listed = list(itertools.chain.from_iterable(cases.values()))
        marks = iter(marks_of(self.nodeid, listed))
        made: list[pytest.Item | pytest.Collector] = []
        for node in nodes:
            if node in cases:
                made += self.taken(node, cases[node], list(itertools.islice(marks, len(cases[node]))))
            else:
                made.append(node)
        self.tests.clear()
        return made

    def may_be_long(self) -> bool:
        """Return whether the file may have cases with the mark ``long``, without importing it."""
        recorded = any(test.startswith(f"{self.nodeid}::") for test in covers.recorded())
        return recorded or "mark.long" in self.path.read_text("utf-8")

    def _genfunctions(self, name: str, funcobj: Any) -> Iterator[pytest.Item]:
        """Make the first case of a test: pytest makes the others when `taken` asks for them."""
        items = super()._genfunctions(name, funcobj)
        first = next(items)
        self.tests[first] = items, self.calls
        yield first

    def cases(self, first: pytest.Item) -> list[Case]:
        """Return the cases of a test of which the first is made."""
        test, calls = name_of(first.nodeid), self.tests[first][1]
        marks = names_of((*self.iter_markers(), *getattr(first.obj, "pytestmark", ())))
        if not calls:
            return [Case(test, (), marks)]
        return [
            Case(
                test,
                tuple(told_apart(name, value) for name, value in call.params.items()),
                marks | names_of(call.marks) if call.marks else marks,
            )
            for call in calls
        ]

    def taken(self, first: pytest.Item, cases: list[Case], marks: list[str | None]) -> list[pytest.Item]:
        """Make the cases of a test that the run takes."""
        takes = taker(self.expression)
        places = [
            n for n, case in enumerate(cases) if takes(case.marks.union(filter(None, marks[n : n + 1])))
        ]
        items, calls = self.tests[first]
        calls[1:] = [calls[place] for place in places if place]  # of these pytest makes the items
        made = [first, *items][0 if 0 in places else 1 :]
        for place, item in zip(places, made, strict=True):
            if mark := marks[place]:
                item.add_marker(mark)
        return made


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> File:
    return File.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no case of a test that the run leaves out by its mark."""
    if not isinstance(collector, File) or not inspect.isfunction(obj) or not hasattr(obj, "pytestmark"):
        return None
    marks = names_of(obj.pytestmark)
    return None if marks.isdisjoint(covers.CHOSEN) or may_have_cases(collector.expression, marks) else []


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None]:
    """Tell the file the parameters of the cases of a test."""
    yield
    if isinstance(file := metafunc.definition.parent, File):
        file.calls = metafunc._calls


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Look for examples in docstrings only where the text has one: the others need not be imported for it."""
    collectors = yield
    if file_path.suffix != ".py" or ">>>" in file_path.read_text("utf-8"):
        return collectors
    return [collector for collector in collectors if isinstance(collector, File)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples of docstrings that take too long; `File` has marked the tests."""
    seconds = covers.recorded()
    for item in items:
        if not isinstance(item.parent, File) and (mark := mark_of(0, seconds.get(name_of(item.nodeid)))):
            item.add_marker(mark)
