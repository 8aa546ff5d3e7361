"""Stencils, scans of scalars and of small states, loops that end by a condition, particles."""

from __future__ import annotations

from typing import Any

from areas.families import Case, Draw, family

DERIVATIVES = ("", "gradient")


def _repeated(xp: Any, step: Any, state: Any, count: int) -> Any:
    return xp.scan(lambda state, _: (step(state), None), state, None, count)[0]


@family(
    shape=((20,), (10, 12), (10000,), (128, 128), (512, 512), (24, 24, 24)),
    steps=(5, 50),
    derivative=DERIVATIVES,
)
def heat_equation(draw: Draw, shape: tuple[int, ...], steps: int, derivative: str) -> Case:
    rank = len(shape)
    middle = (slice(1, -1),) * rank

    def step(xp: Any, u: Any) -> Any:
        change = -2 * rank * u[middle]
        for axis in range(rank):
            for side in (slice(2, None), slice(None, -2)):
                change = change + u[(*middle[:axis], side, *middle[axis + 1 :])]
        return xp.pad_by_one(u[middle] + 0.1 * change)

    def program(xp: Any, u: Any) -> Any:
        u = _repeated(xp, lambda u: step(xp, u), u, steps)
        return xp.sum(u**2) if derivative else u

    return Case(program, (draw(*shape, dtype="f8"),), derivative)


@family(shape=((10, 12), (200, 200)), steps=(5, 100), derivative=DERIVATIVES)
def periodic_wave(draw: Draw, shape: tuple[int, int], steps: int, derivative: str) -> Case:
    def program(xp: Any, u: Any, v: Any) -> Any:
        def step(state: Any) -> Any:
            u, v = state
            neighbours = sum(xp.roll(u, shift, axis) for axis in (0, 1) for shift in (1, -1))
            v = v + 0.1 * (neighbours - 4 * u)
            return u + 0.1 * v, v

        u, v = _repeated(xp, step, (u, v), steps)
        return xp.sum(u * v) if derivative else (u, v)

    return Case(program, (draw(*shape, dtype="f8"), draw(*shape, dtype="f8")), derivative)


@family(steps=(20, 1000), derivative=DERIVATIVES)
def epidemic(draw: Draw, steps: int, derivative: str) -> Case:
    """The SIR model by Euler's method: a scan of three scalars."""

    def program(xp: Any, rates: Any) -> Any:
        infection, recovery = rates[0], rates[1]

        def step(state: Any) -> Any:
            s, i, r = state
            infected, recovered = 0.1 * infection * s * i, 0.1 * recovery * i
            return s - infected, i + infected - recovered, r + recovered

        one = rates[0] * 0 + 1.0
        s, i, r = _repeated(xp, step, (0.99 * one, 0.01 * one, 0.0 * one), steps)
        return s * s + 2 * i + r

    return Case(program, (abs(draw(2, dtype="f8", scale=0.3)),), derivative)


@family(bodies=(3, 20, 200), steps=(3, 20), derivative=DERIVATIVES)
def gravitation(draw: Draw, bodies: int, steps: int, derivative: str) -> Case:
    def program(xp: Any, x: Any, v: Any) -> Any:
        def step(state: Any) -> Any:
            x, v = state
            d = x[None] - x[:, None]
            v = v + 1e-3 * xp.sum(d * (xp.sum(d * d, -1) + 0.1)[:, :, None] ** -1.5, 1)
            return x + 1e-3 * v, v

        x, v = _repeated(xp, step, (x, v), steps)
        return xp.sum(x * v) if derivative else (x, v)

    return Case(program, (draw(bodies, 3, dtype="f8"), draw(bodies, 3, dtype="f8")), derivative)


@family(oscillators=(5, 1000), steps=(5, 100), derivative=DERIVATIVES)
def runge_kutta(draw: Draw, oscillators: int, steps: int, derivative: str) -> Case:
    """Van der Pol's oscillators by the method of Runge and Kutta of order 4."""

    def program(xp: Any, x: Any, v: Any, stiffness: Any) -> Any:
        def slope(state: Any) -> Any:
            x, v = state
            return v, stiffness * (1 - x * x) * v - x

        def moved(state: Any, change: Any, h: float) -> Any:
            return tuple(s + h * c for s, c in zip(state, change, strict=True))

        def step(state: Any) -> Any:
            a = slope(state)
            b = slope(moved(state, a, 0.01))
            c = slope(moved(state, b, 0.01))
            d = slope(moved(state, c, 0.02))
            parts = zip(state, a, b, c, d, strict=True)
            return tuple(s + (0.02 / 6) * (a + 2 * b + 2 * c + d) for s, a, b, c, d in parts)

        x, v = _repeated(xp, step, (x, v), steps)
        return xp.sum(x**2) if derivative else (x, v)

    arguments = tuple(draw(oscillators, dtype="f8") for _ in range(3))
    return Case(program, arguments, derivative, (2,))


@family(tolerance=(1e-2, 1e-6), size=(1, 300))
def damped_iteration(draw: Draw, tolerance: float, size: int) -> Case:
    """A fixed point ``x = cos(0.9 x + a)`` by damped iteration, until the change is small."""

    def program(xp: Any, a: Any) -> Any:
        def body(state: Any) -> Any:
            x, _ = state
            following = 0.9 * x + 0.1 * xp.cos(0.9 * x + a)
            return following, xp.amax(xp.abs(following - x))

        start = (0 * a, xp.amax(xp.abs(a)) + 1.0)
        return xp.while_loop(lambda state: state[1] > tolerance, body, start)[0]

    return Case(program, (draw(size, dtype="f8"),))


@family(outer=(10, 300), tolerance=(1e-3, 1e-9))
def nested_loops(draw: Draw, outer: int, tolerance: float) -> Case:
    """Square roots by Newton's method in a loop over numbers."""

    def program(xp: Any, numbers: Any) -> Any:
        def root(total: Any, a: Any) -> Any:
            x = xp.while_loop(lambda x: xp.abs(x * x - a) > tolerance, lambda x: 0.5 * (x + a / x), a + 1.0)
            return total + x, x

        return xp.scan(root, numbers[0] * 0, numbers, None)

    return Case(program, (abs(draw(outer, dtype="f8")) + 0.1,))


@family(steps=(10, 1000), states=(3, 16), derivative=DERIVATIVES)
def hidden_markov_model(draw: Draw, steps: int, states: int, derivative: str) -> Case:
    """The forward algorithm in logarithms."""

    def program(xp: Any, transitions: Any, scores: Any) -> Any:
        logarithms = xp.log_softmax(transitions, 1)

        def step(alpha: Any, score: Any) -> Any:
            return xp.logsumexp(alpha[:, None] + logarithms, (0,)) + score, None

        alpha, _ = xp.scan(step, scores[0], scores[1:], None)
        return xp.logsumexp(alpha, (0,))

    return Case(program, (draw(states, states, dtype="f8"), draw(steps, states, dtype="f8")), derivative)
