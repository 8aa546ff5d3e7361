"""The results of the compiler on disk."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.backend import cache as caching
from wengert.backend.cache import Cache, default, key
from wengert.errors import ArgumentError

posix_only = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
NAME = key("entry")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "some" / "cache")


def files(cache: Cache) -> list[Path]:
    assert cache.folder is not None
    return sorted(cache.folder.iterdir()) if cache.folder.exists() else []


@given(st.lists(st.one_of(st.binary(), st.text())), st.lists(st.one_of(st.binary(), st.text())))
def test_different_parts_have_different_keys(one: list[bytes | str], other: list[bytes | str]) -> None:
    def as_bytes(parts: list[bytes | str]) -> list[bytes]:
        return [part.encode() if isinstance(part, str) else part for part in parts]

    assert (key(*one) == key(*other)) == (as_bytes(one) == as_bytes(other))
    assert len(key(*one)) == 64
    assert int(key(*one), 16) >= 0


def test_a_key_is_the_same_in_every_process() -> None:
    assert key("a", b"b") == "cf6ab613e3942391f88ed698557e1680f160bd10e88c6b668c50360c10930e2b"


@settings(max_examples=20)
@given(st.binary(max_size=3000), st.binary(max_size=3000))
def test_what_was_put_last_is_got(first: bytes, second: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        assert cache.get(NAME) is None
        for payload in (first, second):
            cache.put(NAME, payload)
            assert cache.get(NAME) == payload
            assert Cache(Path(folder)).get(NAME) == payload
        assert cache.get(key("another")) is None
        assert len(files(cache)) == 1


@given(st.data())
def test_a_damaged_entry_is_missing_and_removed(data: st.DataObject) -> None:
    payload = data.draw(st.binary(max_size=200))
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        cache.put(NAME, payload)
        (file,) = files(cache)
        whole = file.read_bytes()
        bit = data.draw(st.integers(0, 8 * len(whole) - 1))
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        shorter = whole[: data.draw(st.integers(0, len(whole) - 1))]
        longer = whole + data.draw(st.binary(min_size=1, max_size=9))
        for damaged in (bytes(flipped), shorter, longer):
            file.write_bytes(damaged)
            assert cache.get(NAME) is None
            assert files(cache) == []
            cache.put(NAME, payload)
            assert cache.get(NAME) == payload


def test_an_entry_under_the_name_of_another_is_missing(cache: Cache) -> None:
    cache.put(NAME, b"code")
    (file,) = files(cache)
    file.rename(file.with_name(f"{key('other')}.bin"))
    assert cache.get(key("other")) is None


@posix_only
def test_only_the_user_may_look_and_write(cache: Cache) -> None:
    before = os.umask(0)
    try:
        cache.put(NAME, b"code")
    finally:
        os.umask(before)
    assert cache.folder is not None
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    (file,) = files(cache)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@posix_only
def test_a_file_of_another_user_is_not_trusted(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(NAME, b"code")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert cache.get(NAME) is None
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    assert cache.get(NAME) == b"code"


@posix_only
def test_a_file_that_others_may_write_is_not_trusted(cache: Cache) -> None:
    cache.put(NAME, b"code")
    (file,) = files(cache)
    file.chmod(0o622)
    assert cache.get(NAME) is None


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_old_entry_and_no_rest(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(NAME, b"old")
    monkeypatch.setattr(os, "replace", full)
    cache.put(NAME, b"new")
    assert cache.get(NAME) == b"old"
    assert len(files(cache)) == 1


@posix_only
def test_a_folder_that_only_can_be_read_still_serves(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(NAME, b"code")
    assert cache.folder is not None

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system")

    for function in ("utime", "unlink", "replace"):
        monkeypatch.setattr(os, function, forbidden)
    monkeypatch.setattr(tempfile, "mkstemp", forbidden)
    cache.put(key("other"), b"code")
    assert cache.get(NAME) == b"code"
    assert cache.get(key("other")) is None


def test_a_folder_that_cannot_be_made_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        cache = Cache(folder)
        cache.put(NAME, b"code")
        assert cache.get(NAME) is None
        cache.trim()


def aged(cache: Cache, *ages: int) -> None:
    assert cache.folder is not None
    for number, age in enumerate(ages):
        cache.put(key(str(number)), bytes(1000))
        os.utime(cache.folder / f"{key(str(number))}.bin", (1e9 - age, 1e9 - age))


def present(cache: Cache) -> set[int]:
    assert cache.folder is not None
    return {number for number in range(9) if (cache.folder / f"{key(str(number))}.bin").exists()}


def test_the_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    aged(Cache(tmp_path), 30, 50, 10, 40, 20)
    Cache(tmp_path, bound=4000).trim()
    assert present(Cache(tmp_path)) == {0, 2, 4}


def test_what_is_used_stays(tmp_path: Path) -> None:
    aged(Cache(tmp_path), 30, 50, 10)
    assert Cache(tmp_path).get(key("1")) is not None
    Cache(tmp_path, bound=2500).trim()
    assert present(Cache(tmp_path)) == {1, 2}


def test_the_bound_is_kept_by_writing_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path, bound=100_000)
    for number in range(400):
        cache.put(key(str(number)), bytes(1000))
    assert 50_000 < sum(file.stat().st_size for file in tmp_path.iterdir()) < 110_000
    assert cache.get(key("399")) is not None


def test_the_folder_is_looked_through_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []
    scan: Callable[[Path], object] = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: times.append(1) or scan(path))
    cache = Cache(tmp_path, bound=1_600_000)
    for number in range(200):
        cache.put(key(str(number)), bytes(1000))
    assert len(times) == 3  # at first, and after every sixteenth of the bound


def test_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "dead.tmp", tmp_path / "alive.tmp"
    for file in (old, new):
        file.write_text("half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    Cache(tmp_path).put(NAME, b"code")
    assert not old.exists()
    assert new.exists()


WORKER = """
import sys
from pathlib import Path
from wengert.backend.cache import Cache, key
cache = Cache(Path(sys.argv[1]), bound=200_000)
for turn in range(60):
    for number in range(8):
        payload = bytes([number]) * (1000 + 997 * number)
        name = key(str(number))
        found = cache.get(name)
        assert found is None or found == payload, number
        cache.put(name, payload)
        if turn % 20 == 7:
            (cache.folder / f"{name}.bin").write_bytes(payload)  # without a header: damaged
    if turn % 10 == 3:
        cache.bound = 10_000
        cache.trim()
        cache.bound = 200_000
"""


def test_several_processes_use_one_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for worker in workers:
        _, errors = worker.communicate(timeout=60)
        assert (worker.returncode, errors) == (0, "")
    assert not list(tmp_path.glob("*.tmp"))


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in (caching.VARIABLE, caching.SIZE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the folders of Linux")
def test_the_folder_is_that_of_the_user(variables: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = default().folder
    assert folder is not None
    assert folder.parent == tmp_path / ".cache" / "wengert"
    variables.setenv("XDG_CACHE_HOME", "relative")  # which the specification says to ignore
    assert default().folder == folder
    variables.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default().folder == tmp_path / "xdg" / "wengert" / folder.name
    assert default() is default()


def test_the_environment_chooses_the_folder_and_the_bound(
    variables: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    variables.setenv(caching.VARIABLE, str(tmp_path / "mine"))
    variables.setenv(caching.SIZE_VARIABLE, "3 MB")
    assert (default().folder, default().bound) == (tmp_path / "mine", 3 << 20)
    variables.setenv(caching.VARIABLE, "~/other")
    assert default().folder == tmp_path / "other"
    variables.setenv(caching.SIZE_VARIABLE, "12345")
    assert default().bound == 12345


def test_without_a_cache_nothing_is_kept(variables: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables.setenv(caching.VARIABLE, "OFF")
    default().put(NAME, b"code")
    default().trim()
    assert default().get(NAME) is None
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_nothing_is_kept(variables: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    variables.setattr(Path, "home", homeless)
    variables.delenv("LOCALAPPDATA", raising=False)
    default().put(NAME, b"code")
    assert default().get(NAME) is None


@pytest.mark.parametrize("size", ["much", "-1", "1.5G", "1T"])
def test_the_bound_is_checked(variables: pytest.MonkeyPatch, size: str) -> None:
    variables.setenv(caching.SIZE_VARIABLE, size)
    with pytest.raises(ArgumentError, match=f"WENGERT_CACHE_SIZE: must be a number of bytes.*{size}"):
        default()
