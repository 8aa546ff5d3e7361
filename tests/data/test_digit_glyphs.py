from __future__ import annotations

import numpy as np
import pytest

from wengert.data.digits import glyphs, read_styles

DOTS = 96
STYLES = read_styles()
STROKES = [strokes for _, _, strokes in STYLES]


def positions() -> np.ndarray:
    """Return the dots of every style, shape (styles, DOTS, 2)."""
    shapes = glyphs(DOTS)
    rows = np.arange(len(shapes.point))[:, None, None]
    return (shapes.weight[..., None] * shapes.point[rows, shapes.index]).sum(2)


def test_a_hundred_writers_write_each_digit() -> None:
    style = glyphs(DOTS).style
    assert style.shape == (10, 100)
    counts = [sum(digit == row for digit, _, _ in STYLES) for row in range(10)]
    assert [len(set(row)) for row in style] == counts
    assert sorted(set(style.flat)) == list(range(len(STROKES)))


def test_dots_lie_between_their_control_points() -> None:
    shapes = glyphs(DOTS)
    np.testing.assert_allclose(shapes.weight.sum(-1), 1)
    assert shapes.weight[..., 1:3].min() >= 0


def test_glyphs_are_centred_and_one_unit_high() -> None:
    dots = positions()
    assert np.all(np.abs(dots[..., 1]) < 0.56)
    assert np.all(np.ptp(dots[..., 1], axis=1) > 0.93)
    assert np.all(np.abs(dots[..., 0]) < 0.40)


@pytest.mark.parametrize("style", range(len(STROKES)))
def test_dots_leave_no_gaps(style: int) -> None:
    dots = positions()[style]
    step = np.hypot(*np.diff(dots, axis=0).T)
    pauses = STROKES[style].count("|")  # the pen may leave the paper between strokes
    assert np.sort(step)[-1 - pauses] < 0.065
    assert np.median(step) < 0.045


@pytest.mark.parametrize("style", range(len(STROKES)))
def test_dots_pass_through_the_control_points(style: int) -> None:
    shapes = glyphs(DOTS)
    used = np.unique(shapes.index[style])
    distance = np.abs(positions()[style][:, None] - shapes.point[style][used]).max(-1).min(0)
    assert distance.max() < 0.03
