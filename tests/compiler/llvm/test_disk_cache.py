"""The disk cache of compiled code."""

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
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.compiler.llvm import disk_cache as caching
from wengert.compiler.llvm.disk_cache import Cache, default, key
from wengert.engine.core import private_files
from wengert.engine.core.errors import ArgumentError

posix_only = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
NAME = key("entry")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "some" / "cache")


def files(cache: Cache) -> list[Path]:
    assert cache.folder is not None
    return (
        sorted(file for file in cache.folder.iterdir() if file.name != "key") if cache.folder.exists() else []
    )


@given(st.lists(st.one_of(st.binary(), st.text())), st.lists(st.one_of(st.binary(), st.text())))
def test_different_parts_have_different_keys(one: list[bytes | str], other: list[bytes | str]) -> None:
    def as_bytes(parts: list[bytes | str]) -> list[bytes]:
        return [part.encode() if isinstance(part, str) else part for part in parts]

    assert (key(*one) == key(*other)) == (as_bytes(one) == as_bytes(other))
    assert len(key(*one)) == 64
    assert int(key(*one), 16) >= 0


def test_a_key_is_the_same_in_every_process() -> None:
    assert key("a", b"b") == "cf6ab613e3942391f88ed698557e1680f160bd10e88c6b668c50360c10930e2b"


@examples(20)
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
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (cache.folder, cache.folder.parent)] == [
        0o700
    ] * 2
    assert [stat.S_IMODE(file.stat().st_mode) for file in cache.folder.iterdir()] == [0o600] * 2


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


WRITABLE = pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720, 0o702], ids=oct)


@posix_only
@WRITABLE
def test_a_folder_into_which_others_may_write_is_not_used(
    cache: Cache, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    cache.put(NAME, b"code")
    assert cache.folder is not None
    cache.folder.chmod(mode)
    for _ in range(3):
        assert cache.get(NAME) is None
        cache.put(key("other"), b"code")
    assert len(files(cache)) == 1
    (told,) = caplog.messages
    assert f"{cache.folder} is not used: others may write into" in told
    assert f"chmod go-w {cache.folder}; or name a folder of your own in WENGERT_CACHE" in told
    cache.folder.chmod(0o755)
    assert cache.get(NAME) == b"code"


@posix_only
@pytest.mark.parametrize(("mode", "is_safe"), [(0o777, False), (0o702, False), (0o1777, True), (0o755, True)])
def test_others_must_not_be_able_to_replace_the_folder(cache: Cache, mode: int, is_safe: bool) -> None:
    cache.put(NAME, b"code")
    assert cache.folder is not None
    cache.folder.parent.chmod(mode)
    assert (cache.get(NAME) == b"code") is is_safe
    assert ("not sticky" in cache.why_unused()) is not is_safe
    beside = Cache(cache.folder.parent / "new")
    beside.put(NAME, b"code")
    assert (beside.get(NAME) == b"code") is is_safe


@posix_only
def test_a_group_that_may_write_above_must_be_the_users_own(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grp
    import pwd

    cache.put(NAME, b"code")
    assert cache.folder is not None
    cache.folder.parent.chmod(0o770)
    user = pwd.getpwuid(os.geteuid()).pw_name
    for name, members, is_safe in ((user, [], True), (user, [user, "mallory"], False), ("staff", [], False)):
        monkeypatch.setattr(
            grp, "getgrgid", lambda _, name=name, members=members: grp.struct_group((name, "", 7, members))
        )
        assert (cache.get(NAME) == b"code") is is_safe


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("above", [0, 1])
def test_a_folder_of_another_user_is_not_used(
    cache: Cache, above: int, caplog: pytest.LogCaptureFixture
) -> None:
    cache.put(NAME, b"code")
    assert cache.folder is not None
    os.chown((cache.folder, *cache.folder.parents)[above], 12345, -1)
    assert cache.get(NAME) is None
    assert "belongs to another user (uid 12345)" in caplog.text


@posix_only
def test_an_entry_that_is_no_plain_file_is_missing(cache: Cache, tmp_path: Path) -> None:
    cache.put(NAME, b"code")
    (file,) = files(cache)
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert cache.get(NAME) is None
    cache.put(NAME, b"newer")
    assert (cache.get(NAME), file.is_symlink()) == (b"newer", False)
    file.unlink()
    file.mkdir()
    assert cache.get(NAME) is None
    cache.put(NAME, b"code")
    assert cache.get(NAME) is None


@posix_only
@pytest.mark.parametrize("name", [f"{NAME}.bin", "key"])
def test_a_pipe_among_the_entries_is_not_waited_for(cache: Cache, name: str) -> None:
    cache.put(NAME, b"code")
    assert cache.folder is not None
    (cache.folder / name).unlink()
    os.mkfifo(cache.folder / name)
    script = f"""
from pathlib import Path
from wengert.compiler.llvm.disk_cache import Cache
cache = Cache(Path({str(cache.folder)!r}))
print(cache.get({NAME!r}))
cache.put({NAME!r}, b"new")
print(cache.get({NAME!r}))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
    assert run.stdout.split() == ["None", "b'new'"], run.stderr


def test_an_entry_that_another_cache_signed_is_missing(cache: Cache, tmp_path: Path) -> None:
    cache.put(NAME, b"code")
    (file,) = files(cache)
    other = Cache(tmp_path / "other")
    other.put(key("something"), b"else")
    assert other.folder is not None
    (other.folder / file.name).write_bytes(file.read_bytes())
    assert other.get(NAME) is None
    assert other.get(key("something")) == b"else"


def spoiled(file: Path, how: str) -> None:
    if how == "lost":
        file.unlink()
    elif how == "short":
        file.write_bytes(b"short")
    elif how == "another":
        file.write_bytes(bytes(32))
    elif how == "told":
        file.chmod(0o644)
    elif how == "link":
        file.rename(file.with_name("moved"))
        file.symlink_to(file.with_name("moved"))


@posix_only
@pytest.mark.parametrize("how", ["lost", "short", "another", "told", "link"])
def test_without_the_key_entries_are_missing_and_made_again(cache: Cache, how: str) -> None:
    cache.put(NAME, b"code")
    assert cache.folder is not None
    spoiled(cache.folder / "key", how)
    assert cache.get(NAME) is None
    cache.put(NAME, b"code")
    assert cache.get(NAME) == b"code"
    facts = (cache.folder / "key").lstat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_size) == (0o600, 32)


def test_systems_without_second_names_and_users_have_a_cache(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "geteuid", raising=False)
    monkeypatch.setattr(os, "link", full)
    cache.put(NAME, b"code")
    assert cache.get(NAME) == b"code"


FIRST = """
import sys, time
from pathlib import Path
from wengert.compiler.llvm.disk_cache import Cache, key
cache, number = Cache(Path(sys.argv[1])), sys.argv[2]
sys.stdin.read()  # all begin at the same time
cache.put(key(number), number.encode())
"""


def test_processes_that_make_the_key_at_once_make_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FIRST, str(tmp_path / "cache")]
    workers = [subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE) for number in range(3)]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
    assert [worker.wait(timeout=60) for worker in workers] == [0] * 3
    cache = Cache(tmp_path / "cache")
    assert [cache.get(key(str(number))) for number in range(3)] == [str(n).encode() for n in range(3)]


def test_a_key_that_another_process_makes_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, other = private_files.secret, bytes(range(32))

    def read_before_the_other_writes(path: Path) -> bytes | None:
        data = read(path)
        if not path.exists():
            private_files.write_own(path, other)
        return data

    monkeypatch.setattr(private_files, "secret", read_before_the_other_writes)
    assert private_files.made_secret(tmp_path / "key") == other


def test_a_refused_cache_compiles_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv(caching.VARIABLE, str(tmp_path))
    for number in (2.0, 3.0):
        assert wg.jit(wg.grad(lambda x, number=number: number * x))(1.0) == number
    assert list(tmp_path.iterdir()) == []
    assert sum("is not used" in told for told in caplog.messages) == 1


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
    assert len(times) == 3  # the first time, and after every sixteenth of the bound


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
from wengert.compiler.llvm.disk_cache import Cache, key
cache = Cache(Path(sys.argv[1]), bound=200_000)
for turn in range(30):
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
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
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
    variables.setenv("XDG_CACHE_HOME", "relative")  # the specification ignores it
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
