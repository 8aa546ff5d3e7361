"""Models in onnxruntime, compared with NumPy."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.exporting.export import Export

#: The largest error, relative to the largest number of a result.
TOLERANCES = {"float32": 2e-6, "float64": 1e-12}


def inputs_of(export: Export, arguments: Any) -> dict[str, Any]:
    """Return the inputs of the model for arguments like the examples."""
    leaves = tree.leaves(arguments)
    given = export.functions[0].arguments
    return {leaf.name: np.asarray(x, leaf.type.dtype) for leaf, x in zip(given, leaves, strict=True)}


def session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # Early versions fuse transpositions into products of float64, for which they have no kernel.
    fusions = ["MatmulTransposeFusion"]
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(str(path), options, providers, disabled_optimizers=fusions)


def run(export: Export, inputs: dict[str, Any]) -> list[Any]:
    """Write the model, and return its results by onnxruntime."""
    with tempfile.TemporaryDirectory() as folder:
        (path,) = export.onnx(Path(folder) / "model.onnx")
        return session(path).run(None, inputs)


def assert_same(found: Sequence[Any], expected: Any) -> None:
    """Compare results: integers are equal, floats relative to the largest one of all results.

    A part of a gradient may be zero but for rounding.
    """
    references = [np.asarray(leaf) for leaf in tree.leaves(expected)]
    sizes = (np.max(np.abs(x), initial=0.0, where=np.isfinite(x)) for x in references if x.dtype.kind == "f")
    largest = float(max(sizes, default=0.0))
    for result, reference in zip(found, references, strict=True):
        assert (result.shape, result.dtype) == (reference.shape, reference.dtype)
        if reference.dtype.kind != "f":
            np.testing.assert_array_equal(result, reference)
            continue
        tolerance = TOLERANCES[reference.dtype.name]
        np.testing.assert_allclose(result, reference, rtol=tolerance, atol=tolerance * largest)
