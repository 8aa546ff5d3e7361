"""Helpers for tests of entries: a program as a built-in function of Python, and two examples."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.graphs import compile_graph
from wengert.compiler.codegen.module import Module
from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import compile_module, load
from wengert.compiler.runtime.execute import Executable
from wengert.compiler.runtime.fastcall import entry
from wengert.compiler.runtime.fastcall.entry_code import Signature, entry_ir
from wengert.compiler.runtime.threads import team
from wengert.engine.core import tree
from wengert.engine.ir.types import type_of
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import stage

where_there_are_entries = pytest.mark.skipif(
    platform.python_implementation() != "CPython" or "t" in getattr(sys, "abiflags", ""),
    reason="there are no entries on this Python",
)


class PassedOnError(Exception):
    """Raised by the next callable, with its arguments."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise PassedOnError(args, kwargs)


def staged(
    function: Callable[..., Any], *examples: Any, places: dict[int, int] | None = None, **named: Any
) -> tuple[Signature, Module]:
    leaves, structure_of_all = tree.flatten((examples, named))
    results: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        positional, by_name = tree.unflatten(structure_of_all, values)
        actual, structure = tree.flatten(function(*positional, **by_name))
        results.append(structure)
        return actual

    types = tuple(map(type_of, leaves))
    graph = simplify(stage(flat, types)[0])
    given_types = tuple(atom.type for atom in graph.outputs)
    module = compile_graph(graph, places).module
    arguments, by_name = structure_of_all.children
    return Signature(arguments, types, results[-1], given_types, by_name), module


def object_code(signature: Signature, module: Module) -> tuple[bytes, bytes]:
    """Return the code of the program and that of its entry."""
    text = entry_ir(signature, module.interface, entry.polls(module))
    return compile_module(module.text, host(), team.symbols()), compile_module(text, host(), ("main",))


def linked(
    signature: Signature, module: Module, code: tuple[bytes, bytes], following: Callable[..., Any] = refuse
) -> Callable[..., Any]:
    executable = Executable(module.interface, load(code[0], team.symbols()))
    library = load(code[1], {"main": executable.address})
    return entry.make(signature, executable, library, following)


def compiled(
    function: Callable[..., Any], *examples: Any, following: Callable[..., Any] = refuse, **named: Any
) -> Any:
    signature, module = staged(function, *examples, **named)
    assert entry.eligible(signature, module)
    return linked(signature, module, object_code(signature, module), following)


def wengert(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


gradient = wg.grad(wengert, argnums=(0, 1))
POINT = np.linspace(-1, 1, 10)


def assert_same(actual: Any, expected: Any) -> None:
    assert tree.flatten(actual)[1] == tree.flatten(expected)[1]
    for x, y in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        assert type(x) is type(y)
        assert type_of(x) == type_of(y)
        np.testing.assert_allclose(x, y, rtol=1e-12)
