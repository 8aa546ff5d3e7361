"""The variables of a program while it is drawn, with their values in several runs, and checks that it is sound.

A statement is kept if plain NumPy runs it, and if the program is smooth around its inputs. The runs are *worlds*: one
in the program's dtypes, one in double precision, and pairs of runs on inputs moved a little to either side.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from tests.programs.plain import MODULES, exactly, namespace
from tests.programs.syntax import Group, Node, render

#: The largest values, slopes and second derivatives.
LARGEST, STEEPEST, CURVIEST = 40.0, 200.0, 400.0
#: Unit roundoff, times the allowed growth of rounding errors.
NEAR = {"float64": 1e-10, "float32": 2e-4, "float16": 6e-2}


class UnfitError(Exception):
    """A statement that cannot be drawn here."""


class Draw:
    """Random choices and fresh names."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.dtypes: Sequence[str] = ("np.float64",)
        """The dtypes that statements may cast to."""

    def choice(self, options: Sequence[Any]) -> Any:
        if not options:
            raise UnfitError
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def integer(self, low: int, high: int) -> int:
        if low > high:
            raise UnfitError
        return self.random.randint(low, high)

    def fresh(self, prefix: str = "v") -> str:
        self.names += 1
        return f"{prefix}{self.names}"


class World:
    """One run of the statements so far."""

    def __init__(self, start: Mapping[str, Any], *, exact: bool) -> None:
        self.start = dict(start)
        self.exact = exact
        self.reset()

    def reset(self) -> None:
        values = {name: copied(value) for name, value in self.start.items()}
        self.names: dict[str, Any] = {**namespace(self.exact), **values}


def evaluated(text: str, world: World) -> Any:
    try:
        with quiet():
            return eval(text, world.names)
    except Exception as problem:  # any error of NumPy
        raise UnfitError(text) from problem


def copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def numeric(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, float, int))


@dataclass
class Scope:
    """Variables that statements may read (``values``) and write (``own``).

    Args:
        draw: the source of choices.
        worlds: the program's run, the exact one, and pairs of runs on inputs moved by ``step``.
        step: the distance of the inputs in the pairs.
        depth: the number of enclosing functions and blocks.
        own: variables that the innermost function made and may write into.
        boxes: variables that are boxes whenever the function gets one; the others may be plain arrays.
    """

    draw: Draw
    worlds: list[World]
    step: float
    depth: int = 0
    own: list[str] = field(default_factory=list)
    boxes: set[str] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)
    codes: list[CodeType] = field(default_factory=list)

    @property
    def values(self) -> dict[str, Any]:
        return {name: value for name, value in self.worlds[0].names.items() if numeric(value)}

    def value(self, text: str) -> Any:
        """Return the value of an expression in the program's run, or raise ``UnfitError``."""
        return evaluated(text, self.worlds[0])

    def follows(self, text: str) -> bool:
        """Return whether an expression depends on the arrays that every transform follows.

        A Python number does not: in a batch it is the same for all examples.
        """
        item, other = (np.asarray(evaluated(text, world)) for world in self.worlds[2:4])
        return not np.array_equal(item, other)

    def boxed(self, text: str) -> bool:
        """Return whether an expression is a box whenever the function gets one."""
        return not self.boxes.isdisjoint(re.findall(r"\w+", text)) and self.follows(text)

    def child(
        self,
        parameters: Mapping[str, str],
        own: Sequence[str] = (),
        *,
        closed: bool = False,
        boxes: Sequence[str] | None = None,
    ) -> Scope:
        """Return the scope of a function that is called with the values of some expressions.

        Args:
            parameters: their arguments, by name.
            own: variables of the function around a block.
            closed: whether the function reads only its parameters.
            boxes: the parameters that a transform boxes; without a transform, boxes stay boxes.
        """
        worlds: list[World] = []
        for world in self.worlds:
            given = {name: copied(evaluated(text, world)) for name, text in parameters.items()}
            known = {name: value for name, value in world.names.items() if not closed and name not in MODULES}
            worlds.append(World({**known, **given}, exact=world.exact))
        inside = {*self.boxes, *(name for name, text in parameters.items() if self.boxed(text))}
        known_boxes = inside if boxes is None else set(boxes)
        return Scope(self.draw, worlds, self.step, self.depth + 1, list(own), known_boxes)

    def add(
        self, nodes: Sequence[Node], features: Sequence[str], made: Sequence[str] = (), of: Sequence[str] = ()
    ) -> None:
        """Run statements in every world and keep them, or raise ``UnfitError`` if they are not sound.

        Args:
            nodes: the statements.
            features: their features.
            made: their new variables.
            of: the variables that they depend on; if all are boxes, so are they.
        """
        code = compile("\n".join(render(nodes)), "<drawn>", "exec")
        before = {name: id(value) for name, value in self.worlds[0].names.items()}
        try:
            with quiet():
                for world in self.worlds:
                    exec(code, world.names)
            self.check(before)
        except Exception as problem:  # any error of NumPy
            self.rebuild()
            raise UnfitError from problem
        self.nodes.append(Group(tuple(nodes), frozenset(features)))
        self.codes.append(code)
        if of and all(map(self.boxed, of)):
            self.keep([name for name in made if self.follows(name)])

    def keep(self, names: Sequence[str]) -> None:
        """Let statements write into new variables, which are boxes."""
        self.own += [name for name in names if name not in self.own]
        self.boxes |= set(names)

    def rebuild(self) -> None:
        with quiet():
            for world in self.worlds:
                world.reset()
                for code in self.codes:
                    exec(code, world.names)

    def check(self, before: Mapping[str, int]) -> None:
        for name, value in self.worlds[0].names.items():
            changed = before.get(name) != id(value) or name in self.own
            if numeric(value) and changed:
                check_value(name, [world.names[name] for world in self.worlds], self.step)


class quiet:  # noqa: N801
    """Treat NumPy's errors and warnings as exceptions, except underflow."""

    def __enter__(self) -> None:
        self.state = np.errstate(all="raise", under="ignore")
        self.warnings = warnings.catch_warnings()
        self.state.__enter__()
        self.warnings.__enter__()
        warnings.simplefilter("error")

    def __exit__(self, *exception: object) -> None:
        self.warnings.__exit__(*exception)
        self.state.__exit__(None, None, None)


def check_value(name: str, runs: Sequence[Any], step: float) -> None:
    """Raise ``UnfitError`` unless a variable is finite, moderate, and smooth around the inputs."""
    real, exact, *moved = (np.asarray(run) for run in runs)
    if any(run.shape != real.shape for run in (exact, *moved)):
        raise UnfitError(name)
    if real.dtype.kind != "f":
        if real.dtype.kind not in "iub" or any(np.any(run != real) for run in (exact, *moved)):
            raise UnfitError(name)
        return
    if not np.all(np.isfinite(real)) or np.max(np.abs(real), initial=0.0) > LARGEST:
        raise UnfitError(name)
    near = NEAR[real.dtype.name] * max(1.0, float(np.max(np.abs(exact), initial=0.0)))
    if np.max(np.abs(real - exact), initial=0.0) > near:
        raise UnfitError(name)
    for after, before in zip(moved[::2], moved[1::2], strict=True):
        if np.max(np.abs(after - before), initial=0.0) > 2 * step * STEEPEST:
            raise UnfitError(name)
        if np.max(np.abs(after - 2 * exact + before), initial=0.0) > CURVIEST * step * step:
            raise UnfitError(name)


def start(inputs: Mapping[str, Any], step: float, seed: int) -> list[World]:
    """Return the worlds of inputs."""
    exact = {name: exactly(value) for name, value in inputs.items()}
    moves = list(directions(inputs, seed))
    moves[0] = {name: move for name, move in moves[0].items() if type(inputs[name]) is not float}
    moved = [
        {name: value + sign * step * move[name] if name in move else value for name, value in exact.items()}
        for move in moves
        for sign in (1, -1)
    ]
    return [World(inputs, exact=False), *(World(values, exact=True) for values in (exact, *moved))]


def directions(inputs: Mapping[str, Any], seed: int, count: int = 2) -> Iterator[dict[str, Any]]:
    """Yield directions without small elements."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield {
            name: rng.choice([-1.0, 1.0], np.shape(value)) * rng.uniform(0.5, 1.0, np.shape(value))
            for name, value in inputs.items()
            if np.asarray(value).dtype.kind == "f"
        }
