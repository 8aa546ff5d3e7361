"""Static and donated arguments of a compiled function, by position or by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wengert.compiler.runtime import arguments
from wengert.compiler.runtime.arguments import Named
from wengert.engine.core import tree
from wengert.engine.transforms.substitution import current


class Roles:
    """The static and the donated arguments of a function, by position; ``names`` are those that have no position."""

    def __init__(
        self,
        function: Callable[..., Any],
        static: Sequence[int],
        names: Sequence[str],
        donated: Sequence[int],
    ) -> None:
        self._function = function
        self.static = tuple(sorted(static))
        self._donated = tuple(donated)
        # Behind an argument that a call leaves out, others have no position there.
        self._static_names = tuple(dict.fromkeys((*names, *arguments.names_at(function, self.static))))
        self._donated_names = arguments.names_at(function, self._donated)
        # Where the arguments stand in the function's own order, for each number of them and names that calls had.
        self._places: dict[Any, tuple[tuple[Any, ...], dict[str, Any]]] = {}

    def check(self, count: int | None = None) -> None:
        """Raise `ArgumentError` for a position without an argument, in a call with ``count`` positional ones."""
        arguments.check_positions(self._function, "static_argnums", self.static, count)
        arguments.check_positions(self._function, "donate", self._donated, count)

    def in_places(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Put arguments that are given by name where static and donated ones are counted."""
        if not (kwargs and (self.static or self._donated)):
            return args, kwargs
        form = len(args), *kwargs
        places = self._places.get(form)
        if places is None:
            bound = inspect.signature(self._function).bind(
                *range(len(args)), **{name: name for name in kwargs}
            )
            places = self._places[form] = bound.args, bound.kwargs
        positions, names = places
        values: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        return tuple(values[place] for place in positions), {
            name: values[place] for name, place in names.items()
        }

    def divided(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, Any]]:
        """Return the static arguments, and the others by position and by name."""
        static = tuple(args[n] for n in self.static if n < len(args))
        if kwargs and self._static_names:
            static += tuple(Named(name, kwargs[name]) for name in self._static_names if name in kwargs)
            kwargs = {name: value for name, value in kwargs.items() if name not in self._static_names}
        dynamic = tuple(arg for n, arg in enumerate(args) if n not in self.static) if self.static else args
        return static, (dynamic, kwargs)

    def call(self, static: Sequence[Any], positional: Sequence[Any], named: dict[str, Any]) -> Any:
        """Call the function, its static arguments put back in their places."""
        args = list(positional)
        by_name = {argument.name: argument.value for argument in static if isinstance(argument, Named)}
        for number, value in zip(self.static, static[: len(static) - len(by_name)], strict=False):
            args.insert(number, value)
        return current(self._function, args, named)(*args, **named, **by_name)

    def donated_leaves(
        self, structure: tree.Structure, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[int]:
        """Return which leaves of the arguments that are not static, of such a structure, are in a donated one."""
        _, named = structure.children
        values = [(arg, n in self._donated) for n, arg in enumerate(args) if n not in self.static]
        values += [(kwargs[name], name in self._donated_names) for name in named.keys]
        count, positions = 0, list[int]()
        for value, is_donated in values:
            leaves = tree.leaves(value)
            if is_donated:
                positions += range(count, count + len(leaves))
            count += len(leaves)
        return positions
