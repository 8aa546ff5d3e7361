"""Dropout."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from wengert import random
from wengert.array.array import operand
from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import static
from wengert.nn.checks import setting
from wengert.ops.comparison import where


def _check_rate(rate: float) -> float:
    if not 0 <= rate <= 1:
        raise ArgumentError(message("dropout", "the rate must lie in [0, 1]", repr(rate)))
    return float(rate)


def dropout(x: Any, rate: float, key: Any, shared: Any = ()) -> Any:
    """Set elements to zero, each with probability ``rate``, and divide the others by ``1 - rate``.

    The mean stays what it was. The same key drops the same elements.

    Args:
        x: any array of floating-point numbers.
        rate: from 0, nothing, to 1, everything.
        key: of `wengert.random`; a new one for each call.
        shared: axes along which all is dropped or nothing: (2, 3) drops channels of images.

    Raises:
        ArgumentError: the rate is not a probability.

    Example:
        >>> import numpy as np
        >>> from wengert import random
        >>> print(dropout(np.ones(6), 0.5, random.key(1)))
        [0. 2. 0. 0. 2. 2.]
    """
    x, rate = operand(x), _check_rate(rate)
    if rate == 0:
        return x
    shape = shape_of(x)
    axes = {axis % len(shape) for axis in setting(shared)}
    drawn = random.uniform(
        key, tuple(1 if n in axes else extent for n, extent in enumerate(shape)), dtype=np.float32
    )
    return where(drawn < rate, 0.0, x / (1 - rate) if rate < 1 else 0.0 * x)


@dataclasses.dataclass
class Dropout:
    """In training, set elements to zero at random and enlarge the others (Srivastava et al., 2014): see `dropout`.

    Called, or applied outside of training, it returns its input.

    Args:
        rate: the probability with which an element is dropped.
        shared: axes along which all is dropped or nothing: (2, 3) drops channels of images.

    Raises:
        ArgumentError: the rate is not a probability, or training has no key.

    Example:
        >>> import numpy as np
        >>> from wengert import random
        >>> y, _ = Dropout(0.5).apply(np.ones(6), None, training=True, key=random.key(1))
        >>> print(y, Dropout(0.5)(np.ones(3)))
        [0. 2. 0. 0. 2. 2.] [1. 1. 1.]
    """

    rate: float = static(0.5)
    shared: Any = static(())

    def __post_init__(self) -> None:
        self.rate, self.shared = _check_rate(self.rate), setting(self.shared)

    def initial_state(self) -> None:
        """Return None: there is no state."""

    def __call__(self, x: Any) -> Any:
        """Return the input."""
        return x

    def apply(self, x: Any, state: Any = None, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Drop elements in training; the state passes."""
        if not training or self.rate == 0:
            return x, state
        if key is None:
            hint = "write nn.apply(model, x, state, training=True, key=wg.random.key(seed)), with a new key each time"
            raise ArgumentError(message("Dropout", "training needs a key", hint=hint))
        return dropout(x, self.rate, key, self.shared), state
