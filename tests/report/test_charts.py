from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.pages import Page
from wengert.report.charts import HEIGHT, WIDTH, Curve, axis_of, chart, ticks
from wengert.report.formats import percent

losses = st.floats(-3e38, 3e38).filter(lambda x: x == 0 or abs(x) > 1e-30)


@given(losses, losses, st.integers(2, 8))
def test_ticks_are_few_and_around_the_range(left, right, most):
    low, high = sorted((left, right))
    marks = ticks(low, high, most)
    little = 1e-6 * (high - low) + 1e-9 * max(abs(low), abs(high))
    assert marks[0] <= low + little
    assert marks[-1] >= high - little
    assert 2 <= len(marks) <= most + 3
    assert list(marks) == sorted(set(marks))


@given(st.lists(losses | st.sampled_from([math.nan, math.inf, -math.inf]), max_size=20))
def test_axes_hold_every_finite_number(values):
    axis = axis_of(values)
    known = [value for value in values if math.isfinite(value)]
    assert axis.low < axis.high
    assert axis.ticks
    for value in known:
        assert -1e-6 <= axis.part(value) <= 1 + 1e-6
    assert all(-1e-6 <= axis.part(mark) <= 1 + 1e-6 for mark in axis.ticks)


def test_what_is_a_part_of_one_is_not_drawn_beyond_it():
    assert axis_of([0.93, 0.999], most=1.0).ticks[-1] == 1.0
    assert axis_of([0.001, 0.5]).logarithmic
    assert not axis_of([0.0, 0.5]).logarithmic


def path(drawing):
    return re.findall(r'<path d="([^"]*)"', drawing)


def test_points_are_where_their_numbers_are():
    drawing = chart("loss", "epoch", [Curve("a", [(1, 0.0), (2, 1.0), (4, 0.5)], 1)])
    (line,) = path(drawing)
    points = [tuple(map(float, pair.split())) for pair in re.split("[ML]", line)[1:]]
    (x1, y1), (x2, y2), (x3, y3) = points
    assert x3 - x2 == pytest.approx(2 * (x2 - x1), abs=0.2)
    assert y3 == pytest.approx((y1 + y2) / 2, abs=0.2)
    assert y2 < y1
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in points)


def test_a_line_is_interrupted_where_a_number_is_not_finite():
    points = [(1, 0.5), (2, math.nan), (3, math.inf), (4, 0.25), (5, 0.1)]
    (line,) = path(chart("loss", "epoch", [Curve("a", points, 1)]))
    assert [len(part.split("L")) for part in line.split("M")[1:]] == [1, 2]
    assert "nan" not in line
    Page(chart("loss", "epoch", [Curve("a", [(1, math.nan)], 1)]))


def test_every_point_says_its_number_and_every_curve_its_name():
    curves = [Curve("fit & more", [(1, 0.5)], 1), Curve("test", [(1, 0.75), (2, 0.8)], 2, faint=True)]
    page = Page(chart("accuracy", "epoch", curves, write=percent))
    assert "fit & more, epoch 1: 50%" in page.text
    (drawing,) = [svg for svg in page.all("svg") if "role" in svg]
    assert drawing["aria-label"] == "accuracy; fit & more ends at 50%; test ends at 80%"
    assert len(page.all("circle")) == 1
