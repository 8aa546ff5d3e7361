"""The grid of ``wengert sweep``."""

from __future__ import annotations

import pytest

from wengert.app.grid import name_of, parsed, points, unique_names
from wengert.train.settings import SettingsError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("lr=1e-3,3e-3", [0.001, 0.003]),
        ("seed=0:3,7", [0, 1, 2, 7]),
        ("seed=0:100:40", [0, 40, 80]),
        ("batch_size=10, 20", [10, 20]),
        ("eager=true,false", [True, False]),
        ("keep=best,3", ["best", 3]),
        ("optimiser=sgd,adam", ["sgd", "adam"]),
    ],
)
def test_values(text, values):
    (found,) = parsed([text]).values()
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("grids", "text"),
    [
        (["seed"], "--grid must be NAME=VALUES"),
        (["rate=1"], "unknown setting 'rate'; the settings are network, "),
        (["lr=fast"], "lr must be a positive finite number; got 'fast'"),
        (["lr=0"], "lr must be a positive finite number"),
        (["seed=1.5"], "seed must be an integer of at least 0; got '1.5'"),
        (["seed="], "seed must be an integer"),
        (["seed=3:3"], "'3:3' is an empty range"),
        (["seed=0:3:0"], "must be at least 1"),
        (["seed=1,1"], "has the value 1 twice"),
        (["seed=1", "seed=2"], "--grid seed is given twice"),
        (["eager=maybe"], "eager must be true or false"),
    ],
)
def test_wrong_values(grids, text):
    with pytest.raises(SettingsError, match=text):
        parsed(grids)


def test_combinations_and_names():
    grid = points(parsed(["lr=1e-3,3e-3", "seed=0:2"]))
    assert [name_of(point) for point in grid] == [
        "lr=0.001,seed=0", "lr=0.001,seed=1", "lr=0.003,seed=0", "lr=0.003,seed=1"
    ]  # fmt: skip
    assert unique_names([{"model": "a/b.py:f"}, {"model": "a-b.py:f"}, {"model": "c.py:f"}]) == [
        "model=a-b.py-f-1", "model=a-b.py-f-2", "model=c.py-f"
    ]  # fmt: skip
