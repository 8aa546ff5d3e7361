"""Print the arena of the compiled CNN step beside the temporary memory that XLA reports for the same step.

XLA's figure is the smaller of its two layouts. The comparison fails above half of it. The steps do not run.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from runners import jax_runner, wengert_runner
from workloads import TRAININGS

import wengert as wg

LIMIT = 0.5


def arguments(name: str, integer: type[np.signedinteger]) -> tuple[Any, ...]:
    images, labels = np.zeros((60_000, 28, 28), np.uint8), np.zeros(60_000, integer)
    return images, labels, np.arange(TRAININGS[name].batch, dtype=integer)


def arena(name: str) -> int:
    """Return the bytes of the intermediate values of Wengert's step."""
    step, first = wengert_runner.training_step(name)
    return int(wg.jit(step, donate=(0,)).memory(first(), *arguments(name, np.int64)))


def temporary(name: str, variant: str) -> int:
    """Return the bytes of the intermediate values of XLA's step."""
    step, first = jax_runner.training_step(name, variant)
    compiled = jax.jit(step, donate_argnums=0).lower(first(), *arguments(name, np.int32)).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def main() -> None:
    xla = {layout: temporary("cnn", layout) for layout in ("NCHW", "NHWC")}
    for layout, size in xla.items():
        print(f"XLA, {layout}: {size:,} bytes of temporary memory")
    ours = arena("cnn")
    ratio = ours / min(xla.values())
    print(f"Wengert: {ours:,} bytes, {ratio:.2f} of the smaller (at most {LIMIT})")
    raise SystemExit(ratio > LIMIT)


if __name__ == "__main__":
    main()
