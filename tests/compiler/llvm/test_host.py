"""The target of compiled code."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from wengert.compiler.llvm import host, object_code
from wengert.engine.core.errors import ArgumentError
from wengert.engine.machine.target import cache_sizes

X86 = platform.machine().lower() in ("x86_64", "amd64")
on_x86 = pytest.mark.skipif(not X86, reason="needs x86-64")

AXPY = """
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
define void @axpy(ptr noalias %x, ptr noalias %y) nounwind {
  %a = load <16 x float>, ptr %x, align 64
  %b = load <16 x float>, ptr %y, align 64
  %c = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %a, <16 x float> %b)
  store <16 x float> %c, ptr %y, align 64
  ret void
}
"""


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(host.VARIABLE, raising=False)


def test_the_host_is_found_once_and_is_consistent() -> None:
    own = host.host()
    assert host.host() is own
    assert own.vector_bytes in (16, 32, 64)
    assert own.registers == (16 if X86 and own.vector_bytes < 64 else 32)
    assert 0 < own.level1 < own.level2
    assert own.lanes(4) == 2 * own.lanes(8) == own.vector_bytes // 4


@on_x86
def test_the_host_has_the_vectors_that_linux_tells_of() -> None:
    flags = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())
    wide = {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags
    assert host.host().vector_bytes == (64 if wide else 32 if "avx" in flags else 16)
    assert host.host().has_fma == ("fma" in flags)


@pytest.mark.parametrize(
    ("name", "register", "multiply_add"),
    [
        ("avx512", "zmm", "vfmadd"),
        ("avx2", "ymm", "vfmadd"),
        ("sse2", "xmm", "fmaf"),
        ("aarch64", "v0.4s", "fmla"),
    ],
)
def test_code_uses_the_widest_vectors_of_the_target(name: str, register: str, multiply_add: str) -> None:
    made = host.named(name)
    text = object_code.assembly(AXPY, made)
    assert register in text
    assert multiply_add in text
    wider = {64: (), 32: ("zmm",), 16: ("zmm", "ymm")}[made.vector_bytes]
    assert not any(other in text for other in wider)
    assert made.has_fma == (multiply_add != "fmaf")


def test_whole_vectors_are_used_where_the_model_prefers_half() -> None:
    assert "-prefer-256-bit" in host.named("avx512").features
    assert "prefer" not in host.named("avx2").features
    if host.host().vector_bytes == 64:
        assert "-prefer-256-bit" in host.host().features


def test_object_code_of_different_targets_has_different_keys() -> None:
    identities = {host.identity(host.named(name)) for name in ("avx512", "avx2", "sse2", "aarch64")}
    assert len(identities) == 4


@on_x86
@pytest.mark.parametrize(("name", "lanes"), [("sse2", 4), ("AVX2", 8), ("avx512", 16)])
def test_the_environment_limits_the_target(monkeypatch: pytest.MonkeyPatch, name: str, lanes: int) -> None:
    if host.host().lanes(4) < lanes:
        pytest.skip(f"this processor has no {name}")
    monkeypatch.setenv(host.VARIABLE, name)
    assert host.host().lanes(4) == lanes


@pytest.mark.parametrize("name", ["aarch64", "avx", "512"])
def test_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(host.VARIABLE, name)
    with pytest.raises(ArgumentError, match=f"WENGERT_TARGET: must be .*{name}"):
        host.host()


@on_x86
def test_a_processor_is_not_asked_for_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_detect", lambda: host.named("sse2"))
    host._chosen.cache_clear()
    try:
        monkeypatch.setenv(host.VARIABLE, "avx2")
        with pytest.raises(ArgumentError, match="must be what this processor can run"):
            host.host()
    finally:
        host._chosen.cache_clear()


def test_there_are_four_names() -> None:
    with pytest.raises(ArgumentError, match="must be avx512, avx2, sse2 or aarch64; got 'vax'"):
        host.named("vax")


def cache(folder: Path, index: int, level: str, kind: str, size: str) -> None:
    place = folder / "cpu0" / "cache" / f"index{index}"
    place.mkdir(parents=True)
    for name, text in (("level", level), ("type", kind), ("size", size)):
        (place / name).write_text(text + "\n")


@pytest.fixture
def first_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)


@pytest.mark.usefixtures("first_processor")
def test_the_caches_are_those_for_data(tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", "48K")
    cache(tmp_path, 1, "1", "Instruction", "64K")
    cache(tmp_path, 2, "2", "Unified", "2048K")
    cache(tmp_path, 3, "3", "Unified", "30M")
    assert cache_sizes(tmp_path) == (48 << 10, 2 << 20)


@pytest.mark.usefixtures("first_processor")
def test_what_cannot_be_read_has_the_usual_size(tmp_path: Path) -> None:
    usual = cache_sizes(tmp_path / "nowhere")
    assert usual == (32 << 10, 1 << 20)
    cache(tmp_path, 0, "one", "Data", "64K")
    cache(tmp_path, 1, "2", "Unified", "much")
    (tmp_path / "cpu0" / "cache" / "index2").mkdir()
    assert cache_sizes(tmp_path) == usual
