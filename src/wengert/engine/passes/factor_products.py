"""Factoring: a sum of products that share their other factors is one product of a sum, by the distributive law.

The derivative of a program that writes ``(h @ w)[:, :n]`` and ``(h @ w)[:, n:]`` multiplies that of each part by
``w``, and adds up the results. One product of the derivative of both parts gives the same.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.passes.rewrite import with_programs
from wengert.engine.passes.simplify import simplify


def factor_products(graph: Graph) -> Graph:
    """Return the graph, the programs inside it included, with sums of products factored.

    Example:
        >>> import numpy as np, wengert as wg
        >>> two = wg.jit(lambda x, y, w: x @ w + y @ w)
        >>> len(two.report(*np.ones((3, 20, 20))).nests)
        2
    """
    changed = _Factoring(graph).run()
    return graph if changed is graph else simplify(changed)


class _Shared(NamedTuple):
    """The common factors of products that differ in one factor."""

    params: tuple[Any, ...]
    others: tuple[Atom, ...]
    position: int
    """Of the factor that differs."""
    type: Any
    """Of that factor."""


class _Factoring:
    """A walk along a graph that writes another one."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.definitions = {out: equation for equation in graph.equations for out in equation.outputs}
        self.uses = Counter(atom for equation in graph.equations for atom in equation.operands)
        self.uses.update(graph.outputs)
        self.parts = {
            operand
            for equation in graph.equations
            if equation.primitive == "add"
            for operand in equation.operands
            if self._only_in_sum(operand, equation)
        }
        """The sums that are terms of another sum, and nothing else."""

    def run(self) -> Graph:
        equations: list[Equation] = []
        for equation in self.graph.equations:
            equations += self._factored(equation) or [with_programs(equation, factor_products)]
        same = len(equations) == len(self.graph.equations)
        if same and all(map(operator.is_, equations, self.graph.equations)):
            return self.graph
        return replace(self.graph, equations=tuple(equations))

    def _definition(self, atom: Atom, primitive: str) -> Equation | None:
        equation = None if isinstance(atom, Literal) else self.definitions.get(atom)
        return equation if equation is not None and equation.primitive == primitive else None

    def _only_in_sum(self, atom: Atom, sum_: Equation) -> bool:
        is_sum = self._definition(atom, "add") is not None
        return is_sum and self.uses[atom] == 1 and atom.type == sum_.outputs[0].type

    def _factored(self, equation: Equation) -> list[Equation]:
        """Return the equations of a whole sum; none if there is nothing to factor."""
        if equation.primitive != "add" or equation.outputs[0] in self.parts:
            return []
        terms = list(self._terms(equation))
        groups = self._groups(terms, equation.outputs[0])
        if not groups:
            return []
        written: list[Equation] = []
        first = {group[0]: (shared, group) for shared, group in groups}
        dropped = {term for _, group in groups for term in group[1:]}
        factored = [
            self._product(*first[n], terms, written) if n in first else term
            for n, term in enumerate(terms)
            if n not in dropped
        ]
        if len(factored) == 1:
            written[-1] = replace(written[-1], outputs=equation.outputs)
        else:
            _write_sum(factored, equation, written)
        return written

    def _terms(self, equation: Equation) -> Iterator[Atom]:
        """Yield the terms of a sum from left to right."""
        waiting = [*reversed(equation.operands)]
        while waiting:
            atom = waiting.pop()
            inner = self._definition(atom, "add") if atom in self.parts else None
            if inner is None:
                yield atom
            else:
                waiting += reversed(inner.operands)

    def _groups(self, terms: Sequence[Atom], out: Var) -> list[tuple[_Shared, list[int]]]:
        """Return the places of terms that share all factors but one."""
        candidates = {
            n: term_keys for n, term in enumerate(terms) if (term_keys := list(self._keys(term, out)))
        }
        count = Counter(itertools.chain.from_iterable(candidates.values()))
        groups: dict[_Shared, list[int]] = {}
        for n, keys in candidates.items():
            groups.setdefault(max(keys, key=count.__getitem__), []).append(n)
        return [
            (shared, places)
            for shared, places in groups.items()
            if len(places) > 1 and self._keeps_absence([self._factor(terms[n], shared) for n in places])
        ]

    def _keys(self, term: Atom, out: Var) -> Iterator[_Shared]:
        """Yield what a product may share with others, for each factor that may differ."""
        product = self._definition(term, "contract")
        if product is None or self.uses[term] > 1 or term.type != out.type:
            return
        params, operands = tuple(sorted(product.params.items())), product.operands
        for position, factor in enumerate(operands):
            if not factor.type.weak:
                others = (*operands[:position], *operands[position + 1 :])
                yield _Shared(params, others, position, factor.type)

    def _factor(self, term: Atom, shared: _Shared) -> Atom:
        product = self._definition(term, "contract")
        assert product is not None
        return product.operands[shared.position]

    def _keeps_absence(self, factors: Sequence[Atom]) -> bool:
        """Return whether a sum of factors has a number wherever a product has no term for one of them.

        Outside of what is embedded, a product has no term, whatever its other factor is; a sum has zeros there.
        """
        embeds = [self._definition(factor, "embed") for factor in factors]
        if not any(embeds):
            return True
        present = [embed for embed in embeds if embed is not None]
        if len(present) < len(factors):
            return False
        whole = int(np.prod(present[0].params["shape"]))
        sizes = (int(np.prod(embed.operands[0].type.shape)) for embed in present)
        pairs = itertools.combinations((embed.params["index"] for embed in present), 2)
        return sum(sizes) == whole and all(itertools.starmap(_are_apart, pairs))

    def _product(
        self, shared: _Shared, places: Sequence[int], terms: Sequence[Atom], written: list[Equation]
    ) -> Var:
        """Write the product of a sum of factors; return it."""
        product = self._definition(terms[places[0]], "contract")
        assert product is not None
        factors = [self._factor(terms[n], shared) for n in places]
        total = _write_sum(factors, product, written, Var(shared.type))
        operands = (*shared.others[: shared.position], total, *shared.others[shared.position :])
        out = Var(product.outputs[0].type)
        written.append(replace(product, operands=operands, outputs=(out,)))
        return out


def _write_sum(
    terms: Sequence[Atom], origin: Equation, written: list[Equation], out: Var | None = None
) -> Var:
    """Write the sum of terms, from left to right, as a value; by default as the result of its origin."""
    result = out or origin.outputs[0]
    total = terms[0]
    for n, term in enumerate(terms[1:], 2):
        following = result if n == len(terms) else Var(result.type)
        written.append(Equation("add", (total, term), (following,), {}, origin.location))
        total = following
    return result


def _are_apart(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two indices have no element in common."""
    return any(_share_none(_places(x), _places(y)) for x, y in zip(first, second, strict=True))


def _places(entry: Any) -> range:
    if isinstance(entry, int):
        return range(entry, entry + 1)
    start, extent, step = entry
    return range(start, start + extent * step, step)


def _share_none(x: range, y: range) -> bool:
    if not x or not y or max(x[0], x[-1]) < min(y[0], y[-1]) or max(y[0], y[-1]) < min(x[0], x[-1]):
        return True
    return not any(place in y for place in x)
