"""State in lists, dictionaries and objects, recursion, and masks."""

import math
from dataclasses import dataclass

import numpy as np

from tests.programs.loops.cases import Program, draw


@dataclass
class Controller:
    gain: float
    reset: float
    integral: float = 0.0
    before: float = 0.0

    def respond(self, error, dt):
        self.integral += error * dt
        slope = (error - self.before) / dt
        self.before = error
        force = self.gain * error + self.reset * self.integral + 0.1 * slope
        if force > 2.0:
            return 2.0
        if force < -2.0:
            return -2.0
        return force


def thermostat(gain, reset, steps):
    controller = Controller(gain, reset)
    temperature = 0.0
    cost = 0.0
    for _ in range(steps):
        power = controller.respond(1.0 - temperature, 0.1)
        temperature += 0.1 * (power - 0.5 * temperature)
        cost += (1.0 - temperature) ** 2 + 0.01 * power**2
    return cost


def compartments(rates, dose, steps):
    amount = {"gut": dose, "blood": 0.0, "tissue": 0.0}
    exposure = 0.0
    for _ in range(steps):
        absorbed = rates[0] * amount["gut"]
        moved = rates[1] * amount["blood"] - rates[2] * amount["tissue"]
        amount["gut"] -= 0.1 * absorbed
        amount["blood"] += 0.1 * (absorbed - moved - 0.2 * amount["blood"])
        amount["tissue"] += 0.1 * moved
        exposure += 0.1 * amount["blood"]
        if amount["gut"] < 0.1 * dose:
            amount["gut"] += 0.5 * dose
    return exposure


def adaptive_trapezoid(centre, low, high, tolerance):
    def f(x):
        return 1.0 / (0.02 + (x - centre) ** 2)

    def area(a, b, fa, fb, depth):
        m = 0.5 * (a + b)
        fm = f(m)
        coarse = 0.5 * (b - a) * (fa + fb)
        fine = 0.25 * (b - a) * (fa + 2.0 * fm + fb)
        if depth == 0 or abs(fine - coarse) < tolerance:
            return fine + (fine - coarse) / 3.0
        return area(a, m, fa, fm, depth - 1) + area(m, b, fm, fb, depth - 1)

    return area(low, high, f(low), f(high), 4)


def adams_bashforth(rate, steps):
    values = [1.0]
    slopes = [-rate]
    for i in range(1, steps):
        if i == 1:
            y = values[-1] + 0.01 * slopes[-1]
        else:
            y = values[-1] + 0.01 * (1.5 * slopes[-1] - 0.5 * slopes[i - 2])
        values.append(y)
        slopes.append(-rate * y + 0.1 * y * y)
    return np.array(values)


def romberg(scale, levels):
    table = [[0.5 * (1.0 + math.exp(-scale))]]
    for k in range(1, levels):
        n = 2 ** (k - 1)
        total = 0.0
        for i in range(n):
            total += math.exp(-scale * ((2 * i + 1) / (2.0 * n)) ** 2)
        row = [0.5 * table[k - 1][0] + 0.5 * total / n]
        for j in range(1, k + 1):
            row.append(row[j - 1] + (row[j - 1] - table[k - 1][j - 1]) / (4**j - 1))
        table.append(row)
    return table[-1][-1]


def clipped_residuals(x, y, slope):
    for _ in range(10):
        r = y - slope * x
        m = np.abs(r) < 2.0 * r.std()
        slope = np.sum(x[m] * y[m]) / np.sum(x[m] * x[m])
    return slope


def reflect_outside(x, v, steps):
    x = x.copy()
    v = v.copy()
    for _ in range(steps):
        x += 0.1 * v
        low = x < 0.0
        x[low] = -x[low]
        v[low] *= -1.0
        high = x > 1.0
        x[high] = 2.0 - x[high]
        v[high] *= -1.0
    return x


def annealing(energies, uniforms, proposals, temperature):
    state = 0
    mean = 0.0
    for step in range(len(uniforms)):
        other = proposals[step]
        difference = energies[other] - energies[state]
        if difference < 0.0 or uniforms[step] < math.exp(-difference / temperature):
            state = other
        mean += energies[state]
        temperature *= 0.999
    return mean / len(uniforms)


def stack_machine(program, constants, x):
    stack = np.zeros(16)
    top = 0
    for code in program:
        if code >= 10:
            stack[top] = constants[code - 10]
            top += 1
        elif code == 0:
            stack[top] = x
            top += 1
        elif code == 1:
            top -= 1
            stack[top - 1] = stack[top - 1] + stack[top]
        elif code == 2:
            top -= 1
            stack[top - 1] = stack[top - 1] * stack[top]
        else:
            stack[top - 1] = math.sin(stack[top - 1])
    return stack[top - 1]


def bank_queue(arrivals, services, clerks):
    free = np.zeros(clerks)
    waiting = 0.0
    for t in range(len(arrivals)):
        first = 0
        for c in range(1, clerks):
            if free[c] < free[first]:
                first = c
        start = max(arrivals[t], free[first])
        waiting += start - arrivals[t]
        free[first] = start + services[t]
    return waiting / len(arrivals)


def simplex_search(target, turns):
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    values = np.zeros(3)
    for i in range(3):
        values[i] = np.sum((points[i] - target) ** 2)
    for _ in range(turns):
        order = np.argsort(values)
        points, values = points[order], values[order]
        middle = 0.5 * (points[0] + points[1])
        trial = 2.0 * middle - points[2]
        value = np.sum((trial - target) ** 2)
        if value < values[1]:
            points[2], values[2] = trial, value
        else:
            points[2] = 0.5 * (points[2] + middle)
            values[2] = np.sum((points[2] - target) ** 2)
    return values.min()


def fourier_in_place(real, imaginary):
    n = len(real)
    re = real.copy()
    im = imaginary.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    length = 2
    while length <= n:
        angle = -2.0 * math.pi / length
        for start in range(0, n, length):
            for k in range(length // 2):
                c, s = math.cos(angle * k), math.sin(angle * k)
                a, b = start + k, start + k + length // 2
                x, y = re[b] * c - im[b] * s, re[b] * s + im[b] * c
                re[b], im[b] = re[a] - x, im[a] - y
                re[a], im[a] = re[a] + x, im[a] + y
        length *= 2
    return re, im


def haar_wavelet(signal):
    out = signal.copy()
    n = len(out)
    while n > 1:
        half = n // 2
        even = out[0:n:2].copy()
        odd = out[1:n:2].copy()
        out[:half] = (even + odd) / math.sqrt(2.0)
        out[half:n] = (even - odd) / math.sqrt(2.0)
        n = half
    return out


def line(n):
    rng = draw(n)
    x = rng.normal(size=n)
    return x, 2.0 * x + 0.3 * rng.normal(size=n) + 5.0 * (np.arange(n) % 6 == 0), 1.0


def states(n):
    rng = draw(n)
    return rng.random(n), rng.random(10 * n), rng.integers(0, n, 10 * n), 0.4


def code(n):
    return np.array([0, 10] + [2, 3, 0, 1, 11] * n + [1]), np.array([0.7, 0.2]), 0.9


def customers(n):
    rng = draw(n)
    return np.cumsum(rng.random(n)), 2.0 * rng.random(n), 3


PROGRAMS = (
    Program(thermostat, lambda n: (1.5, 0.4, n), 10, 20_000, wrt=(0, 1)),
    Program(compartments, lambda n: (np.array([0.9, 0.4, 0.3]), 1.0, n), 10, 20_000, wrt=(0, 1)),
    Program(adaptive_trapezoid, lambda n: (0.3, 0.0, 1.0, 1e-3), 1, 1),
    Program(adams_bashforth, lambda n: (0.8, n), 8, 10_000, static=(1,)),
    Program(romberg, lambda n: (0.8, n), 4, 14, static=(1,)),
    Program(clipped_residuals, line, 12, 50_000, wrt=(0, 1)),
    Program(
        reflect_outside,
        lambda n: (draw(n).random(n), 3.0 * draw(n + 1).normal(size=n), 6),
        6,
        50_000,
        wrt=(0, 1),
    ),
    Program(annealing, states, 4, 2000),
    Program(stack_machine, code, 2, 4000, wrt=(1, 2)),
    Program(bank_queue, customers, 8, 20_000, wrt=(0, 1), static=(2,)),
    Program(simplex_search, lambda n: (np.array([0.7, 0.6]), n), 5, 60),
    Program(
        fourier_in_place, lambda n: (draw(n).normal(size=n), draw(n + 1).normal(size=n)), 8, 4096, wrt=(0, 1)
    ),
    Program(haar_wavelet, lambda n: (draw(n).normal(size=n),), 8, 2**16),
)
