"""Penalties of a logistic regression, one for each group of features, chosen by the error on other data.

The weights w minimise the training loss with the penalties exp(p) of their groups; the validation loss of these
weights is a function of p. Its gradient is exact by the implicit function theorem: w' = -H^-1 (d grad / dp), where H
is the Hessian of the penalised loss. So eight penalties cost little more than one, where a grid of ten values for
each would need a hundred million fits.

Sources: Bengio, "Gradient-based optimization of hyperparameters" (2000); Pedregosa, "Hyperparameter optimization with
approximate gradient" (2016).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

SCALES = np.array([1.5, 1.0, 0.6, 0.3, 0.0, 0.0, 0.0, 0.0])
"""The sizes of the true weights of each group."""


def draw(rng: np.random.Generator, count: int, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return features, and labels of -1 and 1 by the logistic model."""
    x = rng.standard_normal((count, len(truth)))
    return x, np.where(rng.random(count) < 1 / (1 + np.exp(-x @ truth)), 1.0, -1.0)


def loss(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of the negative logarithms of the probabilities of labels."""
    return np.mean(np.logaddexp(0.0, -y * (x @ w)))


def weights(penalties: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights that minimise the penalised loss, for the logarithms of the penalties of equal groups."""
    size = x.shape[1] // len(penalties)

    def penalised(w: np.ndarray) -> float:
        squares = np.sum(w.reshape(len(penalties), size) ** 2, axis=1)
        return loss(w, x, y) + 0.5 * np.sum(np.exp(penalties) * squares)

    return wg.implicit.minimum(penalised, np.zeros(x.shape[1]))


def case() -> tuple[Callable[..., float], tuple]:
    """Return the validation loss and its arguments at a small size."""
    rng = np.random.default_rng(0)
    train, other = (draw(rng, 30, np.array([1.0, -1.0, 0.0, 0.0])) for _ in range(2))
    return lambda p: loss(weights(p, *train), *other), (np.array([-3.0, -1.0]),)


def main(path: str = "hyperparameters.png") -> None:
    rng = np.random.default_rng(3)
    truth = np.repeat(SCALES, 5) * rng.choice([-1.0, 1.0], 40)
    train, other, new = (draw(rng, count, truth) for count in (250, 1000, 20_000))

    validation = wg.jit(wg.value_and_grad(lambda p: loss(weights(p, *train), *other)))
    common = np.linspace(-7.0, 0.0, 29)
    curve = np.array([validation(np.full(8, p))[0] for p in common])
    one = np.full(8, common[np.argmin(curve)])
    found = minimize(validation, one, jac=True, method="L-BFGS-B", bounds=[(-9.0, 4.0)] * 8)
    fitted = [weights(p, *train) for p in (one, found.x)]
    print(
        f"validation loss, one penalty: {curve.min():.4f}; eight: {found.fun:.4f}, {found.nfev} evaluations"
    )
    print(
        "loss on new data: {:.4f} -> {:.4f}; of the truth {:.4f}".format(
            *(loss(w, *new) for w in (*fitted, truth))
        )
    )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(np.exp(common), curve, label="one penalty")
    left.axhline(found.fun, color="C1", label="eight penalties")
    left.set(xscale="log", xlabel="penalty", ylabel="validation loss")
    left.legend()
    middle.bar(np.arange(8), found.x / np.log(10), bottom=0, color="C1")
    middle.axhline(one[0] / np.log(10), label="one penalty")
    middle.set(xlabel="group, with true weights of the size", ylabel="log10 of the penalty")
    middle.set_xticks(np.arange(8), [f"{scale:g}" for scale in SCALES])
    middle.legend()
    for w, name in zip(fitted, ("one penalty", "eight penalties"), strict=True):
        right.plot(truth + 0.03 * rng.standard_normal(40), w, ".", label=name)
    right.plot([-2, 2], [-2, 2], "k", linewidth=0.5)
    right.set(xlabel="true weight (moved a little)", ylabel="estimate")
    right.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
