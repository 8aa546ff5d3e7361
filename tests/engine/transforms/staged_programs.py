"""Programs with branches and loops on values, each with arguments, as a textbook would write them."""
# ruff: noqa: B905, SIM108 (the statements are what the tests are about)

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {}
_X = np.array([0.3, -1.2, 0.7, 2.5, -0.4, 0.9, 1.1, -2.2])


def program(*arguments: Any) -> Callable[[Any], Any]:
    """Enter a function with its arguments, each a tuple or the only one."""
    given = [argument if isinstance(argument, tuple) else (argument,) for argument in arguments]

    def enter(function: Any) -> Any:
        PROGRAMS[function.__name__] = function, given
        return function

    return enter


# -- branches --------------------------------------------------------------------------------------------


@program(2.0, -2.0, 0.0)
def if_else(x):
    if x > 0:
        y = x * x
    else:
        y = -3 * x
    return y + 1


@program(2.0, -2.0, 0.5)
def if_alone(x):
    y = 1.0
    if x > 1:
        y = y * x
    return y


@program(3.0, 1.5, 0.5, -1.0)
def elif_chain(x):
    if x > 2:
        return x**3
    elif x > 1:
        return x**2
    elif x > 0:
        y = x
    else:
        y = 0.0
    return 2 * y


@program(3.0, -3.0)
def early_return(x):
    if x < 0:
        return -x
    y = np.sin(x)
    return y * 2


@program((1.0, 2.0), (3.0, 2.0), (-1.0, -5.0))
def nested_if(x, y):
    if x > 0:
        if x > y:
            z = x - y
        else:
            z = y - x
            if z > 0.5:
                z = z * 2
    else:
        z = x * y
    return z


@program(2.0, -2.0)
def conditional_expression(x):
    return (x * x if x > 0 else -x) + (1.0 if x < -1 else 2.0)


@program((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0))
def and_or_not(x, y):
    if x > 0 and y > 0:
        return x * y
    if x > 0 or not y > 0:
        return x - y
    return x + y


@program(0.5, 1.5, -0.5)
def chained(x):
    if 0 < x < 1:
        return x
    if not (-1 <= x < 0):
        return 2 * x
    return 3 * x


@program((_X, 2), (_X, 9))
def short_circuit(x, n):
    if n < 8 and x[n] > 0.5:
        return x[n] * 2
    return x[0]


@program(2, 3, 7)
def membership(n):
    if n in (2, 5):
        return 1.0 * n
    if n not in [3, 4]:
        return -1.0 * n
    return 0.5 * n


@program((1.0, 2.0), (2.0, 1.0))
def minimum_maximum(x, y):
    return min(x, y) * 2 + max(x, y, 1.5) + abs(x - y)


@program(2.7, -2.7)
def integers(x):
    k = int(x)
    if k > 0:
        return x * k
    return x - k


@program((2.0, 1.0), (-2.0, 1.0))
def swapped(x, y):
    if x > y:
        x, y = y, x
    return x - 2 * y


@program(np.array([1.0, 2.0]), np.array([-1.0, 0.5]))
def container(x):
    state = {"a": x, "n": 0.0}
    if x[0] > 0:
        state = {"a": x * 2, "n": 1.0}
    return np.sum(state["a"]) + state["n"]


@program(np.array([1.0, 2.0]), np.array([-1.0, 0.5]))
def element_of_a_list(x):
    found = [0.0, 1.0]
    if x[0] > 0:
        found[0] = x[1]
    return found[0] + found[1] * x[0]


@program(np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0]))
def write_in_branch(x):
    y = np.zeros(3)
    if x[0] > 0:
        y[1] = x[2]
        y[0] += x[1]
    else:
        y[:2] = x[1:]
    return np.sum(y * x)


@program(np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0]))
def write_to_view(x):
    y = x.copy()
    v = y[1:]
    if x[0] > 0:
        v[0] = 5.0 * x[0]
    else:
        v *= 2
    return y[1] * 3 + v[1]


@program(4.0, -1.0)
def raising(x):
    if x < 0:
        raise ValueError("x must not be negative")
    return np.sqrt(x)


@program((_X, 2.0), (_X, 10.0), (_X, 7.0))
def raising_before_index(x, y):
    k = int(y)
    if k > 8:
        raise KeyError("too large")
    return x[k] * y if k < 8 else y


@program(0.5, 2.0)
def asserting(x):
    assert 0 < x < 1, "x must be a share"
    return np.log(x)


def _safe_root(x):
    if x < 0:
        raise ArithmeticError("negative")
    return math.sqrt(x)


@program((4.0, 1.0), (4.0, -1.0), (-4.0, 1.0))
def raising_in_callee(x, y):
    if y > 0:
        return _safe_root(x) * y
    return y


@dataclasses.dataclass
class _Particle:
    position: Any
    velocity: Any

    def bounce(self):
        if self.position < 0:
            self.position = -self.position
            self.velocity = -0.5 * self.velocity


@program((0.3, -1.0), (0.7, 1.0), (0.05, -4.0))
def attributes(x, v):
    p = _Particle(x, v)
    for _ in range(30):
        p.position = p.position + 0.05 * p.velocity
        p.bounce()
    return p.position + p.velocity


@program(0.3, 2.5)
def closure(x):
    total = 0.0

    def add(value):
        nonlocal total
        if value > 1:
            total += value
        else:
            total -= value * value

    add(x)
    add(2 * x)
    return total


# -- loops -----------------------------------------------------------------------------------------------


@program(2.0, 9.0)
def newton(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = (x + a / x) / 2
    return x


@program((0.0, 2.0), (1.0, 3.0))
def bisection(lo, hi):
    for _ in range(60):
        mid = (lo + hi) / 2
        if mid**3 - mid - 1 > 0:
            hi = mid
        else:
            lo = mid
    return (lo + hi) / 2 + 0 * lo


@program(_X)
def continuing(x):
    s = 0
    for i in range(8):
        if x[i] < 0:
            continue
        s += x[i] ** 2
    return s


@program(_X, -np.abs(_X))
def breaking(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 2:
            break
        s += x[i]
    else:
        s = s * 10
    return s


@program(_X, -np.abs(_X))
def returning_from_loop(x):
    for i in range(len(x)):
        if x[i] > 2:
            return x[i] * i
    return x[0]


@program((_X, 1.0), (_X, 100.0))
def found_or_not(x, limit):
    found = False
    for i in range(len(x)):
        if x[i] > limit:
            best = i
            found = True
            break
    if found:
        return x[best] * 2
    return limit


@program((_X, 1.0), (_X, 100.0))
def unbound(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            best = x[i]
    return best


@program(_X)
def rows(x):
    s = 0.0
    for value in x:
        s = s * 0.5 + (value if value > 0 else -value)
    return s


@program(_X)
def enumerated(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, x[::-1])):
        if a > b:
            s += i * a
        else:
            s -= b
    return s


@program(_X)
def backwards(x):
    s = 0.0
    for value in reversed(x):
        s = value - 0.3 * s if s > 0 else value + 0.2 * s
    for i in range(7, -1, -2):
        s = s * 0.5 + (x[i] if x[i] > 0 else 0.0)
    return s


@program(5, 1, 0)
def traced_range(n):
    s = 0.5
    for i in range(n):
        s = s * 1.5 + i
    return s


@program((_X, 5), (_X, 0), (_X, 8))
def traced_range_of_writes(x, n):
    y = np.zeros(8)
    for i in range(n):
        y[i] = x[i] * 2
        if i > 0:
            y[i] += y[i - 1]
    return np.sum(y)


@program(27, 6, 1)
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps * 1.0


@program(_X)
def insertion_sort(x):
    y = x.copy()
    n = len(y)
    for i in range(1, n):
        key = y[i]
        j = i - 1
        while j >= 0 and y[j] > key:
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = key
    return np.sum(y * np.arange(n))


@program(_X)
def exchange(x):
    u = x.copy()
    v = np.zeros(8)
    for _ in range(20):
        for i in range(1, 7):
            v[i] = 0.5 * u[i] + 0.25 * (u[i - 1] + u[i + 1])
            if v[i] > 1:
                v[i] = 1.0
        u, v = v, u
    return np.sum(u * x)


@program((0.3, 0.2), (2.0, 2.0))
def escape(cx, cy):
    x = y = 0.0
    n = 0
    while x * x + y * y <= 4 and n < 50:
        x, y = x * x - y * y + cx, 2 * x * y + cy
        n += 1
    return n + x


@program((_X, 3.0), (_X, 40.0))
def while_true(x, limit):
    total, k = 0.0, 0
    while True:
        total += abs(x[k % 8])
        k += 1
        if total > limit:
            break
    return total * k


@program(_X)
def nested_loops(x):
    s = 0.0
    for i in range(8):
        for j in range(i):
            if x[j] > x[i]:
                if x[i] < -2:
                    break
                s += x[j] * x[i]
            elif j == 5:
                continue
            s *= 0.9
    return s


@program(_X)
def last_value(x):
    for i in range(8):
        t = x[i] * i
        if t > 3:
            t = 3.0
    return t + i


@program(_X)
def best_so_far(x):
    best = x
    least = np.inf
    y = x
    for _ in range(20):
        y = 0.8 * y + 0.1 * np.sin(y)
        value = np.sum((y - 0.2) ** 2)
        if value < least:
            least, best = value, y
    return np.sum(best) + least


@program((_X, 0.1), (_X, 10.0))
def raising_in_loop(x, limit):
    s = 0.0
    for i in range(8):
        s += abs(x[i])
        if s > 8 * limit + 2:
            raise OverflowError("the sum is too large")
    return s


@program(5.0, 40.0)
def walrus(x):
    n = 0
    while (y := x * 0.5**n) > 1:
        n += 1
    return y + n


@program((_X, 0.8), (_X, -0.8))
def walrus_in_operands(x, a):
    s = 0.0
    for i in range(8):
        if x[i] > 0 and (y := np.sin(x[i]) * a) > 0.2:
            s += y
        elif x[i] < -0.5 or (z := x[i] * 2) > -0.4:
            s -= x[i]
        else:
            s += z
    t = (u := x[1]) if a > 0.2 else (u := x[2] * 2)
    v = 0 < (m := x[1] * a) < (x[2] + 1)
    return s + t * u + m * v


@program((0.5, 0.3), (-0.5, 0.3), (0.5, 3.0))
def walrus_that_may_not_be_bound(x, a):
    if x > 0 and (y := x * a) > 1:
        return 2 * y
    return y


@program((_X, 0.8), (_X, 3.0))
def walrus_in_a_condition(x, a):
    n, s = 0, 0.0
    while n < 8 and (y := x[n] * a) < 1.5 and (w := y * y) < 3:
        s += w
        n += 1
    return s * n + y


@program((_X, 0.8), (_X, 3.0))
def smallest_above(x, a):
    best = None
    for i in range(8):
        if x[i] > a and (best is None or x[i] < best):
            best = x[i] * a
    return best if best is not None else -a


@program((_X, 0.8))
def smallest(x, a):
    best = where = None
    for i in range(8):
        if best is None or x[i] * a < best:
            best, where = x[i] * a, i
    return best + x[where - 1]


@program((_X, 0.8), (_X, 3.0), (_X, 7.0))
def largest_until(x, a):
    best, n = None, 0
    while n < 8 and x[n] * a < 2:
        if x[n] > 0 and (not best or x[n] > best):
            best = x[n] * a
        n += 1
    if best is None:
        return 0.5 * a
    return best * n


@program((0.5, 0.8), (-0.5, 0.8))
def none_in_arithmetic(x, a):
    best = None
    if x > 0:
        best = x * a
    return 2 * best


def _first_above(x, a):
    for v in x:
        if v > a:
            return v


@program((_X, 0.8), (_X, 3.0), (_X, -9.0))
def helper_that_may_return_none(x, a):
    r, s = _first_above(x, a), _first_above(x, -a)
    if r is None:
        return a
    if not s:
        return r
    return r * s


@program((_X, 0.5))
def last_value_or_none(x, a):
    last = None
    total = 0.0
    for v in x:
        if last is not None:
            total += (v - last) ** 2
        last = v * a if v > a else None
    return total


@program(np.eye(5) * 3 + 0.3, np.diag([1.0, 0.0, 2.0, 3.0, 1.0])[::-1] + 0.1)
def pivoting(A):
    A = A.copy()
    n = len(A)
    sign = 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if p != k:
            row = A[k].copy()
            A[k] = A[p]
            A[p] = row
            sign = -sign
        for i in range(k + 1, n):
            A[i] = A[i] - A[i, k] / A[k, k] * A[k]
    product = sign
    for k in range(n):
        product *= A[k, k]
    return product


@program(3.0, 0.5)
def recursion(x):
    def power(x, n):
        if n == 0:
            return 1.0
        if x > 1:
            return power(x, n - 1) * x
        return power(x, n - 1) * 0.5

    return power(x, 5)


@program(_X)
def all_and_any(x):
    if any(v > 2 for v in x) and not all(v > 0 for v in x):
        return x[0]
    return x[1]


class _Base:
    def gain(self, x):
        return 2 * x if x > 0 else x


class _Derived(_Base):
    def gain(self, x):
        if x > 1:
            return super().gain(x) + 1
        return super().gain(x)


@program(2.0, 0.5, -1.0)
def methods(x):
    return _Derived().gain(x) * 3


@program((_X, 0.5), (_X, 3.0))
def matched(x, y):
    total = 0.0
    for i in range(8):
        match i % 2:
            case 0:
                if x[i] > y:
                    continue
                total += x[i]
            case _:
                total -= x[i] if x[i] > 0 else 0.5
    return total
