"""Every registered primitive in ONNX: onnxruntime against NumPy, or a refusal that names it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.test_registry_compiled import seed_of
from tests.draws import SHARE
from tests.explorer.samples import SeededDraw
from tests.exporting.onnx_models import assert_same, inputs_of, run
from wengert.engine.core.dtypes import complex_dtype, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import UnsupportedError
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.exporting.onnx.graphs import has_form

SAMPLED = [primitive for primitive in REGISTRY if primitive.samples is not None]
LOWERED = [primitive for primitive in SAMPLED if has_form(primitive)]
REFUSED = [primitive for primitive in SAMPLED if not has_form(primitive)]
EXAMPLES = max(1, round(3 * SHARE))


def each(primitives: list[Primitive]) -> Any:
    return pytest.mark.parametrize("primitive", primitives, ids=[primitive.name for primitive in primitives])


def drawn(primitive: Primitive, seed: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Return a drawn application of a primitive as a function, and its operands in a precision."""
    assert primitive.samples is not None
    operands, params = primitive.samples(SeededDraw(seed))
    given = [
        x
        if not is_inexact(dtype_of(x))
        else x.astype(complex_dtype(np.dtype(dtype)) if is_complex(x.dtype) else dtype)
        for x in operands
    ]
    if "dtype" in params:
        params = {**params, "dtype": np.dtype(dtype)}
    return lambda *values: primitive(*values, **params), tuple(given)


@each(LOWERED)
def test_the_runtime_computes_what_numpy_does(primitive) -> None:
    for number in range(EXAMPLES):
        seed = seed_of(primitive, number)
        function, operands = drawn(primitive, seed, ("float32", "float64")[seed % 2])
        with np.errstate(all="ignore"):
            expected = function(*operands)
        export = wg.export(function, *operands)
        assert_same(run(export, inputs_of(export, operands)), expected)


@each(REFUSED)
def test_what_has_no_form_is_refused_by_name(primitive, tmp_path) -> None:
    function, operands = drawn(primitive, seed_of(primitive))
    path = tmp_path / "model.onnx"
    with np.errstate(all="ignore"):
        export = wg.export(function, *operands)
    with pytest.raises(UnsupportedError, match=rf"{primitive.name}\b.*\[test_onnx_primitives.py:\d+"):
        export.onnx(path)
    assert not path.exists()
