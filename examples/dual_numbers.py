"""2x + x y^3 + sin x at (3, 5) by dual numbers: the value and a partial derivative in one pass."""

import numpy as np

from wengert import Dual


def f(x, y):
    return 2 * x + x * y**3 + np.sin(x)


print("partial x:", f(Dual(3, 1), Dual(5, 0)))
print("partial y:", f(Dual(3, 0), Dual(5, 1)))
