"""Stencils in time: relaxation, waves, transport and flows."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw


def jacobi_relaxation(source, sweeps):
    n = source.shape[0]
    u = np.zeros((n, n))
    new = np.zeros((n, n))
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + source[i, j])
        u, new = new, u
    return u


def gauss_seidel(source, tolerance):
    n = len(source)
    u = np.zeros((n, n))
    residual = 1.0
    sweeps = 0
    while residual > tolerance and sweeps < 200:
        residual = 0.0
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                old = u[i, j]
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + source[i, j])
                residual = max(residual, abs(u[i, j] - old))
        sweeps += 1
    return u


def red_black_relaxation(u, omega):
    n = len(u)
    u = u.copy()
    for _ in range(10):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    if (i + j) % 2 == colour:
                        mean = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                        u[i, j] = (1.0 - omega) * u[i, j] + omega * mean
    return u


def solve_line(rhs, r):
    n = len(rhs)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = -r / (1.0 + 2.0 * r)
    d[0] = rhs[0] / (1.0 + 2.0 * r)
    for i in range(1, n):
        pivot = 1.0 + 2.0 * r + r * c[i - 1]
        c[i] = -r / pivot
        d[i] = (rhs[i] + r * d[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def alternating_directions(u, r, steps):
    n = len(u)
    for _ in range(steps):
        half = np.zeros((n, n))
        for j in range(n):
            left = u[:, j - 1] if j > 0 else np.zeros(n)
            right = u[:, j + 1] if j < n - 1 else np.zeros(n)
            half[:, j] = solve_line(u[:, j] + r * (left - 2.0 * u[:, j] + right), r)
        u = np.zeros((n, n))
        for i in range(n):
            above = half[i - 1] if i > 0 else np.zeros(n)
            below = half[i + 1] if i < n - 1 else np.zeros(n)
            u[i] = solve_line(half[i] + r * (above - 2.0 * half[i] + below), r)
    return u


def wave_equation(u, speed, steps):
    n = len(u)
    before = u.copy()
    now = u.copy()
    for _ in range(steps):
        after = np.zeros(n)
        for i in range(1, n - 1):
            c = speed[i] * speed[i]
            after[i] = 2.0 * now[i] - before[i] + c * (now[i + 1] - 2.0 * now[i] + now[i - 1])
        before = now
        now = after
    return now


def wave_by_slices(u, steps):
    before = u.copy()
    now = u.copy()
    for _ in range(steps):
        after = now.copy()
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


def fdtd(permittivity, steps):
    n = len(permittivity)
    e = np.zeros(n)
    h = np.zeros(n)
    for t in range(steps):
        for i in range(n - 1):
            h[i] += 0.5 * (e[i + 1] - e[i])
        for i in range(1, n):
            e[i] += 0.5 / permittivity[i] * (h[i] - h[i - 1])
        e[n // 4] += math.exp(-0.5 * ((t - 10.0) / 4.0) ** 2)
    return e


def fdtd_plane(permittivity, steps):
    nx, ny = permittivity.shape
    ez = np.zeros((nx, ny))
    hx = np.zeros((nx, ny - 1))
    hy = np.zeros((nx - 1, ny))
    for t in range(steps):
        hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy += 0.5 * (ez[1:, :] - ez[:-1, :])
        curl = (hy[1:, 1:-1] - hy[:-1, 1:-1]) - (hx[1:-1, 1:] - hx[1:-1, :-1])
        ez[1:-1, 1:-1] += 0.5 * curl / permittivity[1:-1, 1:-1]
        ez[nx // 2, ny // 2] += np.sin(0.3 * t)
    return ez


def minmod(a, b):
    if a * b <= 0.0:
        return 0.0
    if abs(a) < abs(b):
        return a
    return b


def advection_with_limiter(u, courant, steps):
    n = len(u)
    u = u.copy()
    flux = np.zeros(n)
    for _ in range(steps):
        for i in range(n):
            left = u[i] - u[i - 1]
            right = u[(i + 1) % n] - u[i]
            flux[i] = u[i] + 0.5 * (1.0 - courant) * minmod(left, right)
        first = flux[n - 1]
        for i in range(n - 1, 0, -1):
            u[i] -= courant * (flux[i] - flux[i - 1])
        u[0] -= courant * (flux[0] - first)
    return u


def burgers_upwind(u, dt, steps):
    n = len(u)
    for _ in range(steps):
        new = u.copy()
        for i in range(1, n - 1):
            if u[i] > 0.0:
                slope = u[i] - u[i - 1]
            else:
                slope = u[i + 1] - u[i]
            new[i] = u[i] - dt * u[i] * slope + 0.1 * dt * (u[i + 1] - 2 * u[i] + u[i - 1])
        u = new
    return u


def lattice_boltzmann(density, relaxation, steps):
    weights = np.array([4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36])
    cx = [0, 1, 0, -1, 0, 1, -1, -1, 1]
    cy = [0, 0, 1, 0, -1, 1, 1, -1, -1]
    nx, ny = density.shape
    f = np.zeros((9, nx, ny))
    for k in range(9):
        f[k] = weights[k] * density
    for _ in range(steps):
        moved = np.zeros((9, nx, ny))
        for k in range(9):
            for i in range(nx):
                for j in range(ny):
                    moved[k, (i + cx[k]) % nx, (j + cy[k]) % ny] = f[k, i, j]
        for i in range(nx):
            for j in range(ny):
                rho = 0.0
                ux = 0.0
                uy = 0.0
                for k in range(9):
                    rho += moved[k, i, j]
                    ux += cx[k] * moved[k, i, j]
                    uy += cy[k] * moved[k, i, j]
                ux /= rho
                uy /= rho
                for k in range(9):
                    cu = 3.0 * (cx[k] * ux + cy[k] * uy)
                    equal = weights[k] * rho * (1.0 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
                    f[k, i, j] = moved[k, i, j] + relaxation * (equal - moved[k, i, j])
    return f.sum(axis=0)


def channel_flow(viscosity, n):
    u = np.zeros(n)
    change = 1.0
    steps = 0
    while change > 1e-6 and steps < 5000:
        change = 0.0
        new = np.zeros(n)
        for i in range(1, n - 1):
            new[i] = u[i] + 0.2 * (viscosity * (u[i - 1] - 2.0 * u[i] + u[i + 1]) + 0.01)
            change += abs(new[i] - u[i])
        u = new
        steps += 1
    return u


def heat_with_stefan_front(temperature, conductivity, steps):
    n = len(temperature)
    t = temperature.copy()
    for _ in range(steps):
        flow = np.zeros(n + 1)
        for i in range(1, n):
            k = conductivity if t[i] > 0.0 and t[i - 1] > 0.0 else 0.5 * conductivity
            flow[i] = k * (t[i - 1] - t[i])
        for i in range(n):
            capacity = 1.0
            if -0.1 < t[i] < 0.1:
                capacity = 6.0
            t[i] += (flow[i] - flow[i + 1]) / capacity
    return t


def shallow_water(height, steps):
    n = len(height)
    h = height.copy()
    q = np.zeros(n)
    for _ in range(steps):
        fh = np.zeros(n + 1)
        fq = np.zeros(n + 1)
        for i in range(1, n):
            hl, hr, ql, qr = h[i - 1], h[i], q[i - 1], q[i]
            speed = max(abs(ql / hl) + math.sqrt(hl), abs(qr / hr) + math.sqrt(hr))
            fh[i] = 0.5 * (ql + qr) - 0.5 * speed * (hr - hl)
            fq[i] = 0.5 * (ql**2 / hl + hl**2 / 2 + qr**2 / hr + hr**2 / 2) - 0.5 * speed * (qr - ql)
        for i in range(1, n - 1):
            h[i] -= 0.1 * (fh[i + 1] - fh[i])
            q[i] -= 0.1 * (fq[i + 1] - fq[i])
    return h, q


def field(n):
    return draw(n).normal(size=(n, n))


def bump(n):
    return 1.0 + np.exp(-20.0 * (np.linspace(0, 1, n) - 0.4) ** 2)


PROGRAMS = (
    Program(jacobi_relaxation, lambda n: (field(n), n), 6, 40),
    Program(gauss_seidel, lambda n: (field(n), 1e-4), 6, 24),
    Program(red_black_relaxation, lambda n: (field(n), 1.2), 6, 80, wrt=(0, 1)),
    Program(alternating_directions, lambda n: (field(n), 0.3, max(2, n // 8)), 5, 64),
    Program(wave_equation, lambda n: (bump(n), 0.4 * bump(n), n), 8, 250, wrt=(0, 1)),
    Program(wave_by_slices, lambda n: (bump(n), n), 8, 1000),
    Program(fdtd, lambda n: (bump(n), 2 * n), 8, 200),
    Program(fdtd_plane, lambda n: (1.0 + bump(n)[:, None] * bump(n), 2 * n), 7, 100),
    Program(advection_with_limiter, lambda n: (bump(n) + 0.1 * draw(n).random(n), 0.4, n), 8, 200),
    Program(burgers_upwind, lambda n: (draw(n).normal(size=n), 0.1, n), 8, 250),
    Program(lattice_boltzmann, lambda n: (1.0 + 0.1 * draw(n).random((n, n)), 0.8, 3), 4, 32),
    Program(channel_flow, lambda n: (0.8, n), 8, 24, static=(1,)),
    Program(heat_with_stefan_front, lambda n: (draw(n).normal(size=n), 0.2, n), 8, 300, wrt=(0, 1)),
    Program(shallow_water, lambda n: (bump(n), n), 8, 180),
)
