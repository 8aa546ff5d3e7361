"""The gradient of an autoencoder from its goal function alone, and what some steps along it do to the error."""

import numpy as np

import wengert as wg
from wengert.data import digits


def autoencoder_error(We1, We2, Wd, b1, b2, x):
    first_layer = 1 / (1 + np.exp(-We1 @ x - b1))
    encoded = 1 / (1 + np.exp(-We2 @ first_layer - b2))
    reconstructed = 1 / (1 + np.exp(-Wd @ encoded))
    return np.sum((x - reconstructed) ** 2)


rng = np.random.default_rng(0)
We1, We2, Wd = (0.1 * rng.standard_normal(shape) for shape in ((300, 784), (100, 300), (784, 100)))
b1, b2 = np.zeros(300), np.zeros(100)
images, _ = digits(200, seed=1)
inputs = images.reshape(-1, 784) / 255

# Everything but the input is differentiated.
gradient = wg.value_and_grad(autoencoder_error, argnums=(0, 1, 2, 3, 4))

parameters = (We1, We2, Wd, b1, b2)
errors = []
for x in inputs:
    error, derivatives = gradient(*parameters, x)
    parameters = tuple(p - 0.02 * d for p, d in zip(parameters, derivatives, strict=True))
    errors.append(error)

print("shapes of the gradient:", [d.shape for d in derivatives])
print(f"squared error of a picture: {np.mean(errors[:20]):.1f} in the first 20 steps,", end=" ")
print(f"{np.mean(errors[-20:]):.1f} in the last 20")
