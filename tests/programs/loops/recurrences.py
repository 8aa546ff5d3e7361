"""Recurrences over a series: filters, likelihoods, neurons and reservoirs."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw


def garch_likelihood(parameters, returns):
    omega, alpha, beta = parameters
    variance = omega / (1.0 - alpha - beta)
    total = 0.0
    for r in returns:
        total += math.log(variance) + r * r / variance
        variance = omega + alpha * r * r + beta * variance
    return 0.5 * total


def gjr_garch(parameters, returns):
    omega, alpha, gamma, beta = parameters
    variance = np.zeros(len(returns))
    variance[0] = np.var(returns)
    for t in range(1, len(returns)):
        shock = returns[t - 1] ** 2
        variance[t] = omega + alpha * shock + beta * variance[t - 1]
        if returns[t - 1] < 0:
            variance[t] += gamma * shock
    return 0.5 * np.sum(np.log(variance) + returns**2 / variance)


def arma_residuals(ar, ma, series):
    p, q = len(ar), len(ma)
    residuals = np.zeros(len(series))
    for t in range(len(series)):
        fitted = 0.0
        for i in range(p):
            if t - 1 - i >= 0:
                fitted += ar[i] * series[t - 1 - i]
        for j in range(q):
            if t - 1 - j >= 0:
                fitted += ma[j] * residuals[t - 1 - j]
        residuals[t] = series[t] - fitted
    return np.sum(residuals**2)


def kalman_filter(a, q, r, observations):
    mean, variance = 0.0, 1.0
    likelihood = 0.0
    for y in observations:
        mean = a * mean
        variance = a * a * variance + q
        if not np.isnan(y):
            innovation = y - mean
            s = variance + r
            gain = variance / s
            mean += gain * innovation
            variance *= 1.0 - gain
            likelihood -= 0.5 * (math.log(2.0 * math.pi * s) + innovation**2 / s)
    return likelihood


def kalman_tracking(a, h, q, r, observations):
    n = a.shape[0]
    x = np.zeros(n)
    p = np.eye(n)
    path = np.zeros((len(observations), n))
    for t, y in enumerate(observations):
        x = a @ x
        p = a @ p @ a.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        x = x + gain @ (y - h @ x)
        p = (np.eye(n) - gain @ h) @ p
        path[t] = x
    return path


def hidden_markov_forward(initial, transitions, emissions, symbols):
    states = len(initial)
    alpha = initial * emissions[:, symbols[0]]
    total = 0.0
    for t in range(1, len(symbols)):
        scale = 0.0
        for i in range(states):
            scale += alpha[i]
        total += math.log(scale)
        new = np.zeros(states)
        for j in range(states):
            for i in range(states):
                new[j] += alpha[i] / scale * transitions[i, j]
            new[j] *= emissions[j, symbols[t]]
        alpha = new
    return total + math.log(np.sum(alpha))


def baum_welch_step(initial, transitions, emissions, symbols):
    n, length = len(initial), len(symbols)
    alpha = np.zeros((length, n))
    beta = np.ones((length, n))
    scale = np.zeros(length)
    alpha[0] = initial * emissions[:, symbols[0]]
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, length):
        alpha[t] = (alpha[t - 1] @ transitions) * emissions[:, symbols[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    for t in range(length - 2, -1, -1):
        beta[t] = transitions @ (emissions[:, symbols[t + 1]] * beta[t + 1]) / scale[t + 1]
    counts = np.zeros((n, n))
    for t in range(length - 1):
        for i in range(n):
            for j in range(n):
                joint = alpha[t, i] * transitions[i, j] * emissions[j, symbols[t + 1]] * beta[t + 1, j]
                counts[i, j] += joint / scale[t + 1]
    return counts / counts.sum(axis=1, keepdims=True)


def echo_state(weights, inputs, leak):
    n = len(weights)
    state = np.zeros(n)
    states = []
    for u in inputs:
        state = (1.0 - leak) * state + leak * np.tanh(weights @ state + u)
        states.append(state)
    return np.array(states)


def leaky_neuron(current, threshold, leak):
    voltage = 0.0
    spikes = 0
    charge = 0.0
    for i in current:
        voltage += leak * (i - voltage)
        if voltage > threshold:
            spikes += 1
            charge += voltage - threshold
            voltage = 0.0
    return charge, spikes, voltage


def spiking_network(weights, current, steps):
    n = len(weights)
    v = np.zeros(n)
    refractory = np.zeros(n, dtype=np.int64)
    total = np.zeros(n)
    for _ in range(steps):
        fired = np.zeros(n)
        for i in range(n):
            if refractory[i] > 0:
                refractory[i] -= 1
                continue
            v[i] += 0.1 * (current[i] - v[i])
            if v[i] > 1.0:
                fired[i] = 1.0
                v[i] = 0.0
                refractory[i] = 3
        for i in range(n):
            if fired[i] > 0.0:
                for j in range(n):
                    v[j] += weights[i, j]
        total += v
    return total


def hodgkin_huxley(current, steps, dt=0.01):
    v, m, h, n = -65.0, 0.05, 0.6, 0.32
    trace = np.zeros(steps)
    for t in range(steps):
        am = 0.1 * (v + 40.0) / (1.0 - math.exp(-(v + 40.0) / 10.0))
        bm = 4.0 * math.exp(-(v + 65.0) / 18.0)
        ah = 0.07 * math.exp(-(v + 65.0) / 20.0)
        bh = 1.0 / (1.0 + math.exp(-(v + 35.0) / 10.0))
        an = 0.01 * (v + 55.0) / (1.0 - math.exp(-(v + 55.0) / 10.0))
        bn = 0.125 * math.exp(-(v + 65.0) / 80.0)
        sodium = 120.0 * m**3 * h * (v - 50.0)
        potassium = 36.0 * n**4 * (v + 77.0)
        leak = 0.3 * (v + 54.387)
        v += dt * (current - sodium - potassium - leak)
        m += dt * (am * (1.0 - m) - bm * m)
        h += dt * (ah * (1.0 - h) - bh * h)
        n += dt * (an * (1.0 - n) - bn * n)
        trace[t] = v
    return trace


def rainfall_runoff(parameters, rain, evaporation):
    capacity, exponent, slow, fast = parameters
    soil, ground, channel = 0.5 * capacity, 1.0, 0.0
    flow = np.zeros(len(rain))
    for t in range(len(rain)):
        excess = rain[t] * (soil / capacity) ** exponent
        soil += rain[t] - excess
        if soil > capacity:
            excess += soil - capacity
            soil = capacity
        soil -= min(soil, evaporation[t] * soil / capacity)
        percolation = slow * soil
        soil -= percolation
        ground += percolation
        base = slow * ground
        ground -= base
        channel += excess
        quick = fast * channel
        channel -= quick
        flow[t] = base + quick
    return flow


def snow_degree_day(melt, temperature, precipitation):
    pack, water = 0.0, 0.0
    for t in range(len(temperature)):
        if temperature[t] <= 0.0:
            pack += precipitation[t]
            continue
        melted = min(melt * temperature[t], pack)
        pack -= melted
        water += melted + precipitation[t]
    return water + 0.5 * pack


def holt_winters(series, alpha, beta, gamma, period):
    level = np.mean(series[:period])
    trend = 0.0
    season = series[:period] - level
    error = 0.0
    for t in range(period, len(series)):
        k = t % period
        forecast = level + trend + season[k]
        error += (series[t] - forecast) ** 2
        before = level
        level = alpha * (series[t] - season[k]) + (1.0 - alpha) * (level + trend)
        trend = beta * (level - before) + (1.0 - beta) * trend
        season[k] = gamma * (series[t] - level) + (1.0 - gamma) * season[k]
    return error


def regime_switching(series, means, stay):
    p = 0.5
    total = 0.0
    for y in series:
        prior = stay * p + (1.0 - stay) * (1.0 - p)
        first = prior * math.exp(-0.5 * (y - means[0]) ** 2)
        second = (1.0 - prior) * math.exp(-0.5 * (y - means[1]) ** 2)
        total += math.log(first + second)
        p = first / (first + second)
    return total


def biquad_cascade(signal, sections):
    out = signal.copy()
    for b0, b1, b2, a1, a2 in sections:
        x1 = x2 = y1 = y2 = 0.0
        for i in range(len(out)):
            x = out[i]
            y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
            x2, x1 = x1, x
            y2, y1 = y1, y
            out[i] = y
    return out


def series(n):
    return draw(n).normal(size=n)


def with_gaps(n):
    y = series(n)
    y[::5] = np.nan
    return 0.9, 0.3, 0.5, y


def tracking(n):
    a = np.array([[1.0, 0.1], [0.0, 0.95]])
    h = np.array([[1.0, 0.0]])
    return a, h, 0.1 * np.eye(2), np.array([[0.5]]), draw(n).normal(size=(n, 1))


def markov(n):
    rng = draw(n)
    transitions = 0.2 + rng.random((3, 3))
    emissions = 0.2 + rng.random((3, 4))
    transitions /= transitions.sum(axis=1, keepdims=True)
    emissions /= emissions.sum(axis=1, keepdims=True)
    return np.array([0.5, 0.3, 0.2]), transitions, emissions, rng.integers(0, 4, n)


def reservoir(n):
    rng = draw(n)
    size = min(max(n // 10, 4), 100)
    return 0.5 * rng.normal(size=(size, size)) / size**0.5, rng.normal(size=(n, size)), 0.3


def neurons(n):
    rng = draw(n)
    return 0.2 * rng.random((n, n)), 1.0 + rng.random(n), 20 * max(1, n // 10)


def weather(n):
    rng = draw(n)
    return np.array([10.0, 1.5, 0.05, 0.4]), 3.0 * rng.random(n) * (rng.random(n) > 0.5), rng.random(n)


SECTIONS = np.array([[0.2, 0.3, 0.2, -0.4, 0.2], [0.5, 0.1, 0.3, 0.2, 0.1]])

PROGRAMS = (
    Program(garch_likelihood, lambda n: (np.array([0.1, 0.1, 0.8]), series(n)), 12, 10_000),
    Program(gjr_garch, lambda n: (np.array([0.1, 0.1, 0.05, 0.8]), series(n)), 12, 10_000),
    Program(
        arma_residuals, lambda n: (np.array([0.5, 0.2]), np.array([0.3]), series(n)), 10, 10_000, wrt=(0, 1)
    ),
    Program(kalman_filter, with_gaps, 12, 10_000, wrt=(0, 1, 2)),
    Program(kalman_tracking, tracking, 8, 2000),
    Program(hidden_markov_forward, markov, 8, 2400, wrt=(0, 1, 2)),
    Program(baum_welch_step, markov, 8, 2400, wrt=(0, 1, 2)),
    Program(echo_state, reservoir, 8, 1000),
    Program(leaky_neuron, lambda n: (1.0 + np.abs(series(n)), 0.8, 0.3), 20, 50_000),
    Program(spiking_network, neurons, 5, 60, wrt=(0, 1)),
    Program(hodgkin_huxley, lambda n: (10.0, n), 12, 10_000, static=(1,)),
    Program(rainfall_runoff, weather, 12, 10_000),
    Program(snow_degree_day, lambda n: (0.5, series(n), np.abs(series(n + 1))), 12, 20_000),
    Program(holt_winters, lambda n: (series(n), 0.3, 0.1, 0.2, 4), 14, 10_000, wrt=(1, 2, 3), static=(4,)),
    Program(regime_switching, lambda n: (series(n), np.array([-0.5, 0.7]), 0.9), 12, 10_000, wrt=(1, 2)),
    Program(biquad_cascade, lambda n: (series(n), SECTIONS), 10, 20_000, wrt=(0, 1)),
)
