"""ln x1 + x1 x2 - sin x2 at (2, 5): the Wengert list, its evaluation trace, and the gradient as a NumPy program."""

import numpy as np

import wengert as wg


def f(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


listing = wg.trace(f)(2.0, 5.0)
print(listing)
print()
print(listing.table())
print()
print(wg.source(wg.grad(f, argnums=(0, 1)))(2.0, 5.0))
print("gradient:", wg.grad(f, argnums=(0, 1))(2.0, 5.0))
