"""Seven programs to explore. ``wengert explore examples/explorer/programs.py:product 1.0 2.0 -4.0`` writes a page."""

import numpy as np

from wengert import nn


def product(x, y, z):
    return (x + y) * z


def report(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def newton(a):
    """Return the square root of a."""
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def bouncing(height, speed):
    """Return the height of a ball after three seconds; it loses a fifth of its speed where it meets the ground."""
    for _ in range(60):
        speed = speed - 0.05 * 9.81
        height = height + 0.05 * speed
        if height < 0.0:
            height, speed = -height, -0.8 * speed
    return height


def network(params, x, y):
    """Return the error of a network with one hidden layer."""
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    output = hidden @ params["w2"] + params["b2"]
    return np.mean((output - y) ** 2)


def cnn(model, images, labels):
    """Return the error of the papers' convolutional network."""
    conv1, relu, pool, conv2, _, _, flatten, dense, _, last = model.layers
    first = pool(relu(conv1(images)))
    second = pool(relu(conv2(first)))
    hidden = relu(dense(flatten(second)))
    logits = last(hidden)
    return nn.softmax_cross_entropy(logits, labels)


def kalman(q, r, data):
    """Return the negative log-likelihood of noisy positions of a body of nearly constant velocity."""
    transition = np.array([[1.0, 1.0], [0.0, 1.0]])
    state, cov = np.zeros(2), np.eye(2)
    total = 0.0
    for z in data:
        state = transition @ state
        cov = transition @ cov @ transition.T + q * np.eye(2)
        variance = cov[0, 0] + r
        gain = cov[:, 0] / variance
        error = z - state[0]
        total = total + 0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
        state = state + gain * error
        cov = cov - np.outer(gain, cov[0])
    return total
