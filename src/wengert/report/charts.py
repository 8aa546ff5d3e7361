"""Curves as SVG, in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.engine.core.markup import Markup, element, joined
from wengert.report.formats import short

WIDTH, HEIGHT = 400, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 8, 36
_DOTS = 40
"""Curves with more points show only their line."""

Point = tuple[float, float]


class Curve(NamedTuple):
    """Points joined by a line, which breaks at numbers that are not finite."""

    label: str
    points: Sequence[Point]
    colour: int
    """One of the page's colours, from 1."""
    faint: bool = False
    """Whether it is behind the others and does not affect the range of the axis."""
    dashes: int = 0
    """The line style: 0 solid, 1 and 2 dashed."""

    @property
    def look(self) -> str:
        """The CSS classes of the line and of its key."""
        dashed = f" dashed{min(self.dashes, 2)}" if self.dashes else ""
        return f"c{self.colour}{' faint' if self.faint else ''}{dashed}"


class Axis(NamedTuple):
    """A range of numbers along one side of the chart."""

    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def part(self, value: float) -> float:
        """Return the position of a number, from 0 at the low end to 1."""
        if self.logarithmic:
            return math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def ticks(low: float, high: float, most: int, *, whole: bool = False) -> tuple[float, ...]:
    """Return ticks that cover a range: multiples of 1, 2 or 5 times a power of ten.

    Example:
        >>> ticks(0.03, 0.94, 6), ticks(1, 4, 5, whole=True)
        ((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (1.0, 2.0, 3.0, 4.0))
    """
    least = max((high - low) / most, abs(high) * 1e-9, 1e-300)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    # Without rounding, 3 * 0.1 would be 0.30000000000000004.
    return tuple(float(f"{number * step:.12g}") for number in range(first, max(last, first + 1) + 1))


def powers(low: float, high: float) -> tuple[float, ...]:
    """Return the numbers 1, 2 and 5 times a power of ten around a range of positive numbers.

    Example:
        >>> powers(0.3, 4)
        (0.2, 0.5, 1.0, 2.0, 5.0)
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first < 4 else (1,)
    marks = [float(f"{factor}e{power}") for power in range(first, last + 1) for factor in steps]
    below = max((mark for mark in marks if mark <= low), default=marks[0])
    above = min((mark for mark in marks if mark >= high), default=marks[-1])
    return tuple(mark for mark in marks if below <= mark <= above)


def _moderate(value: float) -> float:
    """Return a number clipped to a range in which differences and quotients neither overflow nor underflow."""
    return math.copysign(min(abs(value), 1e150), value) if abs(value) > 1e-150 else 0.0


def axis_of(values: Sequence[float], *, most: float = math.inf) -> Axis:
    """Return an axis for numbers, logarithmic if they are positive and far apart."""
    finite = [_moderate(value) for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if high <= low:
        low, high = (0.9 * low, 1.1 * low) if low else (0.0, 1.0)
        low, high = min(low, high), max(low, high)
    if low > 0 and high / low > 30:
        marks = powers(low, high)
        return Axis(marks[0], marks[-1], marks, logarithmic=True)
    inside = [mark for mark in ticks(low, high, 5) if (mark >= 0 or low < 0) and mark <= most]
    ends = min(inside[0], low), max(inside[-1], high)
    return Axis(*ends, tuple(inside))


def chart(
    title: str,
    horizontal: str,
    curves: Sequence[Curve],
    *,
    write: Callable[[float], str] = short,
    least: float = math.inf,
    most: float = math.inf,
    whole: bool = True,
) -> Markup:
    """Draw curves, the last in front; the vertical axis includes ``least``, and its ticks do not exceed ``most``."""
    shown = [point for curve in curves if not curve.faint for point in curve.points]
    everything = [point for curve in curves for point in curve.points] or [(0.0, 0.0), (1.0, 1.0)]
    up = axis_of([least, *(y for _, y in shown or everything)], most=most)
    left, right = min(x for x, _ in everything), max(x for x, _ in everything)
    marks = ticks(min(left, 0.0), right, 6, whole=whole)
    along = Axis(marks[0], marks[-1], marks)
    drawing = joined(
        _grid(along, up, write, horizontal),
        _window(*(_drawn(curve, along, up, write, horizontal) for curve in curves if curve.faint)),
        *(_drawn(curve, along, up, write, horizontal) for curve in curves if not curve.faint),
    )
    picture = element(
        "svg", drawing, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=_summary(title, curves, write)
    )
    key = (element("span", element("i", class_=f"key {curve.look}"), curve.label) for curve in curves)
    caption = element("figcaption", element("b", title), *(key if len(curves) > 1 else ()))
    return element("figure", caption, picture, class_="chart")


def _summary(title: str, curves: Sequence[Curve], write: Callable[[float], str]) -> str:
    """Describe the curves in words, for screen readers."""
    finite = [(curve.label, [y for _, y in curve.points if math.isfinite(y)]) for curve in curves]
    return "; ".join([title, *(f"{label} ends at {write(values[-1])}" for label, values in finite if values)])


def _place(point: Point, along: Axis, up: Axis) -> Point:
    x = _LEFT + along.part(point[0]) * (WIDTH - _LEFT - _RIGHT)
    y = _TOP + (1 - min(max(up.part(point[1]), -9), 9)) * (HEIGHT - _TOP - _BOTTOM)
    return round(x, 1), round(y, 1)


def _grid(along: Axis, up: Axis, write: Callable[[float], str], horizontal: str) -> Markup:
    parts: list[Markup] = []
    for mark in up.ticks:
        _, y = _place((along.low, mark), along, up)
        parts.append(element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y))
        parts.append(element("text", write(mark), x=_LEFT - 7, y=y + 4, text_anchor="end"))
    for mark in along.ticks:
        x, y = _place((mark, up.low), along, up)
        parts.append(element("text", short(mark), x=x, y=y + 16, text_anchor="middle"))
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(element("text", horizontal, x=middle, y=HEIGHT - 3, text_anchor="middle", class_="name"))
    return element("g", *parts, class_="axes")


def _window(*drawn: Markup) -> Markup:
    x, y, width, height = _LEFT, _TOP, WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    return element("svg", *drawn, x=x, y=y, width=width, height=height, viewBox=f"{x} {y} {width} {height}")


def _drawn(curve: Curve, along: Axis, up: Axis, write: Callable[[float], str], horizontal: str) -> Markup:
    path, pen = "", "M"
    dots: list[Markup] = []
    for x, y in curve.points:
        if not math.isfinite(y):
            pen = "M"
            continue
        across, down = _place((x, y), along, up)
        path += f"{pen}{across:g} {down:g}"
        pen = "L"
        tooltip = element("title", f"{curve.label}, {horizontal} {short(x)}: {write(y)}")
        dots.append(element("circle", tooltip, cx=across, cy=down, r=3))
    line = element("path", d=path)
    marked = not curve.faint and len(curve.points) <= _DOTS
    return element("g", line, *(dots if marked else ()), class_=f"curve {curve.look}")
