"""High derivatives and Laplacians against JAX, on one thread: its Taylor mode, nested derivatives, and Hessians.

The libraries take turns in one process (turns.py). JAX and folx, a forward Laplacian for JAX, are left out where they
are not installed. With `--write` the tables in docs/measurements.md are replaced.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

from tables import replace_table
from turns import Workload, compare, jax, jnp  # before NumPy: it limits the threads

import numpy as np  # isort: skip

import wengert as wg


def wave(xp: Any) -> Callable[[Any], Any]:
    return lambda t: xp.sin(t) ** 2.5 / (1 + xp.exp(t) * t) + xp.tanh(t * t)


def network(xp: Any, inputs: int, width: int) -> Callable[[Any], Any]:
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((inputs, width)) / 4, rng.standard_normal((width, width)) / 8
    third = rng.standard_normal(width)
    return lambda x: xp.tanh(xp.tanh(x @ first) @ second) @ third


def nested(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    for _ in range(order):
        function = jax.grad(function)
    return function


def by_jet(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    from jax.experimental.jet import jet

    return lambda t: jet(function, (t,), ((1.0, *[0.0] * (order - 1)),))[1][-1]


def pendulum(xp: Any, loop: Callable[..., Any], steps: int) -> Callable[[Any], Any]:
    """Return the angle of a pendulum after some steps, as a function of its first angle."""

    def step(i: Any, state: Any) -> Any:
        angle, speed = state
        speed = speed - 0.01 * xp.sin(angle)
        return angle + 0.01 * speed, speed

    return lambda angle: loop(0, steps, step, (angle, 0.0 * angle))[0]


def pushed(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    for _ in range(order):
        function = lambda t, f=function: jax.jvp(f, (t,), (1.0,))[1]  # noqa: E731
    return function


def loops(steps: int, points: int, order: int) -> Workload:
    """Return the derivative of one order through a loop; JAX's Taylor mode has no rule for loops."""
    ours = wg.jit(wg.vmap(wg.derivative(pendulum(np, wg.fori_loop, steps), order=order)))
    peers = {}
    if jax:
        peers["JAX, nested jvp"] = jax.jit(jax.vmap(pushed(pendulum(jnp, jax.lax.fori_loop, steps), order)))
    name = f"derivative of order {order} of {steps} steps, {points} points"
    return Workload(name, ours, peers, (np.linspace(0.5, 1.0, points),))


def derivatives(points: int, order: int) -> Workload:
    """Return the derivative of one order at many points."""
    ours = wg.jit(wg.vmap(wg.derivative(wave(np), order=order)))
    peers = {}
    if jax:
        peers["JAX, nested"] = jax.jit(jax.vmap(nested(wave(jnp), order)))
        peers["JAX, jet"] = jax.jit(jax.vmap(by_jet(wave(jnp), order)))
    return Workload(
        f"derivative of order {order}, {points} points", ours, peers, (np.linspace(0.5, 1.0, points),)
    )


def laplacian(inputs: int, width: int, batch: int) -> Workload:
    """Return the Laplacians of a network of two layers at many points."""
    ours = wg.jit(wg.vmap(wg.laplacian(network(np, inputs, width))))
    peers = {}
    if jax:
        f = network(jnp, inputs, width)
        peers["JAX, Hessian"] = jax.jit(jax.vmap(lambda x: jnp.trace(jax.hessian(f)(x))))
        if importlib.util.find_spec("folx"):
            forward = importlib.import_module("folx").forward_laplacian(f)
            peers["JAX, folx"] = jax.jit(jax.vmap(lambda x: forward(x).laplacian))
    x = np.random.default_rng(1).standard_normal((batch, inputs))
    return Workload(f"Laplacian of {inputs} inputs, {width} wide, {batch} points", ours, peers, (x,))


TABLES: dict[str, Callable[[], list[Workload]]] = {
    "higher order": lambda: [derivatives(1000, order) for order in (2, 4, 6, 8)],
    "laplacians": lambda: [
        laplacian(inputs, width, 64) for inputs, width in ((3, 32), (10, 64), (50, 64), (100, 128))
    ],
    "higher order loops": lambda: [loops(1000, 100, order) for order in (1, 2, 3, 4, 5, 6)],
}


def first_call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    start = time.process_time()
    result = function(*arguments)
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()
    return time.process_time() - start


def table(workloads: list[Workload], turns: int) -> str:
    lines = [
        "| workload | first call, s | time, µs | peer | first call, s | time, µs | faster by |",
        "|---|---:|---:|---|---:|---:|---:|",
    ]
    for workload in workloads:
        given = workload.arguments
        mine = first_call(workload.wengert, given)
        theirs = {
            name: first_call(peer, tuple(map(jnp.asarray, given))) for name, peer in workload.peers.items()
        }
        own, others = compare(workload, turns)
        for name, (microseconds, ratio) in (others or {"": (float("nan"), float("nan"))}).items():
            cells = f"{workload.name} | {mine:.2f} | {own:,.0f} | {name}"
            lines.append(f"| {cells} | {theirs.get(name, 0.0):.2f} | {microseconds:,.0f} | {ratio:.1f} x |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    parser.add_argument("--only", choices=TABLES, nargs="+", default=list(TABLES), help="some of the tables")
    arguments = parser.parse_args()
    for name in arguments.only:
        text = table(TABLES[name](), arguments.turns)
        if arguments.write:
            replace_table("measurements.md", name, text)


if __name__ == "__main__":
    main()
