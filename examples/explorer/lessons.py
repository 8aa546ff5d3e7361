"""Five programs for the lessons of docs/teaching.md: ``wengert explore examples/explorer/lessons.py:dual 2.0``."""

import numpy as np

import wengert as wg


def dual(x):
    """Forward mode: each step carries its derivative."""
    return x * x * x + 4 * x


def reverse(x1, x2):
    """Reverse mode: one way back gives both derivatives."""
    return np.log(x1) + x1 * x2 - np.sin(x2)


def two_steps(x):
    for _ in range(2):
        x = x + 0.01 * np.sin(x)
    return x


def checkpointed(x):
    """Checkpointing: the adjoint program computes the steps inside each part again."""
    for _ in range(3):
        x = wg.checkpoint(two_steps)(x)
    return x


def nested(x):
    """Perturbation confusion: the inner derivative takes x as a constant, and is 1."""
    return x * wg.grad(lambda y: x + y)(1.0)


def kinks(x, y):
    """Kinks: a tie, the corner of the absolute value, and a branch that hides an infinite slope."""
    return np.maximum(x, y) + np.abs(x - 3) + np.where(x > 3, np.sqrt(x - 3), 0.0)
