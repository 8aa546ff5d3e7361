"""Flat functions and those derived from them: the one form in which functions go from one framework to another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.compiler.jit import jit
from wengert.engine.core import tree
from wengert.engine.core.dtypes import SHORT_NAMES, dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, DtypeError, message, name_of
from wengert.engine.ir.types import TensorType, show
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import vjp

Flags: TypeAlias = tuple[bool, ...]
Types: TypeAlias = tuple[TensorType, ...]

#: The dtypes of NumPy by the names that all frameworks have for them.
DTYPES = {dtype.name: dtype for dtype in SHORT_NAMES}


class Framework(NamedTuple):
    """What a flat function needs of the framework in which it is written."""

    jvp: Callable[..., Any]
    vjp: Callable[..., Any]
    """The pullback is the transpose, also of complex functions."""
    vmap: Callable[..., Any]
    jit: Callable[..., Any]
    is_inexact: Callable[[Any], bool]
    result: Callable[[Any], Any]
    """A leaf of a result as an array; None for what is neither array nor number."""
    infer: Callable[[Flat, Types], Types]
    """The types of the results of a flat function for operands of some types."""
    run: Callable[[Flat, Sequence[Any]], list[Any]]
    """Call a flat function with NumPy's arrays; nobody else has the arrays that it returns."""


class Flat:
    """A function of arrays that returns a tuple of arrays, and the functions derived from it, each made once."""

    def __init__(
        self,
        function: Callable[..., tuple[Any, ...]],
        framework: Framework,
        name: str,
        infer: Callable[[Types], Types] | None = None,
    ) -> None:
        self.function, self.framework = function, framework
        self.name = self.__qualname__ = name
        self.compiled = framework.jit(function)
        self.structure: Any = None
        """Of the result, once the function has run."""
        self.pulled: Any = None
        """Of a derivative in directions: the flags of these, and the function that is its transpose in them."""
        self._infer = infer or functools.partial(framework.infer, self)
        self._types: dict[Types, Types] = {}
        self._derived: dict[Any, Flat] = {}

    def __repr__(self) -> str:
        return self.name

    def types(self, types: Sequence[TensorType]) -> Types:
        """Return the types of the results for operands of some types."""
        key = tuple(types)
        if key not in self._types:
            self._types[key] = self._infer(key)
        return self._types[key]

    def check(self, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Raise `DtypeError` if results have other types than others had for such operands, or than were inferred."""
        types, got = types_of(operands), types_of(results)
        for type_ in got:
            _known(self.name, type_.dtype)
        expected = self._types.setdefault(types, got)
        if expected != got:
            requirement = f"it must return {show(*expected) or 'nothing'}, as for other values"
            raise DtypeError(message(self.name, requirement, show(*got) or "nothing"))

    def jvp(self, active: Flags) -> Flat:
        """Return the derivative in directions: of the operands, then of tangents of the active ones."""

        def derivative(*values: Any) -> tuple[Any, ...]:
            primals, tangents = values[: len(active)], values[len(active) :]
            moving = self._moving(primals, active)
            return tuple(self.framework.jvp(moving, chosen(primals, active), tangents)[1])

        made = self._once(
            ("jvp", active), derivative, lambda types: inexact(self.types(types[: len(active)]))
        )
        made.pulled = (False,) * len(active) + (True,) * sum(active), self.vjp(active)
        return made

    def vjp(self, active: Flags) -> Flat:
        """Return the transposed derivative: of the operands, then of cotangents of the inexact results."""

        def derivative(*values: Any) -> tuple[Any, ...]:
            primals, cotangents = values[: len(active)], values[len(active) :]
            moving = self._moving(primals, active)
            return tuple(self.framework.vjp(moving, *chosen(primals, active))[1](cotangents))

        return self._once(("vjp", active), derivative, lambda types: chosen(types[: len(active)], active))

    def transpose(self, unknown: Flags, types: Types) -> Flat:
        """Return the transpose in operands of some types, which have flags: of the others, then of cotangents."""
        if self.pulled is not None and self.pulled[0] == unknown:
            return self.pulled[1]
        known = len(unknown) - len(types)

        def derivative(*values: Any) -> tuple[Any, ...]:
            given, zeros = iter(values[:known]), (np.zeros(type_.shape, type_.dtype) for type_ in types)
            primals = [next(zeros) if flag else next(given) for flag in unknown]
            return self.vjp(unknown).function(*primals, *values[known:])

        return self._once(("transpose", unknown, types), derivative, lambda _: types)

    def vmap(self, batched: Flags) -> Flat:
        """Return the function of many examples: along the first axis of the flagged operands, and of all results."""

        def infer(types: Types) -> Types:
            pairs = zip(types, batched, strict=True)
            results = self.types([t._replace(shape=t.shape[1:]) if flag else t for t, flag in pairs])
            size = types[batched.index(True)].shape[0]
            return tuple(t._replace(shape=(size, *t.shape)) for t in results)

        axes = tuple(0 if flag else None for flag in batched)
        return self._once(("vmap", batched), self.framework.vmap(self.function, axes), infer)

    def _moving(self, primals: Sequence[Any], active: Flags) -> Callable[..., tuple[Any, ...]]:
        """Return the inexact results as a function of the active operands."""

        def function(*values: Any) -> tuple[Any, ...]:
            given = iter(values)
            operands = [next(given) if flag else x for x, flag in zip(primals, active, strict=True)]
            return tuple(filter(self.framework.is_inexact, self.function(*operands)))

        return function

    def _once(self, key: Any, function: Callable[..., Any], infer: Callable[[Types], Types]) -> Flat:
        if key not in self._derived:
            self._derived[key] = Flat(function, self.framework, f"{key[0]}.{self.name}", infer)
        return self._derived[key]


def chosen(values: Sequence[Any], flags: Flags) -> tuple[Any, ...]:
    """Return the values that have a flag."""
    return tuple(value for value, flag in zip(values, flags, strict=True) if flag)


def spread(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Return a value where a flag is set, and None elsewhere."""
    given = iter(values)
    return [next(given) if flag else None for flag in flags]


def types_of(arrays: Sequence[Any]) -> Types:
    """Return the types of arrays."""
    return tuple(TensorType(np.dtype(x.dtype), tuple(x.shape)) for x in arrays)


def inexact(types: Types) -> Types:
    """Return the types of real and complex numbers."""
    return tuple(type_ for type_ in types if is_inexact(type_.dtype))


class Crossing:
    """A function of containers as flat functions: one for each structure of the arguments.

    The leaves that are arrays are operands. A Python float is one, too, of the dtype of the arrays beside it. Other
    leaves (integers, truth values, texts) are settings: a new one makes a new flat function.
    """

    def __init__(
        self,
        operation: str,
        function: Callable[..., Any],
        framework: Framework,
        is_array: Callable[[Any], bool],
    ) -> None:
        if not callable(function):
            raise ArgumentError(message(operation, "it takes a function", type(function).__name__))
        self.function, self.framework, self.is_array = function, framework, is_array
        self.name = f"{operation}({name_of(function)})"
        self._flats: dict[Any, Flat] = {}

    def enter(self, arguments: Any, options: Any, world: Any = None) -> tuple[Flat, list[Any]]:
        """Return the flat function of a call in some world, and its operands: arrays of the caller's or of NumPy's."""
        leaves, structure = tree.flatten((arguments, options))
        weak = tuple(map(_is_weak, leaves))
        arrays = tuple(not is_weak and self.is_array(x) for x, is_weak in zip(leaves, weak, strict=True))
        floats = [d for x in chosen(leaves, arrays) if is_inexact(d := _known(self.name, x.dtype))]
        for place, leaf in enumerate(leaves):
            if weak[place]:
                array = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
                number = array.dtype.type(0).item()
                leaves[place] = array.astype(np.result_type(*floats, number) if floats else array.dtype)
        flags = tuple(map(any, zip(weak, arrays, strict=True)))
        settings: list[Any] = [None if flag else (type(x), x) for x, flag in zip(leaves, flags, strict=True)]
        key = structure, tuple(settings), world
        try:
            if key not in self._flats:
                self._flats[key] = self._flat(structure, settings)
        except TypeError as problem:
            requirement = "an argument must be an array, a number, a container of them or a hashable setting"
            raise DtypeError(message(self.name, requirement, str(problem))) from None
        return self._flats[key], list(chosen(leaves, flags))

    def _flat(self, structure: tree.Structure, settings: list[Any]) -> Flat:
        def function(*operands: Any) -> tuple[Any, ...]:
            given = iter(operands)
            leaves = [next(given) if setting is None else setting[1] for setting in settings]
            arguments, options = tree.unflatten(structure, leaves)
            leaves, made = tree.flatten(self.function(*arguments, **options))
            if flat.structure not in (None, made):
                tree.check_same(self.name, flat.structure, made, "its result must have the containers")
            flat.structure = made
            results = tuple(map(self.framework.result, leaves))
            for leaf, result in zip(leaves, results, strict=True):
                if result is None:
                    requirement = "the function must return arrays, numbers or containers of them"
                    raise DtypeError(message(self.name, requirement, type(leaf).__name__))
            return results

        flat = Flat(function, self.framework, self.name)
        return flat


def _known(name: str, dtype: Any) -> Any:
    """Return a framework's dtype as NumPy's, or raise `DtypeError` if Wengert lacks it."""
    text = str(dtype).split(".")[-1]
    if text not in DTYPES:
        raise DtypeError(
            message(name, "a dtype that Wengert has is needed", text, "convert it, as to float32")
        )
    return DTYPES[text]


def _is_weak(leaf: Any) -> bool:
    """Return whether a leaf is a Python number, or one that JAX traces."""
    return type(leaf) in (float, complex) or (getattr(leaf, "weak_type", False) and is_inexact(leaf.dtype))


def _infer(flat: Flat, types: Types) -> Types:
    zeros = (np.zeros(type_.shape, type_.dtype) for type_ in types)
    return tuple(t._replace(weak=False) for t in flat.compiled.graph(*zeros).output_types)


#: Wengert as a framework: its functions are compiled.
NATIVE = Framework(
    jvp=jvp,
    vjp=vjp,
    vmap=vmap,
    jit=jit,
    is_inexact=lambda x: is_inexact(dtype_of(x)),
    result=lambda leaf: leaf if is_number(leaf) else None,
    infer=_infer,
    run=lambda flat, operands: list(map(np.asarray, flat.compiled(*operands))),
)
