"""Programs of `tests.programs.loops` rewritten by hand for JAX: with its loops, its choices and without writes.

Each takes the arguments of the program of its name and returns what that returns. `jax.grad` does not go through a
``while_loop``, so those that use one have no gradient.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

# -- linear algebra ---------------------------------------------------------------------------------------


def thomas_solve(lower: Any, diagonal: Any, upper: Any, rhs: Any) -> Any:
    def eliminate(carry: Any, row: Any) -> Any:
        c, d = carry
        below, pivot, above, right = row
        pivot = pivot - below * c
        carry = above / pivot, (right - below * d) / pivot
        return carry, carry

    def substitute(x: Any, row: Any) -> Any:
        c, d = row
        x = d - c * x
        return x, x

    _, rows = lax.scan(eliminate, (0.0, 0.0), (lower.at[0].set(0.0), diagonal, upper, rhs))
    c, d = rows
    return lax.scan(substitute, 0.0, (c.at[-1].set(0.0), d), reverse=True)[1]


def conjugate_gradients(a: Any, b: Any, tolerance: float = 1e-10) -> Any:
    def goes_on(state: Any) -> Any:
        turn, _, _, _, square = state
        return (turn < 2 * len(b)) & (jnp.sqrt(square) >= tolerance)

    def turn(state: Any) -> Any:
        number, x, r, p, square = state
        ap = a @ p
        alpha = square / (p @ ap)
        r = r - alpha * ap
        new = r @ r
        return number + 1, x + alpha * p, r, r + (new / square) * p, new

    return lax.while_loop(goes_on, turn, (0, jnp.zeros_like(b), b, b, b @ b))[1]


# -- dynamic programming ----------------------------------------------------------------------------------


def floyd_warshall(lengths: Any) -> Any:
    def turn(d: Any, k: Any) -> Any:
        return jnp.minimum(d, d[:, k][:, None] + d[k, :][None, :]), None

    return lax.scan(turn, lengths, jnp.arange(len(lengths)))[0]


def optimal_stopping(rewards: Any, probabilities: Any, discount: Any) -> Any:
    def turn(value: Any, reward: Any) -> Any:
        stay = discount * (probabilities @ value)
        return jnp.where(reward >= stay, reward, stay), None

    return lax.scan(turn, rewards[-1], rewards[:-1], reverse=True)[0]


def global_alignment(scores: Any, gap: Any) -> Any:
    n = scores.shape[1]

    def row(previous: Any, given: Any) -> Any:
        number, line = given
        best = jnp.maximum(previous[:-1] + line, previous[1:] - gap)

        def element(left: Any, candidate: Any) -> Any:
            left = jnp.maximum(candidate, left - gap)
            return left, left

        first = -gap * (number + 1)
        return jnp.concatenate([first[None], lax.scan(element, first, best)[1]]), None

    begin = -gap * jnp.arange(n + 1.0)
    return lax.scan(row, begin, (jnp.arange(len(scores)), scores))[0][n]


# -- recurrences ------------------------------------------------------------------------------------------


def garch_likelihood(parameters: Any, returns: Any) -> Any:
    omega, alpha, beta = parameters

    def turn(carry: Any, r: Any) -> Any:
        variance, total = carry
        total = total + jnp.log(variance) + r * r / variance
        return (omega + alpha * r * r + beta * variance, total), None

    return 0.5 * lax.scan(turn, (omega / (1.0 - alpha - beta), 0.0), returns)[0][1]


def kalman_tracking(a: Any, h: Any, q: Any, r: Any, observations: Any) -> Any:
    n = a.shape[0]

    def turn(carry: Any, y: Any) -> Any:
        x, p = carry
        x = a @ x
        p = a @ p @ a.T + q
        gain = p @ h.T @ jnp.linalg.inv(h @ p @ h.T + r)
        x = x + gain @ (y - h @ x)
        return (x, (jnp.eye(n) - gain @ h) @ p), x

    return lax.scan(turn, (jnp.zeros(n), jnp.eye(n)), observations)[1]


def echo_state(weights: Any, inputs: Any, leak: Any) -> Any:
    def turn(state: Any, u: Any) -> Any:
        state = (1.0 - leak) * state + leak * jnp.tanh(weights @ state + u)
        return state, state

    return lax.scan(turn, jnp.zeros(len(weights)), inputs)[1]


def leaky_neuron(current: Any, threshold: Any, leak: Any) -> Any:
    def turn(carry: Any, i: Any) -> Any:
        voltage, spikes, charge = carry
        voltage = voltage + leak * (i - voltage)
        fires = voltage > threshold
        charge = charge + jnp.where(fires, voltage - threshold, 0.0)
        return (jnp.where(fires, 0.0, voltage), spikes + fires, charge), None

    voltage, spikes, charge = lax.scan(turn, (0.0, 0, 0.0), current)[0]
    return charge, spikes, voltage


def hodgkin_huxley(current: Any, steps: int, dt: float = 0.01) -> Any:
    def turn(state: Any, _: None) -> Any:
        v, m, h, n = state
        am = 0.1 * (v + 40.0) / (1.0 - jnp.exp(-(v + 40.0) / 10.0))
        bm = 4.0 * jnp.exp(-(v + 65.0) / 18.0)
        ah = 0.07 * jnp.exp(-(v + 65.0) / 20.0)
        bh = 1.0 / (1.0 + jnp.exp(-(v + 35.0) / 10.0))
        an = 0.01 * (v + 55.0) / (1.0 - jnp.exp(-(v + 55.0) / 10.0))
        bn = 0.125 * jnp.exp(-(v + 65.0) / 80.0)
        sodium = 120.0 * m**3 * h * (v - 50.0)
        potassium = 36.0 * n**4 * (v + 77.0)
        leak = 0.3 * (v + 54.387)
        v = v + dt * (current - sodium - potassium - leak)
        m = m + dt * (am * (1.0 - m) - bm * m)
        h = h + dt * (ah * (1.0 - h) - bh * h)
        n = n + dt * (an * (1.0 - n) - bn * n)
        return (v, m, h, n), v

    return lax.scan(turn, (-65.0, 0.05, 0.6, 0.32), length=steps)[1]


def regime_switching(series: Any, means: Any, stay: Any) -> Any:
    def turn(carry: Any, y: Any) -> Any:
        p, total = carry
        prior = stay * p + (1.0 - stay) * (1.0 - p)
        first = prior * jnp.exp(-0.5 * (y - means[0]) ** 2)
        second = (1.0 - prior) * jnp.exp(-0.5 * (y - means[1]) ** 2)
        return (first / (first + second), total + jnp.log(first + second)), None

    return lax.scan(turn, (0.5, 0.0), series)[0][1]


# -- iterations to convergence ----------------------------------------------------------------------------


def gaussian_mixture(data: Any, means: Any, turns: int) -> Any:
    n, k = len(data), len(means)

    def turn(state: Any, _: None) -> Any:
        means, variances, weights = state
        z = (data[:, None] - means) ** 2 / variances
        shares = weights * jnp.exp(-0.5 * z) / jnp.sqrt(variances)
        shares = shares / shares.sum(1, keepdims=True)
        mass = shares.sum(0)
        means = (shares * data[:, None]).sum(0) / mass
        variances = (shares * (data[:, None] - means) ** 2).sum(0) / mass
        return (means, variances, mass / n), None

    return lax.scan(turn, (means, jnp.ones(k), jnp.full(k, 1.0 / k)), length=turns)[0]


def k_means(points: Any, centres: Any) -> Any:
    k = len(centres)

    def turn(state: Any) -> Any:
        centres, labels, _ = state
        nearest = jnp.argmin(((points[:, None] - centres) ** 2).sum(-1), 1)
        chosen = nearest[:, None] == jnp.arange(k)
        counts = chosen.sum(0)[:, None]
        means = (chosen.T @ points) / jnp.maximum(counts, 1)
        return jnp.where(counts > 0, means, centres), nearest, jnp.any(nearest != labels)

    begin = centres, jnp.zeros(len(points), jnp.int64), True
    return lax.while_loop(lambda state: state[2], turn, begin)[0]


def bessel_series(order: Any, xs: Any) -> Any:
    def one(x: Any) -> Any:
        def turn(state: Any) -> Any:
            m, term, total = state
            term = term * -(x**2) / 4.0 / (m * (m + order))
            return m + 1, term, total + term

        term = (x / 2.0) ** order / jax.scipy.special.gamma(order + 1.0)
        return lax.while_loop(lambda s: abs(s[1]) > 1e-17 * abs(s[2]), turn, (1, term, term))[2]

    return jax.vmap(one)(xs)


# -- dynamics and stencils --------------------------------------------------------------------------------


def lorenz_runge_kutta(state: Any, rho: Any, steps: int) -> Any:
    def rate(s: Any) -> Any:
        x, y, z = s
        return jnp.array([10.0 * (y - x), x * (rho - z) - y, x * y - 8.0 / 3.0 * z])

    dt = 0.01

    def turn(state: Any, _: None) -> Any:
        k1 = rate(state)
        k2 = rate(state + 0.5 * dt * k1)
        k3 = rate(state + 0.5 * dt * k2)
        k4 = rate(state + dt * k3)
        return state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return lax.scan(turn, state, length=steps)[0]


def double_pendulum_leapfrog(angles: Any, steps: int) -> Any:
    def turn(state: Any, _: None) -> Any:
        q, p = state
        d = q[0] - q[1]
        force = jnp.array([2.0 * jnp.sin(q[0]) + 0.5 * jnp.sin(d), jnp.sin(q[1]) - 0.5 * jnp.sin(d)])
        p = p - 0.01 * force
        return (q + 0.01 * p, p), None

    return lax.scan(turn, (angles, jnp.zeros(2)), length=steps)[0][0]


def wave_equation(u: Any, speed: Any, steps: int) -> Any:
    c = speed[1:-1] * speed[1:-1]

    def turn(state: Any, _: None) -> Any:
        before, now = state
        inner = 2.0 * now[1:-1] - before[1:-1] + c * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        return (now, jnp.pad(inner, 1)), None

    return lax.scan(turn, (u, u), length=steps)[0][1]


def channel_flow(viscosity: Any, n: int) -> Any:
    def turn(state: Any) -> Any:
        u, _, steps = state
        inner = u[1:-1] + 0.2 * (viscosity * (u[:-2] - 2.0 * u[1:-1] + u[2:]) + 0.01)
        return jnp.pad(inner, 1), jnp.abs(inner - u[1:-1]).sum(), steps + 1

    return lax.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 5000), turn, (jnp.zeros(n), 1.0, 0))[0]


# -- decisions --------------------------------------------------------------------------------------------


def american_put(spot: Any, strike: Any, rate: Any, volatility: Any, expiry: Any, steps: int) -> Any:
    dt = expiry / steps
    up = jnp.exp(volatility * jnp.sqrt(dt))
    down = 1.0 / up
    p = (jnp.exp(rate * dt) - down) / (up - down)
    discount = jnp.exp(-rate * dt)
    i = jnp.arange(steps + 1)

    def turn(values: Any, n: Any) -> Any:
        hold = discount * (p * jnp.roll(values, -1) + (1.0 - p) * values)
        exercise = strike - spot * up**i * down ** (n - i)
        return jnp.where(i <= n, jnp.maximum(hold, exercise), values), None

    values = jnp.maximum(strike - spot * up**i * down ** (steps - i), 0.0)
    return lax.scan(turn, values, jnp.arange(steps - 1, -1, -1))[0][0]


def annealing(energies: Any, uniforms: Any, proposals: Any, temperature: Any) -> Any:
    def turn(carry: Any, given: Any) -> Any:
        state, mean, temperature = carry
        uniform, other = given
        difference = energies[other] - energies[state]
        moves = (difference < 0.0) | (uniform < jnp.exp(-difference / temperature))
        state = jnp.where(moves, other, state)
        return (state, mean + energies[state], temperature * 0.999), None

    begin = jnp.zeros((), proposals.dtype), 0.0, temperature
    return lax.scan(turn, begin, (uniforms, proposals))[0][1] / len(uniforms)


def bank_queue(arrivals: Any, services: Any, clerks: int) -> Any:
    def turn(carry: Any, given: Any) -> Any:
        free, waiting = carry
        arrival, service = given
        first = jnp.argmin(free)
        start = jnp.maximum(arrival, free[first])
        return (free.at[first].set(start + service), waiting + start - arrival), None

    return lax.scan(turn, (jnp.zeros(clerks), 0.0), (arrivals, services))[0][1] / len(arrivals)


PROGRAMS = {
    function.__name__: function
    for function in (
        *(thomas_solve, conjugate_gradients, floyd_warshall, optimal_stopping, global_alignment),
        *(garch_likelihood, kalman_tracking, echo_state, leaky_neuron, hodgkin_huxley, regime_switching),
        *(gaussian_mixture, k_means, bessel_series, lorenz_runge_kutta, double_pendulum_leapfrog),
        *(wave_equation, channel_flow, american_put, annealing, bank_queue),
    )
}
