"""x^2 and its derivative over [-10, 10], by one array of dual numbers, as a plot."""

import sys

import numpy as np
from matplotlib.figure import Figure

from wengert import Dual


def f(x):
    return x**2


x = np.linspace(-10, 10, 2001)
y = f(Dual(x, np.ones_like(x)))

figure = Figure(layout="constrained")
axes = figure.subplots()
axes.plot(x, y.real, label="$x^2$")
axes.plot(x, y.epsilon, label="its derivative")
axes.legend()
path = sys.argv[1] if len(sys.argv) > 1 else "parabola.png"
figure.savefig(path)

print(f"at x = {x[1500]:g}: value {y.real[1500]:g}, derivative {y.epsilon[1500]:g}")
print("largest error of the derivative:", np.max(np.abs(y.epsilon - 2 * x)))
