"""The measurements of the papers' optimisations, on few images: both ways agree, and each part makes its table."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

import wengert as wg
from tests.benchmarks import benchmark
from wengert import nn
from wengert.data import digit_set
from wengert.train import fit, train

changes, convolution, dataflow, measure, training = (
    benchmark(f"ablation.{name}") for name in ("changes", "convolution", "dataflow", "measure", "training")
)
ablations = benchmark("ablations")


@pytest.fixture(scope="module")
def dataset():
    return digit_set(train=100, test=20)


def cells(text):
    """Return the rows of a table below its head, without the names of changes."""
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize("name", ["by_loops", "by_matrix", "by_fft"])
def test_convolutions_agree(name, rng):
    kind = getattr(convolution, name)
    x, w = rng.standard_normal((2, 3, 6, 5)), rng.standard_normal((4, 3, 3, 2))
    found, expected = (
        wg.value_and_grad(lambda x, w, kind=kind: np.sum(kind(x, w) ** 2), argnums=(0, 1))(x, w)
        for kind in (kind, nn.convolve)
    )
    for a, b in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_the_network_is_that_of_the_papers(dataset):
    weights, x, labels = changes.first_batch("cnn", dataset, 3, np.float64)
    found, _ = wg.value_and_grad(convolution.cnn_loss(nn.convolve))(weights, x, labels)
    expected, _ = changes.gradient("cnn")(weights, x, labels)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_recorded_function_takes_other_arguments(dataset):
    slopes = changes.gradient("rnn")
    first, other = (changes.first_batch("rnn", dataset, 2, dtype) for dtype in (np.float64, np.float64))
    other[0][0] = other[0][0] + 1.0
    once = changes.recorded(slopes, first)
    for given in (first, other):
        for a, b in zip(once(*given), wg.tree.leaves(slopes(*given)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_memory_is_what_a_call_holds():
    assert 8e6 <= measure.peak(lambda: np.ones(1_000_000)) < 8.2e6
    assert measure.Side(lambda: None, 7_000).memory < 8_000


def test_a_ratio_is_the_first_over_the_second():
    times = iter(np.cumsum([*([0, 1, 0, 2] * 2), *([0, 3, 0, 1] * 3)]).tolist())
    assert measure.compare(lambda: None, lambda: None, 3, lambda: next(times)) == (3, 1, 3)


def test_bounds():
    x = np.ones(100)

    def chain(x):
        return np.sort(np.sort(x)[::-1] * x)

    steps, together, most = dataflow.bound(wg.jit(lambda x, y: (np.sort(x), np.sort(y))), x, x)
    assert (together, most) == (2, 2.0)
    steps, together, most = dataflow.bound(wg.jit(chain), x)
    assert steps > 1
    assert (together, most) == (1, 1.0)


def test_results_are_written_between_their_marks(tmp_path, monkeypatch):
    for module in (ablations, benchmark("tables")):
        monkeypatch.setattr(module, "DOCS", tmp_path)
    page = tmp_path / "results.md"
    page.write_text("a\n<!-- codes: made so -->\nold\n<!-- end of codes -->\nb\n")
    ablations.written("codes", ("| new |", b"picture"))
    assert re.fullmatch(
        r"a\n.*-->\n\n\| new \|\n\nThe table is of .*\n\n<!-- end of codes -->\nb\n", page.read_text()
    )
    assert (tmp_path / "results_codes.png").read_bytes() == b"picture"


def test_the_page_has_every_part():
    page = (ablations.DOCS / "results.md").read_text("utf-8")
    assert all(f"<!-- end of {name} -->" in page for name in ablations.PARTS)


@pytest.fixture
def eager(monkeypatch):
    """Let NumPy run what the parts compile: the programs are the same."""
    monkeypatch.setattr(changes, "native", changes.run)
    monkeypatch.setattr(training, "train", functools.partial(train, compiled=False))
    monkeypatch.setattr(training, "fit", functools.partial(fit, compiled=False))


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_old_and_new_ways_agree(dataset):
    for change in changes.changes(dataset, 1):
        if "loops" in change.what:  # they take seconds, and are compared above
            continue
        found = [wg.tree.leaves(side.call()) for side in (change.before, change.after)]
        for a, b in zip(*found, strict=not change.what.startswith("new weights")):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_libraries(dataset, monkeypatch):
    monkeypatch.setattr(training, "LIBRARIES", training.LIBRARIES[:1])
    text, picture = training.libraries(dataset, 1, 1, 100, ["rnn"])
    ((network, library, _, ratio, asked, *_),) = cells(text)
    assert (network, library, ratio) == ("rnn", "wengert jit", "1.0 x")
    assert float(asked) < 0.01
    assert picture[:4] == b"\x89PNG"


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_trainings(dataset):
    text, picture = training.weights(dataset, 1, 1)
    assert len(cells(text)) == 2
    assert picture[:4] == b"\x89PNG"
    assert len(cells(training.fashion(dataset, 1, 1))) == 2
    text, picture = training.codes(dataset, 1)
    assert len(cells(text)) == 4
    assert picture[:4] == b"\x89PNG"


@pytest.mark.slow
def test_dataflow(dataset, monkeypatch):
    monkeypatch.setattr(dataflow, "GRADIENTS", {"rnn": 2})
    monkeypatch.setattr(dataflow, "pairs", lambda scale: [("two maps", dataflow.elements, *np.ones((2, 10)))])
    first, second = cells(dataflow.dataflow(dataset, 1, 1))
    assert (first[0], second[:4]) == ("gradient, rnn", ["two maps", "2", "2", "2.00 x"])
