"""Operations on integers, and on the representation of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.ops.elementwise import elementwise, locally_constant
from wengert.engine.primitive import Draw

_INTEGER = "its values are integers"


def _samples(operands: int, low: int, high: int) -> Any:
    def samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(draw.integers(shape, low, high) for shape in draw.broadcastable(operands)), {}

    return samples


gcd = locally_constant(
    "gcd", np.gcd, "the greatest common divisor of |x| and |y|", _INTEGER, samples=_samples(2, -40, 40)
)
lcm = locally_constant(
    "lcm", np.lcm, "the least common multiple of |x| and |y|", _INTEGER, samples=_samples(2, -40, 40)
)
bitwise_count = locally_constant(
    "bitwise_count",
    np.bitwise_count,
    "the number of bits of |x| that are 1",
    _INTEGER,
    samples=_samples(1, -99, 99),
)
spacing = locally_constant(
    "spacing",
    np.spacing,
    "the distance from x to the next number away from zero, with the sign of x",
    "it is constant between powers of two",
)
nextafter = elementwise(
    "nextafter",
    np.nextafter,
    1.0,
    None,
    doc="the next number after x towards y, which moves with x",
)
