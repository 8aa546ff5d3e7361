"""``wengert export``: a run's network, its gradient or its training step as files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.jit import jit
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.transforms.reverse_mode import value_and_grad
from wengert.exporting.export import Export, export
from wengert.special import softmax
from wengert.train.loop import make_steps
from wengert.train.runs import Run
from wengert.train.state import Trained, initial_layer_state, without_state
from wengert.train.steps import Carry

KINDS = ("c", "wasm", "onnx", "wg")
"""The kinds of files."""


class ExportOptions(NamedTuple):
    """The options of the command."""

    kind: str = "c"
    gradient: bool = False
    train_step: bool = False
    target: str = "host"
    out: str | None = None
    """The folder of the files; by default that of the run."""
    batch: int | None = None
    """The number of images in a call; by default 1 for predictions, otherwise that of the run."""
    trust: bool = False
    """As in `Run.open`."""


def export_run(folder: str, options: ExportOptions) -> list[Path]:
    """Write the files, and return their paths."""
    if options.gradient and options.train_step:
        raise ArgumentError(message("export", "--gradient and --train-step exclude each other"))
    if options.target != "host" and options.kind != "c":
        raise ArgumentError(message("export", "--target belongs to --to c", options.kind))
    run = Run.open(folder, trust=options.trust)
    if options.train_step:
        name, exported = "step", _step(run, options)
    elif options.gradient:
        name, exported = "gradient", _gradient(run, options)
    else:
        name, exported = "predict", _prediction(run, options)
    stem = Path(options.out or run.path) / name
    match options.kind:
        case "c":
            return exported.c(stem, target=options.target)
        case "wasm":
            return exported.wasm(stem)
        case "onnx":
            return exported.onnx(stem.with_suffix(".onnx"))
        case _:
            return [exported.save(stem.with_suffix(".wg"))]


def _batch(run: Run, options: ExportOptions) -> tuple[Any, Any]:
    """Return the first images and labels that the run learned."""
    dataset, count = run.dataset(), options.batch or run.settings.batch_size
    if count > len(dataset.train_images):
        requirement = f"--batch must be at most {len(dataset.train_images)}, the number of images"
        raise ArgumentError(message("export", requirement, str(count)))
    return dataset.train_images[:count], np.asarray(dataset.train_labels[:count], np.int64)


def _prediction(run: Run, options: ExportOptions) -> Export:
    """Export the outputs for images: probabilities, if the network classifies."""
    model, task = run.model(), run.task
    images, _ = _batch(run, options._replace(batch=options.batch or 1))

    def predict(images: Any) -> Any:
        outputs = model(task.prepare(images))
        return softmax(outputs) if task.classifies else outputs

    return export(predict, images)


def _gradient(run: Run, options: ExportOptions) -> Export:
    """Export the loss and its gradient by the model."""
    model, task = run.model(), run.task

    def loss(model: Any, images: Any, labels: Any) -> Any:
        return task.loss(model, task.prepare(images), labels)[0]

    return export(value_and_grad(loss), model, *_batch(run, options))


def _step(run: Run, options: ExportOptions) -> Export:
    """Export a training step, which updates the model and the state of the optimiser."""
    trained, task = run.model(), run.task
    model = without_state(trained)
    memory = initial_layer_state(model, np.random.default_rng(run.settings.seed))
    if isinstance(trained, Trained) and memory is not None:
        memory = memory._replace(state=trained.state)
    steps = make_steps(task, run.settings, run.dataset(), compiled=False)
    differentiate = value_and_grad(steps.loss, has_aux=True)

    def step(state: Carry, images: Any, labels: Any) -> tuple[Carry, Any]:
        inputs = task.prepare(images)
        (loss, (_, memory)), gradients = differentiate(state.model, state.layer_state, inputs, labels)
        model, moments = steps.optimiser.update(gradients, state.optimiser, state.model)
        return Carry(model, memory, moments), loss

    state = Carry(model, memory, steps.optimiser.init(model))
    return export(jit(step, donate=0, flush_subnormals=True), state, *_batch(run, options))
