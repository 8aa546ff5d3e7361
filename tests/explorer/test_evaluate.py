"""The evaluator of the page against NumPy: each primitive over the samples of the registry."""

from __future__ import annotations

import json

import numpy as np
import pytest

import wengert.engine.ops.pairs  # noqa: F401 (states primitives)
from tests.browsers import browser as browser  # a fixture
from tests.draws import SeededDraw, many
from tests.explorer.samples import assert_same, sample
from wengert.engine.ir.graph import Equation, Graph, Var
from wengert.engine.ir.types import type_of
from wengert.engine.primitive import REGISTRY, HigherOrder
from wengert.explorer.encoding import Encoder, evaluated, program_of, script

SEEDS = range(many(14))
RUN = """
const show = (value) => Array.from(value.data, (x) => (x !== x ? "nan" : String(x).replace("Infinity", "inf")));
const done = JSON.parse(arguments[0]).map((program) => {
  const run = new Evaluation(program);
  return run.problems.length ? run.problems : program.outputs.map((atom) => show(run.read(atom)));
});
return JSON.stringify(done);
"""
#: The primitives that the page evaluates by their programs; those of two others hold what it does not define.
COMPOSED = {primitive.name for primitive in REGISTRY if program_of(primitive.name)} - {
    "f_quantile",
    "f_upper_quantile",
}
SAMPLED = sorted(name for name in evaluated() | COMPOSED if REGISTRY[name].samples is not None)


def evaluate(browser, programs):
    browser.get("data:text/html,<title>evaluator</title>")
    text = browser.execute_script(f"{script('evaluate.js')}\n{RUN}", json.dumps(programs))
    return json.loads(text)


def test_the_page_evaluates_primitives_of_the_registry() -> None:
    assert evaluated() <= {primitive.name for primitive in REGISTRY}
    without = {name for name in evaluated() if REGISTRY[name].samples is None}
    assert all(isinstance(REGISTRY[name].derivative, HigherOrder) for name in without)
    assert len(SAMPLED) > 100


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
def test_a_primitive_has_the_numbers_of_numpy(browser, single, first):
    cases = [(name, *sample(name, seed, single)) for name in SAMPLED[first::4] for seed in SEEDS]
    found = evaluate(browser, [program for _, program, _ in cases])
    for (name, _, expected), results in zip(cases, found, strict=True):
        assert len(results) == len(expected), (name, results)
        for mine, reference in zip(results, expected, strict=True):
            assert_same(name, mine, reference, single)


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.5,
    np.inf,
    -np.inf,
    np.nan,
    1e-310,
    1e300,
    -20.0,
    0.84,
    1.3,
    5.0,
]


def test_an_elementwise_primitive_has_the_numbers_of_numpy_at_special_points(browser):
    programs, expected = [], []
    for name in SAMPLED:
        primitive = REGISTRY[name]
        operands, params = primitive.samples(SeededDraw(0, plain=True))
        if not primitive.elementwise or any(np.result_type(x) != np.float64 for x in operands):
            continue
        count = 1 if len(operands) == 1 else len(SPECIAL)
        given = [np.repeat(SPECIAL, count), *[np.tile(SPECIAL, count)] * (len(operands) - 1)]
        with np.errstate(all="ignore"):
            result = primitive(*given, **params)
        inputs, output = tuple(Var(type_of(x)) for x in given), Var(type_of(result))
        graph = Graph(inputs, (), (Equation(name, inputs, (output,), params),), (output,))
        programs.append(Encoder(graph, {**dict(zip(inputs, given, strict=True)), output: result}).data())
        expected.append((name, result))
    for (name, result), (mine,) in zip(expected, evaluate(browser, programs), strict=True):
        got, want = np.array([float(x) for x in mine]), np.asarray(result, float)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-300, err_msg=name)
