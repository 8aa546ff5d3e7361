"""The group of one process: sums, shares, and the errors that a program meets before it runs on a cluster."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.engine.core.errors import ArgumentError, DtypeError, MissingExtraError, ShapeError
from wengert.parallel import Group, GroupError
from wengert.parallel.layout import ALIGNMENT, Layout, slices

STARTED = "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in STARTED:
        monkeypatch.delenv(name, raising=False)


def trees(parts, rng):
    return [
        {
            "w": (rng.standard_normal((3, 5)) * 10.0 ** rng.integers(-5, 5)).astype(np.float32),
            "z": rng.standard_normal(2) + 1j,
            "count": np.int64(part),
            "loss": 0.5 * part,
        }
        for part in range(parts)
    ]


@pytest.mark.parametrize("parts", [1, 2, 3, 8, 13])
def test_sums_keep_structure_and_dtypes(parts, rng):
    given = trees(parts, rng)
    total = Group.from_mpi().sum(given, parts=parts)
    assert total["count"] == sum(range(parts))
    assert total["loss"] == 0.5 * sum(range(parts))
    assert (total["w"].dtype, total["z"].dtype) == (np.float32, np.complex128)
    np.testing.assert_allclose(total["z"], sum(tree["z"] for tree in given))
    exact = np.sum([tree["w"].astype(np.float64) for tree in given], axis=0)
    scale = np.sum([np.abs(tree["w"]) for tree in given], axis=0)
    assert np.all(np.abs(total["w"] - exact) <= 1e-6 * scale)


def test_a_sum_is_not_changed_by_the_next_one(rng):
    group, (first, second) = Group(), trees(2, rng)
    total = group.sum([first, second], parts=2)
    kept = total["w"].copy()
    group.sum([second, second], parts=2)
    np.testing.assert_array_equal(total["w"], kept)
    np.testing.assert_array_equal(first["w"] + second["w"], kept)


@given(st.integers(0, 999), st.integers(1, 9))
def test_slices_cover_the_buffer_in_whole_lines(lines, count):
    parts = slices(lines * ALIGNMENT, count)
    assert [0, *(part.stop for part in parts)] == [*(part.start for part in parts), lines * ALIGNMENT]
    assert all(part.start % ALIGNMENT == 0 for part in parts)


@given(st.integers(0, 9), st.integers(1, 5))
def test_a_buffer_is_added_slice_by_slice(seed, count):
    rng = np.random.default_rng(seed)
    left, right = trees(2, rng)
    layout = Layout.of(left)
    whole, pieces, other = layout.buffer(), layout.buffer(), layout.buffer()
    for buffer, tree in ((whole, left), (pieces, left), (other, right)):
        layout.pack(tree, buffer)
    whole.add(other)
    for part in slices(layout.size, count):
        mine, theirs = (layout.part(buffer.content[part], part.start) for buffer in (pieces, other))
        mine.add(theirs)
    np.testing.assert_array_equal(whole.content, pieces.content)
    np.testing.assert_array_equal(layout.unpack(whole)["w"], left["w"] + right["w"])


@pytest.mark.parametrize(
    ("summands", "parts", "error", "words"),
    [
        ([1.0], 2, ArgumentError, "must give 2 summands"),
        ([1.0, 2.0, 3.0], 2, ArgumentError, "must give 2 summands"),
        ([1.0, [2.0]], 2, ArgumentError, "same structure"),
        ([np.ones(2), np.ones(3)], 2, ShapeError, r"float64\[2\]"),
        ([np.ones(2), np.ones(2, np.float32)], 2, ShapeError, "float32"),
        ([True], 1, DtypeError, "numbers"),
        ([], 0, ArgumentError, "at least the number of processes, 1"),
    ],
)
def test_summands_that_do_not_fit(summands, parts, error, words):
    with pytest.raises(error, match=words):
        Group().sum(summands, parts=parts)


def test_a_failed_sum_leaves_no_part_behind():
    group = Group()
    with pytest.raises(ArgumentError):
        group.sum([1.0], parts=2)
    assert group.sum([1.0, 2.0], parts=2) == 3.0


def test_the_errors_of_functions_are_their_own():
    def fail(x):
        raise KeyError(x)

    with pytest.raises(KeyError, match="two"):
        Group().all(fail, ["two"])


def test_values_that_differ_are_named():
    group = Group()
    group.gather = lambda value: [("1.0", "alpha"), ("1.0", "beta"), ("1.1", "gamma")]
    words = r"the versions differ among the ranks: 1.0 on rank 0 \(alpha\), 1.1 on rank 2 \(gamma\)"
    with pytest.raises(GroupError, match=words):
        group.agree("the versions", "1.0")


def test_a_failure_of_another_process_is_raised_here():
    group = Group()
    group.gather = lambda value: [None, ("out of memory", "beta", False)]
    with pytest.raises(GroupError, match="rank 1 on beta: out of memory"):
        group.together(lambda: 5)


def test_several_processes_without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert Group.from_mpi().size == 1
    monkeypatch.setenv("PMI_RANK", "0")
    with pytest.raises(MissingExtraError, match=r"mpi4py: pip install 'wengert\[mpi\]'"):
        Group.from_mpi()
