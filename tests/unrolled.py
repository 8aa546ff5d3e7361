"""Drawn programs with Python loops over a state: each kind of value that a turn may read, write and hand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

State = dict[str, Any]
#: ``(state, turn, inputs) -> None``: one statement of a turn.
Statement = Callable[[State, int, Any], None]


class Inputs:
    """The arguments of a drawn program: all that it differentiates."""

    def __init__(self, rate: Any, vector: Any, rows: Any, columns: Any) -> None:
        self.rate, self.vector, self.rows, self.columns = rate, vector, rows, columns


def _set(name: str, value: Callable[[State, int, Any], Any]) -> Statement:
    def run(state: State, turn: int, x: Any) -> None:
        state[name] = value(state, turn, x)

    return run


def _write(state: State, turn: int, x: Any) -> None:
    state["y"][turn + 1] = 0.5 * state["y"][turn] + state["a"]


def _write_part(state: State, turn: int, x: Any) -> None:
    state["z"][turn : turn + 2] += 0.1 * state["v"][:2]


def _branch(state: State, turn: int, x: Any) -> None:
    if turn % 3 == 0:
        state["a"] = np.sin(state["a"])


def _first(state: State, turn: int, x: Any) -> None:
    if turn == 0:
        state["origin"] = np.cos(state["a"])
    state["a"] = state["a"] + 0.1 * state["origin"]


def _last(state: State, turn: int, x: Any) -> None:
    if turn == state["turns"] - 1:
        state["v"] = np.tanh(state["v"])


def _keep(state: State, turn: int, x: Any) -> None:
    state["history"].append(state["a"])


def _inner(state: State, turn: int, x: Any) -> None:
    for _ in range(3):
        state["v"] = state["v"] - 0.01 * state["v"] ** 3


STATEMENTS: dict[str, Statement] = {
    "scalar": _set("a", lambda s, t, x: s["a"] + 0.01 * x.rate * np.sin(s["a"])),
    "number": _set("n", lambda s, t, x: 0.9 * s["n"] + 0.05),
    "number and array": _set("v", lambda s, t, x: s["v"] + 0.01 * s["n"]),
    "vector": _set("v", lambda s, t, x: s["v"] * 0.9 + 0.1 * x.vector * s["a"]),
    "product": _set("v", lambda s, t, x: np.tanh(x.columns[:, :3].T @ x.columns[:, :3] @ s["v"])),
    "two back": _set("a", lambda s, t, x: 0.5 * (s["a"] + s["before"][-2])),
    "swap": _set("u", lambda s, t, x: (s["v"], s.update(v=s["u"]))[0]),
    "element": _set("a", lambda s, t, x: 0.8 * s["a"] + 0.1 * x.rows[t, 1]),
    "row": _set("v", lambda s, t, x: 0.8 * s["v"] + x.rows[t]),
    "row from the end": _set("v", lambda s, t, x: 0.8 * s["v"] * x.rows[-1 - t]),
    "column": _set("v", lambda s, t, x: s["v"] + 0.1 * x.columns[:3, t]),
    "window": _set("a", lambda s, t, x: s["a"] + 0.1 * np.sum(x.columns[1:, t : t + 3])),
    "every other": _set("a", lambda s, t, x: s["a"] * np.cos(x.columns[0, 2 * t])),
    "constant": _set("a", lambda s, t, x: s["a"] + 0.1 * np.sqrt(t + 2.0) * x.rate),
    "constant number": _set("n", lambda s, t, x: s["n"] * (1.0 + 1.0 / (t + 2))),
    "constant row": _set("v", lambda s, t, x: s["v"] * np.cos(np.arange(3.0) * t)),
    "the same in each turn": _set("a", lambda s, t, x: s["a"] - 0.01 * np.exp(np.sin(x.rate))),
    "write": _write,
    "write a part": _write_part,
    "branch": _branch,
    "first turn": _first,
    "last turn": _last,
    "history": _keep,
    "inner loop": _inner,
}


def program(names: list[str], turns: int) -> Callable[..., Any]:
    """Return a function of arrays that carries out statements in each turn of a loop, and returns a number."""

    def run(rate: Any, vector: Any, rows: Any, columns: Any) -> Any:
        x = Inputs(rate, vector, rows, columns)
        state: State = {
            **{"a": 0.3 * rate, "n": 0.7, "v": vector, "u": 2.0 * vector, "turns": turns},
            **{"y": np.zeros(turns + 1), "z": np.ones(turns + 2), "history": [], "before": [rate, vector[0]]},
        }
        for turn in range(turns):
            for name in names:
                STATEMENTS[name](state, turn, x)
            state["before"].append(state["a"])
        total = state["a"] + state["n"] + np.sum(state["v"] ** 2) + np.sum(np.sin(state["u"]))
        total = total + np.sum(state["y"] * np.arange(turns + 1)) + np.sum(state["z"] ** 2)
        if state["history"]:
            total = total + state["history"][2] * np.sum(np.stack(state["history"]) ** 2)
        return total

    return run


def inputs(seed: int, turns: int) -> tuple[Any, ...]:
    """Return arguments of a drawn program."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.normal(size=(turns, 3)), rng.normal(size=(4, 2 * turns + 3))
    return np.float64(rng.normal()), rng.normal(size=3), rows, 0.3 * columns


def drawn(seed: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the program of a seed, and arguments."""
    rng = np.random.default_rng(seed)
    turns = int(rng.integers(8, 20))
    names = [str(name) for name in rng.choice(list(STATEMENTS), size=int(rng.integers(1, 6)))]
    return program(names, turns), inputs(seed, turns)
