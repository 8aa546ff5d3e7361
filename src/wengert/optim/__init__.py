"""Optimisers: pure functions of gradients, state and parameters.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> optimiser = sgd(0.1)
    >>> parameters = {"w": np.array([1.0, 2.0])}
    >>> state = optimiser.init(parameters)
    >>> gradients = wg.grad(lambda p: np.sum(p["w"] ** 2))(parameters)
    >>> parameters, state = optimiser.update(gradients, state, parameters)
    >>> parameters["w"]
    array([0.8, 1.6])
"""

from wengert.optim.rules import Optimiser, adam, momentum, sgd

__all__ = ["Optimiser", "adam", "momentum", "sgd"]
