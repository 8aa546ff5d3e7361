"""Row padding: the accesses whose lanes may run over the end of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wengert.compiler.schedule.layout import Layout, linear
from wengert.engine.nest.expression import Buffer, Load, free_dims, is_check
from wengert.engine.nest.index import Computed, Dim, Index, follows
from wengert.engine.nest.nest import Nest, Store


def is_padded(nest: Nest, dim: Dim, width: int, layouts: Mapping[Buffer, Layout]) -> bool:
    """Return whether all rows along the lanes are padded to whole vectors, and no check reads the padding."""
    for node in nest.nodes():
        if isinstance(node, Load) and not _reaches(node.buffer, node.indices, dim, width, layouts):
            return False
        if is_check(node) and dim in free_dims(node):
            return False
    return all(
        _reaches(store.buffer, store.indices, dim, width, layouts) and _fills(store, dim, layouts)
        for store in nest.stores
    )


def _fills(store: Store, dim: Dim, layouts: Mapping[Buffer, Layout]) -> bool:
    """Return whether padding, not elements of the buffer, follows the stored elements."""
    lanes = layouts[store.buffer].lanes
    return lanes is not None and store.buffer.shape[lanes] == dim.extent


def _reaches(
    buffer: Buffer,
    indices: Sequence[Index],
    dim: Dim,
    width: int,
    layouts: Mapping[Buffer, Layout],
) -> bool:
    """Return whether a whole vector may be read or written at the end of a row."""
    layout = layouts[buffer]
    position = linear(layout, indices)
    if any(isinstance(term, Computed) and dim in free_dims(term.expression) for term, _ in position.terms):
        return False
    stride = position.coefficient(dim)
    if stride == 0:
        return all(
            isinstance(t, Dim) or dim not in t.index.dims()
            for t, _ in position.terms
            if not isinstance(t, Computed)
        )
    if stride != 1 or layout.lanes is None or follows(indices[layout.lanes]) is not dim:
        return False
    others = buffer.size // max(buffer.shape[layout.lanes], 1)
    return layout.size // max(others, 1) >= -(-dim.extent // width) * width
