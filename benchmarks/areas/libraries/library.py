"""What a library is to the benchmark, and what two or more of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from areas.families import Case


class Unsupported(AttributeError):  # noqa: N818 (no error: the library sits out)
    """The library has no such function."""


def leaves(value: Any) -> list[Any]:
    """Return the arrays of a container, in the order of its keys."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a container with the function of each array."""
    if isinstance(value, dict):
        return {key: mapped(function, part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(function, part) for part in value)
    return function(value)


class Namespace:
    """A library's module, with functions that NumPy does not have or calls otherwise."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._module, name)
        except AttributeError:
            raise Unsupported(name) from None


class Library(ABC):
    """A library that runs cases."""

    namespace: Namespace

    @abstractmethod
    def function(self, case: Case) -> Callable[..., Any]:
        """Return what computes a case, compiled if the library compiles."""

    def array(self, value: Any) -> Any:
        """Return an argument as the library takes it."""
        return value

    def wait(self, result: Any) -> None:  # noqa: B027 (most libraries return results that are there)
        """Return when a result is there."""

    def forget(self) -> None:  # noqa: B027 (the eager libraries keep nothing)
        """Free what the library keeps of a workload."""

    def prepared(self, case: Case) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return the function and its arguments."""
        return self.function(case), mapped(self.array, case.arguments)


class TransformingLibrary(Library):
    """A library with transformations of functions, which Wengert and JAX call alike."""

    module: Any

    def function(self, case: Case) -> Callable[..., Any]:
        return self.module.jit(self.transformed(case))

    def transformed(self, case: Case) -> Callable[..., Any]:
        """Return what computes a case, not compiled."""

        def program(*arguments: Any) -> Any:
            return case.program(self.namespace, *arguments)

        if case.derivative == "pullback":
            return self._pullback(program, case.wrt)
        if case.derivative == "gradient":
            return self.module.value_and_grad(program, argnums=case.wrt)
        return getattr(self.module, case.derivative)(program) if case.derivative else program

    def _pullback(self, program: Callable[..., Any], wrt: Sequence[int]) -> Callable[..., Any]:
        def pulled(*arguments: Any) -> Any:
            *inputs, cotangent = arguments

            def of(*chosen: Any) -> Any:
                changed = dict(zip(wrt, chosen, strict=True))
                return program(*(changed.get(i, value) for i, value in enumerate(inputs)))

            return self.module.vjp(of, *(inputs[i] for i in wrt))[1](cotangent)

        return pulled


def cell(xp: Any, kind: str, projected: Any, state: Any, weights: Any, width: int) -> Any:
    """Return the next state of a recurrent cell, whose first part is the output."""
    h, *memory = state
    if kind == "rnn":
        return (xp.tanh(projected + h @ weights),)
    if kind == "lstm":
        i, f, g, o = (part(projected + h @ weights, j, width) for j in range(4))
        c = xp.sigmoid(f) * memory[0] + xp.sigmoid(i) * xp.tanh(g)
        return (xp.sigmoid(o) * xp.tanh(c), c)
    product = h @ weights
    r, z = (xp.sigmoid(part(projected + product, j, width)) for j in range(2))
    n = xp.tanh(part(projected, 2, width) + r * part(product, 2, width))
    return ((1 - z) * n + z * h,)


def part(gates: Any, j: int, width: int) -> Any:
    """Return the columns of a gate."""
    return gates[:, j * width : (j + 1) * width]


def scanned_recurrence(xp: Any, kind: str, x: Any, inward: Any, weights: Any, bias: Any) -> Any:
    """Return the outputs of all steps of a recurrent network that starts from zeros."""
    width = weights.shape[0]
    zero = xp.zeros((x.shape[1], width), dtype=xp.float32)

    def step(state: Any, projected: Any) -> tuple[Any, Any]:
        state = cell(xp, kind, projected, state, weights, width)
        return state, state[0]

    return xp.scan(step, (zero, zero) if kind == "lstm" else (zero,), x @ inward + bias)[1]


def summary(result: Any) -> list[float]:
    """Return for each array of a result its norm, and its product with a fixed vector of random signs."""
    numbers: list[float] = []
    for leaf in leaves(result):
        flat = np.asarray(leaf, dtype=np.float64).ravel()
        signs = np.random.default_rng(flat.size).choice([-1.0, 1.0], flat.size)
        numbers += [float(np.linalg.norm(flat)), float(signs @ flat)]
    return numbers
