"""The rerolled program written down: a scan for each planned loop, the other equations as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from wengert.engine.core.errors import WengertError
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType, promote
from wengert.engine.passes.reroll.indices import INDEXED, index_arrays, indexed_params
from wengert.engine.passes.reroll.plan import Loop, Plan, Source
from wengert.engine.passes.reroll.roles import Carried, Fixed, Inner, Place, Role, Row, atom_key
from wengert.engine.primitive import REGISTRY


class IrregularError(Exception):
    """A loop cannot be written down; its operations would have results of other types."""

    def __init__(self, loop: Loop | None) -> None:
        super().__init__()
        self.loop = loop


class Writer:
    """Writes the equations of a graph anew."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.plan = plan
        self.equations: list[Equation] = []
        self.constants = dict(graph.constants)
        self.values: dict[Atom, Atom] = {}
        """The values of the new list, by those that they replace."""
        self.stacks: dict[tuple[Loop, Source], Var] = {}

    def run(self) -> Graph:
        """Return the new graph.

        Raises:
            IrregularError: a loop, which the exception names, must stay as it is.
        """
        singles = self._singles()
        position = 0
        for loop in self.plan.loops:
            self._straight(position, loop.span.start)
            _Body(self, loop, singles.get(loop, ())).write()
            position = loop.span.stop
        self._straight(position, len(self.graph.equations))
        outputs = tuple(map(self.read, self.graph.outputs))
        for new, old in zip(outputs, self.graph.outputs, strict=True):
            if new.type != old.type:  # a Python number in a stack becomes one of NumPy's
                self._irregular(old)
        return replace(
            self.graph,
            constants=tuple(self.constants.items()),
            equations=tuple(self.equations),
            outputs=outputs,
        )

    def read(self, atom: Atom) -> Atom:
        """Return what stands for a value."""
        atom = self.plan.lines.alias.get(atom, atom)
        return self.values.get(atom, atom)

    def append(
        self, primitive: str, operands: Sequence[Atom], type_: TensorType, location: str, **params: Any
    ) -> Var:
        """Append an equation and return its result."""
        out = Var(type_)
        self.equations.append(Equation(primitive, tuple(operands), (out,), params, location))
        return out

    def constant(self, value: Any) -> Var:
        """Return a constant array."""
        var = Var(TensorType(value.dtype, value.shape))
        value.flags.writeable = False
        self.constants[var] = value
        return var

    # -- the equations between the loops -----------------------------------------------------------------

    def _straight(self, start: int, stop: int) -> None:
        for equation in self.graph.equations[start:stop]:
            self.copy(equation)

    def copy(self, equation: Equation) -> None:
        """Append an equation with what stands for its operands."""
        operands = tuple(map(self.read, equation.operands))
        if operands == equation.operands:
            self.equations.append(equation)
            return
        try:
            new = retyped(equation, operands)
        except IrregularError:
            self._irregular(*equation.operands)
        self.equations += new
        for old, out in zip(equation.outputs, new[-1].outputs, strict=True):
            if old is not out:
                self.values[old] = out

    def _irregular(self, *atoms: Atom) -> NoReturn:
        made = next((made for atom in atoms if (made := self.plan.made(atom)) is not None), None)
        raise IrregularError(made[0] if made else None)

    # -- values of single turns --------------------------------------------------------------------------

    def _singles(self) -> dict[Loop, list[tuple[Var, Place, int]]]:
        """Return, for each loop, the values of single turns that other equations read, with places and turns."""
        singles: dict[Loop, dict[Var, tuple[Place, int]]] = {}
        for atom in self._read_alone():
            made = self.plan.made(atom)
            if made is not None and isinstance(atom, Var):
                loop, place, turn = made
                singles.setdefault(loop, {})[atom] = place, turn
        return {loop: [(var, *where) for var, where in of.items()] for loop, of in singles.items()}

    def _read_alone(self) -> Iterator[Atom]:
        """Yield the values that equations outside of loops read, and loops other than row by row."""
        position = 0
        for loop in self.plan.loops:
            for equation in self.graph.equations[position : loop.span.start]:
                yield from equation.operands
            position = loop.span.stop
            for roles in loop.roles:
                for role in roles:
                    if isinstance(role, Fixed):
                        yield role.atom
                    elif isinstance(role, Carried):
                        yield from role.first
                    elif isinstance(role, Row) and self.plan.trace(role.atoms) is None:
                        yield from role.atoms
        for equation in self.graph.equations[position:]:
            yield from equation.operands
        yield from self.graph.outputs

    # -- rows --------------------------------------------------------------------------------------------

    def rows(self, loop: Loop, atoms: Sequence[Atom]) -> Var:
        """Return an array whose rows are values, in the order of the rows of a loop."""
        traced = self.plan.trace(atoms)
        if traced is None:
            return self._stack(atoms[::-1] if loop.reverse else atoms, self._location(loop))
        stack = self.stacks[traced.loop, traced.source]
        turns = (loop.span.turns - 1, 0) if loop.reverse else (0, loop.span.turns - 1)
        first, last = (traced.loop.row_number(traced.turn + traced.step * turn) for turn in turns)
        step = (last - first) // (loop.span.turns - 1)
        if (first, step, loop.span.turns) == (0, 1, stack.shape[0]):
            return stack
        shape = stack.shape[1:]
        index = ((first, loop.span.turns, step), *((0, extent, 1) for extent in shape))
        type_ = TensorType(stack.dtype, (loop.span.turns, *shape))
        return self.append("slice", [stack], type_, self._location(loop), index=index)

    def _stack(self, atoms: Sequence[Atom], location: str) -> Var:
        sources = [self.plan.known(atom) for atom in atoms]
        dtype, shape = atoms[0].type.dtype, atoms[0].type.shape
        if all(value is not None for value in sources):
            return self.constant(np.stack([np.asarray(value, dtype) for value in sources]))
        row, full = TensorType(dtype, (1, *shape)), TensorType(dtype, (len(atoms), *shape))
        pieces = [self.append("reshape", [self.read(atom)], row, location, shape=row.shape) for atom in atoms]
        return self.append("concatenate", pieces, full, location, axis=0)

    def _location(self, loop: Loop) -> str:
        return self.graph.equations[loop.span.start].location


class _Body:
    """Writes one loop."""

    def __init__(self, writer: Writer, loop: Loop, singles: Sequence[tuple[Var, Place, int]]) -> None:
        self.writer = writer
        self.loop = loop
        self.turn = writer.graph.equations[loop.span.start : loop.span.start + loop.span.period]
        self.singles = singles
        self.location = self.turn[0].location
        self.strong: set[Carried] = set()
        """The carries that begin as Python numbers and go on as NumPy's."""
        self.index_rows: dict[Any, Var] = {}
        last = loop.span.turns - 1
        carried = {role.place for role in loop.all_roles() if isinstance(role, Carried)}
        self.kept: set[Place] = set()
        """The values that are carried only because something reads those of the last turn."""
        for _, place, turn in singles:
            if turn < last:
                loop.stacked[place] = None
        for _, place, turn in singles:
            if turn == last and place not in carried and place not in loop.stacked:
                self.kept.add(place)

    def write(self) -> None:
        """Append the equations before the loop, the loop, and the values of single turns."""
        for position in sorted(self.loop.hoisted):
            self.writer.copy(self.turn[position])
        try:
            while not self._build():
                pass
        except IrregularError:
            raise IrregularError(self.loop) from None
        self._scan()

    # -- the program of a turn ---------------------------------------------------------------------------

    def _build(self) -> bool:
        """Build the program of a turn; return False if the type of a carry changes, and it must be built again."""
        self.fixed: dict[Any, tuple[Atom, Var]] = {}
        self.carries: dict[Carried, list[Var]] = {}
        self.rows: dict[Any, tuple[Var, Var]] = {}
        self.lines: list[Equation] = []
        self.made: dict[Place, Atom] = {}
        for position, equation in enumerate(self.turn):
            if position in self.loop.hoisted:
                for number, var in enumerate(equation.outputs):
                    self.made[position, number] = self._fixed(self.writer.read(var))
                continue
            operands = [self._operand(role) for role in self.loop.roles[position]]
            if position in self.loop.indices:
                equation, operands = self._indexed(position, equation, operands)
            new = retyped(equation, operands, fresh=True)
            self.lines += new
            for number, var in enumerate(new[-1].outputs):
                self.made[position, number] = var
        changed = [
            role for role, chain in self.carries.items() if self.made[role.place].type != chain[0].type
        ]
        if self.strong.issuperset(changed) and changed:
            raise IrregularError(self.loop)
        self.strong.update(changed)
        return not changed

    def _operand(self, role: Role) -> Atom:
        match role:
            case Inner(place=place):
                return self.made[place]
            case Fixed(atom=atom):
                return self._fixed(self.writer.read(atom))
            case Row(atoms=atoms):
                name = tuple(map(atom_key, atoms))
                if name not in self.rows:
                    self.rows[name] = self._row(self._outer_rows(name, atoms))
                return self.rows[name][1]
            case Carried():
                if role not in self.carries:
                    type_ = self.writer.read(role.first[0]).type
                    if role in self.strong:
                        type_ = type_._replace(weak=False)
                    self.carries[role] = [Var(type_) for _ in role.first]
                return self.carries[role][-1]

    def _fixed(self, atom: Atom) -> Atom:
        if isinstance(atom, Literal):
            return atom
        return self.fixed.setdefault(atom, (atom, Var(atom.type)))[1]

    def _row(self, outer: Var) -> tuple[Var, Var]:
        return outer, Var(TensorType(outer.dtype, outer.shape[1:]))

    def _outer_rows(self, name: Any, atoms: Sequence[Atom]) -> Var:
        if name not in self.index_rows:
            self.index_rows[name] = self.writer.rows(self.loop, atoms)
        return self.index_rows[name]

    def _indexed(
        self, position: int, equation: Equation, operands: list[Atom]
    ) -> tuple[Equation, list[Atom]]:
        """Return an operation with a basic index that follows the turn as one with integer arrays."""
        indices = self.loop.indices[position]
        shape = equation.params["shape"] if equation.primitive == "embed" else operands[0].type.shape
        for axis, (array, follows) in enumerate(index_arrays(indices, shape)):
            name = position, axis
            if name not in self.index_rows:
                ordered = array[::-1].copy() if follows and self.loop.reverse else array
                self.index_rows[name] = self.writer.constant(np.asarray(ordered))
            outer = self.index_rows[name]
            if follows:
                self.rows[name] = self._row(outer)
                operands.append(self.rows[name][1])
            else:
                operands.append(self._fixed(outer))
        primitive, params = INDEXED[equation.primitive], indexed_params(equation.primitive, equation.params)
        return replace(equation, primitive=primitive, params=params), operands

    # -- the loop ----------------------------------------------------------------------------------------

    def _scan(self) -> None:
        saved = {place: Var(self.made[place].type) for place in sorted(self.kept)}
        carries = [var for chain in self.carries.values() for var in chain] + list(saved.values())
        after: list[Atom] = []
        for role, chain in self.carries.items():
            after += [self.made[role.place], *chain[:-1]]
        after += [self.made[place] for place in saved]
        stacked = [self._stacked(source) for source in self.loop.stacked]
        fixed, rows = self.fixed.values(), self.rows.values()
        body = Graph(
            (*(var for _, var in fixed), *carries, *(var for _, var in rows)),
            (),
            tuple(self.lines),
            (*after, *stacked),
        )
        operands = [*(outer for outer, _ in fixed), *self._first(saved), *(outer for outer, _ in rows)]
        turns = self.loop.span.turns
        types = [*(var.type for var in carries)]
        types += [TensorType(atom.type.dtype, (turns, *atom.type.shape)) for atom in stacked]
        outputs = tuple(map(Var, types))
        params = {
            **{"body": body, "constants": len(fixed), "carries": len(carries)},
            **{"length": turns, "reverse": self.loop.reverse, "unroll": 1},
        }
        self.writer.equations.append(Equation("scan", tuple(operands), outputs, params, self.location))
        self._give(list(outputs), saved)

    def _stacked(self, source: Source) -> Atom:
        return self.carries[source][0] if isinstance(source, Carried) else self.made[source]

    def _first(self, saved: dict[Place, Var]) -> Iterator[Atom]:
        """Yield the first values of the carries."""
        for role, chain in self.carries.items():
            for var, atom in zip(chain, reversed(role.first), strict=True):
                first = self.writer.read(atom)
                if first.type != var.type:
                    first = self.writer.append("cast", [first], var.type, self.location, dtype=var.dtype)
                yield first
        for var in saved.values():
            zero = Literal(var.dtype.type(0), TensorType(var.dtype, ()))
            strong = var.type._replace(weak=False)
            yield self.writer.append("broadcast_to", [zero], strong, self.location, shape=var.shape)

    def _give(self, outputs: list[Var], saved: dict[Place, Var]) -> None:
        """Note what stands for values of the loop after it."""
        finals: dict[Place, Var] = {}
        for role, chain in self.carries.items():
            finals[role.place] = outputs[0]
            outputs = outputs[len(chain) :]
        finals.update(zip(saved, outputs, strict=False))
        stacks = dict(zip(self.loop.stacked, outputs[len(saved) :], strict=True))
        self.writer.stacks.update(((self.loop, source), stack) for source, stack in stacks.items())
        for var, place, turn in self.singles:
            if turn == self.loop.span.turns - 1 and place in finals:
                self.writer.values[var] = finals[place]
                continue
            stack = stacks[place]
            index = (self.loop.row_number(turn), *((0, extent, 1) for extent in var.shape))
            type_ = TensorType(var.dtype, var.shape)
            self.writer.values[var] = self.writer.append("slice", [stack], type_, self.location, index=index)


def retyped(equation: Equation, operands: Sequence[Atom], *, fresh: bool = False) -> list[Equation]:
    """Return an equation with other operands, and index arrays after them, after the equations that convert these.

    Where a Python number has become one of NumPy's, it is converted to the dtype in which the operation takes it, so
    that the result keeps its dtype. A ``fresh`` equation defines new values in any case.

    Raises:
        IrregularError: the results would have other dtypes or shapes.
    """
    before = [atom.type for atom in equation.operands]
    changed = [n for n, (old, new) in enumerate(zip(before, operands, strict=False)) if old != new.type]
    types = [var.type for var in equation.outputs]
    casts: list[Equation] = []
    converted = list(operands)
    if changed:
        dtype, _ = promote(*before)
        if dtype != promote(*(atom.type for atom in converted[: len(before)]))[0]:
            for n in changed:
                out = Var(TensorType(dtype, converted[n].type.shape))
                casts.append(Equation("cast", (converted[n],), (out,), {"dtype": dtype}, equation.location))
                converted[n] = out
        types = _inferred(equation, converted)
    outputs = tuple(map(Var, types)) if fresh or changed else equation.outputs
    return [*casts, replace(equation, operands=tuple(converted), outputs=outputs)]


def _inferred(equation: Equation, operands: Sequence[Atom]) -> list[TensorType]:
    if any(True for _ in equation.graphs()):
        raise IrregularError(None)
    try:
        result = REGISTRY[equation.primitive].infer(*(atom.type for atom in operands), **equation.params)
    except WengertError:
        raise IrregularError(None) from None
    types = [result] if isinstance(result, TensorType) else list(result)
    for type_, var in zip(types, equation.outputs, strict=True):
        if (type_.dtype, type_.shape) != (var.dtype, var.shape):
            raise IrregularError(None)
    return types
