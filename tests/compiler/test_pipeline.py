"""The pipeline: its passes run in order, each once, verified where that is asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler import pipeline
from wengert.compiler.llvm.host import host
from wengert.compiler.passes.verify import VerificationError
from wengert.compiler.pipeline import LOWERED, PASSES, SCHEDULED, SIMPLIFIED, Pass, advance, stages
from wengert.compiler.unit import Options, Unit
from wengert.engine.core.errors import ArgumentError
from wengert.engine.ir.parser import parse
from wengert.engine.nest.nest import Program

GRAPH = parse("graph(x: f64[3]) { v1: f64[3] = exp(x) v2: f64[3] = multiply(v1, 2) return v2 }")


def unit(*, check: str = "") -> Unit:
    return Unit(GRAPH, {}, host(), Options(check=check))


def test_every_pass_has_a_name_of_its_own_and_a_line() -> None:
    assert len({step.name for step in PASSES}) == len(PASSES)
    assert all(step.doc and "\n" not in step.doc for step in PASSES)


def test_passes_run_in_order_and_once() -> None:
    names = [step.name for step in PASSES]
    middle = advance(unit(), LOWERED)
    assert [name for name, _ in middle.done] == names[: names.index(LOWERED) + 1]
    assert advance(middle, SIMPLIFIED) is middle
    assert [name for name, _ in stages(middle)] == names[names.index(LOWERED) + 1 :]
    assert [name for name, _ in advance(middle, SCHEDULED).done] == names


def test_operations_that_are_checked_for_nan_stay_by_themselves() -> None:
    plain, checked = (len(advance(unit(check=check)).program.steps) for check in ("", "nan"))
    assert (plain, checked) == (1, 3)


def test_the_verifier_names_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_(unit: Unit) -> Unit:
        program = unit.program
        return replace(unit, nests=Program(program.inputs, program.constants, program.outputs, ()))

    passes = tuple(Pass(step.name, step.doc, break_) if step.name == "narrow" else step for step in PASSES)
    monkeypatch.setattr(pipeline, "PASSES", passes)
    monkeypatch.setenv("WENGERT_VERIFY", "1")
    with pytest.raises(VerificationError, match=r"pass narrow: the result .* is never written"):
        advance(unit())
    monkeypatch.setenv("WENGERT_VERIFY", "0")
    advance(unit())


def test_other_values_of_the_variable_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_VERIFY", "yes")
    with pytest.raises(ArgumentError, match="WENGERT_VERIFY: must be '1', '0' or unset; got 'yes'"):
        advance(unit())


def test_stages_show_the_program_after_each_pass() -> None:
    compiled = wg.jit(lambda w, x: np.tanh(x @ w))
    arguments = np.ones((3, 40), "float32"), np.ones((64, 3), "float32")
    shown = dict(compiled.stages(*arguments))
    assert list(shown) == ["trace", *(step.name for step in PASSES)]
    assert shown["simplify"] == str(compiled.graph(*arguments))
    assert shown[LOWERED] == compiled.nests(*arguments)
    assert shown["fuse"].count("nest ") == 1 < shown["lower"].count("nest ")
    assert "lanes" in shown["schedule"]
    np.testing.assert_allclose(compiled(*arguments), np.tanh(arguments[1] @ arguments[0]), rtol=1e-6)


def test_the_report_has_the_time_of_each_pass() -> None:
    report = wg.jit(lambda x: np.exp(x) * 2).report(np.ones(3))
    assert list(report.passes) == [step.name for step in PASSES]
    assert all(milliseconds >= 0 for milliseconds in report.passes.values())
    assert "milliseconds of each pass:\n    merge_checks: " in str(report)


def test_the_report_shows_loops_and_branches_with_the_users_lines() -> None:
    def halved(x: Any) -> Any:
        while x > 1.0:
            x = x * 0.25 if x > 8.0 else np.sin(x) * x
        return x

    first = halved.__code__.co_firstlineno
    report = wg.jit(halved).report(100.0)
    heads = list(dict.fromkeys(head for nest in report.nests for head in nest.around))
    assert [re.sub(r"\bb\d+", "b", head) for head in heads] == [
        f"loop: [test_pipeline.py:{first + 1}]",
        f"if b: [test_pipeline.py:{first + 2}]",
        f"else: [test_pipeline.py:{first + 2}]",
    ]
    text = str(report).splitlines()
    assert any(line.startswith("  if b") for line in text)
    assert any(line.startswith("    nest:") for line in text)
