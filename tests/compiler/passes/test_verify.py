"""The verifier refuses programs that break an invariant of nests, and names the pass."""

from __future__ import annotations

import re

import numpy as np
import pytest

from wengert.compiler.passes.verify import VerificationError, Verifier
from wengert.engine.core.dtypes import BOOL, FLOAT32, FLOAT64, INT64
from wengert.engine.nest.expression import Apply, Buffer, Const, Guard, Load, Reduce
from wengert.engine.nest.index import Computed, Dim, Index
from wengert.engine.nest.nest import Branch, Loop, Nest, Program, Step, Store, While

X = Buffer(FLOAT64, (4, 6), "x")
Y = Buffer(FLOAT64, (4, 6), "y")
ROW = Buffer(FLOAT64, (4,), "row")
PLACES = Buffer(INT64, (4,), "places")
TRUTH = Buffer(BOOL, (), "truth")
ONE = Const(1.0, FLOAT64)
DI, DJ, DK = Dim(4, "i"), Dim(6, "j"), Dim(6, "k")
i, j, k = Index.of(DI), Index.of(DJ), Index.of(DK)
ORDERED = frozenset((DI,))


def store(buffer: Buffer, indices: tuple[Index, ...], value: object, combiner: str = "") -> Store:
    return Store(buffer, indices, value, combiner)  # pyright: ignore[reportArgumentType]


def verify(*steps: Step, outputs: tuple[Buffer, ...] = ()) -> None:
    Verifier()(Program((X, PLACES, TRUTH), (), outputs, steps), "broken")


COPY = Nest((DI, DJ), (store(Y, (i, j), Load(X, (i, j))),))
SUM = Nest((DI,), (store(ROW, (i,), Reduce("add", (DK,), Load(X, (i, k)), FLOAT64)),))
SCATTER = store(ROW, (Index.of(Computed(Load(PLACES, (i,)), 4)),), ONE, "add")
ZEROS = Nest((DI,), (store(ROW, (i,), ONE),))

VALID: dict[str, tuple[Step, ...]] = {
    "a copy": (COPY,),
    "a sum": (SUM,),
    "an edge": (Nest((DI, DJ), (store(Y, (i, j), Guard(((j + 1, 6),), Load(X, (i, j + 1)), ONE)),)),),
    "the other side of an edge": (
        Nest((DI, DJ), (store(Y, (i, j), Guard(((j, 1),), ONE, Load(X, (i, j - 1)))),)),
    ),
    "a scatter in order": (ZEROS, Nest((DI,), (SCATTER,), ORDERED)),
    "a read that never happens": (
        Nest((DI, DJ), (store(Y, (i, j), Guard(((Index(-1), 1),), Load(Y, (i, j)), ONE)),)),
    ),
    "a loop": (Loop(DI, False, (Nest((DJ,), (store(Y, (i, j), Load(X, (i, j))),)),)),),
    "a branch": (Branch(TRUTH, (COPY,), (COPY,)), Nest((DI, DJ), (store(X, (i, j), Load(Y, (i, j))),))),
    "a flattened axis": (Nest((DI, DJ), (store(Buffer(FLOAT64, (24,)), (i * 6 + j,), Load(X, (i, j))),)),),
}

BROKEN: dict[str, tuple[tuple[Step, ...], str]] = {
    "read too early": ((Nest((DI, DJ), (store(X, (i, j), Load(Y, (i, j))),)),), "y[4,6] is read before"),
    "written in one branch": (
        (Branch(TRUTH, (COPY,), ()), Nest((DI, DJ), (store(X, (i, j), Load(Y, (i, j))),))),
        "y[4,6] is read before",
    ),
    "a predicate that nobody writes": ((While(Buffer(BOOL, ()), (), (COPY,)),), "b[] is read before"),
    "combined with nothing": ((Nest((DI,), (SCATTER,), ORDERED),), "row[4] is read before"),
    "one index too few": ((Nest((DI,), (store(Y, (i,), ONE),)),), "with 1 indices"),
    "another dtype": (
        (Nest((DI, DJ), (store(Y, (i, j), Const(np.float32(1), FLOAT32)),)),),
        "float32 is stored",
    ),
    "an unknown dimension": ((Nest((DI,), (store(Y, (i, j), ONE),)),), "follows the dimension j:6"),
    "past the end": (
        (Nest((DI, DJ), (store(Y, (i, j), Load(X, (i, j + 1))),)),),
        "leaves the axis of 6 elements",
    ),
    "before the beginning": (
        (Nest((DI, DJ), (store(Y, (i, j), Guard(((j + 1, 6),), Load(X, (i, j - 1)), ONE)),)),),
        "leaves the axis of 6 elements",
    ),
    "an unknown combiner": (
        (ZEROS, Nest((DI,), (store(ROW, (i,), ONE, "median"),))),
        "cannot combine by 'median'",
    ),
    "an unknown reduction": (
        (Nest((DI,), (store(ROW, (i,), Reduce("mean", (DK,), Load(X, (i, k)), FLOAT64)),)),),
        "cannot combine by 'mean'",
    ),
    "one element for all": (
        (Nest((DI, DJ), (store(ROW, (i,), Load(X, (i, j))),)),),
        "two parallel points write",
    ),
    "a parallel scatter": ((ZEROS, Nest((DI,), (SCATTER,))), "two parallel points write"),
    "overlapping rows": (
        (Nest((DI, DJ), (store(Buffer(FLOAT64, (24,)), (i * 5 + j,), Load(X, (i, j))),)),),
        "two parallel points write",
    ),
    "a neighbour's element": (
        (COPY, Nest((DI, DJ), (store(Y, (i, j), Guard(((j + 1, 6),), Load(Y, (i, j + 1)), ONE)),))),
        "where another point writes",
    ),
    "a product that is none": (
        (Nest((DI, DJ), (store(Y, (i, j), Apply("add", (Load(X, (i, j)), ONE), FLOAT64, 1)),)),),
        "is not a product",
    ),
    "guards of two dtypes": (
        (Nest((DI, DJ), (store(Y, (i, j), Guard(((j, 1),), ONE, Const(1, INT64))),)),),
        "different dtypes",
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_valid_programs_pass(name: str) -> None:
    verify(*VALID[name])


@pytest.mark.parametrize("name", BROKEN)
def test_broken_programs_are_refused(name: str) -> None:
    steps, problem = BROKEN[name]
    with pytest.raises(VerificationError, match=f"pass broken: .*{re.escape(problem)}"):
        verify(*steps)


def test_a_result_must_be_written() -> None:
    with pytest.raises(VerificationError, match=r"the result y.* is never written"):
        verify(outputs=(Y,))


def test_an_error_names_the_line_and_shows_the_nest() -> None:
    nest = Nest(
        (DI, DJ), (store(Y, (i, j), Apply("exp", (Load(X, (i, j + 1)),), FLOAT64)),), location="mine.py:7"
    )
    with pytest.raises(
        VerificationError, match=r"\[mine.py:7\]\nnest i<4 j<6:\n  y\[i, j\] = exp\(x\[i, j \+ 1\]\)"
    ):
        verify(nest)
