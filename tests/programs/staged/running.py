"""Run a drawn program in several modes, and compare with plain Python.

All programs are traced: half of them for their values, and half, in one trace, for their values and their gradients.
Of all programs, a tenth is compiled for the values, a twentieth for both, another tenth runs under `vmap`, and 3 of 100
under `jit` of `vmap`; most of the time goes into compiling. `MODES` has the shares.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.transforms.staging import evaluate

#: The positions of the arguments by which programs are differentiated.
FLOATS = (0, 1, 3)
#: Exceptions that Python raises where operators keep the rules of NumPy.
_OF_OPERATORS = (ZeroDivisionError, OverflowError)
#: Modes with the share of programs that run in them, and `TRACED` for each program; "grad" has the values, too.
MODES = {"jit": 0.1, "jit grad": 0.05, "vmap": 0.1, "jit vmap": 0.03}
#: The modes of which each program has one, with the share of the second.
TRACED, WITH_SLOPES = ("trace", "trace grad"), 0.5
_COMPILED = {"trace": "jit", "trace grad": "jit grad"}


@dataclass(frozen=True)
class Raised:
    """An exception as the outcome of a call."""

    kind: str
    text: str = ""


@dataclass(frozen=True)
class Refused:
    """The error of what a transform does not follow."""

    text: str


@dataclass(frozen=True)
class Difference:
    """Two modes that differ.

    Args:
        mode: the mode that differs.
        says: how.
        is_value: whether numbers differ, not exceptions.
    """

    mode: str
    says: str
    kind: str


@dataclass
class Module:
    """The functions of a drawn source.

    Args:
        source: of the module.
        name: of its file.
    """

    source: str
    name: str

    def __post_init__(self) -> None:
        file = f"/drawn/{self.name}.py"
        linecache.cache[file] = len(self.source), None, self.source.splitlines(keepends=True), file
        module = types.ModuleType(f"drawn_{self.name}")
        module.__file__ = file
        sys.modules[module.__name__] = module  # data classes look for it
        scope = vars(module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(self.source, file, "exec"), scope)
        self.program: Callable[..., Any] = scope["program"]
        self.total: Callable[..., Any] = scope["total"]


def outcome(function: Callable[..., Any], given: Sequence[Any]) -> Any:
    """Return the results of a call as a list, or the exception, or the refusal."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return [*function(*_copies(given))]
    except IndexError:  # of NumPy's, or of Wengert's with the line
        return Raised("IndexError")
    except _OF_OPERATORS:
        return Raised("of an operator")
    except wg.WengertError as problem:
        return Refused(f"{type(problem).__name__}: {problem}")
    except Exception as problem:  # the program's own
        return Raised(type(problem).__name__, str(problem))


def _copies(given: Sequence[Any]) -> list[Any]:
    return [np.copy(x) if isinstance(x, np.ndarray) else x for x in given]


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that traces another, and evaluates the trace."""
    return lambda *given: evaluate(wg.trace(function)(*given), *given)


def _with_slopes(total: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns the results of a program and its gradient, from one run."""
    slopes = wg.grad(total, argnums=FLOATS, has_aux=True)

    def both(*given: Any) -> list[Any]:
        gradient, found = slopes(*given)
        return [*found, *gradient]

    return both


def _reference(module: Module) -> Callable[..., Any]:
    """Return a function that returns the results of plain Python, and the gradient of the tape."""
    slopes = wg.grad(module.total, argnums=FLOATS, has_aux=True)
    return lambda *given: [*module.program(*_copies(given)), *slopes(*given)[0]]


def _of_examples(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the results of one example after another, stacked."""

    def stacked(*columns: Any) -> Any:
        found = [function(*(column[number] for column in columns)) for number in range(len(columns[0]))]
        return [_stacked([result[n] for result in found]) for n in range(len(found[0]))]

    return stacked


def _stacked(results: Sequence[Any]) -> Any:
    """Return the results of all examples: a list, if one of them is a number of Python's."""
    made = np.stack([np.asarray(result) for result in results])
    return made.tolist() if any(map(_is_pythons, results)) else made


def _is_pythons(number: Any) -> bool:
    return isinstance(number, (bool, int, float)) and not isinstance(number, np.generic)


def _columns(given: Sequence[Any], seed: int) -> list[Any]:
    """Return three examples: the arguments, and changed ones."""
    rng = np.random.default_rng(seed)
    made: list[Any] = []
    for x in map(np.asarray, given):
        order = rng.permutation(x.size)
        swapped = x.reshape(-1)[order].reshape(x.shape) if x.shape else x + x.dtype.type(1)
        made.append(np.stack([x, -x, swapped]))
    made[-1] = np.abs(made[-1]) % 5
    return made


def modes(module: Module, given: Sequence[Any], seed: int) -> dict[str, tuple[Any, Any, Sequence[Any]]]:
    """Return the reference, the function and the arguments of each mode."""
    columns = _columns(given, seed)
    reference, both = _reference(module), _with_slopes(module.total)
    return {
        "trace": (module.program, traced(module.program), given),
        "trace grad": (reference, traced(both), given),
        "jit": (module.program, wg.jit(module.program), given),
        "jit grad": (reference, wg.jit(both), given),
        "vmap": (_of_examples(module.program), wg.vmap(module.program), columns),
        "jit vmap": (_of_examples(module.program), wg.jit(wg.vmap(module.program)), columns),
    }


def compare(expected: Any, found: Any, mode: str, tolerance: float) -> Difference | None:
    """Return the difference of two outcomes."""
    if isinstance(expected, Refused) or isinstance(found, Refused):
        return None
    if isinstance(expected, Raised) and expected.kind == "of an operator":
        return None
    if isinstance(expected, Raised) or isinstance(found, Raised):
        if "vmap" in mode and isinstance(expected, Raised) and isinstance(found, Raised):
            return None  # of another example
        is_text = isinstance(found, Raised) and "trace)" not in found.text  # a trace knows no numbers
        is_same = (
            expected == found if is_text else getattr(expected, "kind", "") == getattr(found, "kind", "")
        )
        return (
            None if is_same else Difference(mode, f"{_shown(found)} instead of {_shown(expected)}", "raised")
        )
    if len(expected) != len(found):
        return Difference(mode, f"{len(found)} results instead of {len(expected)}", "number")
    slopes = len(found) - len(FLOATS) * ("grad" in mode)
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        says = _differ(one, other, tolerance, number >= slopes)
        if says:
            kind = "type" if says.startswith("type") else "value"
            return Difference(mode, f"result {number}: {says}", kind)
    return None


def _shown(result: Any) -> str:
    return str(result) if isinstance(result, Raised) else f"results {result}"[:300]


def _differ(expected: Any, found: Any, tolerance: float, is_slope: bool) -> str:
    one, other = np.asarray(expected), np.asarray(found)
    if one.dtype == object:  # an integer of Python's beyond 64 bits
        return ""
    if one.shape != other.shape:
        return f"type: shape {other.shape} instead of {one.shape}"
    is_widened = _is_pythons(expected) or isinstance(expected, list) or one.dtype.kind == "b"
    if one.dtype != other.dtype and not is_widened:
        return f"type: {other.dtype} instead of {one.dtype}: {found} instead of {expected}"
    if is_slope:  # relative to the largest derivative
        size = np.max(np.abs(one[np.isfinite(one)]), initial=1.0)
        close = np.allclose(other / size, one / size, tolerance, tolerance, equal_nan=True)
    else:
        close = np.allclose(other, one, tolerance, tolerance, equal_nan=True)
    return "" if close else f"{found!r} instead of {expected!r}"


def tolerance_of(source: str) -> float:
    """Return the tolerance of a program."""
    return 2e-3 if " v[" in source or "(v[" in source or "float32" in source else 1e-7


def check(
    source: str, given: Sequence[Any], name: str, chosen: Sequence[str], refusals: list[str] | None = None
) -> Iterator[Difference]:
    """Yield the differences of a program.

    Args:
        source: of the module.
        given: the arguments.
        name: of its file.
        chosen: the modes.
        refusals: gets the texts of refusals.
    """
    module, tolerance = Module(source, name), tolerance_of(source)
    found = modes(module, given, 0)
    waiting = [*chosen]
    while waiting:
        mode = waiting.pop(0)
        reference, function, arguments = found[mode]
        result = outcome(function, arguments)
        if isinstance(result, Refused):
            if refusals is not None:
                refusals.append(f"{mode}: {result.text}")
            if mode == TRACED[1]:  # the values alone may not be refused
                waiting.insert(0, TRACED[0])
            continue
        expected = outcome(reference, arguments)
        if isinstance(expected, Raised) and "ndarray doesn't define __round__" in expected.text:
            continue  # an array without axes counts as a number in a program
        difference = compare(expected, result, mode, tolerance)
        is_of_operator = isinstance(result, Raised) and result.kind == "of an operator"
        is_other = isinstance(expected, Raised) and isinstance(result, Raised)
        if (is_other or is_of_operator) and difference and mode in _COMPILED:
            # The program of a trace raises one of several exceptions, and `ZeroDivisionError` for numbers of NumPy's,
            # too; a call of `jit` has Python raise the first, or return its result.
            result = outcome(found[_COMPILED[mode]][1], arguments)
            difference = compare(expected, result, _COMPILED[mode], tolerance)
        if isinstance(expected, Raised) and isinstance(result, list):
            of_operation = expected.kind in ("IndexError", "ValueError", "of an operator")
            if of_operation and _is_unread(source, name, mode, arguments, result, tolerance):
                if refusals is not None:
                    refusals.append(f"{mode}: no result depends on the {expected.kind}")
                continue
        is_type = difference is not None and difference.kind == "type"
        if is_type and _is_widened(source, name, mode, arguments, result, tolerance):
            continue
        if difference is not None and not is_unstable(reference, arguments, expected, tolerance):
            yield difference


class _Widened(ast.NodeTransformer):
    """Has the numbers that are assigned to a variable be NumPy's, of 64 bits.

    Args:
        name: of the variable.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """Convert what the variable gets."""
        if self.name in map(ast.unparse, node.targets):
            node.value = ast.Call(ast.Name("_wide", ast.Load()), [node.value], [])
        return node


def _wide(value: Any) -> Any:
    return np.float64(value) if type(value) in (int, float) else value


def _is_widened(
    source: str, name: str, mode: str, given: Sequence[Any], found: Any, tolerance: float
) -> bool:
    """Return whether a number of Python's has taken the wider type that it has in another branch."""
    assigned = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Assign)]
    for variable in dict.fromkeys(ast.unparse(one.targets[0]) for one in assigned):
        tree = ast.fix_missing_locations(_Widened(variable).visit(ast.parse(source)))
        module = Module(ast.unparse(tree), f"{name}_wide")
        vars(sys.modules[f"drawn_{name}_wide"]).update(_wide=_wide)
        if compare(outcome(modes(module, given, 0)[mode][0], given), found, mode, tolerance) is None:
            return True
    return False


class _Lenient(ast.NodeTransformer):
    """Has reads of elements and calls of `math` go on where they raise an exception."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace a read of one element."""
        self.generic_visit(node)
        is_slice = any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))
        if is_slice or not isinstance(node.ctx, ast.Load):
            return node
        return ast.Call(ast.Name("_element", ast.Load()), [node.value, node.slice], [])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace a call of `math`."""
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id="math")):
                return ast.Call(ast.Name("_called", ast.Load()), [node.func, *node.args], [])
            case _:
                return node


def _is_unread(
    source: str, name: str, mode: str, given: Sequence[Any], found: Sequence[Any], tolerance: float
) -> bool:
    """Return whether a program has the same results whatever stands at wrong indices, and outside of domains.

    It need not raise the exception then.
    """
    tree = ast.fix_missing_locations(_Lenient().visit(ast.parse(source)))
    module = Module(ast.unparse(tree), f"{name}_lenient")
    function = _of_examples(module.program) if "vmap" in mode else module.program
    for number in (0, 3, -2):

        def element(array: Any, index: Any, number: int = number) -> Any:
            try:
                return array[index]
            except IndexError:
                return array.dtype.type(number) if isinstance(array, np.ndarray) else float(number)

        def called(of_math: Any, *operands: Any, number: int = number) -> Any:
            try:
                return of_math(*operands)
            except (ValueError, OverflowError):
                return float(number)

        vars(sys.modules[f"drawn_{name}_lenient"]).update(_element=element, _called=called)
        expected = outcome(function, given)
        if isinstance(expected, Raised) or compare(expected, found[: len(expected)], "", tolerance):
            return False
    return True


def is_unstable(function: Callable[..., Any], given: Sequence[Any], expected: Any, tolerance: float) -> bool:
    """Return whether the outcome of a program changes where its arguments move by rounding."""
    for factor in (1 - 2e-13, 1 + 3e-13, 1 + 1e-12):
        moved = [x * factor if np.asarray(x).dtype == np.float64 else x for x in given]
        if compare(expected, outcome(function, moved), "", tolerance * 10) is not None:
            return True
    return False
