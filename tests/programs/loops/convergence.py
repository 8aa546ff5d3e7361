"""Iterations until they converge: roots, fixed points, fits and solvers."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw, positive_definite


def newton_root(a, x):
    for _ in range(50):
        step = (x**3 - a) / (3.0 * x**2)
        x = x - step
        if abs(step) < 1e-14:
            break
    return x


def newton_for_each(targets):
    roots = np.zeros(len(targets))
    for i in range(len(targets)):
        x = 1.0
        while abs(x * math.exp(x) - targets[i]) > 1e-12:
            x -= (x * math.exp(x) - targets[i]) / (math.exp(x) * (1.0 + x))
        roots[i] = x
    return roots


def bisection(coefficients, low, high):
    def f(x):
        value = 0.0
        for c in coefficients:
            value = value * x + c
        return value

    f_low = f(low)
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        f_middle = f(middle)
        if (f_low > 0) == (f_middle > 0):
            low, f_low = middle, f_middle
        else:
            high = middle
    slope = 0.0
    degree = len(coefficients) - 1
    for i, c in enumerate(coefficients[:-1]):
        slope += (degree - i) * c * middle ** (degree - i - 1)
    return middle - f(middle) / slope


def brent_root(rate, low, high):
    def f(x):
        return math.cos(x) - rate * x

    a, b = low, high
    fa, fb = f(a), f(b)
    c, fc = a, fa
    d = e = b - a
    for _ in range(100):
        if (fb > 0.0) == (fc > 0.0):
            c, fc = a, fa
            d = e = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        tolerance = 1e-14
        m = 0.5 * (c - b)
        if abs(m) <= tolerance or fb == 0.0:
            break
        if abs(e) >= tolerance and abs(fa) > abs(fb):
            s = fb / fa
            if a == c:
                p = 2.0 * m * s
                q = 1.0 - s
            else:
                q = fa / fc
                r = fb / fc
                p = s * (2.0 * m * q * (q - r) - (b - a) * (r - 1.0))
                q = (q - 1.0) * (r - 1.0) * (s - 1.0)
            if p > 0.0:
                q = -q
            else:
                p = -p
            if 2.0 * p < min(3.0 * m * q - abs(tolerance * q), abs(e * q)):
                e, d = d, p / q
            else:
                d = e = m
        else:
            d = e = m
        a, fa = b, fb
        b += d if abs(d) > tolerance else (tolerance if m > 0 else -tolerance)
        fb = f(b)
    return b - f(b) / (-math.sin(b) - rate)


def conjugate_gradients(a, b, tolerance=1e-10):
    x = np.zeros(len(b))
    r = b - a @ x
    p = r.copy()
    square = r @ r
    for _ in range(len(b) * 2):
        if np.sqrt(square) < tolerance:
            break
        ap = a @ p
        alpha = square / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / square) * p
        square = new
    return x


def sinkhorn(costs, a, b, strength):
    kernel = np.exp(-costs / strength)
    u = np.ones(len(a))
    v = np.ones(len(b))
    error = 1.0
    turns = 0
    while error > 1e-9:
        u = a / (kernel @ v)
        v = b / (kernel.T @ u)
        error = np.sum(np.abs(u * (kernel @ v) - a))
        turns += 1
        if turns == 1000:
            raise RuntimeError("no convergence")
    return np.sum(u[:, None] * kernel * v * costs)


def gaussian_mixture(data, means, turns):
    n, k = len(data), len(means)
    means = means.copy()
    variances = np.ones(k)
    weights = np.full(k, 1.0 / k)
    for _ in range(turns):
        shares = np.zeros((n, k))
        for i in range(n):
            total = 0.0
            for j in range(k):
                z = (data[i] - means[j]) ** 2 / variances[j]
                shares[i, j] = weights[j] * math.exp(-0.5 * z) / math.sqrt(variances[j])
                total += shares[i, j]
            for j in range(k):
                shares[i, j] /= total
        for j in range(k):
            mass = shares[:, j].sum()
            means[j] = (shares[:, j] * data).sum() / mass
            variances[j] = (shares[:, j] * (data - means[j]) ** 2).sum() / mass
            weights[j] = mass / n
    return means, variances, weights


def k_means(points, centres):
    k = len(centres)
    labels = np.zeros(len(points), dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for i in range(len(points)):
            nearest, best = 0, np.inf
            for j in range(k):
                distance = np.sum((points[i] - centres[j]) ** 2)
                if distance < best:
                    nearest, best = j, distance
            if labels[i] != nearest:
                labels[i] = nearest
                changed = True
        new = np.zeros_like(centres)
        counts = np.zeros(k)
        for i in range(len(points)):
            new[labels[i]] += points[i]
            counts[labels[i]] += 1
        for j in range(k):
            if counts[j] > 0:
                new[j] /= counts[j]
            else:
                new[j] = centres[j]
        centres = new
    return centres


def self_consistent_field(hopping, repulsion):
    n = len(hopping)
    density = np.full(n, 0.5)
    for _ in range(200):
        values, vectors = np.linalg.eigh(hopping + np.diag(repulsion * density))
        new = np.zeros(n)
        for k in range(n // 2):
            new += vectors[:, k] ** 2
        change = np.abs(new - density).max()
        density = 0.5 * density + 0.5 * new
        if change < 1e-10:
            break
    else:
        raise RuntimeError("the field is not consistent")
    return density


def kepler_orbits(mean_anomalies, eccentricity):
    result = np.zeros_like(mean_anomalies)
    for i, m in enumerate(mean_anomalies):
        e = m if eccentricity < 0.8 else math.pi
        delta = 1.0
        while abs(delta) > 1e-12:
            delta = (e - eccentricity * math.sin(e) - m) / (1.0 - eccentricity * math.cos(e))
            e -= delta
        result[i] = math.cos(e) - eccentricity
    return result


def page_rank(links, damping):
    n = len(links)
    degree = links.sum(axis=0)
    rank = np.full(n, 1.0 / n)
    while True:
        new = (1.0 - damping) / n + damping * (links @ (rank / degree))
        if np.linalg.norm(new - rank) < 1e-10:
            break
        rank = new
    return new


def golden_section(centre, low, high):
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    a, b = low, high
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    fc, fd = (c - centre) ** 2 * (1.0 + c * c), (d - centre) ** 2 * (1.0 + d * d)
    while b - a > 1e-6:
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - ratio * (b - a)
            fc = (c - centre) ** 2 * (1.0 + c * c)
        else:
            a, c, fc = c, d, fd
            d = a + ratio * (b - a)
            fd = (d - centre) ** 2 * (1.0 + d * d)
    return min(fc, fd)


def gradient_descent_with_backtracking(a, b):
    x = np.zeros(len(b))
    value = 0.0
    for _ in range(100):
        slope = a @ x - b
        norm = slope @ slope
        if norm < 1e-10:
            break
        step = 1.0
        while True:
            trial = x - step * slope
            new = 0.5 * trial @ (a @ trial) - b @ trial
            if new <= value - 0.25 * step * norm:
                break
            step *= 0.5
        x, value = trial, new
    return x


def arithmetic_geometric_mean(k):
    a, b = 1.0, math.sqrt(1.0 - k * k)
    while abs(a - b) > 1e-15 * a:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    return math.pi / (2.0 * a)


def bessel_series(order, xs):
    out = np.zeros(len(xs))
    for i in range(len(xs)):
        term = (xs[i] / 2.0) ** order / math.gamma(order + 1)
        total = term
        m = 1
        while abs(term) > 1e-17 * abs(total):
            term *= -(xs[i] ** 2) / 4.0 / (m * (m + order))
            total += term
            m += 1
        out[i] = total
    return out


def balance(n):
    rng = draw(n)
    a, b = 0.5 + rng.random(n), 0.5 + rng.random(n + 1)
    return rng.random((n, n + 1)), a / a.sum(), b / b.sum(), 0.3


def clusters(n):
    rng = draw(n)
    centres = np.array([[0.0, 0.0], [4.0, 4.0], [-4.0, 4.0]])
    return centres[np.arange(n) % 3] + rng.normal(size=(n, 2)), centres + 0.5


def chain(n):
    return -np.eye(n, k=1) - np.eye(n, k=-1) + np.diag(0.3 * np.arange(n)), 0.4


PROGRAMS = (
    Program(newton_root, lambda n: (2.0 + n, 1.5), 1, 1, wrt=(0,)),
    Program(newton_for_each, lambda n: (0.5 + 3.0 * draw(n).random(n),), 4, 5000),
    Program(bisection, lambda n: (np.append([1.0, -0.2], draw(n).random(n) - 5.0), 0.5, 9.0), 2, 60),
    Program(brent_root, lambda n: (1.3, 0.0, 1.5), 1, 1),
    Program(
        conjugate_gradients, lambda n: (positive_definite(n), draw(n).normal(size=n)), 5, 300, wrt=(0, 1)
    ),
    Program(sinkhorn, balance, 4, 100),
    Program(
        gaussian_mixture, lambda n: (draw(n).normal(size=n), np.array([-1.0, 1.0]), 5), 8, 2000, wrt=(0, 1)
    ),
    Program(k_means, clusters, 9, 1500),
    Program(self_consistent_field, chain, 4, 20, wrt=(0, 1)),
    Program(kepler_orbits, lambda n: (np.linspace(0.1, 3.0, n), 0.3), 4, 10_000, wrt=(0, 1)),
    Program(page_rank, lambda n: (0.1 + draw(n).random((n, n)), 0.7), 4, 300),
    Program(golden_section, lambda n: (0.7, -1.0, 2.0), 1, 1),
    Program(
        gradient_descent_with_backtracking, lambda n: (positive_definite(n), np.ones(n)), 4, 200, wrt=(0, 1)
    ),
    Program(arithmetic_geometric_mean, lambda n: (0.4,), 1, 1),
    Program(bessel_series, lambda n: (1, 0.5 + 3.0 * draw(n).random(n)), 4, 5000, wrt=(1,)),
)
