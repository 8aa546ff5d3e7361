"""Generated programs run, and return the results of the original functions."""

from __future__ import annotations

import collections
import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import oriented
from tests.draws import HypothesisDraw, examples
from wengert.engine.core import tree
from wengert.engine.core.errors import UnsupportedError
from wengert.engine.nest.lowering import OnHost
from wengert.engine.nest.routine import Routine
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.inspect import Program, source

SAMPLED = [primitive for primitive in REGISTRY if primitive.samples is not None]
WRITTEN = [primitive for primitive in SAMPLED if not isinstance(primitive.lowering, Routine)]
FACTORISED = {
    "banded_substitution",
    "cholesky_by_rows",
    "lu_by_columns",
    "substitution",
    "householder_by_columns",
    "eigh_by_rotations",
}


def run(program: Program) -> Callable[..., Any]:
    """Execute the text with its constants only."""
    namespace: dict[str, Any] = {"constants": program.constants} if program.constants else {}
    exec(program, namespace)
    return namespace[program.name]


def assert_same(result: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Compare containers, dtypes, shapes and numbers."""
    leaves, structure = tree.flatten(result)
    expected_leaves, expected_structure = tree.flatten(expected)
    assert structure == expected_structure
    for leaf, correct in zip(leaves, expected_leaves, strict=True):
        assert np.result_type(leaf) == np.result_type(correct)
        np.testing.assert_allclose(leaf, correct, rtol=rtol, atol=1e-13)
        assert np.shape(leaf) == np.shape(correct)


def check(function: Callable[..., Any], *arguments: Any, **options: Any) -> Program:
    program = source(function)(*arguments, **options)
    with np.errstate(all="ignore"):
        expected = function(*arguments, **options)
        result = run(program)(*arguments, **options)
    assert_same(result, expected)
    return program


# -- the papers' and the usual functions -----------------------------------------------------------------


def paper(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def autoencoder_error(We1: Any, We2: Any, Wd: Any, b1: Any, b2: Any, sample: Any) -> Any:
    first_layer = 1.0 / (1.0 + np.exp(-We1 @ sample - b1))
    encoded = 1.0 / (1.0 + np.exp(-We2 @ first_layer - b2))
    reconstructed = 1.0 / (1.0 + np.exp(-Wd @ encoded))
    return np.sum((sample - reconstructed) ** 2)


def cross_entropy(params: Any, images: Any, labels: Any) -> Any:
    hidden = np.maximum(images @ params["w1"] + params["b1"], 0)
    logits = hidden @ params["w2"]
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    logs = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(len(labels)), labels])


def convolution(kernel: Any, images: Any) -> Any:
    windows = wg.nn.convolve(images, kernel, stride=1, padding=1)
    return np.sum(np.tanh(wg.nn.max_pool(windows, 2)))


def unrolled(w: Any, xs: Any) -> Any:
    state = np.zeros(3)
    for x in xs:
        state = np.tanh(w @ state + x)
    return np.sum(state)


def scanned(w: Any, xs: Any) -> Any:
    state, totals = wg.scan(lambda h, x: (np.tanh(w @ h + x), np.sum(h)), np.zeros(3), xs)
    return np.sum(state) + np.sum(totals**2)


def indexing(x: Any, rows: Any) -> Any:
    y = x * 1.0
    y[0] = x[1] ** 2
    y[rows] += x[::-1][:2]
    return np.sum(y[1:] * y[:-1]) + x[-1, 0]


def branches(x: Any) -> Any:
    safe = np.where(x > 0, x, 1.0)
    return np.sum(np.where(x > 0, np.log(safe), -np.abs(x)) + np.minimum(x, 0.5) ** 3)


def special(x: Any) -> Any:
    return np.sum(wg.special.erf(x) * wg.special.gammaln(x + 2) + wg.special.expit(x))


def kinks(x: float) -> Any:
    return wg.cond(x > 1, lambda x: x**2, np.sin, x) + wg.while_loop(
        lambda v: v < 9, lambda v: v * v, abs(x) + 2
    )


@wg.custom_vjp
def clipped(x: Any) -> Any:
    return 1.0 * x


clipped.defvjp(lambda x: (x, x), lambda x, cotangent: (np.clip(cotangent, -1, 1) * x,))


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    draw = np.random.default_rng(7).normal
    layers = tuple(draw(size=shape) for shape in ((5, 8), (3, 5), (8, 3), 5, 3, 8))
    params = {"w1": draw(size=(4, 5)), "b1": draw(size=5), "w2": draw(size=(5, 3))}
    narrow = {name: value.astype(np.float32) for name, value in params.items()}
    images = draw(size=(6, 4)).astype(np.float32)
    labels = np.array([0, 2, 1, 1, 0, 2])
    return {
        "paper": (wg.grad(paper, (0, 1)), (2.0, 5.0)),
        "paper, value": (wg.value_and_grad(paper), (2.0, 5.0)),
        "paper, float32": (wg.grad(paper, (0, 1)), (np.float32(2), np.float32(5))),
        "paper, mixed": (wg.grad(paper, (0, 1)), (2.0, np.float32(5))),
        "paper, hessian": (wg.hessian(paper, (0, 1)), (np.float64(2), np.float64(5))),
        "paper, batched": (wg.vmap(wg.grad(paper)), (np.arange(1.0, 4.0), np.arange(3.0))),
        "autoencoder": (wg.grad(autoencoder_error, (0, 1, 2, 3, 4)), layers),
        "cross entropy": (wg.grad(cross_entropy), (params, images, labels)),
        "cross entropy, float32": (wg.value_and_grad(cross_entropy), (narrow, images, labels)),
        "convolution": (wg.grad(convolution, (0, 1)), (draw(size=(4, 2, 3, 3)), draw(size=(2, 2, 8, 8)))),
        "unrolled loop": (wg.grad(unrolled, (0, 1)), (draw(size=(3, 3)), draw(size=(4, 3)))),
        "scan": (wg.grad(scanned, (0, 1)), (draw(size=(3, 3)), draw(size=(4, 3)))),
        "scan of nothing": (wg.value_and_grad(scanned), (draw(size=(3, 3)), np.zeros((0, 3)))),
        "scan, second order": (wg.hvp(lambda w: scanned(w, np.ones((2, 3)))), (draw(size=(3, 3)),) * 2),
        "indexing": (wg.grad(indexing), (draw(size=(4, 2)), np.array([2, 2]))),
        "branches": (wg.grad(branches), (np.array([-1.0, 0.0, 0.3, 2.0]),)),
        "special": (wg.grad(special), (np.array([0.3, 1.0, 2.5]),)),
        "control flow": (lambda x: wg.jvp(kinks, (x,), (1.0,)), (1.5,)),
        "checkpoint": (wg.grad(wg.checkpoint(branches)), (np.array([0.3, 2.0]),)),
        "custom rule": (lambda x: (clipped(x), wg.grad(lambda x: clipped(x) ** 2)(x)), (5.0,)),
        "sorting": (wg.grad(lambda x: np.sum(np.sort(x) * np.cumsum(x))), (np.array([3.0, 1.0, 2.0]),)),
        "products": (wg.grad(lambda x: np.prod(x) + np.sum(np.cumprod(x))), (np.array([3.0, 0.0, 2.0]),)),
        "complete": (wg.jacobian(lambda x: np.outer(x, x)), (np.array([3.0, 0.0, 2.0]),)),
    }


@pytest.mark.parametrize("case", cases())
def test_programs_give_the_same_numbers(case: str) -> None:
    function, arguments = cases()[case]
    check(function, *arguments)


@pytest.mark.parametrize("primitive", WRITTEN, ids=[primitive.name for primitive in WRITTEN])
@examples(8)
@given(data=st.data())
def test_every_operation_is_written_as_it_is_evaluated(primitive: Primitive, data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    assert primitive.samples is not None
    operands, params = primitive.samples(draw)
    # Parts of complex numbers have one precision, and matrices are factorised in double precision.
    has_one = primitive.name.startswith("fast_") or primitive.name in FACTORISED
    kind = draw.choice(["f8"] if has_one else ["f8", "f4", "scalars"])
    if kind != "f8":
        chosen = [i for i, x in enumerate(operands) if np.result_type(x).kind == "f" and draw.integer(0, 3)]
        operands = tuple(_changed(x, kind) if i in chosen else x for i, x in enumerate(operands))
    if primitive.name == "embed" and params["shape"] == ():
        operands = tuple(map(np.asarray, operands))
    program = source(lambda *xs: primitive(*xs, **params))(*operands)
    with np.errstate(all="ignore"):
        result, expected = run(program)(*operands), primitive(*operands, **params)
    if primitive.name == "eigh_by_rotations":
        result, expected = oriented(result), oriented(expected)
    assert np.result_type(result) == np.result_type(expected)
    single = (
        1e-5 if primitive.elementwise and isinstance(primitive.lowering, OnHost) else 2e-6
    )  # SciPy's own error
    rtol = single if kind == "f4" else 1e-13
    # Another order of operations gives small numbers of a solution the rounding errors of the large ones.
    reordered = primitive.name in {
        "cholesky_tangent",
        "cholesky_cotangent",
        "expm_tangent",
        "logm_tangent",
        "expm",
        *FACTORISED,
    }
    atol = 4 * rtol * np.max(np.abs(expected), initial=0.0) if reordered else 0.0
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


def _changed(operand: Any, kind: str) -> Any:
    array = np.asarray(operand)
    return array.astype(np.float32) if kind == "f4" else float(array) if array.ndim == 0 else array


# -- the form of the text ---------------------------------------------------------------------------------


def test_the_adjoint_program_reads_like_one() -> None:
    def f(x1: Any, x2: Any) -> Any:
        squared = x1 * x1
        return np.exp(squared) * x2

    first = f.__code__.co_firstlineno
    text = source(wg.value_and_grad(f, (0, 1)))(np.float64(0.5), np.float64(2.0))
    assert text.startswith("import numpy as np\n\n\ndef multiply_no_nan(x, y):\n")
    own = text[text.index("def value_and_grad_f") :]
    assert own.replace(str(first + 1), "A").replace(str(first + 2), "B") == (
        "def value_and_grad_f(x1, x2):\n"
        "    # primal\n"
        "    v1 = x1 * x1     # test_source.py:A\n"
        "    v2 = np.exp(v1)  # test_source.py:B\n"
        "    v3 = v2 * x2     # test_source.py:B\n"
        "\n"
        "    # adjoint\n"
        "    v1_bar = multiply_no_nan(x2, v2)  # test_source.py:B\n"
        "    v4 = multiply_no_nan(v1_bar, x1)  # test_source.py:A\n"
        "    x1_bar = v4 + v4                  # test_source.py:A\n"
        "    return (v3, (x1_bar, v2))\n"
    )


def test_helpers_are_written_only_where_they_are_called() -> None:
    assert "def " not in source(paper)(2.0, 5.0).replace("def paper(", "")
    text = source(wg.grad(lambda x: np.sum(x[1:] * x[:-1])))(np.ones(3))
    assert text.count("def ") == 2
    assert "def embed(x, shape, index):" in text
    assert "import wengert.special" not in text


def test_names_of_arguments_never_hide_helpers() -> None:
    def scan(np_: Any, multiply_no_nan: Any, embed: Any, lambda_: Any, v1: Any, contract: Any) -> Any:
        return np.log(np_) * multiply_no_nan[1] + embed[0] * np.sum(lambda_[1:] / v1) + contract

    arguments = 2.0, np.ones(3), np.ones(2), np.arange(3.0), 0.5, 1.0
    text = check(wg.grad(scan, (0, 1, 2, 3, 4)), *arguments)
    assert "def grad_scan(np_, multiply_no_nan_, embed_, lambda_, v1, contract_):" in text
    exec("def f(np, constants, body): return np * constants + body", shadowed := {})
    check(wg.grad(shadowed["f"], (0, 1, 2)), 2.0, 3.0, 4.0)


def test_zero_divisions_are_numpys() -> None:
    program = source(lambda x, y: (1 / x, x**y, x // 3))(2.0, -1.0)
    with np.errstate(all="ignore"):
        assert run(program)(0.0, -1.0) == (np.inf, np.inf, 0.0)
    assert "x = np.float64(x)" in program


def test_constants_are_written_out_or_come_along() -> None:
    table = np.random.default_rng(0).normal(size=(2, 20))
    small = np.array([[0.5, np.inf], [np.nan, -0.0]], np.float32)

    def f(x: Any) -> Any:
        parts = [x @ table, x @ small, x @ np.eye(2), np.arange(2), np.arange(9.0), np.full((2, 20), 3.0)]
        return [np.cumsum(x[0] * part, axis=-1) for part in parts]

    program = check(f, np.ones(2))
    assert list(program.constants) == ["c1"]
    assert program.constants["c1"].shape == (2, 20)
    assert 'constants["c1"]' in program
    assert "np.array([[0.5, np.inf], [np.nan, -0.0]], np.float32)" in program
    assert {"np.eye(2)", "np.arange(9.0)"} <= set(re.findall(r"np\.\w+\([\w.]*\)", program))
    assert program.function()(np.ones(2))[0].shape == (20,)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = tree.static("dense")
    how: Any = tree.static(None)


def test_containers_are_taken_apart_and_put_together() -> None:
    @dataclasses.dataclass
    class Local:
        value: Any

    def f(model: Any, pair: Any, *more: Any, scale_by: Any) -> Any:
        layer = Layer(model["layer"].weight * scale_by, model["layer"].bias, "out", (1, 2))
        nested = [pair.first, (pair.second,), None, {"k": more[0], 3: more[1]}, ()]
        ordered = collections.OrderedDict(b=more[0], a=more[1])
        return layer, Pair(nested, Local(scale_by)), ordered

    model = {"layer": Layer(np.ones(2), 0.5), "unused": np.zeros(3)}
    program = check(f, model, Pair(1.0, np.float32(2)), 3.0, 4.0, scale_by=2.0)
    assert "def f(model, pair, *more, scale_by):" in program
    assert "model_layer_weight = model['layer'].weight" in program
    assert "model_unused" not in program
    gradient = check(
        wg.grad(lambda m: np.sum(m["layer"].weight ** 2) * m["layer"].bias), {"layer": Layer(np.ones(2), 0.5)}
    )
    assert "return {'layer': " in gradient


def test_layers_are_put_together_without_their_own_constructors() -> None:
    @dataclasses.dataclass
    class Halved:
        value: Any
        kind: str = tree.static("half")

        def __post_init__(self) -> None:
            self.value = self.value / 2

    model = wg.nn.Chain(wg.nn.Dense(3, 2, seed=0), np.tanh, wg.nn.Dense(2, 1, seed=1, bias=False))
    double = tree.map_tree(np.float64, model)
    program = check(wg.grad(lambda model, x: np.sum(model(x) ** 2)), double, np.ones((4, 3)))
    assert "instance(Dense, weight=" in program
    check(wg.grad(lambda half: half.value**2), Halved(3.0))


def test_a_script_runs_alone(tmp_path: Any) -> None:
    script = tmp_path / "gradient.py"
    layers = cases()["autoencoder"][1]
    np.savez(tmp_path / "layers.npz", *layers)
    text = source(wg.grad(autoencoder_error))(*layers)
    assert "wengert" not in text
    script.write_text(
        f"import sys\nsys.modules['wengert'] = None\n{text}\n"
        f"layers = np.load({str(tmp_path / 'layers.npz')!r})\n"
        f"print(float(np.sum({text.name}(*layers.values()))))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(float(np.sum(wg.grad(autoencoder_error)(*layers))), rel=1e-12)


def test_inside_a_transform_there_is_no_source() -> None:
    with pytest.raises(UnsupportedError, match="outside of the transform"):
        wg.grad(lambda x: source(lambda y: x * y)(3.0).function()(3.0))(2.0)
