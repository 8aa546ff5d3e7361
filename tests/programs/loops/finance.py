"""Option lattices, bonds, and paths with early exercise and barriers."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw


def american_put(spot, strike, rate, volatility, expiry, steps):
    dt = expiry / steps
    up = math.exp(volatility * math.sqrt(dt))
    down = 1.0 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    discount = math.exp(-rate * dt)
    values = np.zeros(steps + 1)
    for i in range(steps + 1):
        values[i] = max(strike - spot * up**i * down ** (steps - i), 0.0)
    for n in range(steps - 1, -1, -1):
        for i in range(n + 1):
            hold = discount * (p * values[i + 1] + (1.0 - p) * values[i])
            exercise = strike - spot * up**i * down ** (n - i)
            values[i] = max(hold, exercise)
    return values[0]


def binomial_by_slices(spot, strike, rate, volatility, steps):
    dt = 1.0 / steps
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    prices = spot * up ** (2.0 * np.arange(steps + 1) - steps)
    values = np.maximum(prices - strike, 0.0)
    for _ in range(steps):
        values = np.exp(-rate * dt) * (p * values[1:] + (1.0 - p) * values[:-1])
    return values[0]


def trinomial_barrier(spot, barrier, volatility, steps):
    dt = 1.0 / steps
    dx = volatility * math.sqrt(3.0 * dt)
    width = 2 * steps + 1
    values = np.zeros(width)
    for i in range(width):
        price = spot * math.exp((i - steps) * dx)
        values[i] = price - 1.0 if 1.0 < price < barrier else 0.0
    for n in range(steps):
        new = np.zeros(width)
        for i in range(n + 1, width - n - 1):
            if spot * math.exp((i - steps) * dx) >= barrier:
                continue
            new[i] = values[i - 1] / 6.0 + 2.0 / 3.0 * values[i] + values[i + 1] / 6.0
        values = new
    return values[steps]


def callable_bond(rate, volatility, coupon, call_price, steps):
    values = np.full(steps + 1, 1.0 + coupon)
    for n in range(steps - 1, -1, -1):
        for i in range(n + 1):
            short = rate * math.exp(volatility * (2 * i - n))
            value = 0.5 * (values[i] + values[i + 1]) / (1.0 + short)
            if value > call_price:
                value = call_price
            values[i] = value + coupon
    return values[0] - coupon


def asian_with_barrier(spot, volatility, noise, barrier):
    paths, steps = noise.shape
    dt = 1.0 / steps
    payoff = 0.0
    for i in range(paths):
        price = spot
        mean = 0.0
        alive = True
        for j in range(steps):
            price *= math.exp(-0.5 * volatility**2 * dt + volatility * math.sqrt(dt) * noise[i, j])
            mean += price / steps
            if price > barrier:
                alive = False
                break
        if alive and mean > 1.0:
            payoff += mean - 1.0
    return payoff / paths


def heston_paths(parameters, noise):
    kappa, theta, sigma, rho = parameters
    total = 0.0
    for path in noise:
        log_price, variance = 0.0, theta
        for first, second in path:
            root = math.sqrt(max(variance, 0.0))
            log_price += -0.005 * variance + 0.1 * root * first
            mixed = rho * first + math.sqrt(1.0 - rho * rho) * second
            variance += 0.01 * kappa * (theta - variance) + 0.1 * sigma * root * mixed
        total += max(math.exp(log_price) - 1.0, 0.0)
    return total / len(noise)


def trailing_stop(prices, share, fee):
    cash, held, peak = 1.0, 0.0, 0.0
    for t in range(1, len(prices)):
        price = prices[t]
        if held == 0.0:
            if price > prices[t - 1]:
                held = cash * (1.0 - fee) / price
                cash = 0.0
                peak = price
        else:
            peak = max(peak, price)
            if price < (1.0 - share) * peak:
                cash = held * price * (1.0 - fee)
                held = 0.0
    return cash + held * prices[-1]


def life_cycle_saving(income, patience, points):
    ages = len(income)
    grid = np.linspace(0.0, 2.0, points)
    future = np.zeros(points)
    for age in reversed(range(ages)):
        value = np.zeros(points)
        for i in range(points):
            best = -1e10
            for j in range(points):
                consumption = grid[i] * 1.03 + income[age] - grid[j]
                if consumption <= 0.0:
                    break
                best = max(best, math.log(consumption) + patience * future[j])
            value[i] = best
        future = value
    return future


def amortisation(principal, rate, payment):
    months = 0
    interest = 0.0
    while principal > 0.0:
        due = principal * rate
        interest += due
        principal = principal + due - payment
        months += 1
        assert months < 1000, "the payment is too small"
    return interest + principal


def prices(n):
    return np.exp(np.cumsum(0.05 * draw(n).normal(size=n)))


PROGRAMS = (
    Program(american_put, lambda n: (1.0, 1.05, 0.04, 0.3, 1.0, n), 5, 400, wrt=(0, 1, 2, 3, 4), static=(5,)),
    Program(binomial_by_slices, lambda n: (1.0, 0.98, 0.04, 0.3, n), 5, 1000, wrt=(0, 1, 2, 3), static=(4,)),
    Program(trinomial_barrier, lambda n: (1.02, 1.65, 0.25, n), 5, 250, wrt=(0, 2), static=(3,)),
    Program(callable_bond, lambda n: (0.04, 0.05, 0.05, 1.02, n), 6, 400, wrt=(0, 1, 2, 3), static=(4,)),
    Program(
        asian_with_barrier, lambda n: (1.05, 0.3, draw(n).normal(size=(n, n + 2)), 1.6), 5, 250, wrt=(0, 1)
    ),
    Program(
        heston_paths, lambda n: (np.array([2.0, 0.1, 0.3, -0.5]), draw(n).normal(size=(n, n, 2))), 5, 200
    ),
    Program(trailing_stop, lambda n: (prices(n), 0.03, 0.01), 15, 20_000, wrt=(0, 2)),
    Program(life_cycle_saving, lambda n: (0.5 + draw(n).random(n), 0.95, 3 * n), 3, 20, static=(2,)),
    Program(amortisation, lambda n: (n * 1.03, 0.005, 0.24), 2, 20, wrt=(0, 1, 2)),
)
