"""Export a training step of a small network for a microcontroller, with data to learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

RATE = np.float32(0.1)


def loss(params: Any, x: Any, y: Any) -> Any:
    """Return the mean square error of a network with one hidden layer."""
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    return np.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)


@wg.jit(donate=0)
def step(params: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the parameters after a step of gradient descent, and the loss before it."""
    value, gradient = wg.value_and_grad(loss)(params, x, y)
    return wg.tree.map_tree(lambda p, g: p - RATE * g, params, gradient), value


def main(folder: Path, target: str = "cortex-m4f") -> None:
    """Write the files of the step, and the header ``data.h`` with parameters and examples."""
    r = np.random.default_rng(0)
    params = {
        "w1": r.normal(size=(2, 16)).astype(np.float32),
        "b1": np.zeros(16, np.float32),
        "w2": (0.25 * r.normal(size=(16, 1))).astype(np.float32),
        "b2": np.zeros(1, np.float32),
    }
    x = r.uniform(-1, 1, (64, 2)).astype(np.float32)
    y = (np.sin(3 * x[:, :1]) * x[:, 1:]).astype(np.float32)
    wg.export(step, params, x, y).c(folder / "step", target=target)
    arrays = {**params, "x": x, "y": y}
    lines = [
        f"static float {name}[{value.size}] = {{{', '.join(f'{v!r}f' for v in value.reshape(-1).tolist())}}};"
        for name, value in arrays.items()
    ]
    (folder / "data.h").write_text("\n".join(lines) + "\n")
    losses = []
    for _ in range(200):
        params, value = step(params, x, y)
        losses.append(float(value))
    print(f"loss {losses[0]:.4f}, after 200 steps {losses[-1]:.4f}")


if __name__ == "__main__":
    main(Path(__file__).parent)
