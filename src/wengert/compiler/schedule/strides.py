"""Accesses with a stride that are contiguous together: vectors are read whole and taken apart, or joined and written.

The parts of complex numbers lie side by side in an array, the results of a step of a Fourier transform some elements
apart. Shuffles in registers take much less time than reading or writing element by element.
"""

from __future__ import annotations

from collections.abc import Mapping

from wengert.compiler.schedule.layout import Layout, linear
from wengert.engine.nest.expression import Buffer, Load
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Nest, Store

#: The strides of stores that are joined, and the shuffles for each vector.
_SHUFFLES = {2: 1, 4: 2, 8: 3, 16: 4, 3: 2, 5: 4, 7: 6}


def joined_cost(stores: tuple[Store, ...]) -> float:
    """Return the instructions for each of the stores of a group."""
    return 1.0 + _SHUFFLES[len(stores)]


def pair_place(layouts: Mapping[Buffer, Layout], load: Load, lanes: Dim) -> int | None:
    """Return which of two neighbours a load takes of every pair along the lanes, 0 or 1; None where it does not.

    The pairs may follow each other backwards.
    All pairs lie inside the buffer, so that they may be read whole.
    """
    layout = layouts[load.buffer]
    if load.buffer.dtype.kind != "f" or layout.panel:
        return None
    position = linear(layout, load.indices)
    if (
        not position.is_affine
        or abs(position.coefficient(lanes)) != 2
        or any(c % 2 for _, c in position.terms)
    ):
        return None
    low, high = position.bounds
    place = position.offset % 2
    return place if low >= place and high - place + 1 < layout.size else None


def joined_stores(nest: Nest, lanes: Dim, layouts: Mapping[Buffer, Layout]) -> list[tuple[Store, ...]]:
    """Return the groups of stores whose elements lie side by side, the first one first, lane after lane."""
    by_offset: dict[tuple[Buffer, frozenset[object]], dict[int, Store]] = {}
    for store in nest.stores:
        layout = layouts[store.buffer]
        plain = store.buffer.dtype.kind == "f" and not (store.along or store.combiner or layout.panel)
        position = linear(layout, store.indices) if plain else Index(0)
        if position.is_affine and position.coefficient(lanes) in _SHUFFLES:
            by_offset.setdefault((store.buffer, frozenset(position.terms)), {})[position.offset] = store
    groups: list[tuple[Store, ...]] = []
    for stores in by_offset.values():
        offsets = sorted(stores)
        first = stores[offsets[0]]
        step = linear(layouts[first.buffer], first.indices).coefficient(lanes)
        while len(offsets) >= step:
            if offsets[step - 1] == offsets[0] + step - 1:
                groups.append(tuple(stores[offset] for offset in offsets[:step]))
                del offsets[:step]
            else:
                del offsets[0]
    return groups
