"""Dynamic programming over costs and probabilities."""

import numpy as np

from tests.programs.loops.cases import Program, draw


def edit_distance(first, second, costs):
    m, n = len(first), len(second)
    table = np.zeros((m + 1, n + 1))
    for i in range(1, m + 1):
        table[i, 0] = table[i - 1, 0] + costs[0]
    for j in range(1, n + 1):
        table[0, j] = table[0, j - 1] + costs[1]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            change = 0.0 if first[i - 1] == second[j - 1] else costs[2]
            table[i, j] = min(
                table[i - 1, j] + costs[0],
                table[i, j - 1] + costs[1],
                table[i - 1, j - 1] + change,
            )
    return table[m, n]


def global_alignment(scores, gap):
    m, n = scores.shape
    previous = np.zeros(n + 1)
    for j in range(n + 1):
        previous[j] = -gap * j
    for i in range(m):
        current = np.zeros(n + 1)
        current[0] = -gap * (i + 1)
        for j in range(n):
            best = previous[j] + scores[i, j]
            if previous[j + 1] - gap > best:
                best = previous[j + 1] - gap
            if current[j] - gap > best:
                best = current[j] - gap
            current[j + 1] = best
        previous = current
    return previous[n]


def local_alignment(scores, gap):
    m, n = scores.shape
    h = np.zeros((m + 1, n + 1))
    best = 0.0
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            h[i, j] = max(0.0, h[i - 1, j - 1] + scores[i - 1, j - 1], h[i - 1, j] - gap, h[i, j - 1] - gap)
            if h[i, j] > best:
                best = h[i, j]
    return best


def time_warping(x, y):
    m, n = len(x), len(y)
    d = np.full((m + 1, n + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[m, n]


def viterbi(transitions, emissions, initial):
    steps, states = emissions.shape
    score = initial + emissions[0]
    back = np.zeros((steps, states), dtype=np.int64)
    for t in range(1, steps):
        new = np.zeros(states)
        for j in range(states):
            best = 0
            for i in range(1, states):
                if score[i] + transitions[i, j] > score[best] + transitions[best, j]:
                    best = i
            back[t, j] = best
            new[j] = score[best] + transitions[best, j] + emissions[t, j]
        score = new
    path = np.zeros(steps, dtype=np.int64)
    path[steps - 1] = np.argmax(score)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return score[path[steps - 1]], path


def floyd_warshall(lengths):
    n = len(lengths)
    d = lengths.copy()
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def bellman_ford(tails, heads, weights, nodes):
    d = np.full(nodes, 1e9)
    d[0] = 0.0
    for _ in range(nodes - 1):
        changed = False
        for e in range(len(tails)):
            through = d[tails[e]] + weights[e]
            if through < d[heads[e]]:
                d[heads[e]] = through
                changed = True
        if not changed:
            break
    return d


def dijkstra(lengths):
    n = lengths.shape[0]
    distance = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    distance[0] = 0.0
    for _ in range(n):
        nearest = -1
        for v in range(n):
            if not done[v] and (nearest < 0 or distance[v] < distance[nearest]):
                nearest = v
        done[nearest] = True
        for v in range(n):
            if not done[v]:
                distance[v] = min(distance[v], distance[nearest] + lengths[nearest, v])
    return distance


def knapsack(values, weights, capacity):
    best = np.zeros(capacity + 1)
    for value, weight in zip(values, weights):
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


def optimal_stopping(rewards, probabilities, discount):
    periods, states = rewards.shape
    value = rewards[periods - 1].copy()
    for t in range(periods - 2, -1, -1):
        new = np.zeros(states)
        for s in range(states):
            stay = 0.0
            for q in range(states):
                stay += probabilities[s, q] * value[q]
            stay *= discount
            new[s] = rewards[t, s] if rewards[t, s] >= stay else stay
        value = new
    return value


def matrix_chain(dimensions):
    n = len(dimensions) - 1
    cost = np.zeros((n, n))
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best = np.inf
            for k in range(i, j):
                total = cost[i, k] + cost[k + 1, j] + dimensions[i] * dimensions[k + 1] * dimensions[j + 1]
                best = min(best, total)
            cost[i, j] = best
    return cost[0, n - 1]


def seam_carving(energy):
    rows, columns = energy.shape
    total = energy.copy()
    for i in range(1, rows):
        for j in range(columns):
            lowest = total[i - 1, j]
            if j > 0:
                lowest = min(lowest, total[i - 1, j - 1])
            if j < columns - 1:
                lowest = min(lowest, total[i - 1, j + 1])
            total[i, j] += lowest
    return np.min(total[rows - 1])


def value_iteration(rewards, transitions, discount, tolerance):
    states, actions = rewards.shape
    value = np.zeros(states)
    while True:
        new = np.zeros(states)
        for s in range(states):
            choices = []
            for a in range(actions):
                choices.append(rewards[s, a] + discount * (transitions[s, a] @ value))
            new[s] = max(choices)
        if np.max(np.abs(new - value)) < tolerance:
            return new
        value = new


def letters(n):
    rng = draw(n)
    return rng.integers(0, 4, n), rng.integers(0, 4, n + 2), np.array([1.1, 0.9, 1.3])


def hidden(n):
    rng = draw(n)
    states = min(n, 5)
    return rng.normal(size=(states, states)), rng.normal(size=(2 * n, states)), rng.normal(size=states)


def edges(n):
    rng = draw(n)
    tails, heads = rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n)
    tails[:n], heads[:n] = np.arange(n), (np.arange(n) + 1) % n
    return tails, heads, 0.5 + rng.random(4 * n), n


def goods(n):
    rng = draw(n)
    return 1.0 + rng.random(n), rng.integers(1, 10, n), 3 * n


def markov(n):
    rng = draw(n)
    p = rng.random((n, n))
    return rng.random((2 * n, n)), p / p.sum(axis=1, keepdims=True), 0.97


def decisions(n):
    rng = draw(n)
    p = rng.random((n, 3, n))
    return rng.normal(size=(n, 3)), p / p.sum(axis=2, keepdims=True), 0.6, 1e-8


PROGRAMS = (
    Program(edit_distance, letters, 5, 250, wrt=(2,)),
    Program(global_alignment, lambda n: (draw(n).normal(size=(n, n + 1)), 0.4), 5, 300, wrt=(0, 1)),
    Program(local_alignment, lambda n: (draw(n).normal(size=(n, n + 1)), 0.4), 5, 250, wrt=(0, 1)),
    Program(
        time_warping, lambda n: (draw(n).normal(size=n), draw(n + 1).normal(size=n + 1)), 5, 250, wrt=(0, 1)
    ),
    Program(viterbi, hidden, 4, 2000, wrt=(0, 1, 2)),
    Program(floyd_warshall, lambda n: (0.1 + draw(n).random((n, n)),), 5, 50),
    Program(bellman_ford, edges, 6, 2000, wrt=(2,), static=(3,)),
    Program(dijkstra, lambda n: (0.1 + draw(n).random((n, n)),), 6, 300),
    Program(knapsack, goods, 6, 200, static=(2,)),
    Program(optimal_stopping, markov, 4, 40),
    Program(matrix_chain, lambda n: (1.0 + draw(n).random(n + 1),), 5, 80),
    Program(seam_carving, lambda n: (draw(n).random((n, n + 1)),), 6, 250),
    Program(value_iteration, decisions, 3, 40),
)
