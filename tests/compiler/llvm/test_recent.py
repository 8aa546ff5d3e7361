"""Modules that programs of a process share are compiled once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.llvm import parallel
from wengert.compiler.llvm.host import host, named
from wengert.compiler.llvm.recent import Recent


def code(size: int) -> Callable[[], bytes]:
    return lambda: bytes(size)


def test_what_is_used_stays_and_memory_is_bounded() -> None:
    recent = Recent(100)
    for number in range(50):
        recent.code(str(number), host(), code(30))
        assert recent.code("used", host(), code(1)) == b"\0"
        kept = [*recent._young.values(), *recent._old.values()]  # pyright: ignore[reportPrivateUsage]
        assert sum(map(len, kept)) <= 200
    assert recent.code("0", host(), code(2)) == bytes(2)  # it is compiled again


def test_another_target_and_another_module_have_other_code() -> None:
    recent = Recent()
    assert recent.code("f", host(), code(1)) == bytes(1)
    assert recent.code("f", named("aarch64"), code(2)) == bytes(2)
    assert recent.code("g", host(), code(3)) == bytes(3)


def test_programs_share_the_modules_of_their_common_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_module = parallel.compile_module

    def counted(text: str, *rest: object) -> bytes:
        compiled.append(text)
        return compile_module(text, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(parallel, "compile_module", counted)
    monkeypatch.setattr(parallel, "RECENT", Recent())
    monkeypatch.setenv("WENGERT_CACHE", "off")
    x = np.linspace(0.1, 0.9, 12)
    found = [wg.jit(lambda x: np.sin(np.cumsum(np.exp(x))))(x) for _ in range(2)]
    np.testing.assert_array_equal(*found)
    assert len(compiled) == len(set(compiled)) > 0
