"""``wengert predict``: a line for each image, and one for each file that cannot be read; or a text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.errors import WengertError
from wengert.predict.images import Images, image_files, read_images
from wengert.predict.predictor import Predictor, located
from wengert.predict.writer import Writer


class PredictOptions(NamedTuple):
    """The options of the command."""

    top: int = 3
    """The number of labels to print, the most probable first."""
    as_json: bool = False
    invert: bool = False
    resize: bool = False
    centre: bool = False
    trust: bool = False
    """As in `Run.open`."""


class WriteOptions(NamedTuple):
    """The options of the command for a language model."""

    prompt: str | None = None
    characters: int = 400
    temperature: float = 0.8
    seed: int = 0


class Output(NamedTuple):
    """Prints lines."""

    result: Callable[[str], None]
    problem: Callable[[str], None]


def learned_text(run: str | os.PathLike[str], *, trust: bool) -> bool:
    """Return whether a run, or that of a checkpoint, is one of a language model."""
    return located(run, trust=trust)[0].task.data == "text"


def run_writing(
    run: str | os.PathLike[str], options: WriteOptions, *, trust: bool, show: Callable[[str], None]
) -> int:
    """Print the prompt and its continuation as it is written."""
    writer = Writer.open(run, trust=trust)
    numbers = options._asdict()
    prompt = numbers.pop("prompt") or ""
    show(prompt)
    for text in writer.write(prompt, **numbers):
        show(text)
    show("\n")
    return 0


def run_prediction(
    run: str | os.PathLike[str], places: Sequence[str], options: PredictOptions, output: Output
) -> int:
    """Print the predictions of a run's network.

    If a file cannot be read, it continues with the next; the exit code is then 1, otherwise 0.
    """
    predictor = Predictor.open(run, trust=options.trust)
    failed, light = False, []
    for images in _read(places, options):
        if isinstance(images, WengertError):
            failed = True
            output.problem(str(images))
            continue
        if images.light:
            light.append(images.path)
        lines = _json_lines if options.as_json else _text_lines
        for line in lines(predictor, images, options):
            output.result(line)
    if light and not options.invert:
        others = f" and {len(light) - 1} more" if len(light) > 1 else ""
        output.problem(
            f"note: {light[0]}{others}: the edges are light, but networks learn light on black: try --invert"
        )
    return int(failed)


def _read(places: Sequence[str], options: PredictOptions) -> Iterator[Images | WengertError]:
    for place in places:
        try:
            files = image_files(place)
        except WengertError as problem:
            yield problem
            continue
        for file in files:
            try:
                yield read_images(file, invert=options.invert, resize=options.resize, centre=options.centre)
            except WengertError as problem:
                yield problem


def _best(predictor: Predictor, images: Any, top: int) -> Iterator[list[tuple[str, float]]]:
    for row in predictor.probabilities(images):
        order = np.argsort(-row, kind="stable")[:top]
        yield [(predictor.classes[index], float(row[index])) for index in order]


def _text_lines(predictor: Predictor, images: Images, options: PredictOptions) -> Iterator[str]:
    names = images.names
    width = max(map(len, names))
    note = f"  (resized from {images.resized[0]}x{images.resized[1]})" if images.resized else ""
    for name, best in zip(names, _best(predictor, images.images, options.top), strict=True):
        guesses = "  ".join(f"{label} {probability:6.2%}" for label, probability in best)
        yield f"{name:<{width}}  {guesses}{note}"


def _json_lines(predictor: Predictor, images: Images, options: PredictOptions) -> Iterator[str]:
    for number, best in enumerate(_best(predictor, images.images, options.top)):
        yield json.dumps(
            {
                "file": images.path,
                "index": number if images.many else None,
                "resized_from": images.resized,
                "label": best[0][0],
                "probability": best[0][1],
                "top": [{"label": label, "probability": probability} for label, probability in best],
            }
        )
