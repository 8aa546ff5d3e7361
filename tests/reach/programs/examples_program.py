"""Programs in the styles of autograd's examples: networks, processes, equations, rules of one's own."""

import itertools
from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import elementwise_grad, grad, hessian, jacobian, make_jvp, value_and_grad
from autograd.builtins import tuple as atuple
from autograd.extend import defvjp, primitive
from autograd.misc.fixed_points import fixed_point
from autograd.misc.flatten import flatten
from autograd.misc.optimizers import adam, rmsprop, sgd
from autograd.scipy.integrate import odeint
from autograd.scipy.signal import convolve
from autograd.scipy.special import logsumexp
from autograd.scipy.stats import multivariate_normal
from autograd.test_util import check_grads
from scipy.optimize import minimize

RESULTS: dict[str, Any] = {}
rng = npr.RandomState(0)

# A network, its parameters a list of pairs
sizes = [4, 8, 3]
layers = [(0.3 * rng.randn(m, n), 0.1 * rng.randn(n)) for m, n in itertools.pairwise(sizes)]
inputs, labels = rng.randn(20, 4), np.eye(3)[rng.randint(0, 3, 20)]


def predict(params: Any, x: Any) -> Any:
    for weights, bias in params:
        outputs = np.dot(x, weights) + bias
        x = np.tanh(outputs)
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def loss(params: Any, _: int = 0) -> Any:
    flat, _ = flatten(params)
    return 0.1 * np.dot(flat, flat) - np.sum(predict(params, inputs) * labels)


RESULTS["derivatives network"] = [flatten(grad(loss)(layers))[0]]
for optimiser in (adam, rmsprop, sgd):
    trained = optimiser(grad(loss), layers, num_iters=10, step_size=0.01)
    RESULTS[f"derivatives {optimiser.__name__}"] = [flatten(trained)[0]]

# A convolutional network
filters, images = 0.3 * rng.randn(1, 2, 3, 3), rng.randn(3, 1, 8, 8)


def convnet(params: Any) -> Any:
    maps = convolve(images, params, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
    pooled = np.max(np.max(maps.reshape((3, 2, 3, 2, 3, 2)), axis=3), axis=4)
    return np.sum(np.tanh(pooled) ** 2)


RESULTS["derivatives convnet"] = [np.ravel(grad(convnet)(filters))]

# A recurrent network, its parameters a dict
recurrent = {"start": 0.1 * rng.randn(1, 3), "change": 0.3 * rng.randn(6, 3)}
sequence = rng.randn(5, 4, 2)


def states(params: Any) -> Any:
    hidden, outputs = np.repeat(params["start"], 4, axis=0), []
    for x in sequence:
        hidden = np.tanh(np.concatenate((hidden, x, np.ones((4, 1))), axis=1) @ params["change"])
        outputs.append(hidden)
    return np.array(outputs)


RESULTS["derivatives recurrent"] = [flatten(grad(lambda p: np.sum(states(p) ** 2))(recurrent))[0]]

# A Gaussian process, and variational inference
points, heights = rng.randn(6, 2), rng.randn(6)


def process(params: Any) -> Any:
    scaled = points / np.exp(params[2:])
    squares = np.sum((np.expand_dims(scaled, 1) - np.expand_dims(scaled, 0)) ** 2, axis=2)
    covariance = np.exp(params[1]) * np.exp(-0.5 * squares) + 0.1 * np.eye(6)
    return multivariate_normal.logpdf(heights, params[0] * np.ones(6), covariance)


at = np.array([0.1, 0.2, 0.3, 0.4])
RESULTS["derivatives process"] = [grad(process)(at), np.ravel(hessian(process)(at))]


def bound(params: Any, step: int) -> Any:
    draws = npr.RandomState(step).randn(50, 2) * np.exp(params[2:]) + params[:2]
    density = norm.logpdf(draws[:, 0], 0, 1.35) + norm.logpdf(draws[:, 1], 0, np.exp(draws[:, 0]))
    return -np.mean(density) - np.sum(params[2:])


RESULTS["derivatives variational"] = [adam(grad(bound), at, num_iters=20, step_size=0.1)]


# Differential equations, a fluid, fixed points, a rule of one's own
def field(y: Any, t: Any, first: Any, second: Any) -> Any:
    return np.dot(np.tanh(np.dot(y, first)), second)


def path(params: Any) -> Any:
    times = np.linspace(0.0, 1.0, 4)
    return np.sum(odeint(field, np.array([1.0, 0.0]), times, atuple(params), rtol=1e-9, atol=1e-9) ** 2)


RESULTS["equation"] = [flatten(grad(path)((rng.randn(2, 3), rng.randn(3, 2))))[0]]


def fluid(field: Any) -> Any:
    for _ in range(5):
        sides = [np.roll(field, shift, axis=axis) for shift in (1, -1) for axis in (0, 1)]
        field = field + 0.1 * (sum(sides) - 4 * field)
    return np.sum(field**3)


RESULTS["derivatives fluid"] = [np.ravel(grad(fluid)(rng.randn(5, 6)))]


def root(a: Any) -> Any:
    return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: np.abs(x - y), 1e-12)


RESULTS["derivatives root"] = [[root(2.0), grad(root)(2.0), grad(grad(root))(2.0)]]


@primitive
def smooth_maximum(x: Any) -> Any:
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


defvjp(smooth_maximum, lambda ans, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, ans)))
check_grads(smooth_maximum, modes=["rev"])(at)
RESULTS["derivatives rule"] = [grad(smooth_maximum)(at), np.ravel(hessian(smooth_maximum)(at))]

# Matrices, complex numbers, nested derivatives, SciPy's optimiser
M = rng.randn(3, 3)
P = M @ M.T + np.eye(3)
RESULTS["derivatives matrices"] = [
    np.ravel(grad(f)(P))
    for f in (
        lambda a: np.linalg.slogdet(a)[1],
        lambda a: np.sum(np.linalg.cholesky(a) * M),
        lambda a: np.sum(np.linalg.eigh(a)[1] ** 3),
        lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 3),
        lambda a: np.sum(np.linalg.inv(a) * M),
    )
]
RESULTS["derivatives jacobian"] = [
    np.ravel(jacobian(np.linalg.inv)(P)),
    np.ravel(make_jvp(lambda a: np.tanh(a) @ a)(P)(M)[1]),
]
z = rng.randn(4) + 1j * rng.randn(4)
gradients = [
    grad(lambda z: np.sum(np.abs(np.fft.fft(z)) ** 3))(z),
    grad(lambda z: np.real(np.sum(z**2.5)))(z),
]
RESULTS["derivatives complex"] = [part for g in gradients for part in (np.real(g), np.imag(g))]
third = elementwise_grad(
    elementwise_grad(elementwise_grad(lambda x: (1 - np.exp(-2 * x)) / (1 + np.exp(-2 * x))))
)
RESULTS["derivatives third"] = [third(np.linspace(-2.0, 2.0, 7))]
kinks = np.array([0.0, 1.0, -1.0, 1.0])
RESULTS["derivatives kinks"] = [
    elementwise_grad(f)(kinks)
    for f in (
        np.abs,
        lambda x: np.maximum(x, 0.0),
        lambda x: np.clip(x, 0.0, 1.0),
        lambda x: np.where(x > 0, x, -x),
    )
] + [grad(np.max)(kinks), grad(lambda x: np.sort(x) @ at)(kinks)]


def valley(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


RESULTS["minimum"] = [minimize(value_and_grad(valley), np.zeros(4), jac=True, method="BFGS", tol=1e-9).x]
