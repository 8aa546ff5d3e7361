"""Keys and bits agree with the published algorithm in every mode of execution."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.modes import TYPED
from wengert import random
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.engine.ir.types import show


def test_the_numbers_of_jax():
    """The numbers are those of ``jax.random`` 0.10.2 with 64 bits: the same generator with the same counter."""
    key = random.key(2026)
    new = [0xE1E32C4107245DC9, 0x8DEE15F142B8C27F, 0xE83F45162EAA7F83]
    assert random.split(key, 3).tolist() == new
    assert random.fold_in(key, 41) == 0x9AA42E7327224BC7
    assert random.bits(key, (2, 3)).ravel().tolist() == [
        *(0xE6C77188, 0xCF56D78E, 0xC6953A95),
        *(0x95DDCA03, 0x3FAD8CAE, 0xE8357C2F),
    ]
    assert random.bits(key, 3, "uint64").tolist() == new
    assert random.bits(key, 6, np.uint8).tolist() == [136, 142, 149, 3, 174, 47]
    np.testing.assert_allclose(random.uniform(key, 3), [0.88237263, 0.55441415, 0.90721542], atol=5e-9)


DRAWS = {
    "split": lambda key: random.split(key, 3),
    "fold_in": lambda key: random.fold_in(key, 5),
    "bits": lambda key: random.bits(key, (2, 3)),
    "bytes": lambda key: random.bits(key, 5, np.uint8),
    "uniform": lambda key: random.uniform(key, (2, 3)),
    "uniform32": lambda key: random.uniform(key, (2, 3), dtype=np.float32),
    "bernoulli": lambda key: random.bernoulli(key, 0.3, (4, 5)),
    "randint": lambda key: random.randint(key, (3, 2), -5, 11),
    "randint32": lambda key: random.randint(key, 7, 0, np.arange(1, 8), np.int32),
    "permutation": lambda key: random.permutation(key, 9),
    "shuffled": lambda key: random.permutation(key, np.arange(12.0).reshape(3, 4), axis=1),
    "choice": lambda key: random.choice(key, 5, (2, 3)),
    "chosen": lambda key: random.choice(key, np.arange(8.0).reshape(2, 4), 3, p=[0.1, 0.2, 0.3, 0.4], axis=1),
    "once": lambda key: random.choice(key, 7, (2, 3), replace=False),
}
#: Draws through logarithms and cosines, which a compiled program rounds differently.
ROUNDED = {
    "normal": lambda key: random.normal(key, (2, 3), 1.0, 2.0),
    "normal32": lambda key: random.normal(key, (2, 3), dtype=np.float32),
    "exponential": lambda key: random.exponential(key, 4, 2.0),
    "gumbel": lambda key: random.gumbel(key, 4, np.float32),
    "categorical": lambda key: random.categorical(key, np.log([0.2, 0.3, 0.5]), 6),
    "weighted once": lambda key: random.choice(key, 4, 2, replace=False, p=[0.1, 0.2, 0.3, 0.4]),
}
ALL = {**DRAWS, **ROUNDED}


def assert_drawn(name, actual, expected):
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if name in DRAWS or expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
    else:
        eps = np.finfo(expected.dtype).eps
        np.testing.assert_allclose(actual, expected, rtol=16 * eps, atol=16 * eps)


@pytest.mark.parametrize("name", ALL)
def test_the_same_numbers_in_every_mode(name):
    draw, key = ALL[name], random.key(11)
    expected = draw(key)
    assert_drawn(name, wg.jit(draw)(key), expected)
    for run in TYPED:
        assert_drawn(name, np.asarray(run(draw, key)), np.asarray(expected))


@pytest.mark.parametrize("name", ALL)
def test_the_same_numbers_for_many_keys(name):
    draw, keys = ALL[name], random.split(random.key(4), 3)
    expected = np.stack([draw(key) for key in keys])
    assert_drawn(name, wg.vmap(draw)(keys), expected)
    assert_drawn(name, wg.jit(wg.vmap(draw))(keys), expected)
    steps = wg.scan(lambda carry, key: (carry, draw(key)), 0.0, keys)[1]
    assert_drawn(name, steps, expected)
    assert_drawn(
        name, wg.jit(lambda keys: wg.scan(lambda c, key: (c, draw(key)), 0.0, keys)[1])(keys), expected
    )


def test_a_key_carried_by_a_loop():
    def step(key, _):
        key, used = random.split(key)
        return key, random.uniform(used, 2)

    def run(seed):
        return wg.scan(step, random.key(seed), None, length=4)

    key, rows = random.key(9), []
    for _ in range(4):
        key, used = random.split(key)
        rows.append(random.uniform(used, 2))
    for last, drawn in (run(9), wg.jit(run)(9), wg.jit(run)(np.int32(9))):
        assert last == key
        np.testing.assert_array_equal(drawn, rows)


def test_the_same_numbers_on_any_number_of_threads():
    draw, key, before = wg.jit(lambda key: random.uniform(key, (64, 4096))), random.key(3), wg.get_threads()
    try:
        drawn = []
        for threads in (1, 2, 3):
            wg.set_threads(threads)
            drawn.append(draw(key))
    finally:
        wg.set_threads(before)
    for other in drawn:
        np.testing.assert_array_equal(other, random.uniform(key, (64, 4096)))


def test_a_longer_draw_begins_with_a_shorter_one():
    key = random.key(8)
    for draw in (random.bits, random.uniform, random.normal, random.exponential, random.gumbel):
        np.testing.assert_array_equal(draw(key, 5), draw(key, 100)[:5])


def test_seeds():
    assert [random.key(seed).dtype for seed in (0, np.int8(3), 2**64 - 1)] == [np.uint64] * 3
    assert random.key(-1) == random.key(2**64 - 1) == wg.jit(random.key)(-1)
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(ArgumentError, match="64 bits"):
            random.key(seed)
    with pytest.raises(DtypeError, match="integers"):
        random.key(1.5)
    with pytest.raises(ShapeError, match="one seed"):
        random.key(np.arange(3))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("key", [0, 1.0, np.int64(3), np.array([1, 2], np.uint32)], ids=show)
def test_invalid_keys(name, key):
    with pytest.raises(DtypeError, match=r"random\.key\(seed\)"):
        ALL[name](key)


@pytest.mark.parametrize("name", ALL)
def test_many_keys_at_once_need_vmap(name):
    with pytest.raises(ShapeError, match=r"wg\.vmap"):
        ALL[name](random.split(random.key(0)))


def test_invalid_shapes_and_dtypes():
    key = random.key(0)
    for shape in (-1, (2, -1), 1.5, "ab", (2, 0.5)):
        with pytest.raises(ShapeError, match="shape"):
            random.uniform(key, shape)
    with pytest.raises(DtypeError, match="unsigned"):
        random.bits(key, 3, np.int32)
    for dtype in (np.float16, np.int64, np.complex128):
        for draw in (random.uniform, random.normal, random.gumbel, random.exponential):
            with pytest.raises(DtypeError, match="float32 or float64"):
                draw(key, 3, dtype=dtype)


@pytest.mark.parametrize("shape", [(), 0, (0, 3), np.int64(2), [2, 3]], ids=repr)
def test_any_shape(shape):
    expected = np.zeros(shape).shape
    for name in ("bits", "uniform", "normal", "exponential", "gumbel"):
        draw = getattr(random, name)
        assert draw(random.key(0), shape).shape == expected
        assert wg.jit(lambda key, draw=draw: draw(key, shape))(random.key(0)).shape == expected
