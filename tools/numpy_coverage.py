"""Try every public function of NumPy inside `grad`, `vmap` and `jit`, and write ``docs/coverage.md``.

Each call of ``numpy_calls.txt`` runs on plain arrays and inside each transform. It works in a transform if the result
has NumPy's value, shape and dtype. In `grad` the derivative must also agree with differences, and `jit` compiles the
gradient as well.

Usage: ``python tools/numpy_coverage.py [--write] [--only NAME ...] [--jobs N]``
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import itertools
import math
import multiprocessing
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy as wnp
from wengert.engine.core import tree
from wengert.errors import WengertError

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
CALLS = Path(__file__).with_name("numpy_calls.txt")
MODES = ("grad", "vmap", "jit")
#: What the shape of a result can depend on, in the words of the error.
_BY_VALUES = re.compile(r"depends on the values|must be known|Python must know|known only|knows only")
_PLACE = re.compile(r" \[[^\[\]]*:\d+[^\[\]]*\]\.?$| \(?<[^>]*> line \d+\)?$")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_KNOWING = re.compile(r"\ba (vmap|jit) knows")
#: Options that every ufunc has, for one operand and for two.
_OPTIONS = (
    "out=np.zeros_like({a}), where=m",
    "out=np.zeros((3, 4))",
    "dtype=np.float32",
    'casting="same_kind", order="C", subok=False',
)
_METHODS = (
    "np.{name}.reduce({a})",
    "np.{name}.reduce({a}, axis=1, keepdims=True)",
    "np.{name}.reduce({a}, axis=1, initial=1, where=m)",
    "np.{name}.reduce({a}, axis=0, dtype=np.float32, out=np.zeros_like({a}[0]))",
    "np.{name}.accumulate({a})",
    "np.{name}.accumulate({a}, axis=1, out=np.zeros_like({a}))",
    "np.{name}.reduceat({a}, [0, 2, 1], axis=1)",
    "np.{name}.outer({a}[0], {b}[:, 0])",
    "(c := {a}.copy(), np.{name}.at(c, ([0, 0, 2], [1, 1, 3]), {b}[:, 0]))[0]",
)
#: Ufuncs whose vectorised loops in NumPy reduce contiguous lines in another order than NumPy documents.
_IN_ANOTHER_ORDER = ("power", "arctan2")
_UNARY_METHODS = ("(c := {a}.copy(), np.{name}.at(c, ([0, 2], [1, 3])))[0]",)


def _lattice(seed: int, shape: tuple[int, ...], low: float, high: float) -> Any:
    """Return distinct numbers between the ends that lie apart, in random order."""
    count, generator = math.prod(shape), np.random.default_rng(seed)
    places = (np.arange(count) + generator.uniform(0.2, 0.6, count)) / count
    return generator.permutation(low + (high - low) * places).reshape(shape)


def samples(example: int) -> dict[str, Any]:
    """Return the arrays that the calls name; `vmap` takes two examples of each."""
    draw = itertools.count(100 * example)
    matrix = (3, 4)
    found = {name: _lattice(next(draw), matrix, -2.0, 2.0) for name in "xy"}
    found["u"] = _lattice(next(draw), matrix, -0.9, 0.9)
    found |= {name: _lattice(next(draw), matrix, 0.2, 2.2) for name in "pq"}
    found["g"] = _lattice(next(draw), matrix, 1.2, 3.0)
    found["n"] = np.where(np.eye(3, 4, dtype=bool), np.nan, _lattice(next(draw), matrix, -2.0, 2.0))
    found |= {name: _lattice(next(draw), (5,), -2.0, 2.0) for name in "vw"}
    found["r"] = np.sort(_lattice(next(draw), (5,), -2.5, 2.5)) + 0.01 * np.arange(5.0) ** 2
    found["s"] = np.array(0.61 + 0.1 * example)
    found |= {name: _lattice(next(draw), (3, 3), -1.0, 1.0) + np.diag([2.0, 3.0, 4.0]) for name in "AB"}
    half = _lattice(next(draw), (3, 3), -0.6, 0.6)
    found["S"] = half @ half.T + np.diag([1.0, 2.0, 3.0])
    return found


def integers(example: int) -> dict[str, Any]:
    """Return the arrays of integers that the calls name."""
    generator = np.random.default_rng(7 + example)
    found = {name: generator.permutation(np.arange(12) % 6).reshape(3, 4) for name in "kl"}
    return found


MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
FLOATS, INTEGERS = frozenset(samples(0)), frozenset(integers(0))


@dataclass(frozen=True)
class Call:
    """A call of a function.

    Attributes:
        function: the full name of the function, without ``np.``.
        text: the expression.
        optional: whether to leave the call out where NumPy itself refuses it.
    """

    function: str
    text: str
    optional: bool = False

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The samples that a transform follows: the floating ones, or the integers where there are none."""
        names = _free_names(self.text)
        return tuple(sorted(names & FLOATS or names & INTEGERS))

    @property
    def narrow(self) -> bool:
        """Whether the call rounds to float32."""
        return "float32" in self.text

    def program(self, numpy: Any, example: int = 0) -> Callable[..., Any]:
        """Return the expression as a function of the samples that a transform follows."""
        constants = {name: value for name, value in integers(example).items() if name not in self.names}
        source = f"lambda {', '.join(self.names)}: {self.text}"
        return eval(compile(source, "<call>", "eval"), {"np": numpy, "m": MASK, **constants})


@functools.cache
def _free_names(text: str) -> frozenset[str]:
    code = compile(text, "<call>", "eval")
    found: set[str] = set()
    waiting = [code]
    while waiting:
        code = waiting.pop()
        found |= set(code.co_names) | set(code.co_freevars)
        waiting += [constant for constant in code.co_consts if hasattr(constant, "co_names")]
    return frozenset(found)


@functools.cache
def sections(mark: str) -> dict[str, str]:
    """Return the sections of the table whose heading begins with a mark: ``==`` for calls, ``--`` for a reason."""
    text = re.sub(r"(?m)^#.*\n", "", CALLS.read_text("utf-8"))
    return dict(re.findall(rf"(?ms)^{mark} ([^\n]+)\n(.*?)(?=^==|^--|\Z)", text))


def without_meaning() -> dict[str, list[str]]:
    """Return the names that have no meaning for followed values, by reason."""
    return {reason: [*filter(exists, names.split())] for reason, names in sections("--").items()}


def entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the names of a section that this version of NumPy has, and the parts of each."""
    for line in re.sub(r"\n +", "; ", text).strip().splitlines():
        name, _, parts = line.partition(": ")
        if exists(name):
            yield name, [part.strip() for part in parts.split(";") if part.strip()]


def calls_of(name: str, parts: list[str]) -> Iterator[Call]:
    """Yield the calls of an entry."""
    plain = parts[0]
    for part in parts:
        if part.startswith("= "):
            yield Call(name, part[2:])
        elif part.startswith("np."):
            yield Call(name, part)
        elif re.match(r"\w+=(?!=)", part):
            yield Call(name, f"np.{name}({plain}, {part})")
        else:
            yield Call(name, f"np.{name}({part})")


def ufunc_calls(name: str, parts: list[str]) -> Iterator[Call]:
    """Yield the calls of a ufunc, with the options and methods that it has."""
    yield from calls_of(name, parts)
    operands = parts[0].split(", ")
    first, second = operands[0], operands[-1]
    ufunc = getattr(np, name)
    if ufunc.signature or ufunc.__name__ != name:  # no options for a second name
        return
    if ufunc.nout == 1:
        for option in _OPTIONS:
            yield Call(name, f"np.{name}({parts[0]}, {option.format(a=first)})", optional=True)
    if name in _IN_ANOTHER_ORDER:
        return
    for method in (
        _METHODS if ufunc.nin == 2 and ufunc.nout == 1 else _UNARY_METHODS if ufunc.nout == 1 else ()
    ):
        yield Call(name, method.format(name=name, a=first, b=second), optional=True)


@functools.cache
def table() -> dict[str, dict[str, list[Call]]]:
    """Return the calls of each function, by area."""
    return {
        area: {
            name: list((ufunc_calls if area == "Ufuncs" else calls_of)(name, parts))
            for name, parts in entries(text)
        }
        for area, text in sections("==").items()
    }


def exists(name: str) -> bool:
    """Return whether this version of NumPy has a function; indexing and writing always exist."""
    value: Any = np
    for part in name.split("."):
        value = getattr(value, part, None)
    return value is not None or name in ("indexing", "writing")


def public() -> set[str]:
    """Return the names of the public functions of ``np``, ``np.linalg`` and ``np.fft``."""
    found: set[str] = set()
    for prefix, module in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        functions = {name for name in dir(module) if name[0] != "_" and callable(getattr(module, name))}
        found |= {prefix + name for name in functions if not isinstance(getattr(module, name), type)}
    return found | {"c_", "r_", "mgrid", "ogrid", "poly1d", "vectorize", "s_"}


# -- running ---------------------------------------------------------------------------------------------


def leaves(result: Any) -> list[Any]:
    """Return the arrays and numbers of a result."""
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    return tree.flatten(result)[0] if isinstance(result, dict) else [result]


def differs(actual: Any, expected: Any, narrow: bool = False) -> str:
    """Return how two results differ, or an empty string; ``narrow`` numbers were rounded to float32."""
    actual, expected = leaves(actual), leaves(expected)
    if len(actual) != len(expected):
        return f"wrong: {len(actual)} results, NumPy gives {len(expected)}"
    for value, other in zip(actual, expected, strict=True):
        if not _is_array(other):
            if value != other:
                return f"wrong: {value!r}, NumPy gives {other!r}"
            continue
        value, other = np.asarray(value), np.asarray(other)
        if (value.shape, value.dtype) != (other.shape, other.dtype):
            return (
                f"wrong type: {value.dtype}{list(value.shape)}, NumPy gives {other.dtype}{list(other.shape)}"
            )
        rtol = 1e-5 if narrow or other.dtype in (np.float32, np.complex64) else 1e-9
        if not np.allclose(value, other, rtol=rtol, atol=rtol, equal_nan=other.dtype.kind in "fc"):
            return "wrong value"
    return ""


def _loss(program: Callable[..., Any], weights: list[Any]) -> Callable[..., Any]:
    """Return a scalar function: a weighted sum of the floating results, and the results."""

    def loss(*arguments: Any) -> Any:
        result = program(*arguments)
        found = leaves(result)
        total: Any = 0.0 * sum(wnp.sum(wnp.where(wnp.isnan(value), 0.0, value)) for value in arguments)
        for leaf, weight in zip(found, weights, strict=True):
            if weight is not None:
                leaf = leaf * weight
                leaf = leaf.real + leaf.imag if np.asarray(weight).dtype.kind == "c" else leaf
                total = total + wnp.sum(wnp.where(wnp.isfinite(leaf), leaf, 0.0))
        return total, found

    return loss


def _weights(result: Any) -> list[Any]:
    """Return numbers for each floating part of a result, and None for the others."""
    found: list[Any] = []
    for position, leaf in enumerate(leaves(result)):
        if not _is_array(leaf):
            found.append(None)
            continue
        kind = getattr(
            leaf, "dtype", np.asarray(leaf).dtype if isinstance(leaf, float) else np.dtype(object)
        ).kind
        phases = np.arange(np.size(leaf)).reshape(np.shape(leaf)) + position
        found.append({"f": np.cos(phases), "c": np.exp(-1j * phases)}.get(kind))
    return found


def _as_integers(program: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *floats: program(*(wnp.rint(value).astype(int) for value in floats))


def in_grad(call: Call, numpy: Any) -> str:
    """Return what is wrong inside `grad`; an empty string if nothing is."""
    arguments, program, plain = _case(call, numpy)
    expected = plain(*map(np.array, arguments))
    if not set(call.names) <= FLOATS:
        arguments, program, plain = [value.astype(float) for value in arguments], _as_integers(program), None
    positions = tuple(range(len(arguments)))
    loss = _loss(program, _weights(expected))
    gradient, result = wg.grad(loss, argnums=positions, has_aux=True)(*map(np.array, arguments))
    if problem := differs(result, expected, call.narrow):
        return problem
    return _slope(_loss(plain, _weights(expected)), arguments, gradient, call.narrow) if plain else ""


def _slope(loss: Callable[..., Any], arguments: list[Any], gradient: Any, narrow: bool) -> str:
    """Compare the derivative in one direction with differences."""
    generator = np.random.default_rng(3)
    direction = [generator.uniform(-1.0, 1.0, value.shape) for value in arguments]
    step, rtol = (1e-3, 2e-2) if narrow else (1e-6, 1e-5)

    def at(t: float) -> float:
        return float(loss(*(value + t * d for value, d in zip(arguments, direction, strict=True)))[0])

    expected = (at(step) - at(-step)) / (2 * step)
    actual = sum(
        float(np.sum(np.where(np.isnan(v), 0.0, g) * d))
        for v, g, d in zip(arguments, gradient, direction, strict=True)
    )
    if abs(actual - expected) <= rtol * max(1.0, abs(expected)):
        return ""
    return f"wrong derivative: {actual:.6g}, differences give {expected:.6g}"


def _case(call: Call, numpy: Any, example: int = 0) -> tuple[list[Any], Callable[..., Any], Any]:
    known = samples(example) | integers(example)
    return [known[name] for name in call.names], call.program(numpy), call.program(np)


def in_vmap(call: Call, numpy: Any) -> str:
    """Return what is wrong inside `vmap`; an empty string if nothing is."""
    examples = [_case(call, numpy, example) for example in range(2)]
    expected = [leaves(plain(*map(np.array, arguments))) for arguments, _, plain in examples]
    program = examples[0][1]
    batch = [np.stack(pair) for pair in zip(*(arguments for arguments, _, _ in examples), strict=True)]
    constants: list[Any] = []

    def arrays(*boxes: Any) -> list[Any]:
        found = leaves(program(*boxes))
        constants[:] = [None if _is_array(leaf) else (leaf,) for leaf in found]
        return [leaf for leaf in found if _is_array(leaf)]

    stacked = iter(wg.vmap(arrays)(*batch))
    values = [[leaf[0]] * 2 if leaf else list(next(stacked)) for leaf in constants]
    problems = (differs([value[e] for value in values], expected[e], call.narrow) for e in range(2))
    return next(filter(None, problems), "")


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray, wg.Array))


def in_jit(call: Call, numpy: Any) -> str:
    """Return what is wrong inside `jit`; an empty string if nothing is."""
    arguments, program, plain = _case(call, numpy)
    expected = plain(*map(np.array, arguments))
    constants: list[Any] = []

    def arrays(*boxes: Any) -> list[Any]:
        found = leaves(program(*boxes))
        constants[:] = [None if _is_array(leaf) else (leaf,) for leaf in found]
        return [leaf for leaf in found if _is_array(leaf)]

    compiled = iter(wg.jit(arrays)(*arguments))
    if problem := differs([leaf[0] if leaf else next(compiled) for leaf in constants], expected, call.narrow):
        return problem
    if not set(call.names) <= FLOATS or all(weight is None for weight in _weights(expected)):
        return ""
    loss = _loss(lambda *boxes: program(*boxes), _weights(expected))
    gradient = wg.grad(lambda *boxes: loss(*boxes)[0], argnums=tuple(range(len(arguments))))
    eager = gradient(*map(np.array, arguments))
    return differs(wg.jit(gradient)(*arguments), eager, call.narrow) and "the compiled gradient differs"


_RUNS = {"grad": in_grad, "vmap": in_vmap, "jit": in_jit}


@dataclass(frozen=True)
class Outcome:
    """What happened to a call.

    Attributes:
        call: the call.
        refusals: the words of the error by mode, for modes in which it does not work.
        namespace: ``np``, or ``wengert.numpy`` where only that works.
    """

    call: Call
    refusals: dict[str, str]
    namespace: str = "np"

    @property
    def works(self) -> bool:
        """Whether the call works in all three modes."""
        return not self.refusals

    @property
    def needs_values(self) -> bool:
        """Whether the call works in `grad`, and is refused elsewhere because its shape depends on values."""
        return (
            "grad" not in self.refusals
            and bool(self.refusals)
            and all(map(_BY_VALUES.search, self.refusals.values()))
        )


def attempt(run: Callable[[Call, Any], str], call: Call, numpy: Any) -> str:
    """Run a call in one mode, and return the words of what went wrong."""
    try:
        return run(call, numpy)
    except WengertError as problem:
        return _ADDRESS.sub("", _KNOWING.sub("the transform knows", _PLACE.sub("", str(problem))))
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def outcome(call: Call) -> Outcome | None:
    """Run a call in every mode; None where NumPy itself refuses it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arguments, _, plain = _case(call, np)
        try:
            plain(*arguments)
        except Exception:
            if call.optional:
                return None
            raise
        refusals = {mode: words for mode, run in _RUNS.items() if (words := attempt(run, call, np))}
        if refusals and _belongs_to_namespace(call):
            others = {mode: words for mode, run in _RUNS.items() if (words := attempt(run, call, wnp))}
            if len(others) < len(refusals):
                return Outcome(call, others, "wengert.numpy")
    return Outcome(call, refusals)


def _belongs_to_namespace(call: Call) -> bool:
    return call.function in ("indexing", "writing") or hasattr(wnp, call.function.split(".")[0])


def run(calls: list[Call], jobs: int) -> list[Outcome]:
    """Run calls in processes of their own."""
    if jobs == 1:
        found = list(map(outcome, calls))
    else:
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool:
            found = list(pool.map(outcome, calls, chunksize=8))
    return [each for each in found if each is not None]


# -- the page --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """The outcomes of one function."""

    name: str
    outcomes: list[Outcome]

    @property
    def state(self) -> str:
        """How the function works: by its first call."""
        plain = self.outcomes[0]
        if not plain.works:
            return "values" if plain.needs_values else "refused"
        return "works" if all(each.works or each.needs_values for each in self.outcomes) else "options"


_STATES = {
    "works": "works",
    "options": "works, with options refused",
    "values": "works in `grad`; its shape depends on values",
    "refused": "refused",
}


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _refused(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the refused calls of a function, joined where the words are the same."""
    calls: defaultdict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for each in outcomes:
        if each.refusals:
            calls[tuple(each.refusals.items())].append(f"`{_escaped(each.call.text)}`")
    for refusals, texts in calls.items():
        modes: defaultdict[str, list[str]] = defaultdict(list)
        for mode, words in refusals:
            modes[words].append(f"`{mode}`")
        everywhere = len(refusals) == len(MODES) and len(modes) == 1
        parts = [
            _escaped(words) if everywhere else f"in {', '.join(names)}: {_escaped(words)}"
            for words, names in modes.items()
        ]
        yield f"{', '.join(texts)}: {' '.join(parts)}"


def _row(function: Function) -> str:
    name = function.name if function.name in ("indexing", "writing") else f"`np.{function.name}`"
    through = [f"`{_escaped(each.call.text)}`" for each in function.outcomes if each.namespace != "np"]
    notes = [f"through `wengert.numpy`: {', '.join(through)}"] if through else []
    count = sum(each.works for each in function.outcomes)
    notes += _refused(function.outcomes)
    return (
        f"| {name} | {_STATES[function.state]} | {count} of {len(function.outcomes)} | {'<br>'.join(notes)} |"
    )


def page(outcomes: list[Outcome]) -> str:
    """Return the text of the page."""
    by_name: defaultdict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        by_name[each.call.function].append(each)
    functions = [Function(name, found) for name, found in by_name.items()]
    states = [function.state for function in functions]
    counts = {state: states.count(state) for state in _STATES}
    everywhere = counts["works"] + counts["options"]
    working = sum(each.works for each in outcomes)
    without = sum(map(len, without_meaning().values()))
    version = ".".join(np.__version__.split(".")[:2])
    lines = [
        "# Every function of NumPy",
        "",
        "`tools/numpy_coverage.py --write` makes this page. It calls every public function of `np`, `np.linalg` and",
        f"`np.fft` of NumPy {version}, with its options, inside `wg.grad`, `wg.vmap` and `wg.jit`. A call works if",
        "the result has NumPy's value, shape and dtype in all three, the derivative agrees with differences, and the",
        "compiled gradient with the eager one.",
        "",
        f"* **{everywhere} of {len(functions)}** functions that have a meaning for followed values work in `grad`,",
        f"  `vmap` and `jit`: **{everywhere / len(functions):.1%}**. {counts['options']} of them refuse an option.",
        f"* {counts['values']} work in `grad`; the shape of the result depends on values, which `vmap` and `jit` lack.",
        f"  Without them the rate is {everywhere / (len(functions) - counts['values']):.1%}.",
        f"* {counts['refused']} are refused.",
        f"* {working} of {len(outcomes)} calls work in all three: {working / len(outcomes):.1%}.",
        f"* {without} names have no meaning for followed values; the end of this page gives the reasons.",
        "",
        "The samples: `x y u p q g` have the shape (3, 4), `n` has NaN, `v w r` are vectors of 5 elements, `s` is a",
        "number, `A B` are square matrices, `S` is positive definite, `k l` are integers, and `m` is a mask that no",
        "transform follows. [What works inside a transform](numpy.md) explains the refusals.",
    ]
    for area, names in table().items():
        found = [Function(name, by_name[name]) for name in names if name in by_name]
        if found:
            head = ["", f"## {area}", "", "| function | state | calls | refused |", "|---|---|---|---|"]
            lines += [*head, *map(_row, found)]
    lines += ["", "## Without a meaning for followed values", ""]
    for reason, names in without_meaning().items():
        lines.append(f"* {', '.join(f'`{name}`' for name in names)}: {reason}.")
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the calls, print what does not work, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    parser.add_argument("--only", nargs="*", default=[], help="names of functions")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    functions = [
        calls
        for area in table().values()
        for name, calls in area.items()
        if not options.only or name in options.only
    ]
    found = run([call for calls in functions for call in calls], options.jobs)
    text = page(found)
    if options.write:
        PAGE.write_text(text, "utf-8")
    print(*_refused(found), *text.splitlines()[7:14], sep="\n")


if __name__ == "__main__":
    main()
