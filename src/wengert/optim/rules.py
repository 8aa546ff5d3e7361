"""The optimisers that have names, as chains of transforms."""

from __future__ import annotations

from wengert.optim.chain import Mask, Optimiser, Rate, chain, optimiser
from wengert.optim.checks import check_rate
from wengert.optim.transforms import (
    add_decayed_weights,
    scale,
    scale_by_adagrad,
    scale_by_adam,
    scale_by_lion,
    scale_by_rms,
    trace,
)


def sgd(rate: Rate) -> Optimiser:
    """Return gradient descent: ``p <- p - rate g`` (Robbins and Monro, 1951).

    Args:
        rate: the learning rate, a number or a schedule, as for all optimisers.

    Example:
        >>> sgd(0.1).update(2.0, (), 1.0)
        (0.8, ())
    """
    check_rate("sgd", rate)
    return optimiser(scale(rate))


def momentum(rate: Rate, decay: float = 0.9) -> Optimiser:
    """Return gradient descent with momentum: ``v <- decay v + g``, ``p <- p - rate v`` (Polyak, 1964).

    Example:
        >>> optimiser = momentum(0.1)
        >>> p, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> print(p, optimiser.update(2.0, state, p)[0].round(6))
        0.8 0.42
    """
    check_rate("momentum", rate)
    return chain(trace(decay), scale(rate))


def nesterov(rate: Rate, decay: float = 0.9) -> Optimiser:
    """Return Nesterov's momentum (1983): ``v <- decay v + g``, ``p <- p - rate (g + decay v)``.

    In the form of Sutskever et al. (2013), with the gradient taken where the parameters are.

    Example:
        >>> optimiser = nesterov(0.1)
        >>> print(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0].round(6))
        0.62
    """
    check_rate("nesterov", rate)
    return chain(trace(decay, nesterov=True), scale(rate))


def adagrad(rate: Rate = 1e-2, epsilon: float = 1e-10, initial: float = 0.0) -> Optimiser:
    """Return Adagrad (Duchi et al., 2011): ``s <- s + g^2``, ``p <- p - rate g / (sqrt(s) + epsilon)``.

    Args:
        rate: the learning rate.
        epsilon: what keeps the quotient finite.
        initial: the first s.

    Example:
        >>> optimiser = adagrad(0.1)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.9
    """
    check_rate("adagrad", rate)
    return chain(scale_by_adagrad(epsilon, initial), scale(rate))


def rmsprop(
    rate: Rate = 1e-2,
    decay: float = 0.99,
    epsilon: float = 1e-8,
    centred: bool = False,
    momentum: float = 0.0,
) -> Optimiser:
    """Return RMSprop (Hinton, 2012): ``s <- decay s + (1 - decay) g^2``, ``p <- p - rate g / (sqrt(s) + epsilon)``.

    Args:
        rate: the learning rate.
        decay: of the mean of the squares.
        epsilon: what keeps the quotient finite.
        centred: divide by the root of the variance instead (Graves, 2013).
        momentum: the decay of a velocity, to which the quotients are added.

    Example:
        >>> optimiser = rmsprop(0.01, decay=0.75)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.98
    """
    check_rate("rmsprop", rate)
    velocity = [trace(momentum)] if momentum else []
    return chain(scale_by_rms(decay, epsilon, centred), *velocity, scale(rate))


def adam(
    rate: Rate = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    amsgrad: bool = False,
) -> Optimiser:
    """Return Adam (Kingma and Ba, 2015).

    ``m <- b1 m + (1 - b1) g``, ``s <- b2 s + (1 - b2) g^2``, ``p <- p - rate m' / (sqrt(s') + epsilon)`` with
    ``m' = m / (1 - b1^t)`` and ``s' = s / (1 - b2^t)`` at step t.

    Args:
        rate: the learning rate.
        beta1: of the mean of the gradients.
        beta2: of the mean of their squares.
        epsilon: what keeps the quotient finite.
        amsgrad: divide by the largest s so far (Reddi et al., 2018).

    Example:
        >>> optimiser = adam(0.1)
        >>> parameters, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> round(float(parameters), 6)
        0.9
    """
    check_rate("adam", rate)
    return optimiser(scale_by_adam(beta1, beta2, epsilon, amsgrad, rate))


def adamw(
    rate: Rate = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    decay: float = 1e-2,
    mask: Mask = None,
    amsgrad: bool = False,
) -> Optimiser:
    """Return Adam with decoupled weight decay: `adam`, and ``- rate decay p`` (Loshchilov and Hutter, 2019).

    Args:
        rate: the learning rate.
        beta1: of the mean of the gradients.
        beta2: of the mean of their squares.
        epsilon: what keeps the quotient finite.
        decay: of the weights.
        mask: which parameters decay: ``parameter -> bool`` or a tree of truth values; by default all.
        amsgrad: as for `adam`.

    Example:
        >>> optimiser = adamw(0.1, decay=0.5)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.85
    """
    check_rate("adamw", rate)
    direction = scale_by_adam(beta1, beta2, epsilon, amsgrad)
    return chain(direction, add_decayed_weights(decay, mask), scale(rate))


def lion(
    rate: Rate = 1e-4, beta1: float = 0.9, beta2: float = 0.99, decay: float = 0.0, mask: Mask = None
) -> Optimiser:
    """Return Lion (Chen et al., 2023), whose steps have one size.

    ``p <- p - rate (sign(b1 m + (1 - b1) g) + decay p)``, then ``m <- b2 m + (1 - b2) g``.

    Args:
        rate: the learning rate, a third to a tenth of Adam's.
        beta1: what of the mean counts in the step.
        beta2: what of the mean stays.
        decay: of the weights.
        mask: which parameters decay: ``parameter -> bool`` or a tree of truth values; by default all.

    Example:
        >>> optimiser = lion(0.1)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.9
    """
    check_rate("lion", rate)
    weights = [add_decayed_weights(decay, mask)] if decay else []
    return chain(scale_by_lion(beta1, beta2), *weights, scale(rate))
