"""Walks over trees and graphs in index arrays, and finite elements assembled by loops."""

import math

import numpy as np

from tests.programs.loops.cases import Program, draw


def decision_tree(features, thresholds, splits, left, right, leaves):
    out = np.zeros(len(features))
    for i in range(len(features)):
        node = 0
        while splits[node] >= 0:
            if features[i, splits[node]] <= thresholds[node]:
                node = left[node]
            else:
                node = right[node]
        out[i] = leaves[node] * (1.0 + 0.1 * features[i, 0])
    return out


def subtree_sums(parents, weights):
    total = weights.copy()
    for node in range(len(parents) - 1, 0, -1):
        total[parents[node]] += 0.5 * total[node]
    return total


def tree_depth_first(first_child, next_sibling, lengths):
    n = len(lengths)
    stack = np.zeros(n, dtype=np.int64)
    depth = np.zeros(n)
    top = 1
    far = 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        far = max(far, depth[node])
        child = first_child[node]
        while child != -1:
            depth[child] = depth[node] + lengths[child]
            stack[top] = child
            top += 1
            child = next_sibling[child]
    return far


def phylogenetic_likelihood(left, right, lengths, tips):
    n = len(tips)
    partial = np.zeros((n + len(left), 4))
    for i in range(n):
        partial[i, tips[i]] = 1.0
    for k in range(len(left)):
        for s in range(4):
            product = 1.0
            for child in (left[k], right[k]):
                same = 0.25 + 0.75 * math.exp(-4.0 / 3.0 * lengths[child])
                other = 0.25 - 0.25 * math.exp(-4.0 / 3.0 * lengths[child])
                total = 0.0
                for t in range(4):
                    total += (same if s == t else other) * partial[child, t]
                product *= total
            partial[n + k, s] = product
    return math.log(0.25 * partial[-1].sum())


def sparse_product(starts, columns, values, x):
    n = len(starts) - 1
    y = np.zeros(n)
    for i in range(n):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def graph_diffusion(starts, columns, x, steps):
    n = len(starts) - 1
    for _ in range(steps):
        new = np.zeros(n)
        for i in range(n):
            degree = starts[i + 1] - starts[i]
            if degree == 0:
                new[i] = x[i]
                continue
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += x[columns[k]]
            new[i] = 0.5 * x[i] + 0.5 * math.tanh(total / degree)
        x = new
    return x


def spanning_tree(weights):
    n = weights.shape[0]
    inside = [False] * n
    cheapest = np.full(n, np.inf)
    cheapest[0] = 0.0
    total = 0.0
    for _ in range(n):
        best = -1
        for v in range(n):
            if not inside[v] and (best == -1 or cheapest[v] < cheapest[best]):
                best = v
        inside[best] = True
        total += cheapest[best]
        for v in range(n):
            if not inside[v] and weights[best, v] < cheapest[v]:
                cheapest[v] = weights[best, v]
    return total


def breadth_first_flow(starts, columns, conductance, source):
    n = len(starts) - 1
    level = np.full(n, -1)
    queue = np.zeros(n, dtype=np.int64)
    potential = np.zeros(n)
    head, tail = 0, 1
    queue[0] = source
    level[source] = 0
    potential[source] = 1.0
    while head < tail:
        node = queue[head]
        head += 1
        for k in range(starts[node], starts[node + 1]):
            other = columns[k]
            if level[other] == -1:
                level[other] = level[node] + 1
                potential[other] = potential[node] * conductance[k]
                queue[tail] = other
                tail += 1
    return potential


def union_find_clusters(first, second, strengths, threshold, n):
    parent = np.arange(n)
    energy = 0.0
    for e in range(len(first)):
        if strengths[e] < threshold:
            continue
        a = first[e]
        while parent[a] != a:
            a = parent[a]
        b = second[e]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[a] = b
            energy += strengths[e] ** 2
    return energy


def bar_elements(stiffness, load):
    n = len(stiffness)
    k = np.zeros((n + 1, n + 1))
    f = np.zeros(n + 1)
    for e in range(n):
        local = stiffness[e] * n * np.array([[1.0, -1.0], [-1.0, 1.0]])
        for a in range(2):
            for b in range(2):
                k[e + a, e + b] += local[a, b]
            f[e + a] += 0.5 * load / n
    u = np.zeros(n + 1)
    u[1:] = np.linalg.solve(k[1:, 1:], f[1:])
    return u


def truss_stiffness(nodes, bars, areas):
    n = len(nodes)
    k = np.zeros((2 * n, 2 * n))
    for bar, (i, j) in enumerate(bars):
        dx, dy = nodes[j] - nodes[i]
        length = math.sqrt(dx * dx + dy * dy)
        c, s = dx / length, dy / length
        direction = np.array([-c, -s, c, s])
        places = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        for a in range(4):
            for b in range(4):
                k[places[a], places[b]] += areas[bar] / length * direction[a] * direction[b]
    return k


def triangle_assembly(points, triangles, diffusivity):
    n = len(points)
    k = np.zeros((n, n))
    for t in range(len(triangles)):
        p = points[triangles[t]]
        b = np.zeros(3)
        c = np.zeros(3)
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            b[i] = p[j, 1] - p[m, 1]
            c[i] = p[m, 0] - p[j, 0]
        area = 0.5 * abs(b[0] * c[1] - b[1] * c[0])
        for i in range(3):
            for j in range(3):
                place = triangles[t, i], triangles[t, j]
                k[place] += diffusivity[t] * (b[i] * b[j] + c[i] * c[j]) / (4.0 * area)
    return k


def plastic_bar(strains, modulus, yield_stress):
    plastic, hardening = 0.0, 0.0
    stress = np.zeros(len(strains))
    for t, strain in enumerate(strains):
        trial = modulus * (strain - plastic)
        excess = abs(trial) - (yield_stress + 0.1 * modulus * hardening)
        if excess > 0.0:
            flow = excess / (1.1 * modulus)
            plastic += flow * np.sign(trial)
            hardening += flow
            trial = modulus * (strain - plastic)
        stress[t] = trial
    return stress


def tree(n):
    """Return a complete binary tree of decisions with n inner nodes, and features."""
    rng = draw(n)
    size = 2 * n + 1
    splits = np.where(np.arange(size) < n, np.arange(size) % 3, -1)
    left = np.where(np.arange(size) < n, 2 * np.arange(size) + 1, 0)
    return (
        rng.normal(size=(4 * n, 3)),
        0.5 * rng.normal(size=size),
        splits,
        left,
        left + 1,
        rng.normal(size=size),
    )


def parents(n):
    rng = draw(n)
    return np.array([0] + [int(rng.integers(0, i)) for i in range(1, n)])


def siblings(n):
    first, following = np.full(n, -1), np.full(n, -1)
    for node, parent in enumerate(parents(n)[1:], start=1):
        following[node] = first[parent]
        first[parent] = node
    return first, following, draw(n).random(n)


def phylogeny(n):
    left, right = np.zeros(n - 1, dtype=np.int64), np.zeros(n - 1, dtype=np.int64)
    for k in range(n - 1):
        left[k], right[k] = 2 * k, 2 * k + 1
    return left, right, 0.1 + draw(n).random(2 * n - 1), draw(n).integers(0, 4, n)


def sparse(n):
    rng = draw(n)
    counts = rng.integers(0, 6, n)
    counts[0] = 3
    starts = np.concatenate([[0], np.cumsum(counts)])
    return starts, rng.integers(0, n, starts[-1]), rng.normal(size=starts[-1])


def bars(n):
    rng = draw(n)
    nodes = np.arange(n)[:, None] * np.array([1.0, 0.0]) + 0.3 * rng.normal(size=(n, 2))
    pairs = np.concatenate([np.stack([np.arange(n - d), np.arange(d, n)], 1) for d in (1, 2)])
    return nodes, pairs, 0.5 + rng.random(len(pairs))


def mesh(n):
    """Return the triangles of a square of n x n points."""
    grid = np.stack(np.meshgrid(np.arange(n), np.arange(n)), -1).reshape(-1, 2)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    lower = np.stack([corner, corner + 1, corner + n], 1)
    upper = np.stack([corner + 1, corner + n + 1, corner + n], 1)
    triangles = np.concatenate([lower, upper])
    return grid + 0.1 * draw(n).normal(size=grid.shape), triangles, 0.5 + draw(n).random(len(triangles))


def random_edges(n):
    rng = draw(n)
    return rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n), rng.random(3 * n), 0.4, n


PROGRAMS = (
    Program(decision_tree, tree, 7, 2047, wrt=(0, 5)),
    Program(subtree_sums, lambda n: (parents(n), draw(n).normal(size=n)), 8, 20_000, wrt=(1,)),
    Program(tree_depth_first, siblings, 8, 10_000, wrt=(2,)),
    Program(phylogenetic_likelihood, phylogeny, 4, 300, wrt=(2,)),
    Program(sparse_product, lambda n: (*sparse(n), draw(n).normal(size=n)), 6, 20_000, wrt=(2, 3)),
    Program(graph_diffusion, lambda n: (*sparse(n)[:2], draw(n).normal(size=n), 10), 6, 1000, wrt=(2,)),
    Program(spanning_tree, lambda n: (draw(n).random((n, n)),), 6, 300),
    Program(breadth_first_flow, lambda n: (*sparse(n), 0), 8, 10_000, wrt=(2,)),
    Program(union_find_clusters, random_edges, 8, 1_000, wrt=(2,), static=(4,)),
    Program(bar_elements, lambda n: (1.0 + draw(n).random(n), 0.7), 5, 300, wrt=(0, 1)),
    Program(truss_stiffness, bars, 4, 100, wrt=(0, 2)),
    Program(triangle_assembly, mesh, 3, 25, wrt=(0, 2)),
    Program(plastic_bar, lambda n: (2.0 * np.sin(np.linspace(0, 9, n)), 1.0, 0.5), 12, 20_000, wrt=(0, 1, 2)),
)
