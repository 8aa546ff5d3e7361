"""Sorting, selecting and searching, written on values."""

import numpy as np

from tests.programs.loops.cases import Program, draw


def insertion_sort(x):
    y = x.copy()
    for i in range(1, len(y)):
        key = y[i]
        j = i - 1
        while j >= 0 and y[j] > key:
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = key
    return y


def bubble_sort(x):
    y = x.copy()
    n = len(y)
    swapped = True
    while swapped:
        swapped = False
        for i in range(1, n):
            if y[i - 1] > y[i]:
                y[i - 1], y[i] = y[i], y[i - 1]
                swapped = True
        n -= 1
    return y


def shell_sort(x):
    y = x.copy()
    gap = len(y) // 2
    while gap > 0:
        for i in range(gap, len(y)):
            value = y[i]
            j = i
            while j >= gap and y[j - gap] > value:
                y[j] = y[j - gap]
                j -= gap
            y[j] = value
        gap //= 2
    return y


def heap_sort(x):
    y = x.copy()
    n = len(y)
    for start in range(n // 2 - 1, -1, -1):
        sift_down(y, start, n)
    for end in range(n - 1, 0, -1):
        y[0], y[end] = y[end], y[0]
        sift_down(y, 0, end)
    return y


def sift_down(y, root, end):
    while True:
        child = 2 * root + 1
        if child >= end:
            return
        if child + 1 < end and y[child] < y[child + 1]:
            child += 1
        if y[root] >= y[child]:
            return
        y[root], y[child] = y[child], y[root]
        root = child


def merge_sort_bottom_up(x):
    n = len(x)
    source = x.copy()
    target = np.zeros(n)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, end):
                if i < middle and (j >= end or source[i] <= source[j]):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target = target, source
        width *= 2
    return source


def quick_select(x, k):
    y = x.copy()
    low, high = 0, len(y) - 1
    while low < high:
        pivot = y[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while y[i] < pivot:
                i += 1
            while y[j] > pivot:
                j -= 1
            if i <= j:
                y[i], y[j] = y[j], y[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return y[k]


def largest(x, k):
    best = np.full(k, -np.inf)
    for value in x:
        if value <= best[k - 1]:
            continue
        i = k - 1
        while i > 0 and best[i - 1] < value:
            best[i] = best[i - 1]
            i -= 1
        best[i] = value
    return best


def running_median(x, width):
    n = len(x)
    out = np.zeros(n - width + 1)
    window = np.zeros(width)
    for start in range(n - width + 1):
        for i in range(width):
            value = x[start + i]
            j = i
            while j > 0 and window[j - 1] > value:
                window[j] = window[j - 1]
                j -= 1
            window[j] = value
        out[start] = window[width // 2]
    return out


def interpolation_table(knots, values, queries):
    out = np.zeros(len(queries))
    for q in range(len(queries)):
        low, high = 0, len(knots) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if knots[middle] > queries[q]:
                high = middle
            else:
                low = middle
        share = (queries[q] - knots[low]) / (knots[high] - knots[low])
        out[q] = (1.0 - share) * values[low] + share * values[high]
    return out


def largest_run(x):
    best = current = x[0]
    for value in x[1:]:
        current = max(value, current + value)
        best = max(best, current)
    return best


def isotonic_regression(y):
    n = len(y)
    level = np.zeros(n)
    size = np.zeros(n, dtype=np.int64)
    blocks = 0
    for i in range(n):
        level[blocks] = y[i]
        size[blocks] = 1
        blocks += 1
        while blocks > 1 and level[blocks - 2] > level[blocks - 1]:
            both = size[blocks - 2] + size[blocks - 1]
            level[blocks - 2] = (
                level[blocks - 2] * size[blocks - 2] + level[blocks - 1] * size[blocks - 1]
            ) / both
            size[blocks - 2] = both
            blocks -= 1
    fitted = np.zeros(n)
    k = 0
    for b in range(blocks):
        for _ in range(size[b]):
            fitted[k] = level[b]
            k += 1
    return fitted


def lower_envelope(heights):
    n = len(heights)
    stack = np.zeros(n, dtype=np.int64)
    top = 0
    area = 0.0
    for i in range(n):
        while top > 0 and heights[stack[top - 1]] > heights[i]:
            height = heights[stack[top - 1]]
            top -= 1
            left = stack[top - 1] + 1 if top > 0 else 0
            area = max(area, height * (i - left))
        stack[top] = i
        top += 1
    return area


def numbers(n):
    return draw(n).normal(size=n)


def knots(n):
    rng = draw(n)
    return np.cumsum(0.5 + rng.random(n)), rng.normal(size=n), 1.0 + 0.5 * (n - 2) * rng.random(2 * n)


PROGRAMS = (
    Program(insertion_sort, lambda n: (numbers(n),), 7, 600),
    Program(bubble_sort, lambda n: (numbers(n),), 6, 500),
    Program(shell_sort, lambda n: (numbers(n),), 9, 10_000),
    Program(heap_sort, lambda n: (numbers(n),), 7, 5000),
    Program(merge_sort_bottom_up, lambda n: (numbers(n),), 7, 10_000),
    Program(quick_select, lambda n: (numbers(n), n // 2), 9, 50_000),
    Program(largest, lambda n: (numbers(n), 3), 10, 100_000, static=(1,)),
    Program(running_median, lambda n: (numbers(n), 5), 9, 10_000, static=(1,)),
    Program(interpolation_table, knots, 6, 10_000, wrt=(0, 1, 2)),
    Program(largest_run, lambda n: (numbers(n),), 10, 100_000),
    Program(isotonic_regression, lambda n: (numbers(n) + 0.1 * np.arange(n),), 8, 10_000),
    Program(lower_envelope, lambda n: (1.0 + draw(n).random(n),), 8, 20_000),
)
