"""Run a program in every mode, and compare."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import wengert as wg
import wengert.numpy as wnp
from tests.programs.plain import exactly, namespace
from tests.programs.scope import copied, directions, quiet
from tests.programs.syntax import Program

#: Tolerances relative to the largest element, by the lowest dtype: of values, first and second derivatives.
TOLERANCES = {
    "float64": (1e-10, 1e-8, 1e-6),
    "float32": (1e-4, 1e-2, 0.1),
    "float16": (0.1, 0.5, np.inf),
}
#: The accuracy of differences, if two steps agree to a tenth of it.
BELIEVED = (1e-5, 1e-3)
#: Features that need known values.
CONCRETE = frozenset({"if on values", "boolean mask"})
#: The share of programs that run in modes that compile.
SHARES = {
    "jit": 0.25,
    "jit grad": 1.0,
    "jet": 0.5,
    "laplacian": 0.5,
    "jit jvp": 0.25,
    "jit jet": 0.1,
    "jit hvp": 0.2,
    "jit vmap": 0.15,
    "jit vmap grad": 0.15,
}
#: The modes that compile a loop with an unknown number of steps: all such programs run in them.
OF_UNKNOWN_LENGTH = ("jit", "jit jvp")


class DifferenceError(Exception):
    """Two modes differ.

    Args:
        mode: the mode in which the program differs.
        says: the difference.
    """

    def __init__(self, mode: str, says: str) -> None:
        super().__init__(f"{mode}: {says}")
        self.mode = mode


@dataclass
class Runner:
    """A program as functions, and its inputs.

    Args:
        program: to run.
    """

    program: Program

    @cached_property
    def functions(self) -> dict[str, Any]:
        names: dict[str, Any] = {"np": np, "wg": wg, "wnp": wnp}
        exec(compile(self.program.definitions(), f"<program {self.program.seed}>", "exec"), names)
        return names

    @property
    def run(self) -> Callable[..., Any]:
        return self.functions["program"]

    @property
    def total(self) -> Callable[..., Any]:
        return self.functions["total"]

    @property
    def arguments(self) -> list[Any]:
        return [copied(value) for value in self.program.inputs.values()]

    @cached_property
    def direction(self) -> tuple[Any, ...]:
        """The direction of derivatives, in the dtypes of the inputs."""
        move = next(directions(self.program.inputs, self.program.seed + 1, 1))
        given = self.program.inputs
        return tuple(np.asarray(move[name], np.asarray(given[name]).dtype)[()] for name in move)

    def of_floats(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the floating-point inputs alone."""
        rest = self.arguments[len(self.program.floats) :]
        return lambda *floats: function(*floats, *(copied(value) for value in rest))

    @property
    def floats(self) -> tuple[Any, ...]:
        return tuple(self.arguments[: len(self.program.floats)])

    @cached_property
    def lowest(self) -> str:
        """The lowest floating-point dtype of the inputs and statements."""
        text = self.program.function()
        asked = [name for name in TOLERANCES if name in text]
        given = [np.asarray(value).dtype.name for value in self.floats]
        return min([*asked, *given, "float64"], key=lambda name: np.dtype(name).itemsize)

    def plain(self, exact: bool) -> dict[str, Any]:
        names = namespace(exact)
        exec(compile(self.program.definitions(), f"<program {self.program.seed}>", "exec"), names)
        return names

    @cached_property
    def exact_total(self) -> Callable[[float], float]:
        """The scalar along the direction, of plain NumPy in double precision."""
        total = self.of_floats(self.plain(exact=True)["total"])
        at = [exactly(value) for value in self.floats]
        along = [exactly(value) for value in self.direction]
        return lambda t: float(total(*(x + t * d for x, d in zip(at, along, strict=True))))


# -- comparisons -----------------------------------------------------------------------------------------


def flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (tuple, list)) else [value]


def same(mode: str, actual: Any, expected: Any, tolerance: float, scale: float = 1.0) -> None:
    """Raise ``DifferenceError`` unless arrays agree in shape, dtype, and values within a relative tolerance."""
    for number, (item, other) in enumerate(zip(flat(actual), flat(expected), strict=True)):
        item, other = np.asarray(item), np.asarray(other)
        if (item.shape, item.dtype) != (other.shape, other.dtype):
            raise DifferenceError(
                mode, f"{number}: {item.dtype}{item.shape} is not {other.dtype}{other.shape}"
            )
        if item.dtype.kind != "f":
            if not np.array_equal(item, other):
                raise DifferenceError(mode, f"{number}: {item} is not {other}")
            continue
        error = np.max(np.abs(item.astype(float) - other.astype(float)), initial=0.0)
        size = max(scale, float(np.max(np.abs(other.astype(float)), initial=0.0)))
        if not error <= tolerance * size:
            raise DifferenceError(mode, f"{number}: {item} is not {other}")


def inner(actual: Sequence[Any], other: Sequence[Any]) -> float:
    pairs = zip(actual, other, strict=True)
    return float(sum(np.sum(np.asarray(a, float) * np.asarray(b, float)) for a, b in pairs))


def slope(f: Callable[[float], float], step: float) -> float:
    return (4 * (f(step) - f(-step)) / 2 - (f(2 * step) - f(-2 * step)) / 4) / (3 * step)


def curvature(f: Callable[[float], float], step: float) -> float:
    def second(h: float) -> float:
        return (f(h) - 2 * f(0.0) + f(-h)) / (h * h)

    return (4 * second(step) - second(2 * step)) / 3


# -- modes -----------------------------------------------------------------------------------------------


def check(program: Program, share: float = 1.0) -> None:
    """Raise ``DifferenceError`` if two modes differ.

    Args:
        program: to run.
        share: a factor of the share of programs that run in modes that compile.
    """
    runner = Runner(program)
    with np.errstate(all="ignore"):
        for name, mode in chosen(program, share):
            try:
                mode(runner)
            except DifferenceError as problem:
                raise DifferenceError(name, str(problem)) from None
            except Exception as problem:
                if name in REVERSE and "while_loop: reverse mode in a traced graph" in str(problem):
                    continue  # a documented limit
                raise DifferenceError(name, f"raised {type(problem).__name__}: {problem}") from problem


def chosen(program: Program, share: float) -> Iterator[tuple[str, Callable[[Runner], None]]]:
    """Yield the modes of a program."""
    draw = random.Random(program.seed)
    concrete = bool(program.features & CONCRETE)
    unknown = "while_loop" in program.features
    for name, mode in MODES.items():
        part = 1.0 if unknown and name in OF_UNKNOWN_LENGTH else SHARES.get(name, 1.0)
        drawn = draw.random() < share * part or name not in SHARES
        if drawn and not (concrete and ("jit" in name or "vmap" in name)):
            yield name, mode


def tolerance(runner: Runner, order: int) -> float:
    return TOLERANCES[runner.lowest][order]


def value(runner: Runner) -> None:
    """Plain NumPy against the program on plain arrays."""
    expected = runner.plain(exact=False)["program"](*runner.arguments)
    same("value", runner.run(*runner.arguments), expected, tolerance(runner, 0))


def on_tape(runner: Runner) -> None:
    actual = wg.vjp(runner.of_floats(runner.run), *runner.floats)[0]
    same("tape", actual, runner.run(*runner.arguments), tolerance(runner, 0))


def on_duals(runner: Runner) -> None:
    actual = wg.jvp(runner.of_floats(runner.run), runner.floats, runner.direction)[0]
    same("duals", actual, runner.run(*runner.arguments), tolerance(runner, 0))


def compiled(runner: Runner) -> None:
    same("jit", wg.jit(runner.run)(*runner.arguments), runner.run(*runner.arguments), tolerance(runner, 0))


def gradient(runner: Runner) -> Any:
    return wg.grad(runner.total, runner.program.floats)(*runner.arguments)


def directional(runner: Runner) -> Any:
    return wg.jvp(runner.of_floats(runner.total), runner.floats, runner.direction)[1]


def reverse(runner: Runner) -> None:
    """Reverse mode against forward mode and differences."""
    gradients = gradient(runner)
    for item, x in zip(gradients, runner.floats, strict=True):
        if np.asarray(item).dtype != np.asarray(x).dtype:
            raise DifferenceError(
                "grad", f"the gradient of {np.asarray(x).dtype} is {np.asarray(item).dtype}"
            )
    size = 1.0 + max((float(np.max(np.abs(item), initial=0.0)) for item in gradients), default=0.0)
    forward = float(directional(runner))
    actual = inner(gradients, runner.direction)
    if not abs(actual - forward) <= tolerance(runner, 1) * size:
        raise DifferenceError(
            "grad", f"along the direction reverse mode gives {actual}, forward mode {forward}"
        )
    against_differences("grad", runner, actual, slope, 2.0**-3, max(tolerance(runner, 1), BELIEVED[0]) * size)


def against_differences(
    mode: str,
    runner: Runner,
    actual: float,
    differences: Callable[[Callable[[float], float], float], float],
    share: float,
    near: float,
) -> None:
    """Compare with differences in double precision where two steps of them agree."""
    if "wg.stop_gradient" in runner.program.function():
        return
    step = min(runner.program.step, 2.0**-9) * share
    with quiet():
        expected = differences(runner.exact_total, step)
        other = differences(runner.exact_total, step / 2)
    if abs(expected - other) <= near / 10 and not abs(actual - expected) <= near:
        raise DifferenceError(mode, f"along the direction it is {actual}, by differences {expected}")


def compiled_gradient(runner: Runner) -> None:
    def both(*arguments: Any) -> Any:
        gradients = wg.grad(runner.total, runner.program.floats)(*arguments)
        return runner.run(*arguments), gradients  # last, because it may write into its arguments

    values, gradients = wg.jit(both)(*runner.arguments)
    same("jit grad", values, runner.run(*runner.arguments), tolerance(runner, 0))
    alike("jit grad", gradients, gradient(runner), tolerance(runner, 1))


def alike(mode: str, actual: Any, expected: Any, near: float) -> None:
    """Compare gradients in units of the largest element of all of them."""
    size = max((float(np.max(np.abs(item), initial=0.0)) for item in flat(expected)), default=1.0)
    same(mode, actual, expected, near, max(1.0, size))


def compiled_jvp(runner: Runner) -> None:
    run = runner.of_floats(runner.total)
    actual = wg.jit(lambda x, d: wg.jvp(run, x, d)[1])(runner.floats, runner.direction)
    alike("jit jvp", actual, directional(runner), tolerance(runner, 1))


def hvp(runner: Runner) -> Callable[..., Any]:
    """Return the product of the Hessian with the direction, forward over reverse."""
    total = runner.of_floats(runner.total)
    derivative = wg.grad(total, tuple(range(len(runner.floats))))
    return lambda x, d: wg.jvp(derivative, x, d)[1]


def second(runner: Runner) -> None:
    """Forward over reverse against reverse over reverse, forward over forward, and differences."""
    if runner.lowest == "float16":
        return
    total, x, d = runner.of_floats(runner.total), runner.floats, runner.direction
    every = tuple(range(len(x)))
    expected = hvp(runner)(x, d)
    near = tolerance(runner, 2)
    size = 1.0 + max((float(np.max(np.abs(item), initial=0.0)) for item in expected), default=0.0)

    def along(*floats: Any) -> Any:
        pairs = zip(wg.grad(total, every)(*floats), d, strict=True)
        return sum((np.sum(g * v) for g, v in pairs), 0.0)

    alike("grad of grad", wg.grad(along, every)(*x), expected, near)
    actual = inner(expected, d)
    forward = float(wg.jvp(lambda *floats: wg.jvp(total, floats, d)[1], x, d)[1])
    if not abs(actual - forward) <= near * size:
        raise DifferenceError("jvp of jvp", f"along the direction it is {forward}, by jvp of grad {actual}")
    against_differences("hvp", runner, actual, curvature, 1.0, max(near, BELIEVED[1]) * size)


def third(runner: Runner) -> float:
    """Return the third derivative along the direction, by nested forward mode."""
    total, x, d = runner.of_floats(runner.total), runner.floats, runner.direction

    def slope(*floats: Any) -> Any:
        return wg.jvp(total, floats, d)[1]

    return float(wg.jvp(lambda *floats: wg.jvp(slope, floats, d)[1], x, d)[1])


def along_a_line(runner: Runner) -> Callable[..., Any]:
    """Return the first three derivatives along a direction, by power series."""
    total = runner.of_floats(runner.total)
    return lambda x, d: wg.jet(total, x, [[step, 0 * step, 0 * step] for step in d])[1]


def power_series(runner: Runner) -> None:
    """Power series against nested forward mode."""
    if runner.lowest == "float16":
        return
    actual = along_a_line(runner)(runner.floats, runner.direction)
    alike("jet", [actual[0], actual[2]], [directional(runner), third(runner)], tolerance(runner, 2))


def compiled_power_series(runner: Runner) -> None:
    if runner.lowest != "float16":
        actual = wg.jit(along_a_line(runner))(runner.floats, runner.direction)
        alike("jit jet", actual, along_a_line(runner)(runner.floats, runner.direction), tolerance(runner, 2))


def laplacian(runner: Runner) -> None:
    """The forward Laplacian against the diagonal of the Hessian."""
    if runner.lowest == "float16":
        return
    numbers = runner.program.floats
    expected = wg.hessian(runner.total, numbers)(*runner.arguments)
    diagonal = [
        np.trace(np.reshape(blocks[n], (np.size(x), np.size(x))))
        for n, (blocks, x) in enumerate(zip(expected, runner.floats, strict=True))
    ]
    actual = wg.laplacian(runner.total, numbers)(*runner.arguments)
    alike("laplacian", [actual], [sum(diagonal, start=0 * actual)], tolerance(runner, 2))


def compiled_hvp(runner: Runner) -> None:
    if runner.lowest != "float16":
        actual = wg.jit(hvp(runner))(runner.floats, runner.direction)
        alike("jit hvp", actual, hvp(runner)(runner.floats, runner.direction), tolerance(runner, 2))


# -- batches ---------------------------------------------------------------------------------------------


def examples(runner: Runner) -> tuple[tuple[int | None, ...], list[Any]]:
    """Return the axes and a batch of two: the inputs, and the inputs moved a little."""
    axes: list[int | None] = []
    values: list[Any] = []
    move = iter(runner.direction)
    for value in runner.arguments:
        kind = np.asarray(value).dtype.kind
        step = next(move) if kind == "f" else 0
        batched = isinstance(value, (np.ndarray, np.generic))
        axes.append(0 if batched else None)
        moved = (
            value + np.asarray(step * runner.program.step / 2, value.dtype)
            if batched and kind == "f"
            else value
        )
        values.append(np.stack([value, moved]) if batched else value)
    return tuple(axes), values


def in_batch(mode: str, runner: Runner, function: Callable[..., Any], order: int, jit: bool) -> None:
    axes, values = examples(runner)
    if not any(axis == 0 for axis in axes):
        return
    batched = wg.vmap(function, in_axes=axes)
    actual = (wg.jit(batched) if jit else batched)(*values)
    for i in range(2):
        item = [value[i] if axis == 0 else value for value, axis in zip(values, axes, strict=True)]
        expected = function(*(copied(value) for value in item))
        (alike if order else same)(
            mode, [leaf[i] for leaf in flat(actual)], flat(expected), tolerance(runner, order)
        )


def vmap(runner: Runner) -> None:
    in_batch("vmap", runner, runner.run, 0, jit=False)


def vmap_gradient(runner: Runner) -> None:
    in_batch("vmap grad", runner, wg.grad(runner.total, runner.program.floats), 1, jit=False)


def compiled_vmap(runner: Runner) -> None:
    in_batch("jit vmap", runner, runner.run, 0, jit=True)


def compiled_vmap_gradient(runner: Runner) -> None:
    in_batch("jit vmap grad", runner, wg.grad(runner.total, runner.program.floats), 1, jit=True)


MODES: Mapping[str, Callable[[Runner], None]] = {
    "value": value,
    "tape": on_tape,
    "duals": on_duals,
    "grad": reverse,
    "hvp": second,
    "jet": power_series,
    "laplacian": laplacian,
    "vmap": vmap,
    "vmap grad": vmap_gradient,
    "jit": compiled,
    "jit grad": compiled_gradient,
    "jit jvp": compiled_jvp,
    "jit hvp": compiled_hvp,
    "jit jet": compiled_power_series,
    "jit vmap": compiled_vmap,
    "jit vmap grad": compiled_vmap_gradient,
}
#: The modes with reverse mode through a possible graph.
REVERSE = frozenset({"vmap grad", "jit grad", "jit hvp", "jit vmap grad"})
