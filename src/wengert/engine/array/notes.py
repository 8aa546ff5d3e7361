"""Notes on errors that a program, Python or a package raises inside a transform: what it may lack, what to write."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from wengert.engine.array.suggestions import instead_of_called, value_of
from wengert.engine.boxes import NOTES, Box
from wengert.engine.core import tree
from wengert.engine.core.calls import instead_of_option
from wengert.engine.core.errors import WengertError, installed_file, is_users
from wengert.engine.core.parsing import expression_of, statements

_ASKING = frozenset({"isinstance", "issubclass", "type", "hasattr", "isscalar", "__class__", "callable"})
_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"^(?:.*\.)?(\w+|<lambda>)\(\) missing \d+ required positional")
_CONTAINERS = re.compile(r"'(list|tuple|dict)'|multiply sequence")
_OPTIONS = ("axis", "keepdims", "shape", "dtype")


def note(problem: Exception, transform: str) -> None:
    """Add to an error that leaves a transform what explains it, if anything does.

    Args:
        problem: the error, which is not Wengert's.
        transform: the name of the transform, as ``grad``.
    """
    if isinstance(problem, WengertError) or getattr(problem, "__notes__", None):
        return
    traces = list(_parts(problem.__traceback__))
    users = next((n for n in reversed(range(len(traces))) if is_users(traces[n].tb_frame.f_code)), None)
    text = _of_call(problem, traces)
    if users is not None and not text:
        frame, inner = traces[users].tb_frame, [part.tb_frame for part in traces[users + 1 :]]
        is_own_line = not any(installed_file(one.f_code.co_filename) for one in inner)
        text = _of_line(problem, frame, transform) if is_own_line else _of_package(frame, inner, transform)
    if text:
        problem.add_note(text)


def _parts(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def in_words(value: Any) -> str:
    """Return what a box stands for, as ``a float64 array of shape (3,)``.

    Args:
        value: the box.
    """
    kind = {"f": "a float", "c": "a complex number", "b": "a truth value"}.get(value.dtype.kind, "an integer")
    if value.weak:
        return kind
    article = "an" if value.dtype.name[0] in "iu" and value.dtype.name[:2] != "ui" else "a"
    return f"{article} {value.dtype.name} " + (f"array of shape {value.shape}" if value.shape else "number")


def _of_line(problem: Exception, frame: FrameType, transform: str) -> str:
    """Return the note of an error that a line of the user's raises, itself or by an operation of Python's."""
    if isinstance(problem, TypeError | ValueError | AssertionError) and (name := _asked(frame)):
        value = value_of(name, frame)
        return (
            f"{ast.unparse(name)} is a value that {transform} follows, in the place of {in_words(value)}: "
            "isinstance(x, np.ndarray), isinstance(x, float), type(x) is float and np.isscalar(x) answer for what it "
            f"stands for; ask so, ask for x.dtype or np.ndim(x), or check the argument before {transform}"
        )
    if not isinstance(problem, TypeError | AttributeError):
        return ""
    if found := _KEYWORD.search(str(problem)):
        advice = instead_of_option(found[1], _OPTIONS)
        return advice and f"{advice}: functions and methods have NumPy's parameters"
    operands = list(_operands(expression_of(frame)))
    if "NoneType" in str(problem):
        for part in operands:
            if isinstance(part, ast.Call):
                called = ast.unparse(part.func)
                return f"{ast.unparse(part)} may have returned None: does {called} lack a return?"
            if isinstance(part, ast.Name | ast.Attribute) and value_of(part, frame, frame) is None:
                return f"{ast.unparse(part)} is None here: a function without return gives None"
    if _CONTAINERS.search(str(problem)):
        for part in operands:
            value = value_of(part, frame) if isinstance(part, ast.Name) else None
            if isinstance(value, list | tuple | dict):
                kind, name = type(value).__name__, ast.unparse(part)
                whole = f"a {kind}, whose elements {transform} follows" if _holds_box(value) else f"a {kind}"
                hint = f"np.array(list({name}.values()))" if kind == "dict" else f"np.array({name})"
                return f"{name} is {whole}: write {hint}, or pass an array in its place"
    return ""


def _operands(expression: ast.expr | None) -> Iterator[ast.expr]:
    """Yield what an expression works on, from the left."""
    match expression:
        case ast.BinOp():
            yield from (expression.left, expression.right)
        case ast.UnaryOp():
            yield expression.operand
        case ast.Compare():
            yield from (expression.left, *expression.comparators)
        case ast.Subscript() | ast.Attribute():
            yield expression.value
        case ast.Call():
            yield from (expression.func, *expression.args)
        case _:
            return


def _asked(frame: FrameType) -> ast.expr | None:
    """Return the name of a box about whose class a condition asks that leads to the line of a frame."""
    try:
        lines, first = inspect.getsourcelines(frame.f_code)
        program = statements(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return None
    line = frame.f_lineno - first + 1
    around = [
        node
        for statement in program
        for node in ast.walk(statement)
        if isinstance(node, ast.If | ast.Assert | ast.Match | ast.IfExp)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    for node in reversed(around):
        condition = node.subject if isinstance(node, ast.Match) else node.test
        parts = [condition] if isinstance(node, ast.Match) else list(_questions(condition, frame))
        for part in parts:
            for name in ast.walk(part):
                if isinstance(name, ast.Name | ast.Attribute) and isinstance(value_of(name, frame), Box):
                    return name
    return None


def _questions(condition: ast.expr, frame: FrameType) -> Iterator[ast.expr]:
    """Yield the parts of a condition that ask for a class."""
    for part in ast.walk(condition):
        if isinstance(part, ast.Attribute) and part.attr in _ASKING:
            yield part
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Is | ast.IsNot):
            compared = (part.left, *part.comparators)
            yield from () if any(isinstance(one, ast.Constant) for one in compared) else (part,)
        if not isinstance(part, ast.Call):
            continue
        name = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
        code = getattr(value_of(part.func, frame), "__code__", None)
        if name in _ASKING or (code is not None and not _ASKING.isdisjoint(code.co_names)):
            yield part


def _of_call(problem: Exception, traces: list[TracebackType]) -> str:
    """Return the note of a call of the user's function without some of its arguments."""
    found = _MISSING.search(str(problem)) if isinstance(problem, TypeError) else None
    if found is None or not traces or is_users(traces[-1].tb_frame.f_code):
        return ""
    name = "f" if found[1] == "<lambda>" else found[1]
    return (
        f"pass every argument of {name} in the call, or in args=(...) of a solver; "
        f"where one vector holds them, write lambda x: {name}(*x)"
    )


def _of_package(frame: FrameType, inner: list[FrameType], transform: str) -> str:
    """Return the note of an error of an installed package that was given a box."""
    first = next(one for one in inner if installed_file(one.f_code.co_filename))
    code = first.f_code
    given = [first.f_locals.get(name) for name in code.co_varnames[: code.co_argcount + 2]]
    if not any(map(_holds_box, given)):
        return ""
    return f"an argument is a value that {transform} follows, and {instead_of_called(frame)}"


def _holds_box(value: Any) -> bool:
    try:
        return any(isinstance(leaf, Box) for leaf in tree.leaves(value))
    except Exception:  # a container of the user's
        return False


NOTES.append(note)
