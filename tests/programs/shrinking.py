"""Shrink a failing program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.programs.plain import namespace
from tests.programs.scope import copied, numeric, quiet
from tests.programs.syntax import Block, Group, Line, Node, Program, render


def shrink(program: Program, fails: Callable[[Program], bool], most: int = 400) -> Program:
    """Return a minimal program that still fails.

    Args:
        program: a failing program.
        fails: returns whether a program fails in the same way.
        most: the largest number of programs to try.
    """
    tried = 0
    smaller = True
    while smaller and tried < most:
        smaller = False
        for candidate in candidates(program):
            tried += 1
            if tried > most:
                break
            if runs(candidate) and fails(candidate):
                program, smaller = candidate, True
                break
    return program


def runs(program: Program) -> bool:
    """Return whether plain NumPy runs a program without a warning."""
    names = namespace()
    try:
        with quiet():
            exec(program.function(), names)
            names["program"](*(copied(value) for value in program.inputs.values()))
    except Exception:  # any error of missing variables
        return False
    return True


def candidates(program: Program) -> Iterator[Program]:
    """Yield smaller programs, the smallest first."""
    for name in program.results:
        if len(program.results) > 1:
            yield replace(program, results=(name,))
    yield from (replace(program, nodes=nodes) for nodes in shorter(program.nodes))
    yield from cut(program)
    if len(program.results) > 1:
        for name in program.results:
            yield replace(program, results=tuple(other for other in program.results if other != name))
    yield from narrower(program)


def shorter(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Yield statements with one of them removed or made smaller."""
    for i in reversed(range(len(nodes))):
        yield nodes[:i] + nodes[i + 1 :]
    for i in reversed(range(len(nodes))):
        node = nodes[i]
        if isinstance(node, Group):
            yield from (
                (*nodes[:i], replace(node, nodes=inner), *nodes[i + 1 :]) for inner in shorter(node.nodes)
            )
        elif isinstance(node, Block):
            yield from (
                (*nodes[:i], replace(node, body=inner), *nodes[i + 1 :]) for inner in shorter(node.body)
            )
            if node.head.startswith("for "):
                variable = node.head.split()[1]
                yield (*nodes[:i], Line(f"{variable} = 0"), *node.body, *nodes[i + 1 :])


def cut(program: Program) -> Iterator[Program]:
    """Yield programs with inputs in the place of some statements."""
    for i, node in enumerate(program.nodes):
        before = run(program, program.nodes[:i])
        after = run(program, program.nodes[: i + 1])
        made = {name: value for name, value in after.items() if name not in before and numeric(value)}
        inputs = {**made, **program.inputs}
        floats = {name: value for name, value in inputs.items() if np.asarray(value).dtype.kind == "f"}
        text = "\n".join(render([*program.nodes[:i], *program.nodes[i + 1 :]])) + " ".join(program.results)
        needed = {name: value for name, value in {**floats, **inputs}.items() if name in made or name in text}
        if made and isinstance(node, Group):
            yield replace(program, inputs=needed, nodes=program.nodes[:i] + program.nodes[i + 1 :])


def run(program: Program, nodes: tuple[Node, ...]) -> dict[str, Any]:
    names = {**namespace(), **{name: copied(value) for name, value in program.inputs.items()}}
    with quiet():
        exec("\n".join(render(nodes)), names)
    return names


def narrower(program: Program) -> Iterator[Program]:
    """Yield programs with fewer inputs, or with smaller ones."""
    for name, value in program.inputs.items():
        if len(program.inputs) > 1:
            yield replace(program, inputs={key: item for key, item in program.inputs.items() if key != name})
        if not isinstance(value, np.ndarray):
            continue
        for axis, extent in enumerate(value.shape):
            if extent > 1:
                yield replace(
                    program, inputs={**program.inputs, name: np.take(value, range(extent - 1), axis)}
                )
        rounded = np.round(value, 1)
        if value.dtype.kind == "f" and not np.array_equal(rounded, value):
            yield replace(program, inputs={**program.inputs, name: rounded})
