"""Saved functions: the same bits in another process, and an error for every damage."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import wengert as wg
from tests.exporting.programs import CASES, copied, vanishing
from wengert.engine.core import tree
from wengert.engine.core.errors import DtypeError, ShapeError, UnsupportedError
from wengert.exporting.containers import from_json, to_json
from wengert.exporting.saved import SavedFunctionError, read

USER = """
import dataclasses
import numpy as np
import wengert as wg

@dataclasses.dataclass
class Model:
    w: object
    b: object
    power: int = wg.tree.static(2)

def loss(model, x):
    return np.mean((np.tanh(x @ model.w) + model.b) ** model.power)
"""
SAVES = """
import numpy as np, user, wengert as wg
r = np.random.default_rng(0)
model, x = user.Model(r.normal(size=3), 0.5), r.normal(size=(5, 3))
wg.export(user.loss, model, x).save("loss.wg")
many = r.normal(size=(4, 5, 3))
slope = wg.grad(user.loss)(model, x)
np.savez("expected.npz", w=model.w, x=x, many=many, loss=wg.jit(user.loss)(model, x), slope_w=slope.w,
         slope_b=slope.b, batch=wg.vmap(user.loss, in_axes=(None, 0))(model, many))
"""
LOADS = """
import sys, numpy as np, wengert as wg
loss, known = wg.load("loss.wg"), np.load("expected.npz")
assert "user" not in sys.modules
model = {"w": known["w"], "b": 0.5}  # has the keys of the class that is not here
slope = wg.grad(loss)(model, known["x"])
batch = wg.vmap(loss, in_axes=(None, 0))(model, known["many"])
found = {"loss": loss(model, known["x"]), "slope_w": slope["w"], "slope_b": slope["b"], "batch": batch}
for name, value in found.items():
    assert np.asarray(value).tobytes() == known[name].tobytes(), name
"""


SAVES_SOLVERS = """
import numpy as np, wengert as wg
programs = {
    "solution": lambda x: wg.linear_solve(lambda v: 2.0 * v, x, solver="cg"),
    "integral": lambda x: wg.integrate.quad(lambda t: np.exp(-x[0] * t * t), 0.0, x[1])[0],
    "loop": lambda x: wg.while_loop(lambda v: np.sum(v) < 9, lambda v: 2.0 * v, x),
}
for name, program in programs.items():
    wg.export(program, np.ones(3)).save(f"{name}.wg")
"""
LOADS_SOLVERS = """
import numpy as np, wengert as wg
for name, expected in {"solution": [0.5, 0.5, 0.5], "integral": 0.746824132812427, "loop": [4.0, 4.0, 4.0]}.items():
    np.testing.assert_allclose(wg.load(f"{name}.wg")(np.ones(3)), expected, rtol=1e-12)
"""


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Scaled:
    weight: Any
    kind: str = wg.tree.static("plain")


@pytest.mark.parametrize("name", CASES)
def test_a_saved_function_returns_the_same_bits(name, tmp_path) -> None:
    fun, arguments = CASES[name]()
    path = wg.export(fun, *arguments).save(tmp_path / "f.wg")
    jitted = fun if hasattr(fun, "report") else wg.jit(fun)
    expected, structure = tree.flatten(jitted(*copied(arguments)))
    found, same = tree.flatten(wg.load(path)(*copied(arguments)))
    assert same == structure
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def run_in_another_process(program: str, folder: Path) -> None:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_another_process_without_the_module_of_the_user_loads_programs_with_solvers(tmp_path) -> None:
    (tmp_path / "user.py").write_text(USER)
    run_in_another_process(SAVES + SAVES_SOLVERS, tmp_path)
    (tmp_path / "user.py").unlink()
    run_in_another_process(LOADS_SOLVERS + LOADS, tmp_path)


@pytest.mark.parametrize("mode", ["flip", "cut", "zero"])
def test_every_damage_is_an_error_that_names_the_file(mode, tmp_path, rng) -> None:
    fun, arguments = CASES["gather_and_scatter"]()
    path = wg.export(fun, *arguments).save(tmp_path / "f.wg")
    content = path.read_bytes()
    for _ in range(170):
        damaged, place = bytearray(content), int(rng.integers(len(content)))
        if mode == "flip":
            damaged[place] ^= 1 << int(rng.integers(8))
        elif mode == "cut":
            del damaged[place:]
        else:
            damaged[place : place + 64] = bytes(64)
        if damaged == content:
            continue
        path.write_bytes(damaged)
        with pytest.raises(SavedFunctionError, match=r"load: .*f\.wg"):
            wg.load(path)


def test_newer_formats_and_unknown_operations(tmp_path, monkeypatch) -> None:
    exported = wg.export(np.tanh, np.ones(3))
    with monkeypatch.context() as patched:
        patched.setattr("wengert.exporting.saved.FORMAT", 2)
        path = exported.save(tmp_path / "new.wg")
    with pytest.raises(
        SavedFunctionError, match=r"up to format 1; got .* of format 2.*install a newer Wengert"
    ):
        wg.load(path)
    with monkeypatch.context() as patched:
        patched.setattr(
            "wengert.engine.ir.graph.Graph.text",
            lambda *_, **__: "graph(x: f64[3]) { v: f64[3] = frob(x) return v }",
        )
        path = exported.save(tmp_path / "unknown.wg")
    with pytest.raises(SavedFunctionError, match="frob"):
        wg.load(path)


def test_loaded_functions_differentiate_batch_and_leave_again(tmp_path) -> None:
    def f(x):
        return np.sum(np.sin(x) * x)

    loaded = wg.load(wg.export(f, np.ones(4)).save(tmp_path / "f.wg"))
    x = np.linspace(0, 1, 4)
    assert_array_equal(wg.grad(loaded)(x), wg.grad(f)(x))
    assert_array_equal(wg.hessian(loaded)(x), wg.hessian(f)(x))
    assert_array_equal(wg.vmap(loaded)(np.stack([x, -x])), wg.vmap(f)(np.stack([x, -x])))
    again = wg.load(wg.export(wg.grad(loaded), x).save(tmp_path / "slope.wg"))
    assert_array_equal(again(x), wg.jit(wg.grad(f))(x))
    assert "sin" in str(loaded.graph(x))


@pytest.mark.parametrize("flush", [False, True])
def test_a_loaded_function_flushes_as_the_saved_one_did(flush, tmp_path) -> None:
    fun, arguments = vanishing(flush=flush)
    loaded = wg.load(wg.export(fun, *arguments).save(tmp_path / "f.wg"))
    assert loaded.report(*arguments).flushes_subnormals == flush
    assert np.any(loaded(*arguments)[0]) != flush


def test_several_types_in_one_file(tmp_path) -> None:
    exported = wg.export(lambda x: x * 2, np.ones(3)).add(np.ones((2, 2), np.float32)).add(1)
    double = wg.load(exported.save(tmp_path / "double.wg"))
    assert_array_equal(double(np.ones(3)), np.full(3, 2.0))
    assert double(np.ones((2, 2), np.float32)).dtype == np.float32
    assert double(21) == 42


def test_arguments_that_do_not_fit(tmp_path) -> None:
    f = wg.load(wg.export(lambda p, x: p["w"] * x, {"w": 1.0}, np.ones(3)).save(tmp_path / "f.wg"))
    assert_array_equal(
        f({"w": 2}, np.ones(3)), np.full(3, 2.0)
    )  # an integer becomes the float of the example
    with pytest.raises(ShapeError, match=r"x must be f64\[3\], as the saved example; got f64\[4\]"):
        f({"w": 1.0}, np.ones(4))
    with pytest.raises(DtypeError, match=r"x must be f64\[3\].*; got c128\[3\]"):
        f({"w": 1.0}, np.ones(3) + 0j)
    with pytest.raises(ShapeError, match="the arguments must be in containers like"):
        f({"v": 1.0}, np.ones(3))


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1.0, "a": [2.0, (3.0, None)]},
        Pair(1.0, Scaled(2.0, "special")),
        defaultdict(list, {"z": 1.0, "a": 2.0}),
        OrderedDict([("z", 1.0), ("a", 2.0)]),
        {(1, "x"): 1.0, 2: 2.0},
        wg.nn.Chain(wg.nn.Dense(2, 3, seed=0), wg.nn.relu, np.tanh),
    ],
    ids=lambda value: type(value).__name__,
)
def test_containers_come_back(value) -> None:
    leaves, structure = tree.flatten(value)
    found = from_json(to_json(structure))
    assert found == structure
    assert tree.insertion_order(found) == tree.insertion_order(structure)
    assert tree.flatten(tree.unflatten(found, leaves))[1] == structure


def test_constant_results_and_vectors(tmp_path) -> None:
    path = wg.export(lambda x: {"name": "twice", "value": 2 * x}, np.ones(2)).save(tmp_path / "f.wg")
    assert wg.load(path)(np.zeros(2))["name"] == "twice"
    (saved,) = read(path)
    assert_array_equal(saved.results[0], np.full(2, 2.0))


def test_python_rules_cannot_leave(tmp_path) -> None:
    @wg.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, c: (np.clip(c, -1, 1),))
    with pytest.raises(UnsupportedError, match=r"custom rule.*\[test_saved\.py:"):
        wg.export(lambda x: clipped(x) * 2, 1.0).save(tmp_path / "f.wg")
    assert not list(tmp_path.iterdir())


def test_a_file_cannot_name_what_acts(tmp_path) -> None:
    facts = to_json(tree.flatten(defaultdict(list, {"a": 1.0}))[1])
    for harmful in (["os", "abort"], ["builtins", "exec"], ["subprocess", "run"]):
        facts["settings"] = [["default_factory", {"object": harmful}]]
        assert from_json(facts).fixed == (("default_factory", ".".join(harmful)),)
