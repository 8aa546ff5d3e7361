"""Differential equations by hand, events, particles and Monte Carlo."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw


def lorenz_runge_kutta(state, rho, steps):
    def rate(s):
        x, y, z = s
        return np.array([10.0 * (y - x), x * (rho - z) - y, x * y - 8.0 / 3.0 * z])

    dt = 0.01
    for _ in range(steps):
        k1 = rate(state)
        k2 = rate(state + 0.5 * dt * k1)
        k3 = rate(state + 0.5 * dt * k2)
        k4 = rate(state + dt * k3)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return state


def adaptive_heun(mu, x, v, end, tolerance):
    t, dt = 0.0, 0.1
    while t < end:
        dt = min(dt, end - t)
        ax = mu * (1.0 - x * x) * v - x
        x1, v1 = x + dt * v, v + dt * ax
        ax1 = mu * (1.0 - x1 * x1) * v1 - x1
        x2, v2 = x + 0.5 * dt * (v + v1), v + 0.5 * dt * (ax + ax1)
        error = math.hypot(x2 - x1, v2 - v1)
        if error <= tolerance:
            t += dt
            x, v = x2, v2
        factor = 0.9 * math.sqrt(tolerance / error) if error > 0.0 else 2.0
        dt *= min(2.0, max(0.3, factor))
    return x, v


def adaptive_bogacki_shampine(rates, y, end):
    def f(y):
        a, b, c = y
        first, second = rates[0] * a, rates[1] * b * c
        return np.array([second - first, first - second - rates[2] * b * b, rates[2] * b * b])

    t, dt = 0.0, 0.01
    k1 = f(y)
    accepted = rejected = 0
    while t < end:
        if t + dt > end:
            dt = end - t
        k2 = f(y + 0.5 * dt * k1)
        k3 = f(y + 0.75 * dt * k2)
        new = y + dt * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
        k4 = f(new)
        error = dt * (-5.0 * k1 / 72.0 + k2 / 12.0 + k3 / 9.0 - k4 / 8.0)
        size = np.max(np.abs(error) / (1e-8 + 1e-5 * np.abs(new)))
        if size > 1.0:
            rejected += 1
            dt *= max(0.2, 0.9 * size ** (-1.0 / 3.0))
            continue
        t += dt
        y, k1 = new, k4
        accepted += 1
        dt *= min(5.0, 0.9 * max(size, 1e-4) ** (-1.0 / 3.0))
    return y


def bouncing_ball(height, restitution, bounces):
    t, y, v = 0.0, height, 0.0
    dt = 0.01
    count = 0
    while count < bounces:
        new_v = v - 9.81 * dt
        new_y = y + dt * v - 0.5 * 9.81 * dt * dt
        if new_y < 0.0:
            root = (v + math.sqrt(v * v + 2.0 * 9.81 * y)) / 9.81
            t += root
            v = -restitution * (v - 9.81 * root)
            y = 0.0
            count += 1
        else:
            t += dt
            y, v = new_y, new_v
    return t, v


def stick_slip(friction, speed, steps):
    x, v = 0.0, 0.0
    sticking = True
    trace = np.zeros(steps)
    for i in range(steps):
        force = speed * 0.02 * i - x
        if sticking:
            if abs(force) > friction:
                sticking = False
        if not sticking:
            drag = 0.7 * friction if v >= 0.0 else -0.7 * friction
            before = v
            v += 0.02 * (force - drag)
            x += 0.02 * v
            if before * v < 0.0 and abs(force) < friction:
                sticking, v = True, 0.0
        trace[i] = x
    return trace


def random_walk_until_exit(drift, noise, barrier):
    total = 0.0
    for path in noise:
        x = 0.0
        for z in path:
            x += drift + z
            if x > barrier:
                total += x - barrier
                break
            elif x < -barrier:
                total -= 0.5 * (x + barrier)
                break
        else:
            total += 0.1 * x
    return total / len(noise)


def neutron_slab(absorption, draws, thickness):
    histories, collisions = draws.shape[0], draws.shape[1]
    through = 0.0
    for h in range(histories):
        x, mu, weight = 0.0, 1.0, 1.0
        for c in range(collisions):
            x += -math.log(draws[h, c, 0]) * mu
            if x < 0.0:
                break
            if x > thickness:
                through += weight
                break
            weight *= 1.0 - absorption
            mu = 2.0 * draws[h, c, 1] - 1.0
    return through / histories


def particle_filter(parameters, observations, noise, uniforms):
    a, spread = parameters
    steps, n = noise.shape
    particles = np.zeros(n)
    total = 0.0
    for t in range(steps):
        particles = a * particles + noise[t]
        weights = np.exp(-0.5 * ((observations[t] - particles) / spread) ** 2) / spread
        total += np.log(np.mean(weights))
        cumulative = np.cumsum(weights) / np.sum(weights)
        chosen = np.zeros(n, dtype=np.int64)
        j = 0
        for i in range(n):
            u = (i + uniforms[t]) / n
            while j < n - 1 and cumulative[j] < u:
                j += 1
            chosen[i] = j
        particles = particles[chosen]
    return total


def gravity(positions, velocities, masses, steps):
    n = len(masses)
    x = positions.copy()
    v = velocities.copy()
    for _ in range(steps):
        for i in range(n):
            ax = ay = az = 0.0
            for j in range(n):
                if i != j:
                    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                    d = dx * dx + dy * dy + dz * dz + 0.01
                    w = masses[j] / (d * math.sqrt(d))
                    ax += w * dx
                    ay += w * dy
                    az += w * dz
            v[i, 0] += 0.01 * ax
            v[i, 1] += 0.01 * ay
            v[i, 2] += 0.01 * az
        x += 0.01 * v
    return x


def lennard_jones_with_cutoff(x, cutoff):
    n = len(x)
    energy = 0.0
    forces = np.zeros_like(x)
    for i in range(n):
        for j in range(i + 1, n):
            d = x[i] - x[j]
            r2 = d @ d
            if r2 < cutoff * cutoff:
                s6 = 1.0 / r2**3
                energy += 4.0 * (s6 * s6 - s6)
                f = 24.0 * (2.0 * s6 * s6 - s6) / r2 * d
                forces[i] += f
                forces[j] -= f
    return energy, forces


def neighbour_lists(x, radius, room):
    n = len(x)
    counts = np.zeros(n, dtype=np.int64)
    lists = np.zeros((n, room), dtype=np.int64)
    for i in range(n):
        for j in range(n):
            if i != j and abs(x[i, 0] - x[j, 0]) < radius and abs(x[i, 1] - x[j, 1]) < radius:
                if counts[i] < room:
                    lists[i, counts[i]] = j
                    counts[i] += 1
    pressure = np.zeros(n)
    for i in range(n):
        for k in range(counts[i]):
            j = lists[i, k]
            r2 = (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2
            pressure[i] += math.exp(-4.0 * r2)
    return pressure


def elastic_collisions(x, v, steps):
    n = len(x)
    x = x.copy()
    v = v.copy()
    for _ in range(steps):
        for i in range(n):
            x[i] += 0.01 * v[i]
            if x[i] < 0.0:
                x[i], v[i] = -x[i], -v[i]
            elif x[i] > 1.0:
                x[i], v[i] = 2.0 - x[i], -v[i]
        for i in range(n - 1):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                v[i], v[i + 1] = v[i + 1], v[i]
    return x, v


def double_pendulum_leapfrog(angles, steps):
    q = angles.copy()
    p = np.zeros(2)
    for _ in range(steps):
        d = q[0] - q[1]
        p[0] -= 0.01 * (2.0 * math.sin(q[0]) + 0.5 * math.sin(d))
        p[1] -= 0.01 * (math.sin(q[1]) - 0.5 * math.sin(d))
        q += 0.01 * p
    return q


def epidemic_with_lockdown(rates, days):
    beta, gamma, limit = rates[0], rates[1], rates[2]
    s, i, r = 0.99, 0.01, 0.0
    locked = False
    history = []
    for _day in range(days):
        if not locked and i > limit:
            locked = True
        elif locked and i < 0.5 * limit:
            locked = False
        contact = 0.3 * beta if locked else beta
        new = contact * s * i
        s, i, r = s - new, i + new - gamma * i, r + gamma * i
        history.append(i)
    return np.array(history)


def slab(n):
    return 0.3, draw(n).random((n, 12, 2)), 2.0


def filtering(n):
    rng = draw(n)
    return np.array([0.9, 0.7]), rng.normal(size=n), rng.normal(size=(n, 2 * n)), rng.random(n)


def bodies(n):
    rng = draw(n)
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), 0.5 + rng.random(n), 4


def lattice(n):
    """Return points of a plane near a square lattice."""
    side = math.ceil(math.sqrt(n))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)[:n]
    return 1.1 * grid + 0.1 * draw(n).normal(size=(n, 2))


PROGRAMS = (
    Program(lorenz_runge_kutta, lambda n: (np.array([1.0, 2.0, 20.0]), 28.0, n), 6, 2000, wrt=(0, 1)),
    Program(adaptive_heun, lambda n: (1.0, 1.0, 0.5, 0.5 * n, 1e-3), 2, 200, wrt=(0, 1, 2)),
    Program(
        adaptive_bogacki_shampine,
        lambda n: (np.array([0.4, 2.0, 3.0]), np.array([1.0, 0.1, 0.1]), n / 2),
        1,
        100,
    ),
    Program(bouncing_ball, lambda n: (0.3, 0.8, n), 2, 400, wrt=(0, 1)),
    Program(stick_slip, lambda n: (0.47, 1.03, 40 * n), 1, 500, wrt=(0, 1), static=(2,)),
    Program(
        random_walk_until_exit, lambda n: (0.05, draw(n).normal(size=(n, n + 5)), 2.0), 5, 2_000, wrt=(0, 1)
    ),
    Program(neutron_slab, slab, 6, 20_000),
    Program(particle_filter, filtering, 4, 100),
    Program(gravity, bodies, 4, 60, wrt=(0, 1, 2)),
    Program(lennard_jones_with_cutoff, lambda n: (lattice(n), 1.8), 5, 200),
    Program(neighbour_lists, lambda n: (lattice(n), 1.6, 8), 6, 500, static=(2,)),
    Program(
        elastic_collisions,
        lambda n: (np.sort(draw(n).random(n)), 3.0 * draw(n).normal(size=n), 10),
        5,
        3000,
        wrt=(0, 1),
    ),
    Program(double_pendulum_leapfrog, lambda n: (np.array([1.0, 0.5]), n), 10, 20_000),
    Program(epidemic_with_lockdown, lambda n: (np.array([0.5, 0.1, 0.05]), n), 20, 20_000, static=(1,)),
)
