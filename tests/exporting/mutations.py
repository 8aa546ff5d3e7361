"""Structured damage of saved functions: graphs, headers and facts changed at random, with the digest recomputed."""

from __future__ import annotations

import copy
import functools
import hashlib
import io
import json
import pickle
import re
import tokenize
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.control.scan_while import scan_while
from wengert.engine.core.dtypes import SHORT_NAMES
from wengert.engine.ir.graph import Equation, Graph, Literal, Var, graphs_in, map_graphs
from wengert.engine.ir.parser import parse
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ops.linalg.sparse_solution import sparse_solve
from wengert.engine.primitive import REGISTRY

X = np.linspace(0.5, 1.5, 4)
M = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
WHOLE = np.array([2, 0, 3])
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 5.0]])


def _sparse(x: Any, data: Any) -> Any:
    import scipy.sparse

    matrix = scipy.sparse.csr_array((np.ones(3), np.array([0, 2, 3]), np.array([0, 1, 1, 3])), shape=(3, 4))
    return matrix @ x * data[:3]


def _turns(x: Any, n: Any) -> Any:
    value = wg.fori_loop(0, n, lambda i, c: np.sin(c) + i, x)
    return wg.while_loop(lambda c: np.sum(c) < 20, lambda c: c * 1.5 + 0.1, value, most=30)


def _scanned(x: Any, m: Any) -> Any:
    def turn(carry: Any, row: Any) -> Any:
        return wg.cond(row[0] > 0, lambda c: c + row, lambda c: c * row[::-1], carry), np.cumsum(row)

    return wg.scan(turn, x, m)


def _rules(x: Any, m: Any) -> Any:
    return np.einsum("ij,j->i", m, x), np.convolve(x, m[0]), np.concatenate([x[1:], m[:, 2]])[::-2]


def _written(x: Any, i: Any) -> Any:
    y = np.zeros((5, 4))
    y[1:4, ::2] = x[:2]
    y[i, 1] += 2.0
    return y.reshape(4, 5).T, np.take_along_axis(y, np.argsort(y, axis=1), 1), np.max(y, axis=0)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "turns": (_turns, (X, 3)),
    "slope_of_turns": (wg.grad(lambda x: np.sum(_turns(x, 3))), (X,)),
    "scanned": (_scanned, (X, M)),
    "slope_of_scan": (wg.grad(lambda x, m: np.sum(_scanned(x, m)[0] ** 2)), (X, M)),
    "budget": (
        wg.grad(lambda x: np.sum(wg.fori_loop(0, 5, lambda i, c: np.sin(c), x, max_bytes=400))),
        (X,),
    ),
    "rules": (_rules, (X, M)),
    "written": (_written, (X, WHOLE)),
    "slope_of_writes": (wg.grad(lambda x, i: np.sum(_written(x, i)[0] ** 3)), (X, WHOLE)),
    "table": (wg.value_and_grad(lambda t, i: np.sum(np.tanh(t[i]) ** 2)), (np.outer(X, X), WHOLE)),
    "examples": (wg.vmap(lambda x: wg.cond(x > 1, np.sin, lambda x: x * x, x)), (X,)),
    "equations": (lambda a, b: np.linalg.solve(a, b) + np.linalg.slogdet(a)[1], (SQUARE, X[:3])),
    "iteration": (lambda a, b: wg.linear_solve(lambda v: a @ v, b, solver="cg"), (SQUARE, X[:3])),
    "integral": (lambda x: wg.integrate.quad(lambda t: np.exp(-x[0] * t), 0.0, x[1])[0], (X,)),
    "sparse": (_sparse, (X, X)),
    "complex_sparse": (lambda x, data: _sparse(x * 1j, data), (X, X)),
    "sparse_equations": (
        lambda b, data, i, n: sparse_solve(b, data, i, n, transposed=False),
        (X[:3], X, np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4])),
    ),
    "leaving_rows": (lambda x: scan_while(lambda c: np.sum(c) < 9, lambda c: (c * 2.0, c), x, most=9), (X,)),
    "checkpoint": (wg.grad(lambda x: np.sum(wg.checkpoint(np.sin)(x) ** 2)), (X,)),
    "transforms": (lambda x: np.abs(np.fft.fft(x)) + np.fft.irfft(np.fft.rfft(x), 4), (X,)),
    "spectrum": (lambda a: (np.linalg.eigh(a)[0], np.linalg.svd(a)[1], np.linalg.qr(a)[0]), (SQUARE,)),
    "draws": (lambda key: (wg.random.normal(key, (3,)), wg.random.uniform(key, (2,))), (wg.random.key(3),)),
    "numbers": (lambda x, n: {"p": x**3, "m": n // 2, "c": x * 1j, "k": "name", "b": x > n}, (0.5, 7)),
    "constants": (lambda x: x @ np.arange(40.0).reshape(4, 10), (X.astype(np.float32),)),
    "selected": (lambda x, m: (np.where(x > 1, x, m), np.sort(m, axis=0), np.argmax(m, 1), np.any(m > 0)), (X, M)),
}  # fmt: skip


def program_of(number: int) -> str:
    """Return the name of the program of a mutant; those of `integral` take long to check, and are fewer."""
    names = [*PROGRAMS]
    name, turn = names[number % len(names)], number // len(names)
    return "scanned" if name == "integral" and turn % 8 else name


# -- files -----------------------------------------------------------------------------------------------


@functools.lru_cache(len(PROGRAMS))
def members(content: bytes) -> dict[str, bytes]:
    """Return the members of a file by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def file(parts: dict[str, bytes]) -> bytes:
    """Return the file with these members, and its digest."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.comment = b"0" * 64
    body = stream.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


@functools.lru_cache(len(PROGRAMS))
def _parsed(text: bytes) -> bytes:
    """Return the graph of a text, from which `pickle` makes copies in a tenth of the time."""
    return pickle.dumps(parse(text.decode()))


# -- mutations -------------------------------------------------------------------------------------------

for load in REGISTRY.elsewhere.values():
    load()
NAMES = sorted(operation.name for operation in REGISTRY)
NUMBERS = (-1, 0, 1, 2, 3, 5, 8, 64, 1000, 2**31, 2**40, 2**63, 10**30)
_WORDS = ("", "L", "U", "cg", "gmres", "add", "finite", "above", "whole", "box", "x", "quad")


class Mutator:
    """Draws mutants of a file.

    Args:
        content: the file; none for mutants of graphs.
        seed: of the draws.
    """

    def __init__(self, content: bytes | None, seed: int | list[int]) -> None:
        self.parts = {} if content is None else members(content)
        self.r = np.random.default_rng(seed)

    def one_of(self, choices: Any) -> Any:
        """Draw one of some choices."""
        return choices[int(self.r.integers(len(choices)))]

    def mutant(self) -> bytes:
        """Return a file with one to three mutations."""
        parts = dict(self.parts)
        for _ in range(self.one_of((1, 1, 1, 2, 3))):
            kind = self.one_of(("graph",) * 12 + ("text", "facts", "facts", "array", "members"))
            getattr(self, f"_{kind}")(parts)
        return file(parts)

    def argument(self, type_: TensorType) -> Any:
        """Draw an argument of a type, sometimes one far from the usual."""
        shape, far = type_.shape, self.one_of((0, -1, 10**6, 2.0**40))
        array = self.r.uniform(-3, 3, shape) if self.r.random() < 0.8 else np.full(shape, far)
        array = array.astype(type_.dtype)
        return array if shape else array.item() if type_.weak else array[()]

    # -- the graph ---------------------------------------------------------------------------------------

    def _graph(self, parts: dict[str, bytes]) -> None:
        try:
            graph = pickle.loads(_parsed(parts["1/graph.txt"]))
            parts["1/graph.txt"] = self.changed(graph).text(full=True).encode()
        except (ValueError, KeyError, TypeError):  # an earlier mutation, or a graph that has no text
            self._text(parts)

    def changed(self, graph: Graph) -> Graph:
        """Return a graph with a change in it, or in a graph inside."""
        inner = [n for n, equation in enumerate(graph.equations) if any(equation.graphs())]
        if inner and self.r.random() < 0.65:
            place = self.one_of(inner)
            equation = graph.equations[place]
            held = list(equation.graphs())
            chosen, other = self.one_of(held), self.one_of(held)
            is_deeper = self.r.random() < 0.05
            changed = (graph if other is chosen else other) if is_deeper else self.changed(chosen)
            params = {
                name: map_graphs(lambda one: changed if one is chosen else one, value)
                for name, value in equation.params.items()
            }
            return self._with(graph, place, replace(equation, params=params))
        kinds = ["type", "type", "type"]
        kinds += ["params"] * 4 + ["operands"] * 3 + ["order", "name", "location"] if graph.equations else []
        kinds += ["results", "inputs", "literal"]
        return getattr(self, f"_change_{self.one_of(kinds)}")(graph)

    def _with(self, graph: Graph, place: int, *equations: Equation) -> Graph:
        whole = (*graph.equations[:place], *equations, *graph.equations[place + 1 :])
        return replace(graph, equations=whole)

    def _change_type(self, graph: Graph) -> Graph:
        var = self.one_of([*graph.defined()])
        var.type = self.type(var.type)
        if self.r.random() < 0.5:  # also the values of the same shape
            for other in graph.defined():
                if self.r.random() < 0.5:
                    other.type = other.type._replace(shape=var.type.shape)
        return graph

    def type(self, type_: TensorType) -> TensorType:
        """Return another type."""
        dtype, shape, weak = type_
        kind = self.one_of(("dtype", "extent", "extent", "extent", "axis", "weak"))
        if kind == "dtype":
            dtype = self.one_of(list(SHORT_NAMES))
        elif kind == "weak":
            weak = not weak
        elif kind == "extent" and shape:
            axis = int(self.r.integers(len(shape)))
            extent = self.one_of((*map(abs, NUMBERS), shape[axis] + 1, shape[axis] * 2, 10**7))
            shape = (*shape[:axis], extent, *shape[axis + 1 :])
        else:
            shape = self.one_of((shape[1:], (*shape, 1), (self.one_of((1, 2, 4, 64)), *shape), shape[::-1]))
        return TensorType(dtype, shape, weak)

    def _atom(self, graph: Graph) -> Any:
        if self.r.random() < 0.2:
            value = self.one_of(
                (0, -1, 3, 1000, 2**40, 2.5, True, np.float32(2), np.int64(-7), 1j, float("nan"))
            )
            return Literal(value, type_of(value))
        return self.one_of([*graph.defined()] or [Literal(1.0, type_of(1.0))])

    def _change_operands(self, graph: Graph) -> Graph:
        place = int(self.r.integers(len(graph.equations)))
        equation = graph.equations[place]
        return self._with(graph, place, replace(equation, operands=self._list(graph, equation.operands)))

    def _list(self, graph: Graph, atoms: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a list of atoms with one replaced, added or dropped, or with two exchanged."""
        found = list(atoms)
        kind = self.one_of(("replace", "replace", "replace", "add", "drop", "exchange")) if found else "add"
        place = int(self.r.integers(len(found))) if found else 0
        if kind == "replace":
            found[place] = self._atom(graph)
        elif kind == "add":
            found.insert(place, self._atom(graph))
        elif kind == "drop":
            del found[place]
        else:
            other = int(self.r.integers(len(found)))
            found[place], found[other] = found[other], found[place]
        return tuple(found)

    def _change_results(self, graph: Graph) -> Graph:
        return replace(graph, outputs=self._list(graph, graph.outputs))

    def _change_inputs(self, graph: Graph) -> Graph:
        found = list(graph.inputs)
        kind = self.one_of(("add", "drop", "exchange")) if found else "add"
        place = int(self.r.integers(len(found))) if found else 0
        if kind == "add":
            found.insert(place, Var(self.type(TensorType(np.dtype(float), (4,)))))
        elif kind == "drop":
            del found[place]
        else:
            found = found[::-1]
        return replace(graph, inputs=tuple(found))

    def _change_literal(self, graph: Graph) -> Graph:
        places = [
            (n, m)
            for n, equation in enumerate(graph.equations)
            for m, operand in enumerate(equation.operands)
            if isinstance(operand, Literal)
        ]
        if not places:
            return self._change_type(graph)
        place, position = self.one_of(places)
        equation = graph.equations[place]
        operands = list(equation.operands)
        value = self.one_of(
            (0, -1, 5, 10**6, 2**62, -(2**63), 0.0, -2.5, 1e300, np.int64(9), np.int64(10**12), True)
        )
        operands[position] = Literal(value, type_of(value))
        return self._with(graph, place, replace(equation, operands=tuple(operands)))

    def _change_order(self, graph: Graph) -> Graph:
        place, other = self.r.integers(len(graph.equations), size=2)
        one, two = graph.equations[place], graph.equations[other]
        kind = self.one_of(("drop", "exchange", "twice"))
        if kind == "drop":
            return self._with(graph, place)
        if kind == "twice":
            return self._with(
                graph, place, one, replace(two, outputs=tuple(Var(v.type) for v in two.outputs))
            )
        return self._with(self._with(graph, place, two), other, one)

    def _change_name(self, graph: Graph) -> Graph:
        place = int(self.r.integers(len(graph.equations)))
        name = self.one_of(NAMES)
        return self._with(graph, place, replace(graph.equations[place], primitive=name))

    def _change_location(self, graph: Graph) -> Graph:
        place = int(self.r.integers(len(graph.equations)))
        location = self.one_of(("", "a\nb", "%s {x}", '"', "x" * 500))
        return self._with(graph, place, replace(graph.equations[place], location=location))

    def _change_params(self, graph: Graph) -> Graph:
        places = [n for n, equation in enumerate(graph.equations) if equation.params]
        if not places:
            return self._change_type(graph)
        place = self.one_of(places)
        equation = graph.equations[place]
        params = dict(equation.params)
        name = self.one_of([*params])
        kind = self.one_of(("value",) * 8 + ("drop", "add"))
        if kind == "drop":
            del params[name]
        elif kind == "add":
            params[self.one_of(("axis", "most", "shape", "unroll", "extra"))] = self.value(3)
        else:
            params[name] = self.value(params[name])
        return self._with(graph, place, replace(equation, params=params))

    def value(self, old: Any) -> Any:
        """Return another value of a parameter."""
        if self.r.random() < 0.08:
            return self.one_of((None, True, 1.5, 3, "x", (), (1, 2), np.dtype(float), 2 + 1j, float("nan")))
        match old:
            case bool():
                return not old
            case int():
                return self.one_of((*NUMBERS, old + 1, old - 1, old * 2, -old))
            case float():
                return self.one_of((0.0, -1.0, 1e300, float("nan"), old * 2))
            case str():
                return self.one_of(_WORDS)
            case tuple() if old:
                place = int(self.r.integers(len(old)))
                kind = self.one_of(("value", "value", "value", "drop", "twice", "reverse"))
                middle = {"value": (self.value(old[place]),), "drop": (), "twice": (old[place],) * 2}
                return old[::-1] if kind == "reverse" else (*old[:place], *middle[kind], *old[place + 1 :])
            case np.dtype():
                return self.one_of(list(SHORT_NAMES))
            case Graph() if not any(graphs_in(old)):
                return old
            case _:
                return self.one_of((1, (1,), old))

    # -- the rest of the file ----------------------------------------------------------------------------

    def _text(self, parts: dict[str, bytes]) -> None:
        """Replace a word of the graph's text by another of its words, or a number."""
        text = parts.get("1/graph.txt", b"").decode(errors="replace")
        words = list(re.finditer(r"\w+|[\[\](){}:,=*@#]", text))
        if words:
            word = self.one_of(words)
            other = self.one_of(
                (self.one_of(words).group(), str(self.one_of(NUMBERS)), "", "@rule", "data 1")
            )
            parts["1/graph.txt"] = (text[: word.start()] + other + text[word.end() :]).encode()

    def _facts(self, parts: dict[str, bytes]) -> None:
        try:
            head = json.loads(parts["functions.json"])
        except (ValueError, KeyError):
            return
        places = [*_places(head)]
        container, key = self.one_of(places)
        old = container[key]
        new = self.one_of(
            (
                None,
                True,
                -1,
                0,
                3,
                2**70,
                1.5,
                "x",
                "tuple",
                "builtins",
                [],
                {},
                [1],
                {"kind": "dict"},
                "<f4",
                "O",
                "drop",
            )
        )
        if new == "drop":
            del container[key]
        elif isinstance(old, list) and old and self.r.random() < 0.5:
            container[key] = self.one_of((old[1:], old + old[:1], old[::-1], [old]))
        else:
            container[key] = copy.deepcopy(self.one_of([new, *(c[k] for c, k in places[:20])]))
        parts["functions.json"] = json.dumps(head).encode()

    def _array(self, parts: dict[str, bytes]) -> None:
        names = [name for name in parts if name.endswith(".npy")]
        if not names:
            return
        name = self.one_of(names)
        kind = self.one_of(("type", "type", "numbers", "cut", "more", "header"))
        content = parts[name]
        try:
            value = np.load(io.BytesIO(content))
        except (
            ValueError,
            EOFError,
            OSError,
            SyntaxError,
            MemoryError,
            tokenize.TokenError,
        ):  # changed before
            return
        if kind == "numbers":
            noise = (
                self.one_of((-1, 0, 10**6, 2**40, np.nan))
                if value.dtype.kind in "fc"
                else self.one_of((-1, 2**40))
            )
            with np.errstate(all="ignore"):
                parts[name] = _npy(np.full_like(value, np.asarray(noise).astype(value.dtype)))
        elif kind == "type":
            type_ = self.type(TensorType(value.dtype, value.shape))
            if np.prod(type_.shape, dtype=float) < 10**5:
                parts[name] = _npy(np.ones(type_.shape, type_.dtype))
            else:  # the header alone
                stream = io.BytesIO()
                np.lib.format.write_array_header_1_0(
                    stream, {"descr": type_.dtype.str, "fortran_order": False, "shape": type_.shape}
                )
                parts[name] = stream.getvalue()
        elif kind == "header":
            place = int(self.r.integers(min(len(content), 128)))
            parts[name] = content[:place] + bytes([int(self.r.integers(256))]) + content[place + 1 :]
        else:
            parts[name] = content[:-3] if kind == "cut" else content + bytes(64)

    def _members(self, parts: dict[str, bytes]) -> None:
        name = self.one_of([*parts] or ["none"])
        kind = self.one_of(("drop", "copy", "swap", "long"))
        if kind == "drop":
            parts.pop(name, None)
        elif kind == "copy":
            parts[self.one_of(("1/constants/0.npy", "1/arguments/9.npy", "2/graph.txt", "x"))] = parts.get(
                name, b""
            )
        elif kind == "swap":
            other = self.one_of([*parts])
            parts[name], parts[other] = parts[other], parts.get(name, b"")
        else:
            parts[name] = parts.get(name, b"") + b" " * 3_000_000


def _npy(value: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, value, allow_pickle=False)
    return stream.getvalue()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container of decoded JSON with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in [*items]:
        yield value, key
        yield from _places(part)
