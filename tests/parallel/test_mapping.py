"""`wengert.parallel.map`: results, chunks, failures and journals on threads; the processes are in test_processes.py."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert import parallel
from wengert.engine.core import progress
from wengert.engine.core.errors import ArgumentError
from wengert.parallel.crews import Threads
from wengert.parallel.journal import Journal

ITEMS = np.random.default_rng(0).standard_normal((23, 4))
MATRIX = np.random.default_rng(1).standard_normal((3, 4))


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.fixture
def pool():
    with ThreadPoolExecutor(3) as executor:
        yield executor


def composed(x: Any) -> Any:
    return {"sum": np.sum(np.sin(x)), "pair": Pair(x * 2, [np.exp(x[:2])])}


def branching(x: Any) -> Any:
    return x if x[0] > 0 else -x


def selecting(x: Any) -> Any:
    return range(9)[np.argmax(x)] * x.sum()


def same(left: Any, right: Any) -> bool:
    (a, first), (b, second) = wg.tree.flatten(left), wg.tree.flatten(right)
    return first == second and all(
        x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(a, b, strict=True)
    )


# -- results -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        composed,
        wg.grad(lambda x: np.sum(np.tanh(x) ** 3)),
        lambda x: np.linalg.solve(np.outer(x, x) + 9 * np.eye(4), x),
    ],
)
def test_results_have_the_bits_of_vmap(pool, function):
    assert same(parallel.map(function, ITEMS, executor=pool), wg.vmap(function)(ITEMS))


@pytest.mark.parametrize("block", [None, 1, 4, 23, 100])
def test_no_bit_depends_on_chunks_or_workers(pool, block):
    product = lambda x: np.tanh(MATRIX.astype(np.float32) @ x.astype(np.float32))  # noqa: E731
    results = [
        parallel.map(product, ITEMS, executor=pool, block=block, chunk=chunk, workers=workers)
        for chunk, workers in ((None, 1), (1, 3), (5, 2), (23, 1))
    ]
    assert all(np.array_equal(results[0], result) for result in results)


def test_one_block_of_all_items_is_vmap(pool):
    product = lambda x: MATRIX @ x  # noqa: E731
    assert same(parallel.map(product, ITEMS, executor=pool, block=23), wg.vmap(product)(ITEMS))


def test_containers_and_several_arrays(pool):
    function = lambda x, named: {"out": x + named["a"] * named["b"][0]}  # noqa: E731
    arguments = ITEMS, {"a": np.arange(23), "b": (ITEMS * 2,)}
    assert same(parallel.map(function, *arguments, executor=pool), wg.vmap(function)(*arguments))


def test_items_at_a_time(pool):
    expected = np.stack([branching(x) for x in ITEMS])
    assert same(parallel.map(branching, ITEMS, executor=pool, vectorized=False), expected)
    assert same(parallel.map(branching, ITEMS, executor=pool), expected)
    assert parallel.map(lambda x: float(x), np.arange(3), executor=pool, vectorized=False).tolist() == [
        0.0,
        1.0,
        2.0,
    ]


def test_no_items(pool):
    assert parallel.map(np.sin, np.zeros((0, 3)), executor=pool).shape == (0, 3)


def test_chunks_grow_with_time_and_end_in_equal_shares(pool, monkeypatch):
    lengths: list[int] = []

    class Counting(Threads):
        def submit(self, start, leaves):
            lengths.append(len(leaves[0]))
            return super().submit(start, leaves)

    monkeypatch.setattr(parallel.mapping, "Threads", Counting)
    parallel.map(np.sin, np.zeros(5000), executor=pool, workers=2)
    assert lengths[0] == 16  # a block
    assert sum(lengths) == 5000
    assert all(length % 16 == 0 for length in lengths[:-1])
    assert max(lengths) > 200
    assert max(lengths) <= 5000 / 4
    assert len(lengths) < 80


# -- failures ----------------------------------------------------------------------------------------------


def test_an_exception_names_the_item_and_the_line(pool):
    def picky(x):
        if x[0] == ITEMS[17, 0]:
            raise ValueError("too big")
        return x

    with pytest.raises(
        parallel.MapError, match=r"picky failed for item 17 of 23: ValueError: too big. \[test_map"
    ) as caught:
        parallel.map(picky, ITEMS, executor=pool, vectorized=False, chunk=5)
    assert caught.value.index == 17
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_vectorised_failure_is_traced_to_its_item(pool):
    singular = np.stack([np.eye(2)] * 8)
    singular[6] = 0
    with pytest.raises(parallel.MapError, match="item 6 of 8: MatrixError"):
        parallel.map(np.linalg.inv, singular, executor=pool, block=4)


def test_a_function_that_vmap_cannot_follow_gets_a_hint(pool):
    with pytest.raises(parallel.MapError, match=r"item . of 23: ConcreteError.*vectorized=False"):
        parallel.map(selecting, ITEMS, executor=pool)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((ITEMS,), {"chunk": 0}, "chunk must be an integer of at least 1; got 0"),
        ((ITEMS,), {"block": 1.5}, "block must be an integer of at least 1; got 1.5"),
        ((ITEMS, ITEMS[:3]), {}, r"same number of items; got \[3, 23\]"),
        ((ITEMS, 1.0), {}, "functools.partial"),
        ((), {}, "functools.partial"),
        ((np.array([None]),), {}, "arrays of numbers"),
        ((ITEMS[:0],), {"vectorized": False}, "must be an item"),
    ],
)
def test_wrong_arguments(pool, arguments, options, text):
    with pytest.raises(ArgumentError, match=text):
        parallel.map(lambda *x: x, *arguments, executor=pool, **options)


def test_results_must_agree(pool):
    with pytest.raises(parallel.MapError, match="same shapes and dtypes"):
        parallel.map(
            lambda x: np.zeros(int(x)), np.arange(1, 4), executor=pool, vectorized=False, chunk=1, workers=1
        )


class Losing(Executor):
    """Loses each chunk some times, as an executor does whose workers die."""

    def __init__(self, losses: int) -> None:
        self.losses, self.counts = losses, dict[int, int]()

    def submit(self, function, key, content, start, leaves):
        self.counts[start] = self.counts.get(start, 0) + 1
        future: Future[Any] = Future()
        if self.counts[start] <= self.losses:
            future.set_exception(ConnectionError("the worker is gone"))
        else:
            future.set_result(function(key, content, start, leaves))
        return future


def test_a_lost_chunk_is_tried_twice_again():
    with Losing(2) as executor:
        assert same(parallel.map(composed, ITEMS, executor=executor), wg.vmap(composed)(ITEMS))
        assert set(executor.counts.values()) == {3}
    with (
        Losing(3) as executor,
        pytest.raises(parallel.MapError, match=r"3 workers died in .*the worker is gone"),
    ):
        parallel.map(composed, ITEMS, executor=executor)


# -- journals ----------------------------------------------------------------------------------------------


class Counted:
    """A function that counts its calls, and fails at an item."""

    __wrapped__ = np.square
    """For a journal, all of them are this function."""

    def __init__(self, fails: int | None = None) -> None:
        self.calls: list[int] = []
        self.fails = fails

    def __call__(self, x):
        self.calls.append(int(x))
        if x == self.fails:
            raise ValueError
        return {"square": x * x}


def run(function: Counted, path, pool, **options):
    options |= {"executor": pool, "journal": path, "vectorized": False, "workers": 1}
    return parallel.map(function, np.arange(40), **options)


class AtOnce(ThreadPoolExecutor):
    """Calls a function when it is submitted, so that all chunks in hand are finished when the first one is taken."""

    def submit(self, function, /, *arguments, **options):
        future = Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as problem:
            future.set_exception(problem)
        return future


@pytest.mark.parametrize("executor", [AtOnce, partial(ThreadPoolExecutor, 1)], ids=["at once", "one thread"])
@pytest.mark.parametrize("attempt", range(5))
def test_a_journal_keeps_finished_chunks(tmp_path, executor, attempt):
    path, first, pool = tmp_path / "journal", Counted(30), executor()
    with pytest.raises(parallel.MapError):
        run(first, path, pool, chunk=4)
    second = Counted()
    result = run(second, path, pool, chunk=3)
    assert result["square"].tolist() == [x * x for x in range(40)]
    assert min(second.calls) == 28
    third = Counted()
    assert same(run(third, path, pool), result)
    assert third.calls == []


def test_containers_of_the_user_are_found_again(tmp_path, pool):
    path = tmp_path / "journal"
    results = [parallel.map(composed, ITEMS, executor=pool, journal=path) for _ in range(2)]
    assert same(*results)


#: The items of the chunk that ends last, whichever it is.
CHUNKS = [list(range(first, first + 10)) for first in range(0, 40, 10)]


def test_an_incomplete_record_is_computed_again(tmp_path, pool):
    path = tmp_path / "journal"
    result = run(Counted(), path, pool, chunk=10)
    path.write_bytes(path.read_bytes()[:-5])
    again = Counted()
    assert same(run(again, path, pool), result)
    assert sorted(again.calls) in CHUNKS


def test_a_damaged_record_is_computed_again(tmp_path, pool):
    path = tmp_path / "journal"
    result = run(Counted(), path, pool, chunk=10)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="damaged"):
        assert same(run(Counted(), path, pool), result)


def test_a_journal_of_other_inputs_is_refused(tmp_path, pool):
    path = tmp_path / "journal"
    factor = 2.0
    parallel.map(lambda x: factor * x, ITEMS, executor=pool, journal=path)
    factor = 3.0
    for function, items, options, what in (
        (lambda x: factor * x, ITEMS, {}, "its code"),
        (np.sin, ITEMS, {}, "function"),
        (np.sin, ITEMS[:5], {}, "function"),
        (lambda x: 2.0 * x, ITEMS, {}, "its code"),
    ):
        with pytest.raises(ArgumentError, match=f"journal of other inputs: {what}"):
            parallel.map(function, items, executor=pool, journal=path, **options)
    path = tmp_path / "other"
    parallel.map(np.sin, ITEMS, executor=pool, journal=path)
    for items, options, what in (
        (ITEMS[:5], {}, "items"),
        (ITEMS + 1, {}, "their content"),
        (ITEMS, {"block": 2}, "block"),
        (ITEMS.astype(np.float32), {}, "arrays"),
        ({"x": ITEMS}, {}, "arguments"),
    ):
        with pytest.raises(ArgumentError, match=f"journal of other inputs: {what}"):
            parallel.map(np.sin, items, executor=pool, journal=path, **options)


def test_other_files_are_not_overwritten(tmp_path, pool):
    path = tmp_path / "notes.txt"
    for text in ("my notes\n", "my notes"):
        path.write_text(text)
        with pytest.raises(parallel.JournalError, match="not a journal"):
            parallel.map(np.sin, ITEMS, executor=pool, journal=path)
        assert path.read_text() == text
    with pytest.raises(parallel.JournalError, match="No such file"):
        parallel.map(np.sin, ITEMS, executor=pool, journal=tmp_path / "missing" / "journal")


def test_a_journal_has_one_writer(tmp_path):
    journal = Journal(tmp_path / "journal", {"items": 3})
    with pytest.raises(parallel.JournalError, match="another process"):
        Journal(tmp_path / "journal", {"items": 3})
    journal.close()
    Journal(tmp_path / "journal", {"items": 3}).close()


# -- progress ----------------------------------------------------------------------------------------------


def test_a_wanted_bar_counts_the_items(capsys, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with ThreadPoolExecutor(1) as threads:
        parallel.map(np.sin, np.zeros(10), executor=threads)
        assert capsys.readouterr().err == ""
        parallel.map(np.sin, np.zeros(10), executor=threads, progress=True)
    assert "map" in (written := capsys.readouterr().err)
    assert "10 in " in written
