"""Sorts: the positions of the elements of a line in order by merging, and the results made of them."""

from __future__ import annotations

import math
from collections.abc import Callable

from wengert.engine.core.dtypes import Dtype
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Sort
from wengert.exporting.c_source.values import type_of
from wengert.exporting.c_types import c_type

_SORT = """\
/* Sorts the lines of an array of outer x count x inner numbers in increasing order{last}: equal ones keep theirs.
   Writes the numbers and their positions where that is wanted; spare has room for twice a line. */
static void {name}(
    const {type} *numbers, int outer, int count, int inner, {type} *values, int64_t *positions, int32_t *spare)
{{
    int32_t *order = spare, *merged = spare + count;
    for (int line = 0; line < outer * inner; line++) {{
        const int first = line / inner * count * inner + line % inner;
        const {type} *x = numbers + first;
        for (int i = 0; i < count; i++) {{
            order[i] = i;
        }}
        for (int64_t width = 1; width < count; width *= 2) {{
            for (int64_t start = 0; start < count; start += 2 * width) {{
                const int64_t middle = start + width < count ? start + width : count;
                const int64_t end = middle + width < count ? middle + width : count;
                int64_t left = start, right = middle;
                for (int64_t i = start; i < end; i++) {{
                    bool from_right = left == middle;
                    if (left < middle && right < end) {{
                        const {type} a = x[inner * order[left]], b = x[inner * order[right]];
                        from_right = {less};
                    }}
                    merged[i] = from_right ? order[right++] : order[left++];
                }}
            }}
            for (int i = 0; i < count; i++) {{
                order[i] = merged[i];
            }}
        }}
        for (int i = 0; i < count; i++) {{
            if (values) {{
                values[first + inner * i] = x[inner * order[i]];
            }}
            if (positions) {{
                positions[first + inner * i] = order[i];
            }}
        }}
    }}
}}
"""


def sort_name(dtype: Dtype) -> str:
    """Return the name of the function that sorts numbers of a dtype."""
    return f"sort_{type_of(dtype).removesuffix('_t')}"


def sort_function(dtype: Dtype) -> str:
    """Return the function that sorts numbers of a dtype."""
    is_float = dtype.kind == "f"
    less = "b < a || (isnan(a) && !isnan(b))" if is_float else "b < a"
    last = ", NaN last" if is_float else ""
    return _SORT.format(name=sort_name(dtype), type=c_type(dtype), less=less, last=last)


def sort_call(sort: Sort, name: Callable[[Buffer], str]) -> str:
    """Return the statement of a sort."""
    assert sort.memory is not None
    shape, axis = sort.operand.shape, sort.axis
    extents = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    places = ["0" if buffer is None else name(buffer) for buffer in (sort.values, sort.positions)]
    given = [name(sort.operand), *map(str, extents), *places, name(sort.memory)]
    return f"{sort_name(sort.operand.dtype)}({', '.join(given)});"
