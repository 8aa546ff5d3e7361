"""Sorts: the positions of the elements of a line in order by merging, and the results made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from wengert.engine.core.dtypes import Dtype
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Sort

_ORDER = """\
/* Writes the positions of numbers in increasing order{last}: equal ones keep theirs. */
static void order_{dtype}(const {type} *x, int distance, int count, int32_t *order, int32_t *spare)
{{
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
                    const {type} a = x[distance * order[left]], b = x[distance * order[right]];
                    from_right = {less};
                }}
                spare[i] = from_right ? order[right++] : order[left++];
            }}
        }}
        for (int i = 0; i < count; i++) {{
            order[i] = spare[i];
        }}
    }}
}}
"""


def order_function(dtype: Dtype, kind: str) -> str:
    """Return the function that orders numbers of a dtype, whose C type is given."""
    is_float = dtype.kind == "f"
    less = "b < a || (isnan(a) && !isnan(b))" if is_float else "b < a"
    return _ORDER.format(dtype=dtype, type=kind, less=less, last=", NaN last" if is_float else "")


def sort_lines(sort: Sort, name: Callable[[Buffer], str], kind: str) -> Iterator[str]:
    """Yield the statements of a sort."""
    assert sort.memory is not None
    shape, axis = sort.operand.shape, sort.axis
    outer, extent, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if not outer * extent * inner:
        return
    order = name(sort.memory)
    start = " +".join([f" {extent * inner} * i"] * (outer > 1) + [" j"] * (inner > 1))
    order_call = f"order_{sort.operand.dtype}({name(sort.operand)}{start and f' +{start}'}"
    body = [f"{order_call}, {inner}, {extent}, {order}, {order} + {extent});"]
    place = f"{start.strip()} + " if start else ""
    step = f"{inner} * " if inner > 1 else ""
    body.append(f"for (int k = 0; k < {extent}; k++) {{")
    if sort.values is not None:
        body.append(
            f"    {name(sort.values)}[{place}{step}k] = {name(sort.operand)}[{place}{step}{order}[k]];"
        )
    if sort.positions is not None:
        body.append(f"    {name(sort.positions)}[{place}{step}k] = {order}[k];")
    body.append("}")
    for counter, count in (("j", inner), ("i", outer)):
        if count > 1:
            head = f"for (int {counter} = 0; {counter} < {count}; {counter}++) {{"
            body = [head, *(f"    {line}" for line in body), "}"]
    yield from body
