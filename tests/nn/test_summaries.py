"""Summaries of models: each layer is listed once, with the counts of the compiler."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError


def zeros(*shape, dtype="f4"):
    return np.zeros(shape, dtype)


def network():
    rng = np.random.default_rng(0)
    return nn.Chain(
        nn.Conv2D(1, 6, 5, seed=rng), nn.relu, nn.MaxPool2D(2), nn.Flatten(), nn.Dense(864, 10, seed=rng)
    )


def test_costs_are_those_of_the_compiler():
    model, x = network(), zeros(20, 1, 28, 28)
    table = nn.summary(model, x)

    def whole(model, x, cotangent):
        y, pullback = wg.vjp(lambda model: model(x), model)
        return y, pullback(cotangent)

    called, both = wg.jit(lambda model, x: model(x)), wg.jit(whole)
    assert table.forward == called.report(model, x).operations
    assert table.forward_peak == called.memory(model, x)
    assert table.forward + table.backward == both.report(model, x, zeros(20, 10)).operations
    assert table.peak == both.memory(model, x, zeros(20, 10))


def test_counts_by_hand():
    rows = nn.summary(network(), zeros(20, 1, 28, 28)).rows
    assert [row.path for row in rows] == ["", *(f".layers[{n}]" for n in range(5))]
    assert [row.name for row in rows[1:]] == ["Conv2D", "relu", "MaxPool2D", "Flatten", "Dense"]
    assert [row.parameters for row in rows] == [156 + 8650, 156, 0, 0, 0, 8650]
    products = 2 * 20 * 6 * 24 * 24 * 25
    assert products <= rows[1].forward <= 1.05 * products
    # The first layer has a derivative with respect to its weights, but not with respect to the images.
    assert products <= rows[1].backward <= 1.05 * products
    products = 2 * 20 * 864 * 10
    assert products <= rows[5].forward <= 1.05 * products
    assert 2 * products <= rows[5].backward <= 1.05 * 2 * products


def test_training_or_not():
    model = nn.Chain(nn.Dense(8, 8, seed=0), nn.BatchNorm(8), nn.Dropout(0.5))
    trained = nn.summary(model, zeros(4, 8))
    after = nn.summary(model, zeros(4, 8), training=False)
    assert trained.state == after.state == 16
    assert trained.rows[3].forward > after.rows[3].forward == 0
    assert trained.rows[2].backward > after.rows[2].backward


@dataclasses.dataclass(frozen=True)
class Residual:
    inner: Any
    others: dict[str, Any]

    def __call__(self, x):
        return x + self.inner(self.inner(x))


@dataclasses.dataclass(slots=True)
class Holder:
    parts: list[Any]

    def initial_state(self):
        return None

    def apply(self, x, state, *, training=False, key=None):
        for part in self.parts:
            x, _ = nn.apply(part, x, None, training=training, key=key)
        return x, state


def test_nested_user_layers():
    inner = Residual(nn.Dense(4, 4, seed=0), {"unused": nn.Dense(4, 2, seed=1)})
    table = nn.summary(Holder([inner, nn.Chain(np.tanh)]), zeros(3, 4))
    rows = {row.path: row for row in table.rows}
    assert list(rows) == [
        "",
        ".parts[0]",
        ".parts[0].inner",
        ".parts[0].others['unused']",
        ".parts[1]",
        ".parts[1].layers[0]",
    ]
    assert [row.depth for row in table.rows] == [0, 1, 2, 2, 1, 2]
    assert [row.calls for row in table.rows] == [1, 1, 2, 0, 1, 1]
    once = nn.summary(nn.Chain(nn.Dense(4, 4, seed=0)), zeros(3, 4))
    assert rows[".parts[0].inner"].forward == 2 * once.forward
    lines = str(table).splitlines()
    assert lines[2].split() == ["Holder", "f32[3,4]", "30", *lines[2].split()[3:]]
    assert lines[4].startswith("    inner: Dense x 2 ")
    assert lines[5].split() == ["others['unused']:", "Dense", "10"]
    assert type(inner) is Residual
    assert "place_" not in {field.name for field in dataclasses.fields(inner)}


def test_layers_in_loops_and_vmap_count_once():
    dense = nn.Dense(4, 4, seed=0)

    def looped(model, x):
        last, _ = wg.scan(lambda h, _: (model["dense"](h), None), x, None, length=7)
        return wg.vmap(model["other"])(last)

    model = {"dense": dense, "other": nn.Dense(4, 4, seed=1)}
    table = nn.summary(model, zeros(3, 4), call=looped)
    whole, first, second = table.rows
    assert (first.calls, first.output[0].shape) == (1, (3, 4))
    assert (second.calls, second.output[0].shape) == (1, (4,))
    assert whole.forward >= 7 * first.forward
    assert (whole.name, whole.parameters) == ("dict", 40)


def test_equal_layers_are_compiled_once(monkeypatch):
    from wengert.compiler import pipeline

    scheduled: list[Any] = []
    advance = pipeline.advance

    def noting(unit: Any, stage: Any) -> Any:
        scheduled.extend([unit] * (stage == pipeline.SCHEDULED))
        return advance(unit, stage)

    monkeypatch.setattr(pipeline, "advance", noting)
    nn.summary(nn.Chain(*(nn.Dense(4, 4, seed=n) for n in range(6))), zeros(3, 4))
    # The model, the first layer and the others, each with and without derivatives, for their memory.
    assert len(scheduled) == 6


def test_a_transform_inside_does_not_disturb():
    @dataclasses.dataclass
    class Kept:
        inner: Any

        def __call__(self, x):
            return wg.checkpoint(lambda layer, x: layer(x))(self.inner, x)

    rows = nn.summary(nn.Chain(Kept(nn.Dense(3, 2, seed=0))), zeros(5, 3)).rows
    assert rows[-1].calls == 1
    assert rows[-1].output[0].shape == (5, 2)


def test_inside_a_transform_types_are_enough():
    def loss(model, x):
        return np.sum(model(x)) * nn.summary(model, x).forward

    layer = nn.Dense(3, 2, seed=0)
    assert wg.grad(loss)(layer, zeros(5, 3)).bias[0] == 5 * nn.summary(layer, zeros(5, 3)).forward


def test_large_numbers_are_short_in_the_table():
    text = str(nn.summary(nn.Dense(1000, 1000, seed=0), zeros(64, 1000)))
    assert "1,001,000" in text
    assert "128 M" in text
    assert "parameters 1,001,000 (4,004,000 bytes)" in text
    html = nn.summary(nn.Chain(nn.Lambda(lambda x: 2 * x)), zeros(3))._repr_html_()
    assert "&lt;lambda&gt;" in html
    assert "<lambda>" not in html


def test_errors_of_summary():
    with pytest.raises(ArgumentError, match=r"a layer is needed; got list; write nn.Chain"):
        nn.summary([nn.Dense(3, 2, seed=0)], zeros(5, 3))
    with pytest.raises(DtypeError, match="a model must be an array"):
        nn.summary({"f": "text"}, zeros(3), call=lambda model, x: x)
    with pytest.raises(ShapeError, match=r"Dense: the input must be \(..., 3\); got f32\[5,4\]"):
        nn.summary(nn.Dense(3, 2, seed=0), zeros(5, 4))
