"""Problems of pymanopt: gradients, Hessians and minima on manifolds, real and complex."""

from typing import Any

import autograd.numpy as anp
import numpy as np
import pymanopt
from pymanopt import manifolds, optimizers

RESULTS: dict[str, Any] = {}
rng = np.random.default_rng(0)
A = rng.normal(size=(6, 6))
A = A + A.T
S = A @ A.T + np.eye(6)
C = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))
samples = np.append(rng.normal(size=(30, 2)), 0.5 * rng.normal(size=(30, 2)) + 3.0, axis=0)


def real(value: Any) -> Any:
    parts = [np.ravel(part) for part in (value if isinstance(value, (list, tuple)) else [value])]
    return np.concatenate([np.concatenate([part.real, part.imag]) for part in parts])


def add(name: str, manifold: Any, cost: Any, optimizer: Any) -> None:
    problem = pymanopt.Problem(manifold, pymanopt.function.autograd(manifold)(cost))
    np.random.seed(0)
    x = manifold.random_point()
    v = manifold.random_tangent_vector(x)
    gradients = [problem.euclidean_gradient(x), problem.riemannian_gradient(x)]
    RESULTS[f"derivatives {name}"] = list(map(real, gradients))
    if not name.startswith("mixture"):
        RESULTS[f"derivatives {name}"].append(real(problem.riemannian_hessian(x, v)))
    RESULTS[name] = [[optimizer.run(problem, initial_point=x).cost]]


def mixture(S: Any, v: Any) -> Any:
    """Return the negative likelihood of a mixture of two Gaussians."""
    y = anp.expand_dims(anp.concatenate([samples.T, anp.ones((1, len(samples)))], axis=0), 0)
    solved = anp.linalg.solve(S, anp.tile(y, [2, 1, 1]))
    logs = -0.5 * (anp.sum(y * solved, axis=1) + anp.expand_dims(anp.linalg.slogdet(S)[1], 1))
    shares = anp.exp(anp.append(v, 0))
    return -anp.sum(anp.log(anp.sum(anp.expand_dims(shares / anp.sum(shares), 1) * anp.exp(logs), axis=0)))


descent = optimizers.SteepestDescent(verbosity=0, max_iterations=15)
region = optimizers.TrustRegions(verbosity=0, max_iterations=15)
add("sphere", manifolds.Sphere(6), lambda x: -x @ A @ x, region)
add("stiefel", manifolds.Stiefel(6, 2), lambda X: -anp.trace(X.T @ A @ X @ anp.diag([1.0, 2.0])), region)
add(
    "positive",
    manifolds.SymmetricPositiveDefinite(6),
    lambda X: anp.linalg.norm(X - S) ** 2 - anp.linalg.slogdet(X)[1],
    descent,
)
add(
    "product",
    manifolds.Product([manifolds.Euclidean(3), manifolds.Sphere(3)]),
    lambda a, b: anp.sum((a - b) ** 2),
    region,
)
add("circle", manifolds.ComplexCircle(4), lambda z: anp.sum(anp.abs(z - C[0]) ** 2), region)
add("unitary", manifolds.UnitaryGroup(4), lambda U: anp.real(anp.trace(anp.conj(U).T @ C @ U @ C)), descent)
add(
    "mixture",
    manifolds.Product([manifolds.SymmetricPositiveDefinite(3, k=2), manifolds.Euclidean(1)]),
    mixture,
    descent,
)
