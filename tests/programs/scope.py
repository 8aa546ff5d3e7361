"""The variables of a program while it is drawn, with their values in several runs of it, and what keeps it sound.

A statement is kept if plain NumPy runs it, and if the program is smooth around its inputs. The runs, *worlds*, show it: one
in the program's dtypes, one in double precision, and pairs of runs on inputs that are moved a little to either side.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from tests.programs.plain import exactly, namespace
from tests.programs.syntax import Group, Node, render

#: Larger values, slopes and second derivatives than these are not drawn.
LARGEST, STEEPEST, CURVIEST = 40.0, 200.0, 400.0
#: Unit roundoff, times what the roundings of a program may grow to.
NEAR = {"float64": 1e-10, "float32": 2e-4, "float16": 6e-2}


class Unfit(Exception):
    """A statement that cannot be drawn here."""


class Draw:
    """Random choices and fresh names."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.dtypes: Sequence[str] = ("np.float64",)
        """What statements may cast to."""

    def choice(self, options: Sequence[Any]) -> Any:
        if not options:
            raise Unfit
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def integer(self, low: int, high: int) -> int:
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


def copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def numeric(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, float, int))


@dataclass
class Scope:
    """Variables that statements may read (``values``) and write (``own``).

    Args:
        draw: where choices come from.
        worlds: the program's run, the exact one, and pairs of runs on inputs moved by ``step``.
        step: how far the inputs of the pairs are moved.
        depth: how many functions and blocks are around.
        own: variables that the innermost function has made, so that it may write into them.
    """

    draw: Draw
    worlds: list[World]
    step: float
    depth: int = 0
    own: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    codes: list[CodeType] = field(default_factory=list)

    @property
    def values(self) -> dict[str, Any]:
        return {name: value for name, value in self.worlds[0].names.items() if numeric(value)}

    def value(self, text: str) -> Any:
        """Return what an expression is worth in the program's run."""
        with quiet():
            return eval(text, self.worlds[0].names)

    def child(self, parameters: Mapping[str, str], own: Sequence[str] = ()) -> Scope:
        """Return the scope of a function that is called with the values of some expressions."""
        worlds: list[World] = []
        for world in self.worlds:
            with quiet():
                given = {name: copied(eval(text, world.names)) for name, text in parameters.items()}
            known = {name: value for name, value in world.names.items() if name not in namespace()}
            worlds.append(World({**known, **given}, exact=world.exact))
        return Scope(self.draw, worlds, self.step, self.depth + 1, list(own))

    def add(self, nodes: Sequence[Node], features: Sequence[str], made: Sequence[str] = ()) -> None:
        """Run statements in every world and keep them, or raise ``Unfit`` where they are not sound."""
        code = compile("\n".join(render(nodes)), "<drawn>", "exec")
        before = {name: id(value) for name, value in self.worlds[0].names.items()}
        try:
            with quiet():
                for world in self.worlds:
                    exec(code, world.names)
            self.check(before)
        except Exception as problem:  # NumPy's own errors of all kinds
            self.rebuild()
            raise Unfit from problem
        self.nodes.append(Group(tuple(nodes), frozenset(features)))
        self.codes.append(code)
        self.own += made

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
    """NumPy's errors and warnings are exceptions, but underflow."""

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
    """Raise ``Unfit`` unless a variable is finite, moderate, and smooth around the inputs."""
    real, exact, *moved = (np.asarray(run) for run in runs)
    if any(run.shape != real.shape for run in (exact, *moved)):
        raise Unfit(name)
    if real.dtype.kind != "f":
        if real.dtype.kind not in "iub" or any(np.any(run != real) for run in (exact, *moved)):
            raise Unfit(name)
        return
    if not np.all(np.isfinite(real)) or np.max(np.abs(real), initial=0.0) > LARGEST:
        raise Unfit(name)
    near = NEAR[real.dtype.name] * max(1.0, float(np.max(np.abs(exact), initial=0.0)))
    if np.max(np.abs(real - exact), initial=0.0) > near:
        raise Unfit(name)
    for after, before in zip(moved[::2], moved[1::2], strict=True):
        if np.max(np.abs(after - before), initial=0.0) > 2 * step * STEEPEST:
            raise Unfit(name)
        if np.max(np.abs(after - 2 * exact + before), initial=0.0) > CURVIEST * step * step:
            raise Unfit(name)


def start(inputs: Mapping[str, Any], step: float, seed: int) -> list[World]:
    """Return the worlds of inputs."""
    exact = {name: exactly(value) for name, value in inputs.items()}
    moves = list(directions(inputs, seed))
    moved = [
        {name: value + sign * step * move[name] if name in move else value for name, value in exact.items()}
        for move in moves
        for sign in (1, -1)
    ]
    return [World(inputs, exact=False), *(World(values, exact=True) for values in (exact, *moved))]


def directions(inputs: Mapping[str, Any], seed: int, count: int = 2) -> Iterator[dict[str, Any]]:
    """Yield directions, no element of which is small."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield {
            name: rng.choice([-1.0, 1.0], np.shape(value)) * rng.uniform(0.5, 1.0, np.shape(value))
            for name, value in inputs.items()
            if np.asarray(value).dtype.kind == "f"
        }
