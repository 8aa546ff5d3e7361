"""Dense linear algebra by element and by row."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw, positive_definite


def cholesky_by_element(a):
    n = a.shape[0]
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(s)
            else:
                factor[i, j] = s / factor[j, j]
    return factor


def cholesky_by_row(a):
    n = len(a)
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i):
            factor[i, j] = (a[i, j] - factor[i, :j] @ factor[j, :j]) / factor[j, j]
        factor[i, i] = np.sqrt(a[i, i] - factor[i, :i] @ factor[i, :i])
    return factor


def cholesky_in_place(a):
    n = a.shape[0]
    work = a.copy()
    for k in range(n):
        work[k, k] = math.sqrt(work[k, k])
        work[k + 1 :, k] /= work[k, k]
        for j in range(k + 1, n):
            work[j:, j] -= work[j:, k] * work[j, k]
    return np.tril(work)


def lu_with_pivoting(a, b):
    n = len(a)
    lu = a.copy()
    x = b.copy()
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(lu[i, k]) > abs(lu[pivot, k]):
                pivot = i
        if lu[pivot, k] == 0.0:
            raise ValueError("the matrix is singular")
        if pivot != k:
            for j in range(n):
                lu[k, j], lu[pivot, j] = lu[pivot, j], lu[k, j]
            x[k], x[pivot] = x[pivot], x[k]
        for i in range(k + 1, n):
            factor = lu[i, k] / lu[k, k]
            lu[i, k] = factor
            for j in range(k + 1, n):
                lu[i, j] -= factor * lu[k, j]
            x[i] -= factor * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= lu[i, j] * x[j]
        x[i] /= lu[i, i]
    return x


def gaussian_elimination_by_row(a, b):
    n = len(b)
    m = np.zeros((n, n + 1))
    m[:, :n] = a
    m[:, n] = b
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(m[k:, k])))
        row = m[k].copy()
        m[k] = m[pivot]
        m[pivot] = row
        for i in range(n):
            if i != k:
                m[i, k:] -= m[k, k:] * (m[i, k] / m[k, k])
    return m[:, n] / np.diag(m[:, :n])


def householder_qr(a):
    m, n = a.shape
    r = a.copy()
    for k in range(n):
        norm = 0.0
        for i in range(k, m):
            norm += r[i, k] ** 2
        norm = math.sqrt(norm)
        if r[k, k] > 0.0:
            norm = -norm
        v = np.zeros(m)
        v[k] = r[k, k] - norm
        for i in range(k + 1, m):
            v[i] = r[i, k]
        square = 0.0
        for i in range(k, m):
            square += v[i] * v[i]
        if square > 0.0:
            for j in range(k, n):
                dot = 0.0
                for i in range(k, m):
                    dot += v[i] * r[i, j]
                for i in range(k, m):
                    r[i, j] -= 2.0 * dot / square * v[i]
    return np.triu(r[:n])


def householder_by_vector(a):
    m, n = a.shape
    r = a.copy()
    for k in range(n):
        v = r[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2.0 * np.outer(v, v @ r[k:, k:])
    return r


def gram_schmidt(a):
    m, n = a.shape
    q = np.zeros((m, n))
    r = np.zeros((n, n))
    for j in range(n):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = q[:, i] @ v
            v -= r[i, j] * q[:, i]
        r[j, j] = np.sqrt(v @ v)
        q[:, j] = v / r[j, j]
    return q, r


def triangular_solve(lower, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= lower[i, j] * x[j]
        x[i] = s / lower[i, i]
    return x


def back_substitution(upper, b):
    x = b.copy()
    for i in reversed(range(len(b))):
        x[i] = (x[i] - upper[i, i + 1 :] @ x[i + 1 :]) / upper[i, i]
    return x


def levinson_durbin(r, order):
    a = np.zeros(order + 1)
    a[0] = 1.0
    error = r[0]
    for k in range(1, order + 1):
        acc = r[k]
        for j in range(1, k):
            acc += a[j] * r[k - j]
        reflection = -acc / error
        previous = a.copy()
        for j in range(1, k):
            a[j] = previous[j] + reflection * previous[k - j]
        a[k] = reflection
        error *= 1.0 - reflection * reflection
    return a, error


def thomas_solve(lower, diagonal, upper, rhs):
    n = len(diagonal)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = rhs[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def eigenvalues_by_qr(a, tolerance):
    n = a.shape[0]
    t = a.copy()
    turns = 0
    while turns < 500:
        off = 0.0
        for i in range(1, n):
            off += abs(t[i, i - 1])
        if off < tolerance:
            break
        cosines = np.zeros(n - 1)
        sines = np.zeros(n - 1)
        for k in range(n - 1):
            r = math.hypot(t[k, k], t[k + 1, k])
            c, s = t[k, k] / r, t[k + 1, k] / r
            cosines[k], sines[k] = c, s
            for j in range(n):
                upper, lower = t[k, j], t[k + 1, j]
                t[k, j] = c * upper + s * lower
                t[k + 1, j] = c * lower - s * upper
        for k in range(n - 1):
            c, s = cosines[k], sines[k]
            for i in range(n):
                left, right = t[i, k], t[i, k + 1]
                t[i, k] = c * left + s * right
                t[i, k + 1] = c * right - s * left
        turns += 1
    return np.array([t[i, i] for i in range(n)])


def power_iteration(a, tolerance=1e-10):
    v = np.ones(len(a)) / np.sqrt(len(a))
    value = 0.0
    while True:
        w = a @ v
        new = v @ w
        v = w / np.linalg.norm(w)
        if abs(new - value) <= tolerance * abs(new):
            return new, v
        value = new


def jacobi_eigenvalues(a):
    n = len(a)
    a = a.copy()
    for _sweep in range(30):
        off = 0.0
        for i in range(n):
            for j in range(i):
                off += a[i, j] ** 2
        if off < 1e-18:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) > 1e-15:
                    theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                    sign = 1.0 if theta >= 0.0 else -1.0
                    t = sign / (abs(theta) + math.sqrt(theta * theta + 1.0))
                    c = 1.0 / math.sqrt(t * t + 1.0)
                    s = t * c
                    for k in range(n):
                        x, y = a[k, p], a[k, q]
                        a[k, p] = c * x - s * y
                        a[k, q] = s * x + c * y
                    for k in range(n):
                        x, y = a[p, k], a[q, k]
                        a[p, k] = c * x - s * y
                        a[q, k] = s * x + c * y
    return np.diag(a)


def matrix_product(a, b):
    rows, inner = a.shape
    columns = b.shape[1]
    c = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            for k in range(inner):
                c[i, j] += a[i, k] * b[k, j]
    return c


def square(n):
    return draw(n).normal(size=(n, n)) + 2.0 * np.eye(n)


def square_and_vector(n):
    return square(n), draw(n + 1).normal(size=n)


def autocorrelations(n):
    return 0.8 ** np.arange(n + 1) * np.cos(0.7 * np.arange(n + 1)), n


def tridiagonal(n):
    rng = draw(n)
    return rng.normal(size=n), 4.0 + rng.random(n), rng.normal(size=n), rng.normal(size=n)


def distinct(n):
    """Return a symmetric matrix whose eigenvalues are well apart."""
    q, _ = np.linalg.qr(draw(n).normal(size=(n, n)))
    return (q * 2.0 ** -np.arange(n)) @ q.T


PROGRAMS = (
    Program(cholesky_by_element, lambda n: (positive_definite(n),), 5, 90),
    Program(cholesky_by_row, lambda n: (positive_definite(n),), 5, 200),
    Program(cholesky_in_place, lambda n: (positive_definite(n),), 5, 200),
    Program(lu_with_pivoting, square_and_vector, 5, 80, wrt=(0, 1)),
    Program(gaussian_elimination_by_row, square_and_vector, 5, 120, wrt=(0, 1)),
    Program(householder_qr, lambda n: (draw(n).normal(size=(n + 2, n)),), 4, 60),
    Program(householder_by_vector, lambda n: (draw(n).normal(size=(n + 2, n)),), 4, 150),
    Program(gram_schmidt, lambda n: (draw(n).normal(size=(n + 2, n)),), 4, 150),
    Program(triangular_solve, lambda n: (np.tril(square(n)) + 4 * np.eye(n), np.ones(n)), 6, 600, wrt=(0, 1)),
    Program(
        back_substitution, lambda n: (np.triu(square(n)) + 4 * np.eye(n), np.ones(n)), 6, 1000, wrt=(0, 1)
    ),
    Program(levinson_durbin, autocorrelations, 6, 500, static=(1,)),
    Program(thomas_solve, tridiagonal, 6, 50_000, wrt=(0, 1, 2, 3)),
    Program(eigenvalues_by_qr, lambda n: (distinct(n), 1e-10), 4, 16),
    Program(power_iteration, lambda n: (distinct(n),), 5, 500),
    Program(jacobi_eigenvalues, lambda n: (distinct(n),), 4, 24),
    Program(matrix_product, lambda n: (square(n), square(n + 1)[:n]), 4, 50, wrt=(0, 1)),
)
