from __future__ import annotations

import gzip
import hashlib
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from wengert.data import DataNotFoundError
from wengert.data.download import RemoteFile, fetch, shown_progress
from wengert.engine.core import progress

CONTENT = bytes(range(256)) * 1000
PACKED = gzip.compress(CONTENT, mtime=0)
FILE = RemoteFile("file.gz", hashlib.sha256(CONTENT).hexdigest())


def closed_port() -> str:
    """Return a URL without a server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_a_file_arrives(server: Any, tmp_path: Path) -> None:
    server.bodies["file.gz"] = PACKED
    reports: list[tuple[str, int, int | None]] = []
    path = fetch(FILE, [server.url], tmp_path / "a" / "b", progress=lambda *report: reports.append(report))
    assert path == tmp_path / "a" / "b" / "file.gz"
    assert path.read_bytes() == PACKED
    assert list(path.parent.iterdir()) == [path]
    assert reports[-1] == ("file.gz", len(PACKED), len(PACKED))
    assert [done for _, done, _ in reports] == sorted({done for _, done, _ in reports})


def test_the_length_may_be_unknown(server: Any, tmp_path: Path) -> None:
    server.bodies["file.gz"], server.send_length = PACKED, False
    reports: list[tuple[str, int, int | None]] = []
    fetch(FILE, [server.url], tmp_path, progress=lambda *report: reports.append(report))
    assert reports[-1] == ("file.gz", len(PACKED), None)


def test_another_compression_of_the_same_content_will_do(server: Any, tmp_path: Path) -> None:
    server.bodies["file.gz"] = gzip.compress(CONTENT, 1)
    assert fetch(FILE, [server.url], tmp_path).read_bytes() != PACKED


@pytest.mark.parametrize(
    ("body", "missing_bytes", "reason"),
    [
        (gzip.compress(CONTENT + b"!", mtime=0), 0, "the checksum differs"),
        (b"<html>Please log in</html>", 0, "the checksum differs"),
        (PACKED[:-100], 0, "expected a whole gzip file"),
        (PACKED[:-100], 100, f"expected {len(PACKED)} bytes; got {len(PACKED) - 100}"),
        (None, 0, "HTTP Error 404"),
    ],
)
def test_wrong_files_do_not_stay(
    server: Any, tmp_path: Path, body: bytes | None, missing_bytes: int, reason: str
) -> None:
    if body is not None:
        server.bodies["file.gz"] = body
    server.missing_bytes = missing_bytes
    with pytest.raises(DataNotFoundError, match=reason) as info:
        fetch(FILE, [server.url], tmp_path)
    assert f"{server.url}file.gz: " in str(info.value)
    assert not list(tmp_path.iterdir())


def test_a_wrong_file_does_not_replace_a_right_one(server: Any, tmp_path: Path) -> None:
    (tmp_path / "file.gz").write_bytes(PACKED)
    server.bodies["file.gz"] = b"damaged"
    with pytest.raises(DataNotFoundError):
        fetch(FILE, [server.url], tmp_path)
    assert (tmp_path / "file.gz").read_bytes() == PACKED


def test_a_file_without_end_is_given_up(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.data.download._LIMIT", 100_000)
    server.bodies["file.gz"] = bytes(1_000_000)
    with pytest.raises(DataNotFoundError, match="expected at most 100000 bytes"):
        fetch(FILE, [server.url], tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_interruption_leaves_nothing(server: Any, tmp_path: Path) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    server.bodies["file.gz"] = PACKED
    with pytest.raises(KeyboardInterrupt):
        fetch(FILE, [server.url], tmp_path, progress=interrupt)
    assert not list(tmp_path.iterdir())


def test_the_next_mirror_helps(server: Any, tmp_path: Path) -> None:
    server.bodies["file.gz"] = PACKED
    mirrors = ["no URL", closed_port(), server.url.replace("/data/", "")]
    assert fetch(FILE, mirrors, tmp_path).read_bytes() == PACKED
    assert server.requests == ["file.gz"]


def test_every_mirror_is_named_when_none_helps(tmp_path: Path) -> None:
    nobody = closed_port()
    with pytest.raises(DataNotFoundError) as info:
        fetch(FILE, ["no URL", nobody], tmp_path, timeout=5)
    assert "no URL/file.gz: unknown url type" in str(info.value)
    assert f"{nobody}/file.gz: " in str(info.value)
    assert "refused" in str(info.value)
    assert not list(tmp_path.iterdir())


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(DataNotFoundError, match="timed out"):
            fetch(FILE, [url], tmp_path, timeout=0.1)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(server: Any, tmp_path: Path) -> None:
    server.bodies["file.gz"] = PACKED
    (tmp_path / "file").touch()
    with pytest.raises(DataNotFoundError, match="file"):
        fetch(FILE, [server.url], tmp_path / "file")


def test_the_bar_shows_each_file(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def receive() -> str:
        with shown_progress() as report:
            for name in ("first.gz", "second.gz"):
                report(name, 1_500_000, 3_000_000)
                report(name, 3_000_000, 3_000_000)
        out, err = capsys.readouterr()
        assert not out
        return err

    monkeypatch.setattr(progress, "DELAY", 0.0)
    assert receive() == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    written = receive()
    assert all(name in written for name in ("first.gz", "second.gz"))
    assert "1.5 of 3.0 MB" in written
