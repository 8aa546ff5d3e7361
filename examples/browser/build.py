"""Build a page that trains the papers' CNN in the browser: one file, without a network.

python build.py          # writes index.html
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert import nn, optim
from wengert.data import digits
from wengert.train import TASKS

TRAINING, TESTING, BATCH = 3000, 200, 50
HERE = Path(__file__).parent

task = TASKS["cnn"]
optimiser = optim.adam(3e-3)


@wg.jit(donate=0)
def step(state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    """Return the model and the moments of Adam after a step, and the loss before it."""
    model, moments = state

    def loss(model: Any) -> Any:
        return task.loss(model, task.prepare(images), labels)[0]

    value, gradient = wg.value_and_grad(loss)(model)
    model, moments = optimiser.update(gradient, moments, model)
    return (model, moments), value


def predict(model: Any, images: Any) -> Any:
    """Return the probability of each digit for each image."""
    return nn.softmax(model(task.prepare(images)))


def script(stem: Path) -> str:
    """Return an exported module as an expression of JavaScript: a function that loads it."""
    text = stem.with_suffix(".mjs").read_text("utf-8")
    text = text.replace("export async function", "async function").replace(
        "export default load;", "return load;"
    )
    return f"(() => {{\n{text}}})()"


def encoded(raw: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(raw).decode()


def main(out: Path) -> None:
    """Write the page."""
    model = task.build(np.random.default_rng(0))
    images, labels = digits(TRAINING + TESTING, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        trains, predicts = Path(folder, "step"), Path(folder, "predict")
        batch, targets = images[:BATCH], labels[:BATCH].astype(np.int32)
        wg.export(step, (model, optimiser.init(model)), batch, targets).wasm(trains)
        wg.export(predict, model, images[:TESTING]).add(model, images[:1]).wasm(predicts)
        parts = {
            "__STEP__": script(trains),
            "__PREDICT__": script(predicts),
            "__STEP_WASM__": encoded(trains.with_suffix(".wasm").read_bytes()),
            "__PREDICT_WASM__": encoded(predicts.with_suffix(".wasm").read_bytes()),
            "__IMAGES__": encoded(images.tobytes()),
            "__LABELS__": encoded(labels.tobytes()),
            "__TRAINING__": str(TRAINING),
            "__BATCH__": str(BATCH),
            "__TESTING__": str(TESTING),
        }
    page = (HERE / "page.html").read_text("utf-8")
    for place, part in parts.items():
        page = page.replace(place, part)
    out.write_text(page, "utf-8")
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "index.html")
