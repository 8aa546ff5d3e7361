"""Optimisers: pure functions of gradients, state and parameters, made of transforms; and schedules of rates.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> optimiser = chain(clip_by_norm(1.0), adamw(schedules.cosine(1e-2, steps=100)))
    >>> parameters = {"w": np.array([1.0, 2.0])}
    >>> state = optimiser.init(parameters)
    >>> gradients = wg.grad(lambda p: np.sum(p["w"] ** 2))(parameters)
    >>> parameters, state = optimiser.update(gradients, state, parameters)
    >>> parameters["w"]
    array([0.9899, 1.9898])
"""

from typing import TYPE_CHECKING

from wengert.engine.core.other_libraries import absent_from
from wengert.optim import schedules
from wengert.optim.optimisers import (
    accumulate,
    adagrad,
    adam,
    adamw,
    averaged,
    lion,
    momentum,
    nesterov,
    rmsprop,
    sgd,
)
from wengert.optim.transforms import (
    Optimiser,
    Transform,
    add_decayed_weights,
    chain,
    clip_by_norm,
    clip_by_value,
    global_norm,
    masked,
    scale,
    scale_by_adagrad,
    scale_by_adam,
    scale_by_lion,
    scale_by_rms,
    scale_by_schedule,
    scale_by_sign,
    trace,
)

__all__ = [
    "Optimiser", "Transform", "accumulate", "adagrad", "adam", "adamw", "add_decayed_weights", "averaged",
    "chain", "clip_by_norm", "clip_by_value", "global_norm", "lion", "masked", "momentum", "nesterov",
    "rmsprop", "scale", "scale_by_adagrad", "scale_by_adam", "scale_by_lion", "scale_by_rms",
    "scale_by_schedule", "scale_by_sign", "schedules", "sgd", "trace",
]  # fmt: skip
__dir__ = __all__.copy


if not TYPE_CHECKING:  # type checkers report such names themselves
    __getattr__ = absent_from(__name__)
