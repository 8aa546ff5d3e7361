"""Pixels one at a time: filters, fills, automata, rays and escape counts."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw


def box_blur(image, radius):
    rows, columns = image.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            count = 0
            for di in range(-radius, radius + 1):
                for dj in range(-radius, radius + 1):
                    if 0 <= i + di < rows and 0 <= j + dj < columns:
                        total += image[i + di, j + dj]
                        count += 1
            out[i, j] = total / count
    return out


def bilateral_filter(image, near, alike):
    rows, columns = image.shape
    out = image.copy()
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            total = weight = 0.0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    other = image[i + di, j + dj]
                    w = math.exp(-(di * di + dj * dj) / near - (other - image[i, j]) ** 2 / alike)
                    total += w * other
                    weight += w
            out[i, j] = total / weight
    return out


def median_filter(image):
    rows, columns = image.shape
    out = image.copy()
    window = np.zeros(9)
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            count = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    value = image[i + di, j + dj]
                    k = count
                    while k > 0 and window[k - 1] > value:
                        window[k] = window[k - 1]
                        k -= 1
                    window[k] = value
                    count += 1
            out[i, j] = window[4]
    return out


def sobel_edges(image, threshold):
    rows, columns = image.shape
    total = 0.0
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            gx = image[i - 1, j + 1] + 2 * image[i, j + 1] + image[i + 1, j + 1]
            gx -= image[i - 1, j - 1] + 2 * image[i, j - 1] + image[i + 1, j - 1]
            gy = image[i + 1, j - 1] + 2 * image[i + 1, j] + image[i + 1, j + 1]
            gy -= image[i - 1, j - 1] + 2 * image[i - 1, j] + image[i - 1, j + 1]
            size = math.sqrt(gx * gx + gy * gy)
            if size > threshold:
                total += size - threshold
    return total


def convolution(image, kernel):
    rows, columns = image.shape
    size = kernel.shape[0]
    out = np.zeros((rows - size + 1, columns - size + 1))
    for i in range(rows - size + 1):
        for j in range(columns - size + 1):
            out[i, j] = np.sum(image[i : i + size, j : j + size] * kernel)
    return out


def flood_fill(image, tolerance):
    rows, columns = image.shape
    seen = np.zeros((rows, columns), dtype=np.int64)
    stack = np.zeros((4 * rows * columns, 2), dtype=np.int64)
    top = 1
    total = 0.0
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        if i < 0 or j < 0 or i >= rows or j >= columns or seen[i, j] == 1:
            continue
        if abs(image[i, j] - image[0, 0]) > tolerance:
            continue
        seen[i, j] = 1
        total += image[i, j]
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            stack[top, 0] = i + di
            stack[top, 1] = j + dj
            top += 1
    return total


def game_of_life(cells, weights, generations):
    rows, columns = cells.shape
    score = 0.0
    for _ in range(generations):
        new = np.zeros((rows, columns), dtype=np.int64)
        for i in range(rows):
            for j in range(columns):
                neighbours = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            neighbours += cells[(i + di) % rows, (j + dj) % columns]
                if neighbours == 3 or (neighbours == 2 and cells[i, j] == 1):
                    new[i, j] = 1
                    score += weights[i, j]
        cells = new
    return score


def forest_fire(moisture, wind, steps):
    n = len(moisture)
    burning = np.zeros((n, n))
    burning[n // 2, n // 2] = 1.0
    fuel = 1.0 - moisture
    for _ in range(steps):
        heat = np.zeros((n, n))
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                heat[i, j] = (
                    burning[i - 1, j] + burning[i + 1, j] + wind * burning[i, j - 1] + burning[i, j + 1]
                )
        for i in range(n):
            for j in range(n):
                if heat[i, j] > 0.5 and fuel[i, j] > 0.1:
                    burning[i, j] = min(1.0, burning[i, j] + 0.5 * fuel[i, j] * heat[i, j])
                    fuel[i, j] *= 0.8
    return fuel


def ray_march(centre, radius, size):
    image = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            x, y = 2.0 * column / size - 0.9, 2.0 * row / size - 0.9
            length = math.sqrt(x * x + y * y + 1.0)
            dx, dy, dz = x / length, y / length, 1.0 / length
            depth = 0.0
            for _ in range(40):
                px, py, pz = dx * depth - centre[0], dy * depth - centre[1], dz * depth - centre[2]
                distance = math.sqrt(px * px + py * py + pz * pz) - radius
                if distance < 1e-4:
                    image[row, column] = 1.0 / depth
                    break
                depth += distance
                if depth > 10.0:
                    break
    return image


def escape_count(centre_x, centre_y, size, limit):
    image = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            cx = centre_x + 3.0 * (j / size - 0.5)
            cy = centre_y + 3.0 * (i / size - 0.5)
            x = y = 0.0
            n = 0
            while x * x + y * y <= 100.0 and n < limit:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            if n < limit:
                image[i, j] = n + 1 - math.log2(math.log(math.hypot(x, y)))
    return image


def bilinear_rotation(image, angle):
    n = len(image)
    out = np.zeros((n, n))
    c, s = math.cos(angle), math.sin(angle)
    middle = 0.5 * (n - 1)
    for i in range(n):
        for j in range(n):
            x = c * (i - middle) - s * (j - middle) + middle
            y = s * (i - middle) + c * (j - middle) + middle
            i0, j0 = int(math.floor(x)), int(math.floor(y))
            if 0 <= i0 < n - 1 and 0 <= j0 < n - 1:
                u, v = x - i0, y - j0
                top = (1.0 - v) * image[i0, j0] + v * image[i0, j0 + 1]
                bottom = (1.0 - v) * image[i0 + 1, j0] + v * image[i0 + 1, j0 + 1]
                out[i, j] = (1.0 - u) * top + u * bottom
    return out


def error_diffusion(image):
    work = image.copy()
    rows, columns = work.shape
    total = 0.0
    for i in range(rows):
        for j in range(columns):
            error = work[i, j] - (1.0 if work[i, j] > 0.5 else 0.0)
            total += error * error
            if j + 1 < columns:
                work[i, j + 1] += error * 7 / 16
            if i + 1 < rows:
                if j > 0:
                    work[i + 1, j - 1] += error * 3 / 16
                work[i + 1, j] += error * 5 / 16
    return total


def distance_transform(heights):
    rows, columns = heights.shape
    d = heights.copy()
    for i in range(rows):
        for j in range(columns):
            if i > 0:
                d[i, j] = min(d[i, j], d[i - 1, j] + 1.0)
            if j > 0:
                d[i, j] = min(d[i, j], d[i, j - 1] + 1.0)
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            if i < rows - 1:
                d[i, j] = min(d[i, j], d[i + 1, j] + 1.0)
            if j < columns - 1:
                d[i, j] = min(d[i, j], d[i, j + 1] + 1.0)
    return d


def summed_area(image):
    total = np.zeros((image.shape[0] + 1, image.shape[1] + 1))
    for i, row in enumerate(image, start=1):
        along = 0.0
        for j, pixel in enumerate(row, start=1):
            along += pixel
            total[i, j] = total[i - 1, j] + along
    return total


def image(n):
    return draw(n).random((n, n + 1))


def life(n):
    rng = draw(n)
    return rng.integers(0, 2, (n, n)), rng.random((n, n)), 3


PROGRAMS = (
    Program(box_blur, lambda n: (image(n), 1), 4, 150),
    Program(bilateral_filter, lambda n: (image(n), 2.0, 0.1), 5, 90, wrt=(0, 1, 2)),
    Program(median_filter, lambda n: (image(n),), 4, 100),
    Program(sobel_edges, lambda n: (image(n), 0.8), 6, 150),
    Program(convolution, lambda n: (image(n), draw(n).normal(size=(3, 3))), 5, 120, wrt=(0, 1)),
    Program(flood_fill, lambda n: (image(n), 0.6), 4, 120),
    Program(game_of_life, life, 5, 80, wrt=(1,)),
    Program(forest_fire, lambda n: (0.5 * draw(n).random((n, n)), 1.5, n), 5, 36, wrt=(0, 1)),
    Program(ray_march, lambda n: (np.array([0.1, 0.0, 3.0]), 1.0, n), 4, 80, wrt=(0, 1), static=(2,)),
    Program(escape_count, lambda n: (-0.43, 0.13, n, 50), 4, 100, wrt=(0, 1), static=(2,)),
    Program(bilinear_rotation, lambda n: (image(n)[:, :n], 0.3), 5, 200, wrt=(0, 1)),
    Program(error_diffusion, lambda n: (image(n),), 5, 160),
    Program(distance_transform, lambda n: (6.0 * image(n),), 5, 160),
    Program(summed_area, lambda n: (image(n),), 4, 300),
)
