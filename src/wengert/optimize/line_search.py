"""A line search for the Wolfe conditions, as a state between evaluations: a part of one compiled loop.

A step ``t`` along a direction with the slope ``m < 0`` is accepted if the function falls enough,
``f(t) <= f(0) + c1 t m``, and its slope has grown enough, ``f'(t) >= c2 m``. A bracket whose low end falls enough with
too steep a slope, and whose high end does not fall enough, holds an accepted step of a smooth function. It shrinks by
a factor in each trial; before there is a high end, the step grows. (Lewis and Overton, "Nonsmooth optimization via
quasi-Newton methods", 2013, with the cubic interpolation of Nocedal and Wright, "Numerical Optimization", 2006,
chapter 3.)

Near a minimum values are equal to rounding. There the slopes alone decide: ``f'(t) <= (2 c1 - 1) m`` stands for the
first condition (Hager and Zhang, "A new conjugate gradient method with guaranteed descent", 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ops.comparison import where

DECREASE = 1e-4
"""c1, the share of the decrease that the slope promises."""
CURVATURE = 0.9
"""c2, the share of the slope that may be left."""
_ROUNDING = 1e-15
_GROWTH = 4.0
_MARGIN = 0.1
"""The least distance of a trial from the ends of the bracket, as a share of its width."""


class Search(NamedTuple):
    """The next step to try, and the bracket: its ends, values and slopes."""

    step: Any
    low: Any
    high: Any
    low_value: Any
    low_slope: Any
    high_value: Any
    high_slope: Any


def begun(step: Any, value: Any, slope: Any) -> Search:
    """Return a search that tries a first step from a point with a value and a slope."""
    infinite = np.inf + 0.0 * step
    zero = 0.0 * step
    return Search(step, zero, infinite, value, slope, infinite, zero)


def judged(search: Search, start: Any, start_slope: Any, value: Any, slope: Any) -> tuple[Any, Search]:
    """Return whether the step that was tried is accepted, and the search that goes on if it is not.

    ``value`` and ``slope`` are those after the step; NaN and infinities count as too large.
    """
    step = search.step
    falls = value <= start + DECREASE * step * start_slope
    is_flat = np.abs(value - start) <= _ROUNDING * np.abs(start)
    falls = falls | (is_flat & (slope <= (2.0 * DECREASE - 1.0) * start_slope))
    falls = falls & np.isfinite(value) & np.isfinite(slope)
    accepted = falls & (slope >= CURVATURE * start_slope)
    tried = Search(
        step,
        where(falls, step, search.low),
        where(falls, search.high, step),
        where(falls, value, search.low_value),
        where(falls, slope, search.low_slope),
        where(falls, search.high_value, value),
        where(falls, search.high_slope, slope),
    )
    following = where(np.isfinite(tried.high), _interpolated(tried), _GROWTH * step)
    return accepted, tried._replace(step=following)


def _interpolated(search: Search) -> Any:
    """Return the minimum of the cubic through both ends of the bracket, kept from its ends; else its middle."""
    low, high, at_low, at_high = search.low, search.high, search.low_slope, search.high_slope
    width = high - low
    mean = at_low + at_high - 3.0 * (search.low_value - search.high_value) / (low - high)
    root = np.sqrt(np.maximum(mean * mean - at_low * at_high, 0.0))
    minimum = high - width * (at_high + root - mean) / (at_high - at_low + 2.0 * root)
    least, most = low + _MARGIN * width, high - _MARGIN * width
    return where(np.isfinite(minimum), np.clip(minimum, least, most), 0.5 * (low + high))
