from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import WengertError

RNG = np.random.default_rng(12)
A = RNG.uniform(-2, 2, (2, 3))
B = RNG.uniform(-2, 2, (2, 3))
C = RNG.uniform(-2, 2, (2, 2, 3))
V = RNG.uniform(-2, 2, 3)
S = np.array(0.7)

CASES: dict[str, tuple[Any, ...]] = {
    "concatenate": (lambda x, y: np.concatenate([x, y]), A, B),
    "concatenate axis": (lambda x, y: np.concatenate((x, y, x), axis=-1), A, B),
    "concatenate flat": (lambda x, y: np.concatenate([x, y], axis=None), A, V),
    "concatenate with lists": (lambda x: np.concatenate([x, [[1.0, 2.0, 3.0]]]), A),
    "concatenate rows": (lambda x: np.concatenate(x), C),
    "concat": (lambda x, y: np.concat([x, y], axis=1), A, B),
    "stack": (lambda x, y: np.stack([x, y]), A, B),
    "stack last": (lambda x, y: np.stack((x, y), axis=-1), A, B),
    "stack scalars": (lambda x, y: np.stack([x, y, 2.0]), S, S * 2),
    "vstack": (lambda x, y: np.vstack([x, y]), A, V),
    "vstack scalars": (lambda x: np.vstack([x, x]), S),
    "hstack": (lambda x, y: np.hstack([x, y]), A, B),
    "hstack vectors": (lambda x, y: np.hstack([x, y]), V, S),
    "dstack": (lambda x, y: np.dstack([x, y]), A, B),
    "column_stack": (lambda x, y: np.column_stack([x, y.T]), V, A),
    "block": (lambda x, y: np.block([[x, y], [np.ones((1, 3)), y[:1]]]), A, B),
    "block row": (lambda x, y: np.block([x, y]), A, B),
    "block vectors": (lambda x, y: np.block([[x, y], [2.0, x, 1.0, 2.0]]), V, V),
    "append": (lambda x, y: np.append(x, y), A, V),
    "append axis": (lambda x, y: np.append(x, y, axis=0), A, B),
    "append number": (lambda x: np.append(x, 3.0), V),
    "repeat": (lambda x: np.repeat(x, 2), A),
    "repeat axis": (lambda x: np.repeat(x, 3, axis=1), A),
    "repeat each": (lambda x: np.repeat(x, [2, 0, 1], axis=1), A),
    "repeat method": (lambda x: x.repeat([2], axis=0), A),
    "repeat none": (lambda x: np.repeat(x, 0, axis=0), A),
    "tile": (lambda x: np.tile(x, 2), A),
    "tile axes": (lambda x: np.tile(x, (2, 1, 2)), A),
    "tile short": (lambda x: np.tile(x, (3,)), C),
    "tile scalar": (lambda x: np.tile(x, (2, 2)), S),
    "resize": (lambda x: np.resize(x, (3, 5)), A),
    "resize shorter": (lambda x: np.resize(x, 4), A),
    "roll": (lambda x: np.roll(x, 2), A),
    "roll back": (lambda x: np.roll(x, -4), A),
    "roll axis": (lambda x: np.roll(x, 1, axis=1), A),
    "roll axes": (lambda x: np.roll(x, (1, -1), axis=(0, 1)), A),
    "roll one shift": (lambda x: np.roll(x, 1, axis=(0, 1)), A),
    "roll twice": (lambda x: np.roll(x, (1, 1), axis=(1, 1)), A),
    "roll nothing": (lambda x: np.roll(x, 3, axis=1), A),
    "delete": (lambda x: np.delete(x, 1), A),
    "delete axis": (lambda x: np.delete(x, [0, -1], axis=1), A),
    "delete slice": (lambda x: np.delete(x, slice(1, None), axis=0), A),
    "delete mask": (lambda x: np.delete(x, [True, False, True], axis=1), A),
    "insert": (lambda x: np.insert(x, 2, 9.0), A),
    "insert box": (lambda x, y: np.insert(x, [1, 3], y[:2]), V, V),
    "insert several at one": (lambda x: np.insert(x, 1, [5.0, 6.0]), V),
    "insert row": (lambda x, y: np.insert(x, 1, y, axis=0), A, V),
    "insert column": (lambda x: np.insert(x, 1, [5.0, 6.0], axis=1), A),
    "insert columns": (lambda x: np.insert(x, [1, 2], [[5.0], [6.0]], axis=1), A),
    "insert slice": (lambda x: np.insert(x, slice(0, 2), [5.0, 6.0]), V),
}


@pytest.mark.parametrize("name", CASES)
def test_joining_functions(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, order=1)


def test_dtypes_are_promoted(values: Any) -> None:
    small, large = np.ones((2, 3), np.float32), np.arange(6).reshape(2, 3)
    values(lambda x, y: (np.concatenate([x, y]), np.stack([x, y]), np.hstack([x, x])), small, large)
    values(lambda x: np.concatenate([x, x], dtype=np.float32), A)
    values(lambda x: np.stack([x, x], dtype=np.float64), small)
    values(
        lambda x: (np.tile(x, 2), np.repeat(x, 2), np.roll(x, 1), np.insert(x, 0, 7)),
        np.arange(3, dtype=np.int8),
    )


def test_errors_name_the_operation() -> None:
    box = CONSTANT.constant(A)
    for call, text in [
        (lambda: np.concatenate([box, V]), "concatenate: shapes must agree but in axis 0"),
        (lambda: np.stack([box, V]), "stack: all arrays must have the same shape"),
        (
            lambda: np.concatenate([box, box], dtype=np.int64),
            "concatenate: casting='same_kind' does not allow int64",
        ),
        (lambda: np.repeat(box, [1, 2], axis=1), "repeat: there must be one count for each element"),
        (lambda: np.repeat(box, -1), "repeat: counts must not be negative"),
        (lambda: np.roll(box, 1, axis=4), "roll: axis must lie in"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()
