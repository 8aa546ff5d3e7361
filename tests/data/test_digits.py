from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.data import digit_set, digits
from wengert.engine.core.errors import ArgumentError


def test_the_pictures_are_the_same_everywhere() -> None:
    images, labels = digits(200, seed=7)
    digest = hashlib.sha256(labels.tobytes() + images.tobytes()).hexdigest()
    assert digest == "e174b6e0b22f23c067a7487e633134f0e0126d1af58f33fb25f9491ab9520ab1"


@given(st.integers(0, 90), st.integers(0, 90), st.integers(0, 2**64 - 1))
def test_a_picture_does_not_depend_on_how_many_are_drawn(few: int, more: int, seed: int) -> None:
    short, long = digits(few, seed=seed), digits(few + more, seed=seed)
    assert short[0].shape == (few, 28, 28)
    assert short[0].dtype == short[1].dtype == np.uint8
    for part, whole in zip(short, long, strict=True):
        np.testing.assert_array_equal(part, whole[:few])


def test_seeds_differ() -> None:
    (first, _), (second, _) = digits(50, seed=0), digits(50, seed=1)
    assert all((picture != other).any() for picture in first for other in second)
    assert all((first[i] != first[j]).any() for i in range(50) for j in range(i))


def test_the_classes_are_equally_frequent() -> None:
    counts = np.bincount(digits(2000)[1], minlength=10)
    assert len(counts) == 10
    assert np.all(np.abs(counts - 200) < 5 * np.sqrt(200 * 0.9))


def test_ink_on_paper() -> None:
    pictures = digits(2000)[0].astype(float)
    assert 0.08 < pictures.mean() / 255 < 0.20  # MNIST: 0.13
    assert pictures.max((1, 2)).min() > 120  # no picture is empty
    assert np.median(pictures) < 5  # the paper shows a slight grain
    frame = np.ones((28, 28), bool)
    frame[2:-2, 2:-2] = False
    assert pictures[:, frame].mean() < 0.05 * 255  # few strokes run off the paper


def test_pictures_of_another_size_show_the_same_digits() -> None:
    small, labels = digits(100, seed=2)
    large, large_labels = digits(100, seed=2, size=56)
    np.testing.assert_array_equal(labels, large_labels)
    halved = large.reshape(100, 28, 2, 28, 2).mean((2, 4))
    assert np.abs(halved - small).mean() < 6
    assert digits(3, size=8)[0].shape == (3, 8, 8)


def test_memory_is_that_of_the_result() -> None:
    digits(1)  # fills the cache
    tracemalloc.start()
    images, _ = digits(3000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < images.nbytes + (8 << 20)


def test_the_sets_of_a_data_set_are_independent() -> None:
    data = digit_set(train=60, test=40, seed=5)
    assert (len(data.train_images), len(data.test_images), data.classes) == (60, 40, tuple("0123456789"))
    np.testing.assert_array_equal(data.train_images, digits(60, seed=5)[0])
    np.testing.assert_array_equal(data.test_images, digit_set(train=0, test=40, seed=5).test_images)
    assert all((train != test).any() for train in data.train_images for test in data.test_images)


def test_a_linear_classifier_learns_much_but_not_all() -> None:
    """Least squares on one-hot targets is far better than chance, and leaves room for a network."""
    data = digit_set(train=4000, test=1000)
    train, test = (
        np.hstack((images.reshape(len(images), -1) / 255, np.ones((len(images), 1))))
        for images in (data.train_images, data.test_images)
    )
    weights = np.linalg.solve(train.T @ train + np.eye(785), train.T @ np.eye(10)[data.train_labels])
    accuracy = np.mean((test @ weights).argmax(1) == data.test_labels)
    assert 0.70 < accuracy < 0.92


@pytest.mark.parametrize(
    "arguments", [{"n": -1}, {"n": 1, "size": 7}, {"n": 1, "seed": -1}, {"n": 1, "seed": 2**64}]
)
def test_arguments_out_of_range(arguments: dict[str, int]) -> None:
    with pytest.raises(
        ArgumentError, match=r"digits: n >= 0, size >= 8 and 0 <= seed < 2\*\*64 are required; got n="
    ):
        digits(**arguments)
