"""Functions as WebAssembly, run by Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.exporting.programs import CASES, copied
from wengert import nn
from wengert.engine.core import tree
from wengert.engine.core.errors import MissingExtraError
from wengert.exporting import wasm_files

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
    pytest.mark.skipif(not wasm_files.linker(), reason="wasm-ld is not installed"),
]

#: Runs a function on arguments given as JSON, where an integer of 64 bits is a string, and prints its arrays.
PROGRAM = """
const {load} = await import(process.argv[2]);
const f = await load(process.argv[3]);
const given = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));
const read = (text) => (text === "nan" ? NaN : text === "inf" ? Infinity : text === "-inf" ? -Infinity : text);
const values = Object.fromEntries(Object.entries(given).map(([key, list]) => [key, list.map(read)]));
const results = f(values);
const all = {};
for (const leaf of f.leaves) if (leaf.writes) all[leaf.name] = Array.from(f.arrays[leaf.name], String);
console.log(JSON.stringify({all, shapes: Object.fromEntries(Object.keys(results).map((k) => [k, typeof results[k]]))}));
"""


def node(folder: Path, name: str, given: dict[str, list[str]]) -> dict[str, dict[str, list[str]]]:
    (folder / "run.mjs").write_text(PROGRAM)
    command = ["node", "run.mjs", f"./{name}.mjs", str(folder / f"{name}.wasm")]
    done = subprocess.run(
        command, cwd=folder, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_python(name, tmp_path) -> None:
    fun, arguments = CASES[name]()
    exported = wg.export(fun, *arguments)
    exported.wasm(tmp_path / name)
    (function,) = exported.functions
    given = {
        leaf.name: [repr(x) for x in np.asarray(value).reshape(-1).tolist()]
        for leaf, value in zip(function.arguments, function.values, strict=True)
    }
    found = node(tmp_path, name, given)["all"]
    jitted = fun if hasattr(fun, "report") else wg.jit(fun)
    expected = tree.leaves(jitted(*copied(arguments)))
    for leaf, value in zip(function.results, expected, strict=True):
        value = np.asarray(value)
        numbers = np.array([float(x) for x in found[leaf.name]]).reshape(value.shape)
        tolerance = 1e-6 if value.dtype == np.float32 else 1e-13
        scale = np.max(np.abs(value[np.isfinite(value)]), initial=0.0)
        np.testing.assert_allclose(numbers, value, rtol=tolerance, atol=tolerance * scale, err_msg=leaf.name)


def test_a_module_imports_nothing_and_is_small(tmp_path) -> None:
    w = np.ones((20, 3), np.float32)
    wasm, _, _ = wg.export(lambda x: np.tanh(x @ w), np.ones((4, 20), np.float32)).wasm(tmp_path / "f")
    (tmp_path / "imports.mjs").write_text("""
        import fs from "node:fs";
        console.log(WebAssembly.Module.imports(new WebAssembly.Module(fs.readFileSync("f.wasm"))).length);
    """)
    done = subprocess.run(["node", "imports.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert wasm.stat().st_size < w.nbytes + 4096


def test_the_prediction_of_a_network_is_small(tmp_path) -> None:
    model = nn.Chain(
        *(nn.Conv2D(1, 6, 5, padding=2, seed=0), nn.relu, nn.MaxPool2D(2)),
        *(nn.Conv2D(6, 16, 5, seed=1), nn.relu, nn.MaxPool2D(2), nn.Flatten()),
        *(nn.Dense(400, 120, seed=2), nn.relu, nn.Dense(120, 84, seed=3), nn.relu, nn.Dense(84, 10, seed=4)),
    )
    weights = sum(leaf.nbytes for leaf in tree.leaves(model))
    wasm, _, _ = wg.export(lambda x: model(x), np.ones((1, 1, 28, 28), np.float32)).wasm(tmp_path / "lenet")
    assert wasm.stat().st_size - weights < 10_000


def test_the_state_lives_in_the_module(tmp_path) -> None:
    @wg.jit(donate=0)
    def step(state, x):
        return {"n": state["n"] + 1, "w": state["w"] + x}, np.sum(x)

    wg.export(step, {"n": 3, "w": np.ones(2)}, np.ones(2)).wasm(tmp_path / "step")
    (tmp_path / "run.mjs").write_text("""
        import {load} from "./step.mjs";
        const step = await load(new URL("step.wasm", import.meta.url));
        const {out_1} = step({x: [1, 2]});
        step({x: Float64Array.of(10, 20)});
        let message = "";
        try { step({}); } catch (error) { message = error.message; }
        let other = "";
        try { step({x: [1, 2, 3]}); } catch (error) { other = error.message; }
        console.log(JSON.stringify([out_1, ...step.arrays.state_w, String(step.arrays.state_n[0]), message, other]));
    """)
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        3, 12, 23, "5", "step: the argument x is missing", "step: x needs 2 numbers (float64[2]); got 3",
    ]  # fmt: skip


def test_an_error_names_the_line(tmp_path) -> None:
    wg.export(lambda x, i: x[i] * 2, np.arange(3.0), 1).wasm(tmp_path / "pick")
    (tmp_path / "run.mjs").write_text("""
        import {load} from "./pick.mjs";
        const pick = await load("pick.wasm");
        try { pick({x: [1, 2, 3], i: 7n}); } catch (error) { console.log(error.message); }
    """)
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "indices must lie inside the array. [test_wasm_files.py:" in done.stdout


def test_what_is_not_an_object_of_arrays_is_refused(tmp_path) -> None:
    wg.export(lambda x, y: x * y, np.ones(3), np.ones(3)).wasm(tmp_path / "f")
    (tmp_path / "run.mjs").write_text("""
        import {load} from "./f.mjs";
        const f = await load(new URL("f.wasm", import.meta.url));
        const y = [1, 2, 3];
        for (const given of [y, Float64Array.from(y), null, 3, {x: "123", y}, {x: null, y}])
            try { f(given); } catch (error) { console.log(error.message); }
    """)
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    needs = "f: x needs 3 numbers (float64[3]); got"
    assert done.stdout.splitlines() == [
        *["f: the arguments must be one object: f({x, y})"] * 4,
        f"{needs} string",
        f"{needs} null",
    ]


def test_without_a_linker_the_object_and_the_command_remain(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(wasm_files, "linker", list)
    with pytest.raises(MissingExtraError, match=r"wasm-ld.*pip install 'wengert\[wasm\]'.*--export=f\.run"):
        wg.export(np.sum, np.ones(3)).wasm(tmp_path / "f")
    assert (tmp_path / "f.o").read_bytes().startswith(b"\0asm")
