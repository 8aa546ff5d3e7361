"""What ``wengert predict`` does: a line for each image, and one for each file that cannot be read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.errors import WengertError
from wengert.predict.images import Images, image_files, read_images
from wengert.predict.predictor import Predictor


class PredictOptions(NamedTuple):
    """How images are read, and what is said of them."""

    top: int = 3
    """How many labels to name, the most probable first."""
    as_json: bool = False
    invert: bool = False
    resize: bool = False
    centre: bool = False
    trust: bool = False
    """Whether the run's own program may be run: see `Run.open`."""


class Output(NamedTuple):
    """Where lines go."""

    result: Callable[[str], None]
    problem: Callable[[str], None]


def run_prediction(
    run: str | os.PathLike[str], places: Sequence[str], options: PredictOptions, output: Output
) -> int:
    """Say what a run's network takes images for. A file that cannot be read is said, and the others are still done.

    Args:
        run: the folder of a run.
        places: files and folders of images.
        options: how to read them and what to say.
        output: gets a line for each image, and one for each problem.

    Returns:
        The exit code: 0, or 1 if something could not be read.

    Raises:
        WengertError: the run cannot be used.
    """
    predictor = Predictor.open(run, trust=options.trust)
    failed, light = False, []
    for found in _read(places, options):
        if isinstance(found, WengertError):
            failed = True
            output.problem(str(found))
            continue
        if found.light:
            light.append(found.path)
        lines = _json_lines if options.as_json else _text_lines
        for line in lines(predictor, found, options):
            output.result(line)
    if light and not options.invert:
        others = f" and {len(light) - 1} more" if len(light) > 1 else ""
        output.problem(
            f"note: {light[0]}{others}: light at the edges; networks learn light on black: try --invert"
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
    """Yield the most probable labels of each image, with their probabilities."""
    for row in predictor.probabilities(images):
        order = np.argsort(-row, kind="stable")[:top]
        yield [(predictor.classes[index], float(row[index])) for index in order]


def _text_lines(predictor: Predictor, found: Images, options: PredictOptions) -> Iterator[str]:
    names = found.names
    width = max(map(len, names))
    note = f"  (resized from {found.resized[0]}x{found.resized[1]})" if found.resized else ""
    for name, best in zip(names, _best(predictor, found.images, options.top), strict=True):
        guesses = "  ".join(f"{label} {probability:6.2%}" for label, probability in best)
        yield f"{name:<{width}}  {guesses}{note}"


def _json_lines(predictor: Predictor, found: Images, options: PredictOptions) -> Iterator[str]:
    for number, best in enumerate(_best(predictor, found.images, options.top)):
        yield json.dumps(
            {
                "file": found.path,
                "index": number if found.many else None,
                "resized_from": found.resized,
                "label": best[0][0],
                "probability": best[0][1],
                "top": [{"label": label, "probability": probability} for label, probability in best],
            }
        )
