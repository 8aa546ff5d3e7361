"""The code of a copied function of a staged run, compiled from the rewritten source of the user's function."""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import re
import threading
from collections import defaultdict
from types import CodeType, ModuleType
from typing import Any

from wengert.engine.core.by_identity import ByIdentity
from wengert.engine.core.parsing import statements
from wengert.engine.staged.rewriting import LAZY, PREFIX, rewritten
from wengert.engine.transforms.array_methods import FEATURES, Calling, imports, made_for

_lock = threading.Lock()
#: The names of blocks among the names of the functions around code.
_BLOCK = re.compile(rf"{PREFIX}\w+__\.<locals>\.")


def staged_code(code: CodeType, scope: dict[str, Any]) -> CodeType | None:
    """Return the code of a copied function; None if the source does not give the code that Python runs."""
    return _made.of(code, scope)


def _code_from_source(code: CodeType, scope: dict[str, Any]) -> CodeType | None:
    lines = tuple(linecache.getlines(code.co_filename, scope))
    modules = frozenset(name for name, value in scope.items() if isinstance(value, ModuleType))
    flags = sum(flag for flag in FEATURES if code.co_flags & flag)
    try:
        with _lock:
            for statement in _around(code, _parsed(lines)):
                made = made_for(code, _pairs(code.co_filename, lines, statement, modules, flags))
                if made is not None:
                    return made
    except (SyntaxError, ValueError, RecursionError):
        pass
    return None


#: By identity, because Python compares code without its file.
_made = ByIdentity(_code_from_source)


@functools.lru_cache(maxsize=8)
def _parsed(lines: tuple[str, ...]) -> list[ast.stmt]:
    """Return the statements of a file, which nobody changes."""
    return statements("".join(lines))


def _copied(lines: tuple[str, ...], node: ast.stmt) -> ast.stmt:
    """Return a statement of a file, parsed again from its lines; from the file if others reach into these."""
    first = _first_line(node) - 1
    own = "\n" * first + "".join(lines[first : node.end_lineno])
    for source in (own, "".join(lines)):
        with contextlib.suppress(SyntaxError):
            for found in statements(source):
                if (found.lineno, found.col_offset) == (node.lineno, node.col_offset):
                    return found
    raise ValueError("the file has no such statement")


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", ()))])


def _around(code: CodeType, statements: list[ast.stmt]) -> list[int]:
    """Return the numbers of the statements that hold the first line of code."""
    numbers: list[int] = []
    for number, node in enumerate(statements):
        first = _first_line(node)
        if first <= code.co_firstlineno <= (node.end_lineno or first):
            numbers.append(number)
    return numbers


@functools.lru_cache(maxsize=256)
def _pairs(
    filename: str, lines: tuple[str, ...], number: int, modules: frozenset[str], flags: int
) -> list[tuple[CodeType, CodeType]]:
    """Return the functions of a statement, as they are and rewritten."""
    nodes = _parsed(lines)
    node = nodes[number]
    before = [other for other in nodes if imports(other) and other is not node]

    def compiled(node: ast.stmt) -> list[CodeType]:
        module = compile(ast.Module([*before, node], []), filename, "exec", flags, dont_inherit=True)
        found: list[CodeType] = []
        _cleaned(module, "", found)
        return found

    users = compiled(node)
    return _paired(users, compiled(rewritten(Calling(set(modules)).visit(_copied(lines, node)))))


def _cleaned(code: CodeType, name: str, found: list[CodeType]) -> CodeType:
    """Return code in which blocks have the name of their function; append the user's functions."""
    is_block = code.co_name.startswith(PREFIX) or LAZY in code.co_varnames
    name = name if is_block else code.co_name
    constants = tuple(
        _cleaned(part, name, found) if isinstance(part, CodeType) else part for part in code.co_consts
    )
    qualified = _BLOCK.sub("", code.co_qualname)
    if is_block or qualified != code.co_qualname or constants != code.co_consts:
        code = code.replace(co_consts=constants, co_name=name, co_qualname=qualified)
    if not is_block:
        found.append(code)
    return code


def _paired(users: list[CodeType], made: list[CodeType]) -> list[tuple[CodeType, CodeType]]:
    """Pair functions by their place and parameters; those of one place by their order."""
    places: defaultdict[Any, list[CodeType]] = defaultdict(list)
    for code in reversed(made):
        places[_place(code)].append(code)
    return [(code, places[_place(code)].pop()) for code in users if places[_place(code)]]


def _place(code: CodeType) -> tuple[Any, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_name, code.co_firstlineno, code.co_varnames[:count]
