from __future__ import annotations

import io

import numpy as np
import pytest

from wengert.report.png import ink, png, signed


@pytest.mark.parametrize("channels", [2, 4])
def test_a_reader_finds_the_pixels(rng, channels):
    image = pytest.importorskip("PIL.Image")
    pixels = rng.integers(0, 256, (5, 7, channels), np.uint8)
    read = image.open(io.BytesIO(png(pixels)))
    read.load()
    assert np.array_equal(np.asarray(read), pixels)


def test_ink_covers_and_paper_does_not():
    image = pytest.importorskip("PIL.Image")
    read = np.asarray(image.open(io.BytesIO(ink(np.array([[0.0, 1.0], [2.0, np.nan]])))))
    assert read[..., 1].tolist() == [[0, 255], [255, 0]]
    assert np.all(read[..., 0] == 0)


def test_signs_are_colours_and_sizes_are_shades():
    image = pytest.importorskip("PIL.Image")
    read = np.asarray(image.open(io.BytesIO(signed(np.array([[-1.0, 0.0, 2.0, 4.0]]), 2.0))))
    assert read[0, :, 3].tolist() == [128, 0, 255, 255]
    assert read[0, 0, 0] > read[0, 0, 2]
    assert read[0, 2, 0] < read[0, 2, 2]
    assert np.all(np.asarray(image.open(io.BytesIO(signed(np.zeros((1, 1)), 0.0))))[..., 3] == 0)
