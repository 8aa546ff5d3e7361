"""Programs for other processors: lesser ones of this family, which run here, and ARM's, which are assembled."""

from __future__ import annotations

import platform
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from tests.compiler.running import output
from wengert import nn
from wengert.compiler import specialisation
from wengert.compiler.llvm.host import host, named
from wengert.compiler.llvm.object_code import assembly, compile_module
from wengert.compiler.runtime.threads import team

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float32") -> Any:
    return RNG.normal(size=shape).astype(dtype)


def elementwise(x: Any) -> Any:
    return np.tanh(x) * np.exp(-x * x), np.where(x > 0, np.sqrt(abs(x)), x**3), np.maximum(x, 0.5) // 0.25


def whole_numbers(x: Any) -> Any:
    return (
        x // 3,
        x % 5,
        x << 2,
        x.sum(),
        x.max(),
        np.bitwise_xor(x, 7),
        (x > 2).sum(),
        x.astype("float32") / 3,
    )


def reductions(x: Any) -> Any:
    return (
        x.sum(),
        x.max(0),
        x.min(1),
        np.argmax(x, 1),
        np.prod(x[:3], 0),
        np.cumsum(x, 1),
        x.mean(),
        np.any(x > 2),
    )


def convolutional(x: Any, w: Any) -> Any:
    return nn.max_pool(nn.relu(nn.convolve(x, w)), 2)


def recurrent(h: Any, w: Any, xs: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        h = np.tanh(x @ w[:5] + h @ w[5:])
        return h, h.sum(1)

    return wg.scan(cell, h, xs)


def looked_up(x: Any, i: Any) -> Any:
    return x[i] * 2, x[::-1][i, 1], np.concatenate([x[1:], x[:1] + 1])


def around_huge_angles(x: Any, s: Any) -> Any:
    """Keep much in registers over calls that are made for huge angles only."""
    parts = [np.sqrt(1 + x * k) * np.sin(x * k) + np.cos(x) * k for k in (1.5, 2.5, 3.5, 4.5)]
    wide = x.astype("float64")
    together = np.exp(-np.log1p(wide)) * np.sin(x) + 1 / (1 + wide)
    return sum(parts), sum(map(np.sum, parts)), together.astype("float32"), np.sin(s) * x + np.exp(-x)


def angles(count: int) -> Any:
    return np.where(RNG.random(count) < 0.1, 1e8, 1.0).astype("float32") * abs(normal(count))


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{f"elementwise {n}": (elementwise, (normal(n),)) for n in (1, 7, 37)},
    "elementwise in float64": (elementwise, (normal(21, dtype="float64"),)),
    **{
        f"{n} angles, some huge": (around_huge_angles, (angles(n), np.float32(turn)))
        for n, turn in ((5, 1e9), (40, 0.5), (333, 1e9))
    },
    "whole numbers": (whole_numbers, (np.arange(-20, 21),)),
    "reductions": (reductions, (normal(13, 19),)),
    "reductions in float64": (reductions, (normal(5, 33, dtype="float64"),)),
    "product": (lambda x, y: x @ y, (normal(17, 23), normal(23, 35))),
    "product in float64": (
        lambda x, y: x @ y,
        (normal(9, 8, dtype="float64"), normal(8, 11, dtype="float64")),
    ),
    "product and update": (lambda w, x: (w @ x, w - 0.1 * x), (normal(35, 23), normal(23))),
    "convolution": (convolutional, (normal(5, 2, 9, 9), normal(3, 2, 3, 3))),
    "gradient of a convolution": (
        wg.grad(lambda w, x: np.sum(convolutional(x, w) ** 2)),
        (normal(3, 2, 3, 3), normal(5, 2, 9, 9)),
    ),
    "scan": (recurrent, (normal(6, 7), normal(12, 7), normal(4, 6, 5))),
    "gradient of a scan": (
        wg.grad(lambda w, h, xs: np.sum(recurrent(h, w, xs)[1])),
        (normal(12, 7), normal(6, 7), normal(4, 6, 5)),
    ),
    "gather and scatter": (
        wg.value_and_grad(lambda x, i: sum(map(np.sum, looked_up(x, i)))),
        (normal(9, 5), np.array([0, 8, 3, 3, -1])),
    ),
}


def check_all() -> None:
    for function, arguments in CASES.values():
        check(function, *arguments, ulp=300, scale=4.0)


@pytest.mark.parametrize("vectors", ["avx2", "sse2"])
def test_lesser_processors(vectors: str) -> None:
    widest = host().vector_bytes
    if platform.machine().lower() not in ("x86_64", "amd64") or named(vectors).vector_bytes >= widest:
        pytest.skip(f"this processor has no more than {vectors}")
    program = (
        "from tests.compiler.test_other_targets import check_all\n"
        "from wengert.compiler.llvm.host import host\n"
        "check_all()\n"
        "print(host().vector_bytes)"
    )
    said = output(program, WENGERT_TARGET=vectors)
    assert said == f"{named(vectors).vector_bytes}\n"


#: The operations of ARM's vector unit that the program must be made of.
INNER = {
    "elementwise 37": "fmla|fmul",
    "product": r"fmla\s+v\d+\.4s",
    "convolution": r"fmla\s+v\d+\.4s",
    "product and update": "fmla|fmul",
    "scan": "fmla",
}


@pytest.mark.parametrize("name", [*INNER, "gradient of a convolution", "gather and scatter", "whole numbers"])
def test_arm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = named("aarch64")
    monkeypatch.setattr(specialisation, "host", lambda: target)
    function, arguments = CASES[name]
    text = wg.jit(function).llvm(*arguments)
    instructions = assembly(text, target)
    assert re.search(r"^main:", instructions, re.MULTILINE)
    assert re.search(INNER.get(name, r"\bret\b"), instructions)
    code = compile_module(text, target, team.symbols())
    image = code[code.index(b"\x7fELF") :]
    assert struct.unpack_from("<H", image, 18) == (183,)  # the number of the architecture, EM_AARCH64
