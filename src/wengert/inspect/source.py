"""`source`: a function, or its derivative, as a NumPy program."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import keyword
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.errors import UnsupportedError, message
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.passes.expand_programs import expand_programs
from wengert.engine.passes.simplify import simplify
from wengert.inspect.listing import Listing, trace
from wengert.inspect.prelude import HELPERS, prelude
from wengert.inspect.statements import Body, Names, Settings, Statement, needs_exact_scalars, written

_TAKEN = {*keyword.kwlist, *HELPERS, "np", "wengert", "scipy", "constants", "float", "int", "bool"}
_KERNELS = "differences incomplete orders orthogonal student"
#: Modules whose functions a text may call, besides NumPy.
_MODULES = (
    *("scipy.linalg", "scipy.special", "scipy.stats"),
    *(f"wengert.engine.kernels.{name}" for name in _KERNELS.split()),
    *("wengert.random", "wengert.special"),
)
_PLAIN = (bool, int, float, complex, str, type(None))


class Program(str):
    """The text of a program, with the larger constants that it refers to as ``constants[...]``.

    Attributes:
        name: the name of the function that the text defines.
        constants: arrays too large to write out, and classes that cannot be imported.
    """

    name: str
    constants: dict[str, Any]

    def function(self) -> Callable[..., Any]:
        """Run the text and return the function that it defines.

        Example:
            >>> source(lambda x: x * x)(3.0).function()(5.0)
            25.0
        """
        namespace: dict[str, Any] = {"constants": self.constants}
        exec(compile(self, f"<source of {self.name}>", "exec"), namespace)
        return namespace[self.name]


@advising("wg.source(f)(x)")
def source(fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> Callable[..., Program]:
    """Return a function that writes ``fun`` as a NumPy program, with one statement for each operation.

    ``source(grad(f))(x)`` is the adjoint program of ``f`` by source transformation: the primal statements, then the
    adjoint statements, each with the line of ``f`` behind it. Dead code is left out, and common subexpressions are
    computed once. Running the text defines a function with the arguments and results of ``fun``, containers included,
    for arguments of these types.

    Args:
        fun: a function of arrays, numbers and containers of them.
        static_argnums: which positional arguments stay fixed although they are numbers, as in `trace`.

    Returns:
        A function with the arguments of ``fun`` that returns a `Program`, which is a string. It runs by itself
        unless it mentions ``constants``: then run ``exec(text, {"constants": text.constants})`` or
        ``text.function()``.

    Raises:
        UnsupportedError: the function uses values of a running transform.

    Example:
        >>> import numpy as np, wengert as wg
        >>> print(source(wg.grad(lambda x1, x2: np.sin(x1) + x1 * x1))(np.float64(2.0), np.float64(5.0)))
        import numpy as np
        <BLANKLINE>
        <BLANKLINE>
        def grad_function(x1, x2):
            # adjoint
            v1 = x1 + x1      # ...
            v2 = np.cos(x1)   # ...
            x1_bar = v1 + v2  # ...
            return x1_bar
    """
    traced = trace(fun, static_argnums)

    def program(*arguments: Any, **options: Any) -> Program:
        listing = expand_programs(simplify(traced(*arguments, **options)))
        assert isinstance(listing, Listing)
        return _Writer(listing).program()

    return program


class _Writer:
    """Writes the function of one listing."""

    def __init__(self, listing: Listing) -> None:
        if len(listing.places) > 0 and listing.places[0].startswith("captured"):
            hint = "call it outside of the transform"
            requirement = "the function must not use values of a running transform"
            raise UnsupportedError(message("source", requirement, hint=hint))
        self.listing = listing
        name = re.sub(r"\W+", "_", listing.name.replace("<lambda>", "function")).strip("_")
        self.name = Names(_TAKEN).new(name)
        self.constants: dict[str, Any] = {}
        self.imports: list[str] = []
        self.names = Names({*_TAKEN, self.name}, _inner_params(listing))
        self.parameters = {param.name: self.names.new(param.name) for param in listing.parameters}

    def program(self) -> Program:
        """Return the text."""
        unpacking, inputs = self._inputs()
        settings = Settings(needs_exact_scalars(self.listing), self.listing.adjoints, self.constants)
        body = Body(self.listing, inputs, self.names, settings)
        result = self._container(self.listing.structure, iter(body.results))
        setup = written([*unpacking, *body.setup])
        lines = [*setup, *_sections(body.statements, bool(setup)), f"return {_bare(result)}"]
        function = "\n".join(
            [f"def {self.name}{self._signature()}:", *(f"    {line}".rstrip() for line in lines)]
        )
        programs = "\n\n\n".join([*prelude(function), function])
        imports = [
            "import numpy as np",
            *(f"import {module}" for module in _MODULES if f"{module}." in programs),
        ]
        text = "\n\n\n".join(["\n".join([*imports, *self.imports]), programs]) + "\n"
        program = Program(text)
        program.name, program.constants = self.name, self.constants
        return program

    def _signature(self) -> inspect.Signature:
        names = self.parameters
        return inspect.Signature([inspect.Parameter(names[p.name], p.kind) for p in self.listing.parameters])

    def _inputs(self) -> tuple[list[Statement], dict[Var, str]]:
        """Return the statements that unpack the arguments' containers, and the name of each input."""
        read = {atom for equation in self.listing.equations for atom in equation.operands}
        read.update(self.listing.outputs)
        statements: list[Statement] = []
        inputs: dict[Var, str] = {}
        for var, place in zip(self.listing.inputs, self.listing.places, strict=True):
            root = re.match(r"\w+", place)
            assert root is not None
            expression = self.parameters[root.group()] + place[root.end() :]
            inputs[var] = expression
            if expression != self.parameters[root.group()] and var in read:
                inputs[var] = self.names.new(var.name)
                statements.append(Statement(f"{inputs[var]} = {expression}"))
        return statements, inputs

    def _container(self, structure: tree.Structure, leaves: Iterator[str]) -> str:
        """Write the containers of the result."""
        kind: Any = structure.kind
        if kind is None:
            return next(leaves)
        if kind is type(None):
            return "None"
        parts = [self._container(child, leaves) for child in structure.children]
        if issubclass(kind, dict):
            inside = ", ".join(f"{key!r}: {part}" for key, part in zip(structure.keys, parts, strict=True))
            return f"{{{inside}}}" if kind is dict else f"{self._class(kind)}({{{inside}}})"
        if kind is list:
            return f"[{', '.join(parts)}]"
        if kind is tuple:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if tree.is_namedtuple(kind):
            return f"{self._class(kind)}({', '.join(parts)})"
        if dataclasses.is_dataclass(kind):
            fields = [f"{key}={part}" for key, part in zip(structure.keys, parts, strict=True)]
            fields += [f"{key}={self._fixed(value)}" for key, value in structure.fixed]
            own = hasattr(kind, "__post_init__") or not cast("Any", kind).__dataclass_params__.init
            name = self._class(kind)
            return f"instance({', '.join([name, *fields])})" if own else f"{name}({', '.join(fields)})"
        return f"{self._class(kind)}([{', '.join(parts)}])"

    def _class(self, kind: Any) -> str:
        """Return the text of a class: imported where possible, else among the constants."""
        module = sys.modules.get(kind.__module__)
        if getattr(module, kind.__qualname__, None) is kind and kind.__module__ != "__main__":
            line = f"from {kind.__module__} import {kind.__qualname__}"
            if line not in self.imports:
                self.imports.append(line)
            return kind.__qualname__
        return self._kept(kind.__name__, kind)

    def _fixed(self, value: Any) -> str:
        return repr(value) if isinstance(value, _PLAIN) else self._kept("setting", value)

    def _kept(self, name: str, value: Any) -> str:
        candidates = itertools.chain([name], (f"{name}{number}" for number in itertools.count(2)))
        key = next(key for key in candidates if self.constants.setdefault(key, value) is value)
        return f'constants["{key}"]'


def _bare(result: str) -> str:
    """Remove the brackets of a returned tuple."""
    return result[1:-1] if re.fullmatch(r"\([^()]*[^(),]\)", result) else result


def _inner_params(graph: Graph) -> set[str]:
    """Return the parameters that hold programs, at any depth: they name functions in the text."""
    names: set[str] = set()
    for equation in graph.equations:
        names.update(name for name, value in equation.params.items() if isinstance(value, Graph))
        for inner in equation.graphs():
            names |= _inner_params(inner)
    return names


def _sections(statements: Sequence[Statement], begun: bool) -> list[str]:
    """Return statements with a heading at each change between the primal program and an adjoint program."""
    if not any(statement.depth for statement in statements):
        return written(statements)
    lines: list[str] = []
    for depth, group in itertools.groupby(statements, lambda statement: statement.depth):
        before = "afterwards" if lines else "primal"
        heading = "adjoint" + " of the adjoint" * (depth - 1) if depth else before
        lines += [*([""] if lines or begun else []), f"# {heading}", *written(group)]
    return lines
