"""A graph as text, and back: the text says everything."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.engine.core.errors import GraphError
from wengert.engine.core.tree import leaves
from wengert.engine.ir import Equation, Graph, Literal, TensorType, Var, parse, register, verify
from wengert.engine.ir.types import type_of
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.engine.transforms.staging import evaluate, stage

SAMPLED = [primitive for primitive in REGISTRY if primitive.samples is not None]
DTYPES = [np.dtype(name) for name in ("f2", "f4", "f8", "i1", "i8", "u1", "u8", "?")]
FLOATS = st.floats(allow_nan=True, allow_infinity=True) | st.just(-0.0)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same in type and, but for the bits of NaN below its sign, in every bit."""
    if type_of(one) != type_of(other) or type(one) is not type(other):
        return False
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind == "f" and not np.array_equal(np.signbit(one), np.signbit(other)):
        return False
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def round_trip(graph: Graph) -> Graph:
    """Print and parse a graph; the copy prints the same."""
    text = graph.text(full=True)
    copy = parse(text)
    assert copy.text(full=True) == text
    assert copy.input_types == graph.input_types
    assert copy.output_types == graph.output_types
    assert [one.location for one in copy.equations] == [one.location for one in graph.equations]
    return copy


def holding(value: Any) -> Graph:
    """Return a graph with a parameter of this value."""
    x, y = Var(type_of(1.0)), Var(type_of(1.0))
    return Graph((x,), (), (Equation("op", (x,), (y,), {"param": value}),), (y,))


def param_of(graph: Graph) -> Any:
    return graph.equations[0].params["param"]


# -- round trips -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("primitive", SAMPLED, ids=[one.name for one in SAMPLED])
@examples(5)
@given(data=st.data())
def test_samples_print_parse_and_evaluate_the_same(primitive: Primitive, data: st.DataObject) -> None:
    assert primitive.samples is not None
    operands, params = primitive.samples(HypothesisDraw(data))
    graph, _ = stage(lambda *xs: leaves(primitive(*xs, **params)), list(map(type_of, operands)))
    copy = round_trip(graph)
    verify(copy)
    with np.errstate(all="ignore"):
        for expected, found in zip(evaluate(graph, *operands), evaluate(copy, *operands), strict=True):
            assert same(np.asarray(expected), np.asarray(found))


def loss(weights: Any, images: Any) -> Any:
    hidden = np.tanh(images @ weights["first"] + weights["bias"])
    return np.sum((hidden @ weights["second"])[:, 0] ** 2) + np.float32(0.1) * np.max(hidden)


def recurrent(weight: Any, rows: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        state = wg.cond(np.sum(state) > 1, lambda s: s / 2, lambda s: np.tanh(weight @ s + row), state)
        return state, np.sum(state)

    last, sums = wg.scan(step, np.zeros(3), rows)
    return np.sum(last) + np.sum(wg.while_loop(lambda x: x[0] < 9, lambda x: x * 2 + 1, np.abs(sums)))


@pytest.mark.parametrize("transform", [lambda f: f, wg.grad, lambda f: wg.hvp(f)], ids=["f", "grad", "hvp"])
def test_programs_round_trip(transform: Any, rng: np.random.Generator) -> None:
    shapes = {"first": (4, 5), "bias": (5,), "second": (5, 2)}
    weights = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    arguments = [weights, rng.normal(size=(3, 4))]
    if transform(loss).__name__.startswith("hvp"):
        arguments.append(weights)
    graph = wg.trace(transform(loss))(*arguments)
    copy = round_trip(graph)
    for expected, found in zip(
        evaluate(graph, *graph.arguments), evaluate(copy, *graph.arguments), strict=True
    ):
        assert same(expected, found)


def test_programs_inside_equations_round_trip(rng: np.random.Generator) -> None:
    graph = wg.trace(recurrent)(rng.normal(size=(3, 3)), rng.normal(size=(4, 3)))
    assert {"scan", "while"} <= {equation.primitive for equation in graph.equations}
    copy = round_trip(graph)
    assert same(evaluate(graph, *graph.arguments)[0], evaluate(copy, *graph.arguments)[0])


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | FLOATS
        | st.text()
        | st.sampled_from(DTYPES)
        | st.builds(
            TensorType, st.sampled_from(DTYPES), st.lists(st.integers(0, 9)).map(tuple), st.booleans()
        ),
        lambda inner: st.lists(inner, max_size=4).map(tuple),
        max_leaves=8,
    )
)
def test_parameters_round_trip(value: Any) -> None:
    found = param_of(round_trip(holding(value)))
    assert repr(found) == repr(value)


@given(value=FLOATS, dtype=st.sampled_from(DTYPES[:3]))
def test_scalars_keep_their_type_and_every_bit(value: float, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        scalars = [value, dtype.type(value), np.int8(-3), 2**31, True, np.True_]
    graph = Graph((), (), (), tuple(Literal(one, type_of(one)) for one in scalars))
    for expected, found in zip(graph.outputs, round_trip(graph).outputs, strict=True):
        assert isinstance(expected, Literal)
        assert isinstance(found, Literal)
        assert same(expected.value, found.value)


@given(data=st.data())
def test_constants_keep_every_bit(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    shape = draw.choice([(), (0, 3), (2, 2), (16,), (17,), (5, 5), (65, 64)])
    dtype = draw.choice(DTYPES)
    raw = draw.rng.integers(0, 256, size=int(np.prod(shape)) * dtype.itemsize, dtype=np.uint8)
    value = (raw % 2 if dtype.kind == "b" else raw).view(dtype).reshape(shape)
    var = Var(TensorType(dtype, shape))
    copy = round_trip(Graph((), ((var, value),), (), (var,)))
    found = copy.constants[0][1]
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    assert found.tobytes() == value.tobytes()


@pytest.mark.parametrize(
    "location",
    ["user.py:12", "odd # name.py:1", "'quoted'.py:3", "new\nline.py:4", " padded ", "<stdin>:1", ""],
)
def test_locations_survive(location: str) -> None:
    x, y = Var(type_of(1.0)), Var(type_of(1.0))
    graph = Graph((x,), (), (Equation("sin", (x,), (y,), {}, location),), (y,))
    assert round_trip(graph).equations[0].location == location


# -- what the text looks like ----------------------------------------------------------------------------

EXAMPLE = """\
graph(angle: f64[], x2: f32[2]) {
  c1: f64[2] = [0.5, inf]
  v1: f64[] = sin(angle)                            # user.py:12
  v2: f64[2] = multiply(v1, c1)                     # user.py:12
  v3: f64[2] = add(v2, f32(0.1))
  v4: f64[], v5: f64[2] = cond[on_true=graph(x1: f64[2]) {
    v1: f64[] = reduce_sum[axes=(0,), keep=None](x1) # user.py:13
    return v1, x1
  }, name='it\\'s'](v3, True) # user.py:14
  return v4, -2.0
}"""


def test_text_is_readable() -> None:
    expected = EXAMPLE.replace("(angle)                            #", "(angle)        #")
    expected = expected.replace("c1)                     #", "c1) #").replace("name='it\\'s'", 'name="it\'s"')
    assert str(parse(EXAMPLE)) == expected
    assert repr(parse(EXAMPLE)) == expected


def test_names_are_the_users_and_never_clash() -> None:
    def f(v1: Any, c1: Any, inf: Any, data: Any) -> Any:
        return v1 * c1 + inf * data + np.arange(2.0)

    graph = wg.trace(f)(1.0, 2.0, 3.0, 4.0)
    round_trip(graph)
    assert str(graph).startswith("graph(v1: f64*[], c1: f64*[], inf_: f64*[], data_: f64*[]) {\n  c2: f64[2]")


def test_large_constants_are_summed_up_unless_all_is_wanted() -> None:
    graph = wg.trace(lambda x: x + np.arange(5000.0))(1.0)
    assert "c1: f64[5000] = summary(0.0 to 4999.0)" in str(graph)
    with pytest.raises(GraphError, match=r"summed up cannot be read back.*full=True"):
        parse(str(graph))
    round_trip(graph)


# -- rules of custom derivatives -------------------------------------------------------------------------


class Rule:
    """Something that text cannot hold."""


@pytest.mark.usefixtures("young_heap")
def test_rules_are_found_by_name_while_they_live() -> None:
    rule, other = Rule(), Rule()
    register(rule, "my_rule")
    graph = holding((rule, other))
    assert "param=(@my_rule, @" in str(graph)
    found = param_of(round_trip(graph))
    assert found[0] is rule
    assert found[1] is other
    text = str(holding(rule))
    del rule, graph, found
    gc.collect()
    with pytest.raises(GraphError, match="@my_rule"):
        parse(text)


def test_a_name_stands_for_one_rule() -> None:
    one, other = Rule(), Rule()
    assert register(one, "taken") == register(one) == "taken"
    with pytest.raises(GraphError, match="one object only"):
        register(other, "taken")
    with pytest.raises(GraphError, match="weakly referable"):
        str(holding(object()))


def test_custom_derivatives_round_trip() -> None:
    @wg.custom_vjp
    def clipped(x: Any) -> Any:
        return x * 1.0

    clipped.defvjp(lambda x: (x, None), lambda _, cotangent: (np.clip(cotangent, -1, 1),))
    graph = wg.trace(lambda x: clipped(x) ** 2)(5.0)
    copy = round_trip(graph)
    assert wg.grad(lambda x: evaluate(copy, x)[0])(5.0) == 1.0


# -- malformed texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'graph' is expected; got the end on line 1"),
        ("graph(x: f64[]) {\n  return y\n}", "a value defined before is expected; got 'y' on line 2"),
        ("graph(x: f64[]) { v1: f64[] = sin(x) v1: f64[] = sin(x) return v1 }", "defined only once; got v1"),
        ("graph(x: f65[]) { return x }", "a dtype is expected; got 'f65'"),
        ("graph(x: f64[-1]) { return x }", "a whole number is expected; got '-1'"),
        ("graph() { c1: f64[2] = [1.0] return c1 }", "a constant of 2 elements is expected; got 1"),
        ("graph() { c1: i8[1] = [300] return c1 }", "a value must fit its type"),
        ("graph() { c1: f64[2] = data 7 return c1 }", "a constant of 2 elements is expected; got 0"),
        ('graph() { c1: f64[1] = data 1 return c1 } data { 1: "?" }', "a value must fit its type"),
        ("graph() { return i8(1000) }", "a value must fit its type"),
        ("graph() { return 1 } graph() { return 1 }", "the end is expected; got 'graph'"),
        ("graph() { return $ }", "this is not part of a graph; got '$ }' on line 1"),
    ],
)
def test_errors_name_the_line(text: str, problem: str) -> None:
    with pytest.raises(GraphError) as caught:
        parse(text)
    assert problem in str(caught.value)
    assert isinstance(caught.value, ValueError)


@examples(150)
@given(
    start=st.integers(0, 500), length=st.integers(0, 6), inserted=st.text("(){}[]=:,.*@#'\"0a\n", max_size=3)
)
def test_damaged_text_is_refused_or_is_a_graph(start: int, length: int, inserted: str) -> None:
    start %= len(EXAMPLE)
    damaged = EXAMPLE[:start] + inserted + EXAMPLE[start + length :]
    try:
        graph = parse(damaged)
    except GraphError:
        return
    round_trip(graph)
