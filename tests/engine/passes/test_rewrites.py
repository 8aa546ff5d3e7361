"""Each graph pass: the equations that it rewrites, and those that it must keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir import Graph, Literal, parse, verify
from wengert.engine.machine.costs import COSTS
from wengert.engine.passes.algebra import apply_algebra
from wengert.engine.passes.common import merge_common
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.fold import fold_constants
from wengert.engine.passes.simplify import simplify

Pass = Callable[[Graph], Graph]
NOTHING = "graph(x: f64[2,3]) {\n  return x\n}"


def graph(lines: str, inputs: str = "x: f64[2,3]") -> Graph:
    return parse(f"graph({inputs}) {{ {lines} }}")


def body(result: Graph) -> list[str]:
    """Return the lines between the first and the last."""
    verify(result)
    return [line.strip() for line in str(result).split("\n")[1:-1]]


# -- algebra ---------------------------------------------------------------------------------------------

NEUTRAL = {
    "times one": "v1: f64[2,3] = multiply(x, 1.0) return v1",
    "one times": "v1: f64[2,3] = multiply(f64(1.0), x) return v1",
    "integer one": "v1: f64[2,3] = multiply(1, x) return v1",
    "ones": "c1: f64[3] = [1.0, 1.0, 1.0] v1: f64[2,3] = multiply(c1, x) return v1",
    "by one": "v1: f64[2,3] = divide(x, 1) return v1",
    "plus -0": "v1: f64[2,3] = add(x, -0.0) return v1",
    "-0 plus": "v1: f64[2,3] = add(f64(-0.0), x) return v1",
    "minus 0": "v1: f64[2,3] = subtract(x, 0) return v1",
    "to the 1": "v1: f64[2,3] = integer_power[exponent=1](x) return v1",
    "plus sign": "v1: f64[2,3] = positive(x) return v1",
    "minus twice": "v1: f64[2,3] = negative(x) v2: f64[2,3] = negative(v1) return v2",
    "scaled one": "v1: f64[2,3] = multiply_no_nan(f64(1.0), x) return v1",
    "chosen": "v1: f64[2,3] = where(True, x, nan) return v1",
    "same": "v1: f64[2,3] = where(False, inf, x) v2: f64[2,3] = where(True, v1, v1) return v2",
    "cast": "v1: f64[2,3] = cast[dtype=f64](x) return v1",
    "reshape": "v1: f64[6] = reshape[shape=(6,)](x) v2: f64[2,3] = reshape[shape=(2, 3)](v1) return v2",
    "transpose": "v1: f64[2,3] = transpose[permutation=(0, 1)](x) return v1",
    "transposes": "v1: f64[3,2] = transpose[permutation=(1, 0)](x) "
    "v2: f64[2,3] = transpose[permutation=(1, 0)](v1) return v2",
    "broadcast": "v1: f64[2,3] = broadcast_to[shape=(2, 3)](x) return v1",
    "whole": "v1: f64[2,3] = slice[index=((0, 2, 1), (0, 3, 1))](x) return v1",
    "joined": "v1: f64[4,3] = concatenate[axis=0](x, x) "
    "v2: f64[2,3] = slice[index=((2, 2, 1), (0, 3, 1))](v1) return v2",
    "alone": "v1: f64[2,3] = concatenate[axis=0](x) return v1",
}


@pytest.mark.parametrize("lines", NEUTRAL.values(), ids=NEUTRAL)
def test_what_changes_nothing_goes(lines: str) -> None:
    assert str(simplify(graph(lines))) == NOTHING


INTEGER = {
    "plus 0": "v1: i64[2] = add(n, 0) return v1",
    "minus 0": "v1: i64[2] = subtract(n, 0) return v1",
    "not not": "v1: i64[2] = invert(n) v2: i64[2] = invert(v1) return v2",
}


@pytest.mark.parametrize("lines", INTEGER.values(), ids=INTEGER)
def test_integers_have_no_negative_zero(lines: str) -> None:
    assert body(simplify(graph(lines, "n: i64[2]"))) == ["return n"]


VALUE_CHANGING = {
    "plus 0": "v1: f64[2,3] = add(x, 0.0) return v1",
    "plus integer 0": "v1: f64[2,3] = add(x, 0) return v1",
    "minus -0": "v1: f64[2,3] = subtract(x, -0.0) return v1",
    "times 0": "v1: f64[2,3] = multiply(x, 0.0) return v1",
    "times -1": "v1: f64[2,3] = multiply(x, -1.0) return v1",
    "minus itself": "v1: f64[2,3] = subtract(x, x) return v1",
    "by itself": "v1: f64[2,3] = divide(x, x) return v1",
    "0 by": "v1: f64[2,3] = divide(0.0, x) return v1",
    "other ones": "c1: f64[3] = [1.0, 1.0, 2.0] v1: f64[2,3] = multiply(c1, x) return v1",
    "stop": "v1: f64[2,3] = stop_gradient(x) return v1",
    "narrowed": "v1: f32[2,3] = cast[dtype=f32](x) v2: f64[2,3] = cast[dtype=f64](v1) return v2",
    "truncated": "v1: i64[2,3] = cast[dtype=i64](x) v2: f64[2,3] = cast[dtype=f64](v1) return v2",
    "scaled by infinity": "v1: f64[2,3] = multiply_no_nan(x, inf) return v1",
    "larger": "v1: f64[4,2,3] = broadcast_to[shape=(4, 2, 3)](x) return v1",
    "promoted": "v1: f64[2,3] = multiply(y, f64(1.0)) return v1",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("lines", VALUE_CHANGING.values(), ids=VALUE_CHANGING)
def test_what_may_change_a_value_stays(lines: str) -> None:
    before = graph(lines, "x: f64[2,3], y: f32[2,3]")
    assert simplify(before) is before


def test_moves_merge() -> None:
    result = apply_algebra(
        graph(
            "v1: f64[3,2] = transpose[permutation=(1, 0)](x) v2: f64[6] = reshape[shape=(6,)](v1) "
            "v3: f64[1,6] = reshape[shape=(1, 6)](v2) v4: f64[4,6] = broadcast_to[shape=(4, 6)](v3) "
            "v5: f64[5,4,6] = broadcast_to[shape=(5, 4, 6)](v4) return v5"
        )
    )
    assert body(eliminate_dead(result)) == [
        "v1: f64[3,2] = transpose[permutation=(1, 0)](x)",
        "v2: f64[1,6] = reshape[shape=(1, 6)](v1)",
        "v3: f64[5,4,6] = broadcast_to[shape=(5, 4, 6)](v2)",
        "return v3",
    ]


def test_exact_conversions_merge() -> None:
    lines = "v1: f64[2] = cast[dtype=f64](x) v2: f16[2] = cast[dtype=f16](v1) return v2"
    assert body(simplify(graph(lines, "x: f32[2]"))) == ["v1: f16[2] = cast[dtype=f16](x)", "return v1"]


def test_elementwise_operations_broadcast_by_themselves() -> None:
    lines = (
        "v1: f64[1,1] = reshape[shape=(1, 1)](y) v2: f64[2,3] = broadcast_to[shape=(2, 3)](v1) "
        "v3: f64[2,3] = add(x, v2) v4: f64[2,3] = exp(v2) return v3, v4"
    )
    assert body(simplify(graph(lines, "x: f64[2,3], y: f64[]"))) == [
        "v1: f64[1,1] = reshape[shape=(1, 1)](y)",
        "v2: f64[2,3] = broadcast_to[shape=(2, 3)](v1)",
        "v3: f64[2,3] = add(x, y)",
        "v4: f64[2,3] = exp(v2)",
        "return v3, v4",
    ]


def test_a_finite_scale_is_a_product() -> None:
    assert (
        body(simplify(graph("v1: f64[2,3] = multiply_no_nan(x, 2.0) return v1")))[0]
        == "v1: f64[2,3] = multiply(x, 2.0)"
    )


def test_python_scalars_become_numpys_only_by_conversion() -> None:
    result = simplify(graph("v1: f64[] = multiply(s, f64(1.0)) return v1", "s: f64*[]"))
    assert body(result) == ["v1: f64[] = cast[dtype=f64](s)", "return v1"]


# -- common subexpressions, dead code, folding -----------------------------------------------------------


def test_equal_equations_are_computed_once() -> None:
    lines = (
        "v1: f64[2,3] = exp(x) v2: f64[2,3] = exp(x) v3: f64[2,3] = add(v1, v2) v4: f64[2,3] = add(v1, v1)"
    )
    assert body(merge_common(graph(f"{lines} return v3, v4"))) == [
        "v1: f64[2,3] = exp(x)",
        "v2: f64[2,3] = add(v1, v1)",
        "return v2, v2",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("multiply(x, 0.0)", "multiply(x, -0.0)"),
        ("multiply(x, 1)", "multiply(x, 1.0)"),
        ("multiply(x, 1.0)", "multiply(x, f64(1.0))"),
        ("op[p=1](x)", "op[p=1.0](x)"),
        ("op[p=1](x)", "op[p=True](x)"),
        ("op[p=(0.0,)](x)", "op[p=(-0.0,)](x)"),
        ("op[p=f64](x)", "op[p=f32](x)"),
    ],
)
def test_what_python_calls_equal_may_differ(one: str, other: str) -> None:
    before = graph(f"v1: f64[2,3] = {one} v2: f64[2,3] = {other} return v1, v2")
    assert merge_common(before) is before


def test_equal_constants_are_kept_once() -> None:
    result = merge_common(
        graph(
            "c1: f64[2] = [0.0, nan] c2: f64[2] = [0.0, nan] c3: f64[2] = [-0.0, nan] c4: f32[2] = [0.0, nan] "
            "return c1, c2, c3, c4"
        )
    )
    assert len(result.constants) == 3
    assert body(result)[-1] == "return c1, c1, c2, c3"


def test_dead_code_goes_and_inputs_stay() -> None:
    lines = (
        "c1: f64[1] = [1.0] c2: f64[1] = [2.0] v1: f64[2,3] = add(x, c1) v2: f64[2,3] = add(x, c2) "
        "v3: f64[2,3] = exp(v1) return v2"
    )
    result = eliminate_dead(graph(lines, "x: f64[2,3], y: f64[]"))
    assert str(result).startswith("graph(x: f64[2,3], y: f64[]) {")
    assert body(result) == ["c1: f64[1] = [2.0]", "v1: f64[2,3] = add(x, c1)", "return v1"]
    assert eliminate_dead(result) is result


def test_known_values_are_computed_beforehand() -> None:
    result = simplify(
        graph("v1: f64[] = exp(f64(0.0)) v2: f64[3] = broadcast_to[shape=(3,)](v1) return v1, v2")
    )
    assert body(result) == ["c1: f64[3] = [1.0, 1.0, 1.0]", "return f64(1.0), c1"]
    weak = simplify(graph("v1: f64*[] = divide(1, 0.0) return v1")).outputs[0]
    assert isinstance(weak, Literal)
    assert (type(weak.value), weak.value) == (float, np.inf)


def test_folding_does_not_blow_up_the_graph() -> None:
    lines = f"v1: f64[{COSTS.folded_elements}] = broadcast_to[shape=({COSTS.folded_elements},)](f64(2.0)) return v1"
    assert len(fold_constants(graph(lines)).constants) == 1
    before = graph(lines.replace(str(COSTS.folded_elements), str(COSTS.folded_elements + 1)))
    assert fold_constants(before) is before


def test_folding_leaves_errors_to_the_run() -> None:
    before = graph("c1: f64[2] = [1.0, 2.0] v1: f64[] = gather(c1, i64(7)) return v1")
    assert fold_constants(before) is before


def test_programs_inside_are_simplified() -> None:
    def branch(x: Any) -> Any:
        return np.exp(wg.checkpoint(lambda x: x * 1.0)(x)) + 0 * np.sum(np.negative(np.negative(x)))

    outer = simplify(wg.trace(lambda x: wg.cond(x[0] > 0, branch, np.sin, x))(np.ones(2)))
    (cond,) = (one for one in outer.equations if one.primitive == "cond")
    on_true, on_false = cond.graphs()
    assert [one.primitive for one in on_true.equations] == [
        "checkpoint",
        "exp",
        "reduce_sum",
        "multiply",
        "add",
    ]
    assert [one.primitive for one in on_false.equations] == ["sin"]
    assert body(next(on_true.equations[0].graphs())) == ["return x1"]


def test_a_listing_stays_a_listing() -> None:
    listing = wg.trace(lambda x: x * 1.0)(np.ones(2))
    assert type(simplify(listing)) is type(listing)
    assert body(simplify(listing)) == ["return x"]
