"""Predict times of failure where most units still work, by boosted trees with a loss in NumPy (docs/boost.md).

    pip install xgboost && python examples/censored_times.py

A unit that still works has a time without an end: a plain regression of the times observed so far predicts failures too
early. The likelihood of a censored time is that of a longer one.
"""

import numpy as np
import xgboost
from scipy.special import log_ndtr

from wengert.boost import objective

WIDTH = 0.4


def censored(score, time):
    """Return the loss of the logarithm of a time, which is negative where the unit still works."""
    z = (np.log(np.abs(time)) - score) / WIDTH
    return np.where(time > 0, 0.5 * z * z, -log_ndtr(-z))


def observed(score, time):
    """Return the squared error, as if each unit had failed when it was last seen."""
    return 0.5 * ((np.log(np.abs(time)) - score) / WIDTH) ** 2


def main():
    rng = np.random.default_rng(0)
    load = rng.uniform(0.0, 2.0, (4000, 3))
    lives = np.exp(2.0 - load[:, 0] + 0.3 * np.sin(4 * load[:, 1]) + WIDTH * rng.normal(size=4000))
    watched = rng.exponential(3.0, 4000)
    times = np.where(lives < watched, lives, -watched)
    print(f"{np.mean(times < 0):.0%} of the units still work")
    data, new = xgboost.DMatrix(load[:3000], times[:3000]), xgboost.DMatrix(load[3000:])
    for loss in (observed, censored):
        trees = xgboost.train({"max_depth": 3, "base_score": 0.0, "eta": 0.2}, data, 60, obj=objective(loss))
        ratio = np.exp(trees.predict(new)) / lives[3000:]
        print(f"{loss.__name__:9} predicted / true life: median {np.median(ratio):.2f}")


if __name__ == "__main__":
    main()
