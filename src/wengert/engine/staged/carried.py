"""What a loop carries: the places that its turns change, their types, and which arrays other names may show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from wengert.engine.boxes import Box, boxed
from wengert.engine.control.values import fit, padded, settle, zeros
from wengert.engine.core import tree
from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.core.errors import WengertError
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.staged import shrunk
from wengert.engine.staged.aliases import is_seen, link, may_be_seen
from wengert.engine.staged.contents import Content, Leaf, Sharing, content_at, holds, is_same
from wengert.engine.staged.exchanged import give_up, refusal
from wengert.engine.staged.frozen import mutable_parts
from wengert.engine.staged.nullable import expanded, is_nullable, settled, unified
from wengert.engine.staged.regions import (
    FLOW,
    UNBOUND,
    Array,
    Growth,
    Items,
    Place,
    Region,
    StagingError,
    Unsure,
    Variable,
    known,
    put,
    root_of,
    show_value,
    without_axes,
)
from wengert.engine.staged.shared import Made, freeze_shared
from wengert.engine.staged.shrunk import is_shrunk, moved, part_of, unpacked
from wengert.engine.staged.texts import text_of

_FLAG = TensorType(BOOL, ())


@dataclass
class CarriedLeaf:
    """A leaf of what a place holds.

    Args:
        leaf: the leaf before the loop; None where the place then holds nothing.
    """

    leaf: Leaf | None
    type: TensorType | None = None
    """Its type as part of the carry; None while no turn changes it."""
    is_shared: bool = False
    """Whether another variable may show its array."""
    others: list[Any] = field(default_factory=list[Any])
    """Arrays from outside of the loop that it may be."""
    is_written: bool = False
    """Whether a turn writes into its array."""
    box: Any = None
    """The array at the beginning of the present turn."""
    step: int | None = None
    """How far each turn moves a number that the number of the turn tells: it is no part of the carry."""
    has_no_axes: bool = field(init=False)
    """Whether it is an array without axes, which is no number."""
    end: Any = None
    """Its value after the last turn, if Python knows that number."""
    is_uneven: bool = False
    """Whether turns move it in a way that their number does not tell."""

    @property
    def is_carried(self) -> bool:
        """Whether it is part of the carry."""
        return self.type is not None and self.step is None

    def __post_init__(self) -> None:
        self.has_no_axes = self.leaf is not None and self.leaf.has_no_axes

    def taken(self, value: Any) -> Any:
        """Return what the program has of its part of the carry."""
        return without_axes(value) if self.has_no_axes else value

    def moves_by(self, step: int | None) -> bool:
        """Take note of how far a turn has moved a number; return whether that changes what is known of it."""
        before = self.step
        if self.leaf is None or step is None or before not in (None, step):
            self.is_uneven = True
        self.step = None if self.is_uneven else step
        return self.step != before

    def evolve(self, step: int | None, end: Any) -> None:
        """Take note of how far each turn moves a number, or else of its value after the last turn, if that is known."""
        self.end = end
        if step is not None and self.leaf is not None:
            self.type, self.step = type_of(self.leaf.value), step

    def after(self, turns: Any) -> Any:
        """Return the value after some turns that move it evenly."""
        assert self.leaf is not None
        return self.leaf.value if self.step == 0 else self.leaf.value + self.step * turns

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape; () if it is no array."""
        if self.type is not None:
            return self.type.shape
        return shape_of(self.leaf.value) if self.leaf is not None and self.leaf.is_number else ()

    def initial(self) -> Any:
        """Return its value before the loop."""
        assert self.type is not None
        return (
            zeros(self.type)
            if self.leaf is None
            else fit(padded(self.leaf.value, self.type.shape), self.type)
        )


@dataclass
class Settled:
    """How a loop carried a place in an earlier draft of the block around."""

    structure: tree.Structure | None
    types: list[TensorType | None]
    starts: list[bool]
    """Whether a leaf starts from what the place held before the loop."""
    written: list[bool]
    shared: list[bool]
    others: list[list[Any]]
    flagged: bool


@dataclass
class Slot:
    """A place that turns may change.

    Args:
        place: the place.
        before: what it holds before the loop.
        always: whether the loop takes at least one turn.
    """

    place: Place
    before: Content
    always: bool
    structure: tree.Structure | None = None
    leaves: list[CarriedLeaf] = field(default_factory=list[CarriedLeaf])
    flagged: bool = False
    """Whether the carry says if the place holds anything."""
    ends_bound: bool = True
    """Whether the place holds something after each turn."""
    ended: Any = None
    """What it held after the last turn that was traced."""
    made: Made | None = None
    """The containers that it holds at the beginning of the present turn, or after the loop."""
    is_shared: bool = False
    """Whether another variable may show its containers."""
    kind: TensorType | None = None
    """The type of the elements of a list at the beginning of the present turn."""
    moves: list[int | None] = field(default_factory=list[int | None])
    """How far the present turn has moved the ends of what is left of an array."""

    def __post_init__(self) -> None:
        if self.before.is_bound and self.place.is_carried:
            self.structure = self.before.structure
            self.leaves = [CarriedLeaf(leaf) for leaf in self.before.leaves]
            self.flagged = self.before.flag is not True
        if isinstance(self.place, Array):
            (leaf,) = self.leaves
            leaf.type = type_of(self.before.leaves[0].value)

    # -- from draft to draft of the block around ---------------------------------------------------------

    def settled(self) -> Settled:
        """Return how the loop carries the place."""
        leaves = self.leaves
        return Settled(
            self.structure,
            [leaf.type for leaf in leaves],
            [leaf.leaf is not None for leaf in leaves],
            [leaf.is_written for leaf in leaves],
            [leaf.is_shared for leaf in leaves],
            [leaf.others for leaf in leaves],
            self.flagged,
        )

    def recall(self, settled: Settled) -> None:
        """Begin with what an earlier draft found, as far as it fits what the place holds now."""
        types = settled.types
        if settled.structure is None:
            return
        if self.structure is None:
            has_before = self.before.structure == settled.structure and len(self.before.leaves) == len(types)
            if None in types or (any(settled.starts) and not has_before):
                return
            befores = self.before.leaves if has_before else [None] * len(types)
            starts = zip(befores, settled.starts, strict=True)
            leaves = [CarriedLeaf(before if starts_there else None) for before, starts_there in starts]
        else:
            leaves = self.leaves
        if self.structure not in (None, settled.structure) or not all(map(_may_start, leaves, types)):
            return
        self.structure, self.leaves = settled.structure, leaves
        self.flagged = settled.flagged
        for number, leaf in enumerate(leaves):
            leaf.type = types[number]
            leaf.is_written, leaf.is_shared = settled.written[number], settled.shared[number]
            leaf.others = [other for other in settled.others[number] if _is_there(other)]

    # -- the carry ---------------------------------------------------------------------------------------

    def types(self) -> list[TensorType]:
        """Return the types of its part of the carry."""
        found = [leaf.type for leaf in self.leaves if leaf.type is not None and leaf.is_carried]
        return [*found, *([_FLAG] if self.flagged else [])]

    def initial(self) -> list[Any]:
        """Return its part of the carry before the loop."""
        found = [leaf.initial() for leaf in self.leaves if leaf.is_carried]
        flag = self.before.flag if self.place.is_carried or self.before.is_bound else False
        return [*found, *([flag] if self.flagged else [])]

    def start(self, inputs: Iterator[Any], region: Region, number: Any) -> None:
        """Put the place into the state in which a turn begins."""
        values: list[Any] = []
        for leaf in self.leaves:
            if leaf.step is not None:
                leaf.box = leaf.after(number)
                values.append(leaf.box)
                continue
            if not leaf.is_carried:
                values.append(leaf.leaf.object if leaf.leaf is not None else None)
                continue
            leaf.box = leaf.taken(next(inputs))
            values.append(leaf.box)
            if isinstance(self.place, Array):
                continue
            if leaf.is_written:
                self._give_up(leaf, region)
        flag = next(inputs) if self.flagged else True
        self.made = None
        self.kind = self.place.kind if isinstance(self.place, (Items, Growth)) else None
        if isinstance(self.place, Array):
            box = self.place.box
            region.written.setdefault(id(box), (box, box.owner, box.state))
            self.place.replace(values[0])
        elif not self.place.is_carried or self.structure is None:
            put(self.place, UNBOUND)
        elif not self.before.is_bound or self.flagged or any(leaf.type is not None for leaf in self.leaves):
            value = self._made(values)
            put(self.place, value if flag is True else Unsure(value, flag))

    def _made(self, values: list[Any]) -> Any:
        assert self.structure is not None
        value = unpacked(tree.unflatten(self.structure, values))
        self.made = Made(value, [self.before.value, self.ended])
        return settled(value)

    def _give_up(self, leaf: CarriedLeaf, region: Region) -> None:
        root = leaf.leaf.root if leaf.leaf is not None else None
        if root is None:
            return
        if not isinstance(root, Box):
            hint = "copy it before the loop"
            raise refusal(
                "loop", f"{self.place.name} is a plain array that the loop writes", show(root), hint
            )
        region.without(root)

    def finish(self, content: Content, sharing: Sharing, region: Region, is_counted: bool) -> bool:
        """Compare what the place holds after a turn with the carry; return whether the carry had to change.

        Args:
            content: what it holds.
            sharing: which arrays others may show.
            region: the run of the turn.
            is_counted: whether the number of turns is that of a counter.
        """
        self.ends_bound = content.flag is True
        self.ended = content.value
        if content.value is self.before.value and content.flag is True and self.before.flag is True:
            return False  # what changes inside are places of their own
        if not content.is_bound:
            if self.structure is None or self.flagged:
                return False
            self.flagged = True
            return True
        if self.structure is None:
            self._adopt(content)
            return True
        if self._enlarges(content):
            return True
        common = self._common(content)
        if common != self.structure or content.structure != common:
            if common is None:
                got = f"{show_value(self.before.value)} and {show_value(content.value)}"
                raise refusal("loop", f"{self.place.name} must keep its containers", got)
            content = content.widened(common)
            if common != self.structure:
                self._widen(content)
                return True
        changes = isinstance(self.place, (Items, Growth)) and self.place.kind != self.kind
        paths = tree.paths(self.structure, self.place.name)
        leaves: list[Any] = content.leaves
        for leaf, move in zip(self.leaves, self.moves, strict=False):
            changes |= is_counted and leaf.moves_by(move)
        for path, leaf, now in zip(paths, self.leaves, leaves, strict=True):
            changes |= leaf.step is None and now is not None and self._leaf(path, leaf, now, sharing, region)
        if content.flag is not True and not self.flagged:
            self.flagged = changes = True
        return changes

    def _whole(self) -> tuple[int, ...]:
        """Return the shape of its first leaf; () if that is no array."""
        leaf = self.leaves[0] if self.leaves else None
        return leaf.shape if leaf is not None else ()

    def _common(self, content: Content) -> tree.Structure | None:
        """Return the structure of what the place holds, before and after a turn."""
        assert self.structure is not None
        is_same = content.structure == self.structure
        if not isinstance(self.place, Variable) or (is_same and content.shape == self._whole()):
            return self.structure if is_same else None
        found = None if is_same else unified(self.structure, content.structure)
        if found is None and content.shape:
            found = part_of(self.structure, self._whole(), content.structure, content.shape)
        return self.structure if is_same and found is None else found

    def _enlarges(self, content: Content) -> bool:
        """Let the whole array have room for what a turn leaves; return whether it had none."""
        if not self._is_too_large(content):
            return False
        array = self.leaves[0]
        assert array.type is not None
        array.type = array.type._replace(shape=tuple(map(max, array.shape, content.shape)))
        return True

    def _is_too_large(self, content: Content) -> bool:
        """Return whether the whole array has no room for what a turn leaves."""
        whole, shape = self._whole(), content.shape
        return (
            is_shrunk(self.structure)
            and len(shape) == len(whole)
            and any(extent > most for extent, most in zip(shape, whole, strict=True))
        )

    def fitted(self, content: Content) -> Content:
        """Return what a turn leaves, in the running trace, as the part of the array that the carry has."""
        if not is_shrunk(self.structure) or not content.is_bound or self._is_too_large(content):
            return content
        if self._common(content) != self.structure:
            return content
        assert self.structure is not None
        content = content.widened(self.structure, self._whole())
        pairs = zip(self.leaves[1:], content.leaves[1:], strict=True)
        self.moves = [None, *(moved(leaf.box, now.value) for leaf, now in pairs)]
        return content

    def _widen(self, content: Content) -> None:
        """Let the place hold None as well as a value, or a part of its array.

        Args:
            content: what a turn leaves, with the leaves of either.
        """
        assert self.structure is not None

        def flag(some: bool) -> CarriedLeaf:
            return CarriedLeaf(Leaf(some, some, None), TensorType(BOOL, (), True))

        def constant(value: int) -> CarriedLeaf:
            return CarriedLeaf(Leaf(value, value, None), TensorType(INT64, (), True))

        if is_shrunk(content.structure):
            array = self.leaves[0]
            array.type = array.type or (array.leaf and type_of(array.leaf.value))
            self.leaves = shrunk.expanded(
                self.structure, self.leaves, content.structure, self._whole(), constant
            )
            self.structure = content.structure
            return
        found = expanded(self.structure, self.leaves, content.structure, flag)
        for number, now in enumerate(content.leaves):
            if found[number] is None:
                found[number] = CarriedLeaf(None if now.is_number else now)
                found[number].type = type_of(now.value) if now.is_number else None
        self.structure, self.leaves = content.structure, found

    def _adopt(self, content: Content) -> None:
        """Take over what a turn leaves in a place that holds nothing before, or nothing that a turn reads."""
        self.structure = content.structure
        for leaf in content.leaves:
            made = CarriedLeaf(leaf if not leaf.is_number else None)
            made.type = type_of(leaf.value) if leaf.is_number else None
            self.leaves.append(made)
        self.flagged = not self.place.is_internal and not (self.always and not self.place.is_carried)
        if self.place.is_carried or not self.before.is_bound or self.always:
            return
        if self._keeps_before() or not self.place.is_live or self.place.is_internal:
            return
        common = unified(self.before.structure, content.structure)
        is_new = self.before.structure != content.structure
        if is_new and common is not None and isinstance(self.place, Variable):
            self.structure = self.before.structure
            self.leaves = [CarriedLeaf(leaf) for leaf in self.before.leaves]
            self._widen(content.widened(common))
            self.flagged = self.before.flag is not True
        else:
            got = f"{show_value(self.before.value)} and {show_value(content.value)}"
            hint = "give it before the loop what the turns give it, or another name there"
            raise refusal("loop", f"{self.place.name} may keep its value, as there may be no turn", got, hint)

    def _keeps_before(self) -> bool:
        """Start from what the place holds before the loop, which may take no turn; return whether that can be."""
        if self.before.structure != self.structure:
            return False
        types: list[TensorType | None] = []
        for leaf, before in zip(self.leaves, self.before.leaves, strict=True):
            if leaf.type is None and leaf.leaf is not None and is_same(leaf.leaf, before):
                types.append(None)
                continue
            if leaf.type is None or not before.is_number:
                return False
            try:
                types.append(settle("loop", type_of(before.value), leaf.type, self.place.name))
            except WengertError:
                return False
        for leaf, before, type_ in zip(self.leaves, self.before.leaves, types, strict=True):
            leaf.leaf, leaf.type = before, type_
        self.flagged = self.before.flag is not True
        return True

    def _leaf(self, path: str, leaf: CarriedLeaf, now: Leaf, sharing: Sharing, region: Region) -> bool:
        if not leaf.is_carried:
            assert leaf.leaf is not None
            if is_same(leaf.leaf, now):
                return False
            if not (leaf.leaf.is_number and now.is_number):
                got = f"{_shown(leaf.leaf)} and {_shown(now)}"
                raise refusal("loop", f"{path} must keep its value, or be a number", got)
            leaf.type = type_of(leaf.leaf.value)
            self._settle(path, leaf, now)
            return True
        changes = self._settle(path, leaf, now)
        if isinstance(self.place, Array):
            return changes
        if not leaf.has_no_axes and now.has_no_axes:
            leaf.has_no_axes = changes = True
        if isinstance(leaf.box, Box) and id(root_of(leaf.box)) in region.written and not leaf.is_written:
            leaf.is_written = changes = True
        others = sharing.others(now)
        known = {id(other) for other in leaf.others}
        new = [other for other in others if region.is_outer(other) and id(other) not in known]
        if new or (others and not leaf.is_shared):
            leaf.is_shared = changes = True
            leaf.others += new
        return changes

    def _settle(self, path: str, leaf: CarriedLeaf, now: Leaf) -> bool:
        assert leaf.type is not None
        after = type_of(now.value)
        try:
            is_whole = isinstance(self.place, (Items, Growth))  # its numbers have taken their common type
            settled = after if is_whole else settle("loop", leaf.type, after, path)
        except StagingError:
            raise
        except WengertError:
            hint = "give it its type before the loop: astype, np.zeros(shape, dtype)"
            got = f"{show(leaf.type)} and {show(after)}"
            raise refusal("loop", f"{path} must keep its type from turn to turn", got, hint) from None
        for part in (leaf.leaf, now):
            if part is not None and part.is_number and not holds(settled, part):
                hint = "convert it before the loop, and in it: int, float, astype"
                got = f"{_shown(part)} and {show(settled)}"
                raise refusal("loop", f"{path} has a number that its type cannot hold", got, hint)
        changes, leaf.type = settled != leaf.type, settled
        return changes

    def outputs(self, content: Content) -> list[Any]:
        """Return its part of the carry after a turn."""
        if self.structure is not None and content.is_bound and is_nullable(self.structure):
            content = content.widened(self.structure)
        is_whole = any(leaf.is_carried for leaf in self.leaves) and content.leaves
        leaves: list[Any] = content.leaves if is_whole else [None] * len(self.leaves)
        found = [
            zeros(leaf.type) if now is None else now.value
            for leaf, now in zip(self.leaves, leaves, strict=True)
            if leaf.type is not None and leaf.is_carried
        ]
        return [*found, *([content.flag] if self.flagged else [])]

    # -- after the loop ----------------------------------------------------------------------------------

    def end(self, results: Iterator[Any], turns: Any) -> None:
        """Put the place into the state after the loop.

        Args:
            results: the carry.
            turns: how many turns the loop takes; None where no counter tells.
        """
        values: list[Any] = []
        for leaf in self.leaves:
            if leaf.step is not None:
                values.append(leaf.after(turns))
                continue
            if not leaf.is_carried:
                values.append(leaf.leaf.object if leaf.leaf is not None else None)
                continue
            value = next(results)
            value = leaf.taken(value) if leaf.end is None else leaf.end
            values.append(value)
            if not isinstance(self.place, Array):
                self._share(leaf, value)
        flag = next(results) if self.flagged else True
        self.made = None
        if isinstance(self.place, Array):
            self.place.box.receive(boxed(values[0]))
        elif not self.place.is_live or self.structure is None:
            put(
                self.place,
                UNBOUND if self.structure is not None or not self.place.is_live else self.place.content,
            )
        elif not self._is_as_before():
            value = self._made(values)
            is_bound = flag is True or (self.always and self.ends_bound)
            put(self.place, value if is_bound else Unsure(value, known(flag)))

    def _is_as_before(self) -> bool:
        """Return whether the turns have left in the place what it held before."""
        return (
            self.before.is_bound
            and not self.flagged
            and self.structure == self.before.structure
            and all(
                not leaf.is_carried and leaf.step is None and leaf.leaf is before
                for leaf, before in zip(self.leaves, self.before.leaves, strict=True)
            )
        )

    def _share(self, leaf: CarriedLeaf, value: Any) -> None:
        root = leaf.leaf.root if leaf.leaf is not None else None
        if leaf.is_written and isinstance(root, Box):
            root.receive(root)  # a block around the loop takes note
            give_up(root)
        elif root is not None and not self.always and root_of(value) is not None:
            link(value, [root])
        leaf.box = value


def _may_start(leaf: CarriedLeaf, type_: TensorType | None) -> bool:
    return (
        type_ is None
        or leaf.leaf is None
        or (leaf.leaf.is_number and type_of(leaf.leaf.value).shape == type_.shape)
    )


def _is_there(array: Any) -> bool:
    return not isinstance(array, Box) or array.owner.open


def _shown(leaf: Leaf) -> str:
    return show(type_of(leaf.value)) if leaf.is_number else text_of(leaf.object)


def link_shared(slots: Iterable[Slot]) -> None:
    """Refuse writes into the present arrays of leaves that may be one."""
    shared = [leaf for slot in slots for leaf in slot.leaves if leaf.is_shared and leaf.is_carried]
    for leaf in shared:
        link(leaf.box, [*leaf.others, *(other.box for other in shared if other is not leaf)])


def link_seen(slots: Iterable[Slot]) -> None:
    """Refuse writes into arrays of a first turn that the program can see by other names, too."""
    for leaf in [leaf for slot in slots if not isinstance(slot.place, Array) for leaf in slot.leaves]:
        root = leaf.leaf.root if leaf.leaf is not None and leaf.is_carried and not leaf.is_written else None
        if root is not None and may_be_seen(root):
            link(leaf.box, [root])


def freeze_made(slots: Iterable[Slot]) -> None:
    """Let the containers not change that slots show, and other variables may show, too."""
    slots = [slot for slot in slots if slot.made is not None]
    found = freeze_shared([slot.made for slot in slots if slot.made is not None])
    for slot in slots:
        if slot.made is not None and (slot.is_shared or slot.made in found):
            slot.is_shared = True
            FLOW.frozen.add([*slot.made.parts, *slot.made.of])


def note_shared(slots: Iterable[Slot]) -> bool:
    """Note the containers at the end of a turn that others show, too; return whether there are new ones."""
    ends = [(slot, mutable_parts(slot.ended)) for slot in slots if slot.made is not None]
    counts = Counter(id(part) for _, parts in ends for part in parts)
    changes = False
    for slot, parts in ends:
        befores = {id(part) for part in mutable_parts(slot.before.value)}
        others = [part for part in parts if id(part) not in befores]
        is_double = any(counts[id(part)] > 1 or part in FLOW.frozen for part in parts)
        if not slot.is_shared and (is_double or (others and is_seen(others))):
            slot.is_shared = changes = True
    return changes


def slot_of(place: Place, always: bool) -> Slot:
    """Return the slot of a place that a loop has not changed yet."""
    if isinstance(place, Array):
        value = place.content
        return Slot(place, Content(place.box, tree.LEAF, [Leaf(value, place.box, None)], True), always)
    return Slot(place, content_at(place), always)
