"""Functions of the user's that the library calls, with bodies that need a second run: plain imports, `math`, writes.

Each public function with a parameter that is a function has a case here, or says where it is tested.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import fit, implicit, integrate, optimize
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.scipy import integrate as of_scipy

sys.path.append(str(Path(__file__).parents[3] / "docs" / "_extensions"))

import reference  # pyright: ignore[reportMissingImports]

START, P = np.array([0.5, 1.2]), 0.5
NEAR = np.array([0.02, 0.52])
"""A start near the minimum of `bowl`."""
Case = Callable[[Any], Any]


def decay(x: Any) -> Any:
    """Return a number that NumPy and `math` would lose."""
    return np.array([math.exp(-x)])[0] * np.ones(1)[0]


def pair(first: Any, second: Any) -> Any:
    values = np.zeros(2)
    values[0], values[1] = first, second
    return values


def bowl(x: Any, p: Any) -> Any:
    return pair(math.exp(x[0]) - 2.0 * x[0] * p, (x[1] - p) ** 2).sum()


def pendulum(t: Any, y: Any, p: Any) -> Any:
    return pair(y[1], -p * math.sin(y[0]))


def falls(t: Any, y: Any, p: Any) -> Any:
    return np.array([math.sin(y[0]) * 1.0])[0]


setattr(falls, "terminal", True)  # noqa: B010


def log_density(q: Any) -> Any:
    return -pair(math.cosh(q[0]) - 1.0, q[1] ** 2).sum()


def drawn(sampler: Any) -> Any:
    samples = sampler(lambda q: log_density(q), START, wg.random.key(0), draws=4, warmup=4, chains=1)
    return samples.ess.sum() * 0.0


def with_rule(p: Any, reverse: bool) -> Any:
    if reverse:
        function = wg.custom_vjp(lambda x: decay(x))
        function.defvjp(lambda x: (decay(x), x), lambda x, g: (-decay(x) * g,))
    else:
        function = wg.custom_jvp(lambda x: decay(x))
        function.defjvp(lambda x, v: (decay(x[0]), -decay(x[0]) * v[0]))
    return function(p)


#: A number that depends on p, smoothly, by each function.
SMOOTH: dict[str, Case] = {
    "linalg.matrix_function": lambda p: wg.linalg.matrix_function(
        lambda w: np.array([np.exp(-w)])[0], p * np.array([[2.0, 1.0], [1.0, 3.0]])
    ).sum(),
    "cond": lambda p: (
        wg.cond(p > 0, lambda x: decay(x), lambda x: x, p) + wg.cond(p < 0, lambda x: x, decay, p)
    ),
    "fori_loop": lambda p: wg.fori_loop(0, 3, lambda i, c: decay(c), p),
    "while_loop": lambda p: wg.while_loop(
        lambda c: np.array([math.exp(c[1])])[0] < 9.0, lambda c: (c[0] + decay(p), c[1] + 1.0), (p, 1.0)
    )[0],
    "scan": lambda p: wg.scan(lambda c, y: (decay(c), pair(c, y).sum()), p, START)[1].sum(),
    "checkpoint": lambda p: wg.checkpoint(lambda x: decay(x))(p),
    "custom_jvp": lambda p: with_rule(p, False),
    "custom_vjp": lambda p: with_rule(p, True),
    "linear_solve": lambda p: wg.linear_solve(
        lambda v: np.array([2.0 * v[0] + math.exp(p) * v[1] * 0.1, 3.0 * v[1]]), START
    )[0],
    "implicit.root": lambda p: implicit.root(
        lambda x, p: pair(math.exp(x[0]) - p, x[1] - p), START, args=(p,)
    ).sum(),
    "implicit.fixed_point": lambda p: implicit.fixed_point(lambda x, p: decay(x * p), 0.5, args=(p,)),
    "implicit.minimum": lambda p: implicit.minimum(bowl, START, args=(p,)).sum(),
    "integrate.solve_ivp": lambda p: integrate.solve_ivp(pendulum, (0.0, 1.0), START, "DOP853", args=(p,)).y[
        0, -1
    ],
    "integrate.solve_ivp of stiff equations": lambda p: integrate.solve_ivp(
        pendulum, (0.0, 1.0), START, "Rodas5P", args=(p,), rtol=1e-8, atol=1e-8
    ).y[0, -1],
    "integrate.odeint": lambda p: integrate.odeint(pendulum, START, [0.0, 1.0], (p,), tfirst=True)[1, 0],
    "integrate.solve_ivp with events": lambda p: integrate.solve_ivp(
        pendulum, (0.0, 9.0), START, "Tsit5", args=(p,), events=[falls], rtol=1e-8, atol=1e-8
    ).t_events[0][0],
    "integrate.solve_dde": lambda p: integrate.solve_dde(
        lambda t, y, past: pair(-p * math.sin(past[0][0]), y[0]),
        (0.0, 1.5),
        lambda t: pair(math.cos(t), 1.0),
        [1.0],
        steps=30,
    ).y[0, -1],
    "integrate.solve_sde": lambda p: integrate.solve_sde(
        lambda t, y: pair(-p * math.sin(y[0]), y[0]),
        lambda t, y: pair(0.1 * math.cos(y[0]), 0.0),
        (0.0, 1.0),
        START,
        wg.random.key(0),
        steps=10,
    ).y[0, -1],
    "integrate.quad": lambda p: integrate.quad(lambda t: decay(p * t), 0.0, 1.0)[0],
    "integrate.cubature": lambda p: (
        integrate.cubature(lambda x: np.array([np.exp(-p * x[:, 0])])[0], [0.0], [1.0]).estimate
    ),
    "optimize.lbfgs": lambda p: optimize.lbfgs(bowl, NEAR, args=(p,), gtol=1e-10, ftol=0.0).x.sum(),
    "optimize.levenberg_marquardt": lambda p: optimize.levenberg_marquardt(
        lambda x, p: np.array([x[0] - p, x[1] * x[0] - np.sin(p)]), NEAR, args=(p,)
    ).x.sum(),
    "optimize.newton_cg": lambda p: optimize.newton_cg(bowl, NEAR, args=(p,)).x.sum(),
}
#: A number by each function that has no derivative with respect to p.
PLAIN: dict[str, Case] = {
    "optimize.minimize": lambda p: optimize.minimize(
        lambda x: bowl(x, p), START, callback=lambda r: decay(0.0)
    ).x[0],
    "optimize.minimize with constraints": lambda p: optimize.minimize(
        lambda x: bowl(x, p),
        START,
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda x: np.array([math.exp(x[0]) - 1.2])}],
    ).x[0],
    "optimize.least_squares": lambda p: optimize.least_squares(
        lambda x: pair(math.exp(x[0]) - p, x[1]), START
    ).x[0],
    "optimize.curve_fit": lambda p: optimize.curve_fit(
        lambda t, a: np.array([a * math.exp(-p)])[0] * t, np.arange(4.0), np.arange(4.0), [1.0]
    )[0][0],
    "optimize.root": lambda p: optimize.root(lambda x: pair(math.exp(x[0]) - p, x[1]), START).x[0],
    **{
        f"optimize.root_scalar by {method}": lambda p, method=method, bracket=bracket: (
            optimize.root_scalar(
                lambda x: np.array([math.exp(x) - p])[0], x0=0.0, bracket=bracket, method=method
            ).root
        )
        for method, bracket in {"newton": None, "halley": None, "brentq": (-3.0, 3.0)}.items()
    },
    "optimize.problem": lambda p: optimize.problem(lambda x: bowl(x, p), START).jac(START)[0],
    "integrate.fixed_quad": lambda p: of_scipy.fixed_quad(lambda t: np.array([np.exp(-p * t)])[0], 0.0, 1.0)[
        0
    ],
    "fit.laplace": lambda p: fit.laplace(lambda q: log_density(q), START).log_evidence,
    "fit.hmc": lambda p: drawn(fit.hmc),
    "fit.nuts": lambda p: drawn(fit.nuts),
    "fit.mle": lambda p: fit.mle(
        lambda q, d: -0.5 * (d - q[0]) ** 2 * math.exp(-q[1]) - pair(q[1], 0.0).sum() / 2,
        np.arange(5.0),
        START,
    ).estimates[0],
}
_OF_NUMBERS = "grad value_and_grad jacobian jacfwd jacrev hessian jit laplacian trace source vmap".split()  # noqa: SIM905
#: Transforms of a function of numbers: `test_substitution` has their values.
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda f, name=name: getattr(wg, name)(f)(START) for name in _OF_NUMBERS},
    "derivative": lambda f: wg.derivative(decay)(P),
    "jvp": lambda f: wg.jvp(f, (START,), (START,)),
    "vjp": lambda f: wg.vjp(f, START),
    "linearize": lambda f: wg.linearize(f, START),
    "hvp": lambda f: wg.hvp(f)(START, START),
    "hessp": lambda f: wg.hessp(f)(START, START),
    "jet": lambda f: wg.jet(f, (START,), ((START,),)),
    "gnvp": lambda f: wg.gnvp(lambda x: pair(math.exp(x[0]), x[1]), loss=f)(START, START),
    "check_grads": lambda f: wg.check_grads(f, (START,), order=1),
    "sparse_jacobian": lambda f: wg.sparse_jacobian(lambda x: pair(math.exp(x[0]), x[1]))(START),
    "sparse_hessian": lambda f: wg.sparse_hessian(f)(START),
}
ELSEWHERE = {
    "autograd.primitive": "its function gets plain values",
    "autograd.extend.primitive": "its function gets plain values",
    **dict.fromkeys(
        ("interop.from_jax", "interop.from_torch", "interop.to_jax", "interop.to_torch", "interop.as_op"),
        "tests/interop and tests/reach",
    ),
    "explore": "it calls the function as `trace` does",
    "export": "it compiles the function as `jit` does",
    "optimize.low_level_callable": "it compiles the function as `jit` does",
    "parallel.map": "it calls the function in other processes, without a transform",
}
#: Rooms whose functions take layers, schedules and settings, which are written for Wengert.
ROOMS = "nn optim train data predict report estimators numpy array_api bench scipy tree".split()  # noqa: SIM905


def public_functions() -> set[str]:
    """Return the public functions that take a function of the user's."""
    names = set[str]()
    entries: Any = reference.entries()
    for entry in entries:
        room: str = entry.module.removeprefix("wengert").removeprefix(".")
        if room.partition(".")[0] in ROOMS or isinstance(entry.value, type) or not callable(entry.value):
            continue
        annotations = [str(p.annotation) for p in inspect.signature(entry.value).parameters.values()]
        if any("Callable" in annotation for annotation in annotations):
            names.add(entry.name if hasattr(wg, entry.name) else f"{room}.{entry.name}")
    return names


def test_each_public_function_that_takes_a_function_has_a_case() -> None:
    tested = {name.partition(" ")[0] for name in (*SMOOTH, *PLAIN)}
    assert public_functions() - tested - TRANSFORMS.keys() - ELSEWHERE.keys() == set()


#: Functions that compile a program in each plain call, and none on duals.
COMPILING = ("optimize.lbfgs", "optimize.levenberg_marquardt", "optimize.newton_cg")


def slope_of(name: str) -> float:
    case = SMOOTH[name]
    at = (lambda p: wg.jvp(case, (p,), (0.0,))[0]) if name in COMPILING else case
    return float(at(P + 1e-5) - at(P - 1e-5)) / 2e-5


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_slopes(name: str) -> None:
    case = SMOOTH[name]
    value, slope = float(case(P)), slope_of(name)
    np.testing.assert_allclose(wg.value_and_grad(case)(P), (value, slope), rtol=2e-5)
    np.testing.assert_allclose(wg.jvp(case, (P,), (1.0,))[1], slope, rtol=2e-5)


@pytest.mark.parametrize("name", PLAIN)
def test_values(name: str) -> None:
    assert np.isfinite(float(PLAIN[name](P)))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    TRANSFORMS[name](lambda x: bowl(x, P) if np.ndim(x) else decay(x))


def test_a_write_of_the_first_try_does_not_reach_the_second() -> None:
    def doubled(y: Any) -> Any:
        y *= 2.0
        return np.array([math.exp(-y[0]), y[1]])

    @with_callbacks
    def applied(function: Any, y: Any) -> Any:
        return function(y * 1.0)

    expected = np.array([[-2.0 * np.exp(-2.0 * START[0]), 0.0], [0.0, 2.0]])
    np.testing.assert_allclose(wg.jacobian(lambda y: applied(doubled, y))(START), expected)
